/* SPDX-License-Identifier: Apache-2.0 */
#include "core/machine_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = 32768 };

__attribute__((format(printf, 3, 0))) static bool make_path(const struct tare_machine_files *files,
                                                            char path[TARE_MACHINE_PATH], const char *fmt,
                                                            va_list args)
{
    int start = snprintf(path, TARE_MACHINE_PATH, "%s", files->root);
    if (start < 0 || start >= TARE_MACHINE_PATH)
        return false;
    size_t left = TARE_MACHINE_PATH - (size_t)start;
    int rest = vsnprintf(path + start, left, fmt, args);
    return rest >= 0 && (size_t)rest < left;
}

static int open_file(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static size_t read_some(int fd, char *data, size_t size)
{
    size_t length = 0;
    while (length < size) {
        ssize_t got = read(fd, data + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    return length;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

__attribute__((format(printf, 4, 0))) static bool read_text(const struct tare_machine_files *files,
                                                            char *text, size_t size, const char *fmt,
                                                            va_list args)
{
    char path[TARE_MACHINE_PATH];
    if (!make_path(files, path, fmt, args))
        return false;
    int fd = open_file(path);
    if (fd < 0)
        return false;
    size_t length = read_some(fd, text, size - 1);
    close(fd);
    text[length] = '\0';
    length = strlen(text);
    while (length > 0 && is_space(text[length - 1]))
        text[--length] = '\0';
    return length > 0;
}

bool tare_machine_file_text(const struct tare_machine_files *files, char *text, size_t size, const char *fmt,
                            ...)
{
    va_list args;
    va_start(args, fmt);
    bool found = read_text(files, text, size, fmt, args);
    va_end(args);
    return found;
}

const char *tare_machine_file_line(const struct tare_machine_files *files, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    bool found = read_text(files, text, sizeof text, fmt, args);
    va_end(args);
    if (!found)
        return NULL;
    text[strcspn(text, "\n")] = '\0';
    return tare_machine_clean(files->arena, text);
}

int64_t tare_machine_file_int(const struct tare_machine_files *files, const char *fmt, ...)
{
    char text[64];
    int64_t value;
    va_list args;
    va_start(args, fmt);
    bool found = read_text(files, text, sizeof text, fmt, args);
    va_end(args);
    return found && tare_machine_parse_int(text, &value) && value >= 0 ? value : -1;
}

bool tare_machine_file_exists(const struct tare_machine_files *files, const char *fmt, ...)
{
    char path[TARE_MACHINE_PATH];
    va_list args;
    va_start(args, fmt);
    bool made = make_path(files, path, fmt, args);
    va_end(args);
    return made && access(path, F_OK) == 0;
}

__attribute__((format(printf, 3, 4))) static bool join_path(const struct tare_machine_files *files,
                                                            char path[TARE_MACHINE_PATH], const char *fmt,
                                                            ...)
{
    va_list args;
    va_start(args, fmt);
    bool made = make_path(files, path, fmt, args);
    va_end(args);
    return made;
}

bool tare_machine_file_lines(const struct tare_machine_files *files, const char *path, size_t max,
                             bool (*each)(void *context, char *line), void *context)
{
    char full[TARE_MACHINE_PATH];
    if (!join_path(files, full, "%s", path))
        return false;
    int fd = open_file(full);
    if (fd < 0)
        return false;
    char *line = malloc(LINE_SIZE);
    char block[4096];
    size_t length = 0, total = 0;
    bool going = line != NULL;
    while (going && total < max) {
        size_t got = read_some(fd, block, sizeof block);
        if (got == 0)
            break;
        total += got;
        for (size_t i = 0; i < got && going; i++) {
            if (block[i] == '\n') {
                line[length] = '\0';
                length = 0;
                going = each(context, line);
            } else if (length < LINE_SIZE - 1) {
                line[length++] = block[i];
            }
        }
    }
    if (going && length > 0) {
        line[length] = '\0';
        each(context, line);
    }
    bool read_it = line != NULL;
    free(line);
    close(fd);
    return read_it;
}

void tare_machine_file_entries(const struct tare_machine_files *files, const char *path,
                               bool (*each)(void *context, const char *name), void *context)
{
    char full[TARE_MACHINE_PATH];
    DIR *folder = join_path(files, full, "%s", path) ? opendir(full) : NULL;
    if (!folder)
        return;
    const struct dirent *entry;
    for (int count = 0; count < TARE_MACHINE_ENTRIES && (entry = readdir(folder)) != NULL; count++) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!each(context, entry->d_name))
            break;
    }
    closedir(folder);
}

const char *tare_machine_clean(struct tare_arena *arena, const char *text)
{
    char clean[TARE_MACHINE_TEXT];
    size_t length = 0;
    bool gap = false;
    for (; *text && length < sizeof clean - 1; text++) {
        unsigned char c = (unsigned char)*text;
        if (c <= ' ' || c == 0x7f) {
            gap = length > 0;
            continue;
        }
        if (gap && length < sizeof clean - 2)
            clean[length++] = ' ';
        gap = false;
        clean[length++] = c < 0x7f ? (char)c : '?';
    }
    return length > 0 ? tare_arena_text(arena, clean, length) : NULL;
}

const char *tare_machine_value(const char *line, const char *key)
{
    size_t length = strlen(key);
    if (strncmp(line, key, length) != 0)
        return NULL;
    line += length;
    while (is_space(*line))
        line++;
    if (*line != ':' && *line != '=')
        return NULL;
    line++;
    while (is_space(*line))
        line++;
    return line;
}

bool tare_machine_parse_int(const char *text, int64_t *ret_value)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || errno != 0)
        return false;
    *ret_value = value;
    return true;
}

int64_t tare_machine_parse_cpus(const char *text)
{
    int64_t count = 0;
    while (*text >= '0' && *text <= '9') {
        char *end;
        errno = 0;
        long long first = strtoll(text, &end, 10), last = first;
        if (*end == '-') {
            text = end + 1;
            last = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
        }
        if (errno != 0 || last < first || last > INT32_MAX)
            return -1;
        count += last - first + 1;
        text = *end == ',' ? end + 1 : end;
    }
    return *text == '\0' && count > 0 ? count : -1;
}
