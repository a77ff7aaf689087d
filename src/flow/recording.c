/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/units.h"

/* Less is hardly more than the beginning of one capture. */
enum { ROOM_BYTES = 4 << 20 };

static const char *folder_of(const char *path, struct tare_arena *arena)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : tare_arena_text(arena, path, (size_t)(slash - path));
}

/* A new folder in parent, by its whole name; NULL with errno. */
static const char *make_in(const char *parent, struct tare_arena *arena)
{
    char real[PATH_MAX];
    if (!realpath(parent, real))
        return NULL;
    const char *name =
        tare_arena_printf(arena, "%s/.tare-%ld-XXXXXX", strcmp(real, "/") == 0 ? "" : real, (long)getpid());
    size_t length = strlen(name);
    char *path = tare_arena_alloc(arena, length + 1);
    if (!path) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(path, name, length);
    return mkdtemp(path);
}

static bool has_room(const char *folder, double *ret_bytes)
{
    struct statvfs info;
    if (statvfs(folder, &info) < 0)
        return true;
    *ret_bytes = (double)info.f_bavail * (double)info.f_frsize;
    return *ret_bytes >= ROOM_BYTES;
}

int tare_recording_make(const char *output, struct tare_arena *arena, const char **ret_folder,
                        const char **ret_note, struct tare_error *err)
{
    const char *temporary = getenv("TMPDIR");
    const char *parents[] = {output ? folder_of(output, arena) : NULL, ".",
                             temporary && *temporary ? temporary : NULL, "/tmp"};
    const char *small = NULL, *note = NULL;
    char text[TARE_UNITS_TEXT];
    int first_errno = 0;
    for (size_t i = 0; i < sizeof parents / sizeof parents[0]; i++) {
        double bytes = 0;
        if (!parents[i])
            continue;
        const char *made = make_in(parents[i], arena);
        if (!made && !first_errno)
            first_errno = errno;
        if (!made)
            continue;
        if (has_room(made, &bytes)) {
            if (small)
                rmdir(small);
            *ret_folder = made;
            *ret_note = note ? tare_arena_printf(arena, "%s; captures go to '%s'", note, made) : NULL;
            return tare_arena_check(arena, err);
        }
        if (small) {
            rmdir(made);
            continue;
        }
        small = made;
        note = tare_arena_printf(arena, "only %s are free in '%s'",
                                 tare_size_format(text, sizeof text, bytes), parents[i]);
    }
    if (!small)
        return tare_fail(err, TARE_E_IO, first_errno,
                         "no folder for captures can be made here, nor in $TMPDIR, nor in /tmp");
    *ret_folder = small;
    *ret_note = tare_arena_printf(arena, "%s, and not more elsewhere: contexts may be cut", note);
    return tare_arena_check(arena, err);
}

void tare_recording_remove(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(folder);
}
