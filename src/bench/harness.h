/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timed loop. One timestamp per call, the end of one being the start of the next, with the clock's own
 * cost taken off. Calls shorter than a microsecond are timed in blocks, and then no percentile can be told.
 * Between the calls nothing else happens: no allocation, no system call, no look at the data.
 */
#ifndef TARE_BENCH_HARNESS_H
#define TARE_BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/engine.h"

/* What came before the first sample. */
struct tare_harness_warmup {
    int64_t cold_ns; /* the first call of this shape */
    int64_t calls, ns;
    bool stable; /* the last three windows agreed within 10 % */
    int64_t calls_per_sample;
    int64_t call_ns; /* what a call takes now, roughly */
};

struct tare_harness_limits {
    int64_t min_samples; /* taken even when the time is over */
    int64_t max_samples;
    int64_t budget_ns; /* no sample is begun after this */
};

/** Run until stable, for at most budget_ns (but always the cold call and two more). */
int tare_harness_warm(struct tare_engine *engine, const struct tare_clock *clock, int64_t budget_ns,
                      struct tare_harness_warmup *ret_warmup, struct tare_error *err);

/** Take samples into ns, which has room for limits->max_samples; each is the time of calls_per_sample calls.
 * On failure ret_count says how many were taken before. */
int tare_harness_measure(struct tare_engine *engine, const struct tare_clock *clock,
                         const struct tare_harness_limits *limits, int64_t calls_per_sample, int64_t *ns,
                         size_t *ret_count, struct tare_error *err);

#endif
