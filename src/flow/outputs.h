/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files a recording is written to, as `-o` names them. {pid} and {rank} in a name make one file per
 * process, or per rank; processes whose names come out equal are added up, so no two write one file. The
 * format follows from the extension; what names none, and .txt and .stats, is a pstats file, as cProfile
 * writes.
 */
#ifndef TARE_FLOW_OUTPUTS_H
#define TARE_FLOW_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "flow/captures.h"
#include "report/report.h"

struct tare_output_part;

struct tare_outputs {
    const char *const *names;
    size_t count;
    struct tare_arena *arena;
    struct tare_output_part *parts; /* files of single processes */
};

/** Can they be written at all? Found out before a program runs for hours. */
int tare_outputs_check(const struct tare_outputs *outputs, struct tare_error *err);

/** Is a file of that name a pstats file although cProfile's users might expect something else? */
bool tare_outputs_fallback(const char *name);

/** Take the figures of one process: the `each` of tare_captures_read. */
int tare_outputs_each(void *outputs, const struct tare_capture_process *process,
                      const struct tare_profile *profile, struct tare_error *err);

/** Write them all; told of each file that is there. */
int tare_outputs_write(const struct tare_outputs *outputs, struct tare_profile *all,
                       const struct tare_view *view, void (*written)(const char *path),
                       struct tare_error *err);

/** Free it. */
void tare_outputs_finish(struct tare_outputs *outputs);

#endif
