/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model whose truth is known, for checking the harness and the statistics: how long each call takes is
 * drawn from a description such as "fake:normal,mean=1ms,sd=3%,seed=1". The engine (engine_fake.c) really
 * waits that long; who only wants the series asks here. The same description gives the same series on every
 * platform. Pure functions of their arguments; one series belongs to one thread.
 *
 * A call of batch B takes mean + per_item * B + per_element * (elements of the first input), divided by
 * threads to the power of scale, and that is varied as the kind says:
 *
 *   constant        not at all
 *   normal          sd, relative, independent
 *   autocorrelated  sd, with lag-1 correlation r
 *   bursty          as normal, and share of the calls, in bursts of length calls, are factor times as slow
 *   modes           the same with two modes that last long and are both frequent
 *   drift           as normal, and the level changes by `drift` over the first `span` calls
 *   leaking         constant, and each call keeps `leak` bytes
 *   plateau         constant, and memory grows to `plateau` bytes over `settle` calls, then no more
 *   crash           constant, and call number `crash` ends the process
 *
 * Every kind takes every key: weights and memory are bytes held from the start and per item of the batch;
 * cold is how many times slower the first call of a shape is; fail and hang are calls that fail or never end;
 * wrong changes the answers by that share when the batch is above 1; restless keeps a thread busy after each
 * call for that long; tide is how much longer calls take in every other `period` of the machine's own clock,
 * alike in all processes.
 */
#ifndef TARE_BENCH_FAKE_H
#define TARE_BENCH_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/stats_random.h"

/* Zero is the absence of a thing. */
struct tare_fake {
    double mean_ns, per_item_ns, per_element_ns, restless_ns, period_ns;
    double sd, r, share, length, factor, drift, span, scale, cold, wrong, tide;
    double weights, memory, leak, plateau, settle; /* bytes; settle in calls */
    double crash, fail, hang;                      /* calls, counted from 1 */
    double seed;
};

/* A series under way. */
struct tare_fake_series {
    struct tare_random random;
    double at; /* the correlated part, in standard deviations */
    double calls;
    bool slow; /* in a burst, or in the slower mode */
};

/** Read a description, with or without "fake:" before it. */
int tare_fake_parse(const char *text, struct tare_fake *ret_fake, struct tare_error *err);

/** Start a series from the description's seed plus salt. */
void tare_fake_start(struct tare_fake_series *series, const struct tare_fake *fake, uint64_t salt);

/** How long the next call takes, in nanoseconds; base_ns is what it would take without variation. */
double tare_fake_next(struct tare_fake_series *series, const struct tare_fake *fake, double base_ns);

/** What a call takes without variation. */
double tare_fake_base_ns(const struct tare_fake *fake, double batch, double elements, int threads);

/** What the machine makes of it at a moment of CLOCK_MONOTONIC: a factor. */
double tare_fake_tide(const struct tare_fake *fake, int64_t now_ns);

/** The true percentile of the calls, relative to the base, for a description without drift and tide. */
double tare_fake_percentile(const struct tare_fake *fake, double percent);

#endif
