/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process has used so far, as the kernel counts it, and the difference of two such moments. Reading
 * a moment takes some system calls, so it is done outside of what is timed. What the kernel does not tell
 * stays -1. Linux only; thread-safe.
 */
#ifndef TARE_BENCH_WORKER_USE_H
#define TARE_BENCH_WORKER_USE_H

#include <stdint.h>

#include "bench/worker.h"

struct tare_use_moment {
    struct tare_worker_use sum; /* since the process or the machine started; per_core is not used */
    uint64_t busy[256], all[256];
    size_t cores;
};

/** Now. Looking takes a while: what concerns the process itself is read at the very end of it, or, when
 * something has just ended, at its very start. */
void tare_use_look(bool ending, struct tare_use_moment *ret_moment);

/** What lies between two moments. */
void tare_use_between(const struct tare_use_moment *before, const struct tare_use_moment *after,
                      struct tare_worker_use *ret_use);

/** Resident bytes of this process; -1 if not known. */
int64_t tare_use_resident(void);

/** Forget the highest resident size so far; false where the kernel does not allow it. */
bool tare_use_reset_peak(void);

/** The highest resident size since the start or the reset; -1 if not known. */
int64_t tare_use_peak(void);

/** Processor time of all threads of a process, in nanoseconds, and whether one of them is running or ready
 * to; -1 if there is no such process. */
int64_t tare_use_of_process(int pid, bool *ret_running);

#endif
