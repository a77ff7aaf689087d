/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the small files of /proc and /sys below a root, for the machine's collectors only. Everything is
 * bounded: bytes per file, bytes per line, entries per folder. Text that is kept is one line of printable
 * ASCII. A file that is missing, empty or not what was expected is simply absent. Nothing blocks: a pipe in
 * place of a file reads as empty.
 */
#ifndef TARE_CORE_MACHINE_FILE_H
#define TARE_CORE_MACHINE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum {
    TARE_MACHINE_PATH = 4096,          /* longest path */
    TARE_MACHINE_TEXT = 256,           /* longest text that is kept */
    TARE_MACHINE_ENTRIES = 16384,      /* most entries looked at in one folder */
    TARE_MACHINE_FILE = 65536,         /* most bytes read of one file… */
    TARE_MACHINE_LONG_FILE = 16777216, /* …and of one that grows with the number of processors */
};

struct tare_machine_files {
    const char *root;
    struct tare_arena *arena;
};

/** Read the start of a file into text, NUL-terminated, trailing white space removed. False if there is none.
 */
bool tare_machine_file_text(const struct tare_machine_files *files, char *text, size_t size, const char *fmt,
                            ...) __attribute__((format(printf, 4, 5)));

/** The first line of a file, cleaned, in the arena; NULL if there is none. */
const char *tare_machine_file_line(const struct tare_machine_files *files, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** The whole number that a file starts with; -1 if there is none or it is negative. */
int64_t tare_machine_file_int(const struct tare_machine_files *files, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Is there something under that name? */
bool tare_machine_file_exists(const struct tare_machine_files *files, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Call each for the lines of a file, without their ends, until it returns false or max bytes are read. A
 * line beyond 32 KiB is cut. False if the file cannot be read. */
bool tare_machine_file_lines(const struct tare_machine_files *files, const char *path, size_t max,
                             bool (*each)(void *context, char *line), void *context);

/** Call each for the names in a folder, "." and ".." left out, in no order, until it returns false. */
void tare_machine_file_entries(const struct tare_machine_files *files, const char *path,
                               bool (*each)(void *context, const char *name), void *context);

/** Copy text into the arena as one line of printable ASCII, at most TARE_MACHINE_TEXT bytes; NULL when
 * nothing is left of it. */
const char *tare_machine_clean(struct tare_arena *arena, const char *text);

/** The value after "key<spaces>:" or "key=" if the line starts with it, else NULL. */
const char *tare_machine_value(const char *line, const char *key);

/** Parse a whole number that starts text; false when there is none, or it does not fit. */
bool tare_machine_parse_int(const char *text, int64_t *ret_value);

/** How many processors a list such as "0-3,8" names; -1 when it is not such a list. */
int64_t tare_machine_parse_cpus(const char *text);

#endif
