/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percentiles with bounds from order statistics. B, the number of samples at or below the true percentile, is
 * binomial whatever the distribution, so the l-th smallest lies above the truth only if B < l, and the u-th
 * smallest below it only if B >= u. The bounds are the largest l and the smallest u for which each of these
 * has a probability of at most 2.5 % (half of what the level leaves). With dependent samples the binomial has
 * the effective number of trials, and its ranks are scaled up to the samples at hand, away from the estimate.
 */
#include <math.h>
#include <string.h>

#include "core/stats.h"
#include "core/stats_detail.h"
#include "core/stats_special.h"

static const double usual_level = 0.95;
static const double support_risk = 0.01;

/* percent is a decimal number that a double seldom holds: 7 % of 100 must be 7, not 7.0000000000000009. */
static double share_of(double percent, double count)
{
    double exact = percent * count / 100;
    double whole = nearbyint(exact);
    return fabs(exact - whole) <= 1e-9 * fmax(1, whole) ? whole : exact;
}

size_t tare_stats_rank(double percent, size_t count)
{
    double rank = ceil(share_of(percent, (double)count));
    if (rank < 1)
        return count ? 1 : 0;
    return rank > (double)count ? count : (size_t)rank;
}

/* P(at most one of n samples lies beyond) for a tail of weight q. */
static double at_most_one(double n, double q)
{
    double rest = log1p(-q);
    return exp(n * rest) + n * q * exp((n - 1) * rest);
}

uint64_t tare_stats_needed(double percent)
{
    double tail = percent / 100;
    if (!(tail > 0 && tail < 1))
        return UINT64_MAX;
    double q = tail < 0.5 ? tail : (100 - percent) / 100;
    uint64_t low = 1, high = 2;
    while (at_most_one((double)high, q) > support_risk && high < UINT64_MAX / 4)
        high *= 2;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (at_most_one((double)middle, q) > support_risk)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The largest l with P(B <= l - 1) <= one_tail; 0 if there is none. */
static uint64_t rank_low(uint64_t n, double p, double one_tail)
{
    uint64_t low = 0, high = n + 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (tare_special_binomial_below(middle - 1, n, p) <= one_tail)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The smallest u with P(B >= u) <= one_tail; n + 1 if there is none. */
static uint64_t rank_high(uint64_t n, double p, double one_tail)
{
    uint64_t low = 0, high = n + 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (tare_special_binomial_above(middle, n, p) <= one_tail)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static int percentile_of(const double *sorted, size_t count, double percent, double effective, double level,
                         struct tare_percentile *ret_percentile, struct tare_error *err)
{
    if (!(percent > 0 && percent < 100))
        return tare_fail(err, TARE_E_USAGE, 0, "percentile %g: it must lie between 0 and 100", percent);
    if (tare_stats_check(sorted, count, 1, false, err))
        return -1;
    if (!(effective >= 1))
        effective = 1;
    if (effective > (double)count)
        effective = (double)count;

    double p = percent / 100;
    uint64_t trials = (uint64_t)effective;
    double one_tail = 0.5 * (1 - level);
    uint64_t low = rank_low(trials, p, one_tail), high = rank_high(trials, p, one_tail);
    double scale = (double)count / (double)trials;

    struct tare_percentile result = {
        .percent = percent,
        .value = sorted[tare_stats_rank(percent, count) - 1],
        .low = NAN,
        .high = NAN,
        .count = count,
        .effective = effective,
        .has_low = low >= 1,
        .has_high = high <= trials,
    };
    if (result.has_low)
        result.low = sorted[(size_t)floor((double)low * scale) - 1];
    if (result.has_high)
        result.high = sorted[(size_t)fmin(ceil((double)high * scale), (double)count) - 1];

    uint64_t needed = tare_stats_needed(percent);
    result.supported = trials >= needed;
    if (!result.supported)
        result.more =
            (uint64_t)fmin(fmax(ceil((double)needed * (double)count / effective) - (double)count, 1), 1e18);
    *ret_percentile = result;
    return 0;
}

int tare_stats_percentile(const double *sorted, size_t count, double percent, double effective,
                          struct tare_percentile *ret_percentile, struct tare_error *err)
{
    return percentile_of(sorted, count, percent, effective, usual_level, ret_percentile, err);
}

double tare_stats_look_level(double level, size_t look)
{
    double k = look > 0 ? (double)look : 1;
    return 1 - (1 - level) / (k * (k + 1));
}

int tare_stats_percentile_at(const struct tare_series *series, double percent, double level,
                             struct tare_arena *scratch, struct tare_percentile *ret_percentile,
                             struct tare_error *err)
{
    struct tare_ordered ordered;
    if (!(level > 0 && level < 1))
        return tare_fail(err, TARE_E_USAGE, 0, "level %g: it must lie between 0 and 1", level);
    if (tare_stats_order(series, scratch, &ordered, err))
        return -1;
    return percentile_of(ordered.sorted, series->count, percent, tare_stats_effective_at(&ordered, percent),
                         level, ret_percentile, err);
}

int tare_stats_percentiles(const struct tare_series *series, const double *percents, size_t percent_count,
                           struct tare_arena *scratch, struct tare_percentile *ret_percentiles,
                           struct tare_error *err)
{
    struct tare_ordered ordered;
    struct tare_percentile *results = tare_arena_array(scratch, percent_count + 1, sizeof *results);
    if (!results)
        return tare_fail_memory(err);
    if (tare_stats_order(series, scratch, &ordered, err))
        return -1;
    for (size_t i = 0; i < percent_count; i++) {
        double effective = tare_stats_effective_at(&ordered, percents[i]);
        if (tare_stats_percentile(ordered.sorted, series->count, percents[i], effective, &results[i], err))
            return -1;
    }
    memcpy(ret_percentiles, results, percent_count * sizeof *results);
    return 0;
}
