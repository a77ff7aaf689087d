/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers of verdicts, one file per format. All show the rows worst first. Names in them come from other
 * people's files: nothing reaches a terminal, a page or a log unescaped. Pure functions of const data.
 */
#ifndef TARE_REPORT_VERDICT_REPORT_H
#define TARE_REPORT_VERDICT_REPORT_H

#include "base/arena.h"
#include "base/out.h"
#include "core/verdict.h"
#include "report/run_report.h"

struct tare_verdict_writer {
    const char *name;
    const char *extensions;
    const char *summary;
    void (*write)(const struct tare_verdicts *verdicts, struct tare_out *out);
};

extern const struct tare_verdict_writer tare_verdict_writer_text;
extern const struct tare_verdict_writer tare_verdict_writer_json;
extern const struct tare_verdict_writer tare_verdict_writer_markdown;
extern const struct tare_verdict_writer tare_verdict_writer_junit;
extern const struct tare_verdict_writer tare_verdict_writer_github;

/** All of them, NULL-terminated. */
extern const struct tare_verdict_writer *const tare_verdict_writers[];

/** The one of that name, or if name is NULL the one that the extension of path asks for; NULL: none. */
const struct tare_verdict_writer *tare_verdict_writer_find(const char *name, const char *path);

/** The tables: thresholds and comparisons apart, NULL where there are none. */
void tare_verdict_grids(const struct tare_verdicts *verdicts, struct tare_arena *arena,
                        struct tare_run_grid **ret_thresholds, struct tare_run_grid **ret_compared);

/** All of it in one line: "1 regressed, 2 inconclusive, 5 the same". */
const char *tare_verdict_summary(const struct tare_verdicts *verdicts, struct tare_arena *arena);

/** One row in one line: "latency at batch=8 regressed: 12.1 ms, was 10.2 ms (1.19x [1.15, 1.22])". */
const char *tare_verdict_sentence(const struct tare_verdict *row, struct tare_arena *arena);

#endif
