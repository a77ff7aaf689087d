/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a series of times one that a single number may stand for? It is not when it has two modes that both
 * matter, when its level moves from the first sample to the last, or when the machine took the processor
 * away. Noise, correlation and seldom bursts are no reason: bounds take care of those. A pure function of its
 * arguments.
 */
#ifndef TARE_BENCH_STABILITY_H
#define TARE_BENCH_STABILITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum tare_stability {
    TARE_STABLE,
    TARE_UNSTABLE_MODES,
    TARE_UNSTABLE_DRIFT,
    TARE_UNSTABLE_THROTTLED,
    TARE_UNSTABLE_STEAL,
};

/* What is known of a configuration: samples in the order in which they were taken. The others -1 or 0 when
 * not known. */
struct tare_stability_facts {
    const int64_t *ns;
    size_t count;
    int64_t wall_ns, throttled_ns, steal_ns; /* while they were taken; steal is summed over the cores */
    size_t cores;
};

struct tare_stability_verdict {
    enum tare_stability kind;
    char reason[160]; /* one sentence with its figures; "" when stable */
};

/** Judge. Fewer than 60 samples are only judged by what the machine did. */
int tare_stability_judge(const struct tare_stability_facts *facts, struct tare_arena *scratch,
                         struct tare_stability_verdict *ret_verdict, struct tare_error *err);

#endif
