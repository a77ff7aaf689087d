/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the stats files share among themselves and nobody else needs. Pure, like stats.h.
 */
#ifndef TARE_CORE_STATS_DETAIL_H
#define TARE_CORE_STATS_DETAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "core/stats.h"

/** Refuse fewer than least values, NaN, and infinities where finite is asked. */
int tare_stats_check(const double *values, size_t count, size_t least, bool finite, struct tare_error *err);

/** How many of the sorted values lie below value, or at it too if inclusive. */
size_t tare_stats_below(const double *sorted, size_t count, double value, bool inclusive);

/* A series with the samples of each process brought together. */
struct tare_ordered {
    const double *values;
    const double *sorted;
    const size_t *starts; /* where each process starts; group_count + 1 of them */
    size_t group_count;
    size_t count;
    double *blocks; /* scratch of the estimator */
};

/** Group and sort a series. */
int tare_stats_order(const struct tare_series *series, struct tare_arena *scratch,
                     struct tare_ordered *ret_ordered, struct tare_error *err);

/** The effective number of samples for a percentile; count if percent is out of range. */
double tare_stats_effective_at(const struct tare_ordered *ordered, double percent);

#endif
