/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the processor is, asked now and then while calls are recorded. */
#include "base/clock_now.h"
#include "instrument/recorder_impl.h"

enum {
    WARM = 15, /* the program's own work has taken the caches */
    TIMES = 50,
    REST_PER_SECOND = 200, /* probes at most: at 8 microseconds each, less than 0.2 % of the time */
    LONGEST = 4,           /* what takes so many times the fastest was interrupted, and tells nothing */
};

uint64_t tare_recorder_probe_now(const struct tare_clock *clock, tare_recorder_probe *probe)
{
    probe(WARM);
    uint64_t begin = tare_clock_now(clock);
    probe(TIMES);
    return tare_clock_now(clock) - begin;
}

uint64_t recorder_probe(struct tare_recorder_thread *thread, uint64_t now)
{
    struct tare_recorder *recorder = thread->recorder;
    uint64_t took = tare_recorder_probe_now(thread->clock, recorder->probe);
    if (recorder->probe_best == 0 || took < recorder->probe_best)
        recorder->probe_best = took;
    if (took < LONGEST * recorder->probe_best) {
        __atomic_fetch_add(&recorder->header->probe_ticks, took, __ATOMIC_RELAXED);
        __atomic_fetch_add(&recorder->header->probes, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&recorder->header->probe_squares, took * took, __ATOMIC_RELAXED);
        uint64_t last = thread->probe_last ? thread->probe_last : took;
        uint64_t step = took > last ? took - last : last - took;
        __atomic_fetch_add(&recorder->header->probe_steps, step * step, __ATOMIC_RELAXED);
        thread->probe_last = took;
    }
    uint64_t after = tare_clock_now(thread->clock);
    thread->probe_at = after + (uint64_t)(thread->clock->frequency_hz / REST_PER_SECOND);
    thread->top->inner_ticks += after - now;
    return after;
}
