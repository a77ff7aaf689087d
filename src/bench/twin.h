/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One model in two processes at once, one of them under the engine's own profiler, taking turns so that
 * whatever the machine does meets both. The plain one gives the time of a call, the other how it divides.
 */
#ifndef TARE_BENCH_TWIN_H
#define TARE_BENCH_TWIN_H

#include "bench/ort_profile.h"
#include "bench/worker.h"
#include "core/stats.h"

struct tare_twin {
    struct tare_interval plain_ns; /* of one call, unprofiled: the mean of the middle half of the samples */
    struct tare_interval profiled_ns; /* of one call under the profiler */
    size_t plain_count;
    struct tare_ort_profile *profile; /* tare_twin_finish frees it */
};

/**
 * Measure a spec (its profile_prefix and optimised_path are not looked at) for about budget_ns after loading,
 * at most max_calls of them profiled, and read the profile, whose file is written to the folder and removed.
 */
int tare_twin_measure(const struct tare_worker_start *start, const struct tare_worker_spec *spec,
                      const char *folder, int64_t max_calls, int64_t budget_ns, struct tare_twin *ret_twin,
                      struct tare_error *err);

void tare_twin_finish(struct tare_twin *twin);

#endif
