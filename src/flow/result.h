/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A saved result: a profile or a run, read from any file that tare understands and written in any format that
 * fits it. Files are recognised by what they hold, outputs by their extension or by a format's name. Not
 * thread-safe; a loaded result that nobody changes may be read and written by several threads at once.
 */
#ifndef TARE_FLOW_RESULT_H
#define TARE_FLOW_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/out.h"
#include "core/profile.h"
#include "core/run.h"
#include "report/report.h"

/* Exactly one of the two is set. */
struct tare_result {
    struct tare_profile *profile;
    struct tare_run *run;
};

/* A way to write a result: the one of the two that fits it. */
struct tare_format {
    const struct tare_writer *profile;
    const struct tare_run_writer *run;
};

/** Read a file ("-" is standard input), or the captures of a folder. */
int tare_result_load(const char *path, struct tare_result *ret_result, struct tare_error *err);

/** The same from memory; name is for messages. */
int tare_result_load_memory(const void *data, size_t size, const char *name, struct tare_result *ret_result,
                            struct tare_error *err);

/** Read several files and add them up; they must all be profiles of one kind, unless there is only one. */
int tare_result_load_all(const char *const *paths, size_t count, struct tare_result *ret_result,
                         struct tare_error *err);

/** Free it. */
void tare_result_finish(struct tare_result *result);

/**
 * The format of that name, or if name is NULL the one that the extension of path asks for. The message lists
 * what there is.
 */
int tare_result_format(const struct tare_result *result, const char *name, const char *path,
                       struct tare_format *ret_format, struct tare_error *err);

/** The format a result is shown in when nobody says: the table. */
struct tare_format tare_result_text(const struct tare_result *result);

/** The name of format number index, profiles' first, NULL after the last; each name once. */
const char *tare_format_name(size_t index);

/** Is it meant for programs, not for a terminal? */
bool tare_format_binary(const struct tare_format *format);

/** Write it. */
void tare_result_write(const struct tare_result *result, const struct tare_format *format,
                       const struct tare_view *view, struct tare_out *out);

/** Write it to a file, whole or not at all. format NULL: by extension. */
int tare_result_save(const struct tare_result *result, const char *path, const char *format,
                     const struct tare_view *view, struct tare_error *err);

#endif
