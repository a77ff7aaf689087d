/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of its own for a test that touches files: made by scratch_enter, which also goes there, and
 * emptied and removed by scratch_leave. Files are read and written whole with the helpers below.
 */
#ifndef TARE_TESTS_SCRATCH_H
#define TARE_TESTS_SCRATCH_H

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static char scratch_path[256];

static inline void scratch_enter(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(scratch_path, sizeof scratch_path, "%s/tare-test.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(scratch_path) || chdir(scratch_path) < 0) {
        perror("cannot make a folder for the test");
        exit(2);
    }
}

/* The number of files here, hidden ones included; removes them on request. */
static inline int scratch_files(bool and_remove)
{
    int count = 0;
    DIR *folder = opendir(".");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (and_remove && unlink(entry->d_name) < 0)
            rmdir(entry->d_name);
    }
    if (folder)
        closedir(folder);
    return count;
}

static inline int scratch_drop(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline void scratch_leave(void)
{
    if (chdir("/") < 0 || nftw(scratch_path, scratch_drop, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
        perror(scratch_path);
}

static inline void scratch_write(const char *name, const void *data, size_t length)
{
    FILE *file = fopen(name, "wb");
    CHECK(file && fwrite(data, 1, length, file) == length);
    if (file)
        CHECK_INT(fclose(file), 0);
}

/* The start of a file, as a string; "" if there is none. Not for two files at once. */
static inline const char *scratch_read(const char *name)
{
    static char text[4096];
    FILE *file = fopen(name, "rb");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    return text;
}

#endif
