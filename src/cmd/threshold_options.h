/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thresholds on the command line: what `tare bench`, `tare profile` and `tare check` have in common. A
 * command's struct of values has a struct tare_threshold_values, and its options TARE_THRESHOLD_OPTIONS.
 */
#ifndef TARE_CMD_THRESHOLD_OPTIONS_H
#define TARE_CMD_THRESHOLD_OPTIONS_H

#include <stdbool.h>

#include "cmd/cmd.h"
#include "flow/result.h"
#include "judge/threshold.h"

struct tare_threshold_values {
    struct tare_opt_list given;
    const char *file;
    int inconclusive;
};

extern const char *const tare_threshold_inconclusive[];

/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member cannot stand in parentheses. */
#define TARE_THRESHOLD_OPTIONS(values, member)                                                               \
    {"threshold", 'T', TARE_OPT_LIST_MANY, "METRIC:LIMIT",                                                   \
     "What it must keep, such as latency:100ms throughput@batch=32:500texts/s",                              \
     .offset = offsetof(values, member.given)},                                                              \
    {"thresholds", 0, TARE_OPT_TEXT, "FILE", "The same from a file: one on a line, # begins a comment",      \
     .offset = offsetof(values, member.file)},                                                               \
    {"inconclusive", 0, TARE_OPT_CHOICE, "HOW",                                                              \
     "What not knowing means: a warning, a failure, or status 3", .choices = tare_threshold_inconclusive,    \
     .offset = offsetof(values, member.inconclusive)}
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

/** Read those of the command line and those of the file, into the arena. */
int tare_threshold_values_read(const struct tare_threshold_values *values, struct tare_arena *arena,
                               struct tare_threshold **ret_thresholds, size_t *ret_count,
                               struct tare_error *err);

/** The exit status when something is undecided: as the user chose, with a warning if that is 0. */
int tare_threshold_undecided(const struct tare_threshold_values *values, const struct tare_cmd_call *call);

/** The exit status of a run that was judged. */
int tare_threshold_status(const struct tare_threshold_values *values, const struct tare_cmd_call *call,
                          const struct tare_run *run);

/** The end of a command that measured: print the result, as JSON if asked, and give the exit status; caught
 * is the signal that ended it early, or 0. */
int tare_threshold_tell(const struct tare_threshold_values *values, const struct tare_cmd_call *call,
                        const struct tare_result *result, bool json, int caught, struct tare_error *err);

#endif
