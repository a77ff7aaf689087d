/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sides run against each other, interleaved: a bout is a fresh process of each, a block two bouts, begun
 * by A and by B, so that what drifts hits both alike and what differs from process to process is seen as what
 * it is. The gate looks at 10, 20 and 40 blocks and ends at the first look that settles every metric, or when
 * the time is over.
 */
#ifndef TARE_FLOW_VERSUS_H
#define TARE_FLOW_VERSUS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "core/verdict.h"
#include "flow/bench.h"
#include "judge/gate.h"

/* How two things are compared by running them. */
struct tare_versus_options {
    struct tare_gate_rule rule;
    int64_t time_ns; /* for all of it */
    size_t blocks;   /* at most; 0: as the gate looks */
    void *data;      /* for progress */
    /** May be NULL. Told before each bout. */
    void (*progress)(void *data, const char *text, int64_t left_ns);
    const volatile sig_atomic_t *stop; /* may be NULL */
    const char *const *worker_argv;
};

/* One figure that every process gives: a cost, smaller is better. */
struct tare_versus_metric {
    const char *configuration, *metric, *unit;
    double scale; /* a cost divided by this is in that unit */
};

/* What a bout gave, by metric. */
struct tare_versus_bout {
    struct tare_verdict_process *runs[2]; /* of A and of B */
    double *logs;                         /* of B's cost over A's */
};

struct tare_versus {
    const struct tare_versus_metric *metrics;
    size_t metrics_count;
    void *data;
    /** Run one process of each side and fill in the metrics, all costs above 0. */
    int (*bout)(void *data, bool b_first, struct tare_versus_bout *ret_bout, struct tare_error *err);
    const struct tare_versus_options *options;
    int64_t end_ns; /* no block begins that would end later */
};

/** Do it; rows are appended to the verdicts. Interrupted or out of time it judges the blocks there are, of
 * which there must be two. */
int tare_versus_run(const struct tare_versus *versus, struct tare_verdicts *verdicts, struct tare_error *err);

/** Two models under one plan; model_path of the plan is not used. */
int tare_versus_models(const char *a, const char *b, const struct tare_bench_plan *plan,
                       const struct tare_versus_options *options, struct tare_arena *arena,
                       struct tare_verdicts *ret_verdicts, struct tare_error *err);

/** Two commands, each run by the shell, their output thrown away. One that fails ends it. */
int tare_versus_commands(const char *a, const char *b, const struct tare_versus_options *options,
                         struct tare_arena *arena, struct tare_verdicts *ret_verdicts,
                         struct tare_error *err);

#endif
