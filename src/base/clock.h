/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time. tare_clock_ticks reads the processor's own counter (the invariant TSC on x86-64, cntvct_el0 on arm64)
 * where it can be trusted, and CLOCK_MONOTONIC where not; the clock says which, and why not the counter.
 * Ticks become nanoseconds of CLOCK_MONOTONIC by a rate that is measured when the clock is made, with a
 * stated error. Reading is safe in signal handlers and on any thread; making and refining belong to one
 * thread. The counter is read without a fence: the processor may read it before loads that stand before it
 * are done, so moments of two threads compare only to some hundred nanoseconds. The arm64 counter compiles
 * but has not been run on such a machine.
 */
#ifndef TARE_BASE_CLOCK_H
#define TARE_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* One moment, seen on both clocks. */
struct tare_clock_pair {
    uint64_t ticks;
    int64_t ns;
    double error_ns; /* how far apart the two may have been read */
};

struct tare_clock {
    const char *source; /* "tsc", "cntvct_el0" or "CLOCK_MONOTONIC" */
    char refused[120];  /* why the counter is not used; "" if it is */
    bool counter;       /* ticks are the counter's */
    struct tare_clock_pair base;
    uint64_t scale;      /* nanoseconds per tick, times 2^56 */
    double frequency_hz; /* ticks per second */
    double rate_error;   /* of the frequency, relative: 1e-6 is a microsecond in a second */
    double read_ns;      /* what tare_clock_ticks costs */
};

/** Make a clock; sleeps for about 20 ms to measure the counter's rate. Never fails: it falls back. */
void tare_clock_init(struct tare_clock *clock);

/** Make a clock on CLOCK_MONOTONIC, without measuring a rate. why is what `refused` will say. */
void tare_clock_init_monotonic(struct tare_clock *clock, const char *why);

/** Measure the rate again, over all the time since the clock was made: the error shrinks with it. */
void tare_clock_refine(struct tare_clock *clock);

/** Now, in ticks. */
uint64_t tare_clock_ticks(const struct tare_clock *clock);

/** A moment as nanoseconds of CLOCK_MONOTONIC. Moments before the clock was made are allowed. */
int64_t tare_clock_to_ns(const struct tare_clock *clock, uint64_t ticks);

/** A difference of ticks in nanoseconds. No difference that 64 bits hold overflows before 292 years. */
int64_t tare_clock_span_ns(const struct tare_clock *clock, uint64_t ticks);

/** How far tare_clock_to_ns may be from CLOCK_MONOTONIC at a moment: the base's error, and the rate's over
 * the time since. */
double tare_clock_error_ns(const struct tare_clock *clock, uint64_t ticks);

/** CLOCK_MONOTONIC in nanoseconds. */
int64_t tare_clock_ns(void);

/** Processor time of this thread in nanoseconds. */
int64_t tare_clock_thread_cpu_ns(void);

/** Processor time of this process, all threads, in nanoseconds. */
int64_t tare_clock_process_cpu_ns(void);

#endif
