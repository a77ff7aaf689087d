/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The median of what several processes did. Each has its own level, so that a thousand samples of one process
 * tell no more about the next process than its median does: the medians of the processes are the
 * observations.
 */
#include <math.h>

#include "core/stats.h"
#include "core/stats_detail.h"
#include "core/stats_special.h"

/* A median of fewer samples is more noise than level. */
enum { SAMPLES_LEAST = 5 };

int tare_stats_median_bounds(const struct tare_series *series, double level, struct tare_arena *scratch,
                             struct tare_interval *ret_interval, struct tare_error *err)
{
    struct tare_ordered ordered;
    size_t count = 0;
    if (!(level > 0 && level < 1))
        return tare_fail(err, TARE_E_USAGE, 0, "level %g: it must lie between 0 and 1", level);
    if (tare_stats_check(series->values, series->count, 1, true, err) ||
        tare_stats_order(series, scratch, &ordered, err))
        return -1;
    double *medians = tare_arena_array(scratch, ordered.group_count, sizeof *medians);
    if (!medians)
        return tare_fail_memory(err);
    for (size_t g = 0; g < ordered.group_count; g++) {
        size_t size = ordered.starts[g + 1] - ordered.starts[g];
        const double *sorted;
        if (size < SAMPLES_LEAST)
            continue;
        if (tare_stats_sorted(ordered.values + ordered.starts[g], size, scratch, &sorted, err))
            return -1;
        medians[count++] = tare_stats_median(sorted, size);
    }
    double middle = ordered.sorted[tare_stats_rank(50, series->count) - 1];
    *ret_interval =
        (struct tare_interval){.estimate = middle, .low = NAN, .high = NAN, .effective = (double)count};
    if (count < TARE_MEDIAN_PROCESSES)
        return 0;
    double mean = tare_stats_mean(medians, count);
    double reach = tare_special_t_quantile(0.5 * (1 - level), (double)count - 1) *
                   sqrt(tare_stats_variance(medians, count) / (double)count);
    /* Processes of unequal length may put the middle of all samples elsewhere. */
    ret_interval->low = fmin(mean - reach, middle);
    ret_interval->high = fmax(mean + reach, middle);
    return 0;
}
