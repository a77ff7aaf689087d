/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/clock_counter.h"

__extension__ typedef unsigned __int128 wide;

enum { SCALE_BITS = 56, PAIR_TRIES = 40, CALIBRATION_NS = 10 * 1000 * 1000 };

static int64_t read_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t tare_clock_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t tare_clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t tare_clock_process_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t tare_clock_ticks(const struct tare_clock *clock)
{
    return clock->counter ? tare_counter_read() : (uint64_t)tare_clock_ns();
}

int64_t tare_clock_span_ns(const struct tare_clock *clock, uint64_t ticks)
{
    return clock->counter ? (int64_t)((wide)ticks * clock->scale >> SCALE_BITS) : (int64_t)ticks;
}

int64_t tare_clock_to_ns(const struct tare_clock *clock, uint64_t ticks)
{
    /* A thread may have read its ticks just before the base was. */
    uint64_t since = ticks - clock->base.ticks;
    if (since > UINT64_MAX / 2)
        return clock->base.ns - tare_clock_span_ns(clock, -since);
    return clock->base.ns + tare_clock_span_ns(clock, since);
}

double tare_clock_error_ns(const struct tare_clock *clock, uint64_t ticks)
{
    double since = fabs((double)(int64_t)(ticks - clock->base.ticks));
    if (!clock->counter)
        return 0;
    /* One more for rounding to whole nanoseconds, twice. */
    return clock->base.error_ns + 1 + clock->rate_error * since / clock->frequency_hz * 1e9;
}

/* Both clocks at one moment: of several tries the one with the least time between the two reads of the
 * counter, so that an interrupt in the middle does not count. */
static struct tare_clock_pair read_pair(void)
{
    struct tare_clock_pair best = {0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < PAIR_TRIES; i++) {
        uint64_t before = tare_counter_read();
        int64_t ns = tare_clock_ns();
        uint64_t width = tare_counter_read() - before;
        if (width >= least)
            continue;
        least = width;
        best.ticks = before + width / 2;
        best.ns = ns;
    }
    best.error_ns = (double)least; /* in ticks; rate_between makes it time */
    return best;
}

/* Ticks per second between two moments, and its relative error. */
static double rate_between(const struct tare_clock_pair *from, const struct tare_clock_pair *to,
                           double *ret_error)
{
    double ticks = (double)(to->ticks - from->ticks);
    double ns = (double)(to->ns - from->ns);
    /* Each end is known to half its width; the reads are not fenced, so allow the whole of it. */
    *ret_error = (from->error_ns + to->error_ns) / ticks + 1 / ns;
    return ticks / ns * 1e9;
}

static void pause_for(long ns)
{
    struct timespec left = {.tv_nsec = ns};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        continue;
}

static void measure_cost(struct tare_clock *clock)
{
    enum { READS = 500, ROUNDS = 9 };
    double least = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        volatile uint64_t sink;
        int64_t before = tare_clock_ns();
        for (int i = 0; i < READS; i++)
            sink = tare_clock_ticks(clock);
        double each = (double)(tare_clock_ns() - before) / READS;
        (void)sink;
        least = each < least ? each : least;
    }
    clock->read_ns = least;
}

void tare_clock_init_monotonic(struct tare_clock *clock, const char *why)
{
    *clock = (struct tare_clock){.source = "CLOCK_MONOTONIC", .frequency_hz = 1e9};
    snprintf(clock->refused, sizeof clock->refused, "%s", why);
    clock->base.ns = tare_clock_ns();
    clock->base.ticks = (uint64_t)clock->base.ns;
    measure_cost(clock);
}

static void use_rate(struct tare_clock *clock, double frequency_hz, double error)
{
    clock->frequency_hz = frequency_hz;
    clock->rate_error = error;
    clock->scale = (uint64_t)llround(1e9 / frequency_hz * (double)(UINT64_C(1) << SCALE_BITS));
}

void tare_clock_init(struct tare_clock *clock)
{
    char why[sizeof clock->refused];
    if (!tare_counter_usable(why, sizeof why)) {
        tare_clock_init_monotonic(clock, why);
        return;
    }
    /* Two spans, one after the other: a counter that stops, jumps or changes its rate shows a difference. */
    struct tare_clock_pair start = read_pair();
    pause_for(CALIBRATION_NS);
    struct tare_clock_pair middle = read_pair();
    pause_for(CALIBRATION_NS);
    struct tare_clock_pair end = read_pair();
    double error_first, error_second, error;
    double first = rate_between(&start, &middle, &error_first);
    double second = rate_between(&middle, &end, &error_second);
    double rate = rate_between(&start, &end, &error);
    /* 1e-4 on top: the kernel may be steering CLOCK_MONOTONIC. */
    double apart = fabs(first - second) / rate;
    if (!(rate > 1e6 && rate < 1e11 && apart <= error_first + error_second + 1e-4)) {
        snprintf(why, sizeof why, "the counter %s does not keep pace with CLOCK_MONOTONIC",
                 tare_counter_name);
        tare_clock_init_monotonic(clock, why);
        return;
    }
    *clock = (struct tare_clock){.source = tare_counter_name, .counter = true, .base = start};
    clock->base.error_ns = start.error_ns / rate * 1e9;
    use_rate(clock, rate, error);
    measure_cost(clock);
}

void tare_clock_refine(struct tare_clock *clock)
{
    if (!clock->counter)
        return;
    struct tare_clock_pair base = clock->base, now = read_pair();
    base.error_ns *= clock->frequency_hz / 1e9;
    double error;
    double rate = rate_between(&base, &now, &error);
    if (error < clock->rate_error)
        use_rate(clock, rate, error);
}
