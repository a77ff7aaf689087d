/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/harness.h"

#include <math.h>
#include <string.h>

#include "base/clock_now.h"
#include "core/stats.h"

/* Warm-up is looked at in windows of this length, or of one call if that takes longer, each in blocks; so
 * many windows must agree. The rule is Triton's. */
#define WINDOW_NS 20000000.0
enum { WINDOWS = 3, BLOCKS = 21 };
#define AGREE 0.10

/* Shorter calls are timed in blocks of at least this length. */
#define SHORTEST_NS 1000.0
#define BLOCK_NS    20000.0

static double ns_of(const struct tare_clock *clock, uint64_t ticks)
{
    return fmax(0, (double)tare_clock_span_ns(clock, ticks) - clock->read_ns);
}

/* The mean of so many calls. */
static int time_calls(struct tare_engine *engine, const struct tare_clock *clock, int64_t calls,
                      double *ret_ns, struct tare_error *err)
{
    int (*run)(struct tare_engine *, struct tare_error *) = engine->kind->run;
    uint64_t start = tare_clock_now(clock);
    for (int64_t i = 0; i < calls; i++)
        if (run(engine, err))
            return -1;
    *ret_ns = ns_of(clock, tare_clock_now(clock) - start) / (double)calls;
    return 0;
}

static bool agree(const double *windows)
{
    double least = windows[0], most = windows[0];
    for (int i = 1; i < WINDOWS; i++) {
        least = fmin(least, windows[i]);
        most = fmax(most, windows[i]);
    }
    return most <= least * (1 + AGREE);
}

/* What a call takes in a window: the median of its blocks, because others who use this
 * machine lengthen a mean. */
static int look(struct tare_engine *engine, const struct tare_clock *clock,
                struct tare_harness_warmup *warmup, double *call_ns, struct tare_error *err)
{
    double blocks[BLOCKS], temp[BLOCKS];
    double wanted = fmin(fmax(1, ceil(WINDOW_NS / fmax(*call_ns, 1))), WINDOW_NS);
    size_t count = wanted < BLOCKS ? (size_t)wanted : BLOCKS;
    int64_t calls = (int64_t)(wanted / (double)count);
    for (size_t i = 0; i < count; i++)
        if (time_calls(engine, clock, calls, &blocks[i], err))
            return -1;
    warmup->calls += (int64_t)count * calls;
    tare_stats_sort(blocks, count, temp);
    *call_ns = tare_stats_median(blocks, count);
    return 0;
}

int tare_harness_warm(struct tare_engine *engine, const struct tare_clock *clock, int64_t budget_ns,
                      struct tare_harness_warmup *ret_warmup, struct tare_error *err)
{
    struct tare_harness_warmup warmup = {.calls_per_sample = 1};
    double cold, call, windows[WINDOWS] = {0};
    uint64_t start = tare_clock_now(clock);
    int seen = 0;
    if (time_calls(engine, clock, 1, &cold, err) || time_calls(engine, clock, 1, &call, err))
        return -1;
    warmup.cold_ns = llround(cold);
    warmup.calls = 2;
    do {
        if (look(engine, clock, &warmup, &call, err))
            return -1;
        memmove(windows, windows + 1, (WINDOWS - 1) * sizeof *windows);
        windows[WINDOWS - 1] = call;
        warmup.stable = ++seen >= WINDOWS && agree(windows);
        warmup.ns = tare_clock_span_ns(clock, tare_clock_now(clock) - start);
    } while (!warmup.stable && warmup.ns < budget_ns);
    warmup.call_ns = llround(call);
    if (call < SHORTEST_NS)
        warmup.calls_per_sample = (int64_t)ceil(BLOCK_NS / fmax(call, 1));
    *ret_warmup = warmup;
    return 0;
}

int tare_harness_measure(struct tare_engine *engine, const struct tare_clock *clock,
                         const struct tare_harness_limits *limits, int64_t calls_per_sample, int64_t *ns,
                         size_t *ret_count, struct tare_error *err)
{
    int (*run)(struct tare_engine *, struct tare_error *) = engine->kind->run;
    int64_t count = 0, most = limits->max_samples > 0 ? limits->max_samples : 0;
    int status = 0;
    /* The pages must be there before the first sample is written to them. */
    memset(ns, 0, (size_t)most * sizeof *ns);
    uint64_t before = tare_clock_now(clock);
    uint64_t deadline = before + (uint64_t)(fmax(0, (double)limits->budget_ns) * clock->frequency_hz / 1e9);
    while (count < most && (before < deadline || count < limits->min_samples)) {
        for (int64_t i = 0; i < calls_per_sample && !status; i++)
            status = run(engine, err);
        if (status)
            break;
        uint64_t after = tare_clock_now(clock);
        ns[count++] = (int64_t)(after - before);
        before = after;
    }
    for (int64_t i = 0; i < count; i++)
        ns[i] = llround(ns_of(clock, (uint64_t)ns[i]));
    *ret_count = (size_t)count;
    return status;
}
