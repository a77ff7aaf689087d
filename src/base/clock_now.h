/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tare_clock_ticks without a call, where the counter is one instruction: for the recorder, which reads the
 * clock twice per recorded call. As safe as tare_clock_ticks.
 */
#ifndef TARE_BASE_CLOCK_NOW_H
#define TARE_BASE_CLOCK_NOW_H

#include "base/clock.h"

/** Now, in ticks. */
static inline uint64_t tare_clock_now(const struct tare_clock *clock)
{
#if defined(__x86_64__)
    if (__builtin_expect(clock->counter, 1))
        return __builtin_ia32_rdtsc();
#endif
    return tare_clock_ticks(clock);
}

#endif
