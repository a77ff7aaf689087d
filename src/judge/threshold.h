/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thresholds: what a run must keep, as people write it. METRIC[@KEY=VALUE,...]:LIMIT, where the metric says
 * which side is good (time, memory, size and counts have a ceiling; throughput and accuracy a floor), or
 * METRIC<=LIMIT and METRIC>=LIMIT, which a shell needs quoted. A threshold is judged on the bounds of the
 * figure, not on the figure: passed when all of them keep it, failed when all of them cross it, and
 * inconclusive in between or where there are none. Figures that are the same in every run (parameters, size)
 * are compared as they are. Pure functions; texts are in the caller's arena.
 */
#ifndef TARE_JUDGE_THRESHOLD_H
#define TARE_JUDGE_THRESHOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "core/run.h"
#include "core/verdict.h"

/* What a threshold's limit is a number of. */
enum tare_threshold_kind {
    TARE_THRESHOLD_TIME,
    TARE_THRESHOLD_SIZE,
    TARE_THRESHOLD_RATE,
    TARE_THRESHOLD_COUNT,
    TARE_THRESHOLD_SHARE, /* a plain number: accuracy */
};

struct tare_threshold_metric;

struct tare_threshold {
    const char *text; /* as it was written */
    const struct tare_threshold_metric *metric;
    const char *accuracy; /* which accuracy, after "accuracy." */
    enum tare_run_bound bound;
    double limit;                /* in nanoseconds, bytes, items per second, things */
    double scale;                /* limit / scale is the number as it was written */
    const char *unit;            /* and this stood behind it */
    const char *counted;         /* of a rate: "samples", or "" */
    struct tare_run_label *keys; /* the configurations that are meant; none: all */
    size_t keys_count;
};

/** Read one. The message of a refusal says how it should be written. */
int tare_threshold_parse(const char *text, struct tare_arena *arena, struct tare_threshold *ret_threshold,
                         struct tare_error *err);

/**
 * Read a file of them: one on a line, spelled as on the command line; what follows a # is a comment. name is
 * for messages, which give the line.
 */
int tare_threshold_read(const char *data, size_t length, const char *name, struct tare_arena *arena,
                        struct tare_threshold **ret_thresholds, size_t *ret_count, struct tare_error *err);

/** Can they be judged on this run, measured or not yet? Refuses what is about none of its configurations, and
 * rates that count something else. */
int tare_threshold_check(const struct tare_threshold *thresholds, size_t count, const struct tare_run *run,
                         struct tare_error *err);

/**
 * Judge a run: run->thresholds becomes one row per threshold and configuration it is about, worst first. A
 * threshold that is about nothing in this run is an error.
 */
int tare_threshold_judge(const struct tare_threshold *thresholds, size_t count, struct tare_run *run,
                         struct tare_error *err);

/** Would more samples of this configuration still settle something? If not, every threshold about it that
 * samples can decide is decided. */
bool tare_threshold_decided(const struct tare_threshold *thresholds, size_t count, const struct tare_run *run,
                            const struct tare_run_config *config);

/** The run's rows as verdicts, appended to those there are. */
int tare_threshold_verdicts(const struct tare_run *run, struct tare_verdicts *verdicts,
                            struct tare_error *err);

/** The worst of a run's rows: failed, else inconclusive, else passed. */
enum tare_run_verdict tare_threshold_worst(const struct tare_run *run);

#endif
