/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a process leak? Judged from its memory after each of several equal chunks of calls. A runtime's arena
 * takes more at first and then keeps what it has: that is a plateau and no leak. A leak goes on. What grows
 * only while shapes change, and not in what the runtime itself says it uses, is fragmentation. Pure.
 */
#ifndef TARE_BENCH_GROWTH_H
#define TARE_BENCH_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/run.h"

/* Fewer chunks say nothing. */
enum { TARE_GROWTH_LEAST = 8 };

/* The process after a chunk. */
struct tare_growth_point {
    int64_t resident;
    int64_t in_use; /* what the engine's allocator has given out; -1 when it does not say */
};

struct tare_growth {
    enum tare_run_growth verdict;
    double bytes_per_call, lower, upper; /* in the last two thirds; 95 % */
    int64_t settling;                    /* what it gained before them */
};

/** Judge points that are calls apart; the first one is before the first chunk. varied: shapes changed within
 * each chunk. */
void tare_growth_judge(const struct tare_growth_point *points, size_t count, int64_t calls, bool varied,
                       struct tare_growth *ret_growth);

#endif
