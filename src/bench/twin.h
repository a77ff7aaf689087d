/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One model in two processes at once, one of them under the engine's own profiler, taking turns so that
 * whatever the machine does meets both. The plain one gives the time of a call, the other how it divides.
 * Other models may take their turns too, each in a process of its own, so as to be compared.
 */
#ifndef TARE_BENCH_TWIN_H
#define TARE_BENCH_TWIN_H

#include "bench/ort_profile.h"
#include "bench/worker.h"
#include "core/stats.h"

/* How many others there may be. */
enum { TARE_TWIN_OTHERS = 4 };

/* Models that take turns with the pair, unprofiled, and what goes into them: NULL for what they would make
 * up themselves. */
struct tare_twin_others {
    const struct tare_worker_spec *specs;
    size_t count;
    const struct tare_tensor *inputs;
    size_t inputs_count;
};

struct tare_twin {
    struct tare_interval plain_ns;    /* of one call, unprofiled: the mean of the faster third */
    struct tare_interval profiled_ns; /* of one call under the profiler */
    struct tare_interval others_ns[TARE_TWIN_OTHERS];
    size_t plain_count;
    struct tare_ort_profile *profile; /* tare_twin_finish frees it */
};

/**
 * Measure a spec (its profile_prefix and optimised_path are not looked at) for about budget_ns after loading,
 * at most max_calls of them profiled, and read the profile, whose file is written to the folder and removed.
 * others may be NULL.
 */
int tare_twin_measure(const struct tare_worker_start *start, const struct tare_worker_spec *spec,
                      const struct tare_twin_others *others, const char *folder, int64_t max_calls,
                      int64_t budget_ns, struct tare_twin *ret_twin, struct tare_error *err);

void tare_twin_finish(struct tare_twin *twin);

#endif
