/* SPDX-License-Identifier: Apache-2.0 */
/* What one series looks like: sorting, mean, variance, median. */
#include "core/stats.h"

#include <math.h>
#include <string.h>

#include "core/stats_detail.h"

enum { SORTED_RUN = 16 };

static void insertion_sort(double *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        double value = values[i];
        size_t j = i;
        for (; j > 0 && values[j - 1] > value; j--)
            values[j] = values[j - 1];
        values[j] = value;
    }
}

static void merge(const double *from, size_t middle, size_t count, double *to)
{
    size_t i = 0, j = middle;
    for (size_t k = 0; k < count; k++) {
        if (i < middle && (j == count || from[i] <= from[j]))
            to[k] = from[i++];
        else
            to[k] = from[j++];
    }
}

int tare_stats_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Not qsort: it allocates behind our back. */
void tare_stats_sort(double *values, size_t count, double *temp)
{
    for (size_t at = 0; at < count; at += SORTED_RUN)
        insertion_sort(values + at, count - at < SORTED_RUN ? count - at : SORTED_RUN);
    double *from = values, *to = temp;
    for (size_t run = SORTED_RUN; run < count; run *= 2) {
        for (size_t at = 0; at < count; at += 2 * run) {
            size_t left = count - at;
            merge(from + at, left < run ? left : run, left < 2 * run ? left : 2 * run, to + at);
        }
        double *swap = from;
        from = to;
        to = swap;
    }
    if (from != values)
        memcpy(values, from, count * sizeof *values);
}

int tare_stats_check(const double *values, size_t count, size_t least, bool finite, struct tare_error *err)
{
    if (count < least)
        return tare_fail(err, TARE_E_INPUT, 0, "%zu value%s, but at least %zu are needed", count,
                         count == 1 ? "" : "s", least);
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i]) || (finite && isinf(values[i])))
            return tare_fail(err, TARE_E_INPUT, 0, "value %zu of %zu is %s: statistics need numbers", i + 1,
                             count, isnan(values[i]) ? "not a number" : "infinite");
    }
    return 0;
}

int tare_stats_sorted(const double *values, size_t count, struct tare_arena *scratch,
                      const double **ret_sorted, struct tare_error *err)
{
    if (tare_stats_check(values, count, 1, false, err))
        return -1;
    double *sorted = tare_arena_array(scratch, count, sizeof *sorted);
    double *temp = tare_arena_array(scratch, count, sizeof *temp);
    if (!sorted || !temp)
        return tare_fail_memory(err);
    memcpy(sorted, values, count * sizeof *sorted);
    tare_stats_sort(sorted, count, temp);
    *ret_sorted = sorted;
    return 0;
}

/* Neumaier's summation: the error is kept apart, so that a long series loses nothing. */
static void add(double *sum, double *rest, double value)
{
    double next = *sum + value;
    if (fabs(*sum) >= fabs(value))
        *rest += (*sum - next) + value;
    else
        *rest += (value - next) + *sum;
    *sum = next;
}

double tare_stats_mean(const double *values, size_t count)
{
    double sum = 0, rest = 0;
    for (size_t i = 0; i < count; i++)
        add(&sum, &rest, values[i]);
    return count ? (sum + rest) / (double)count : NAN;
}

double tare_stats_variance(const double *values, size_t count)
{
    if (count < 2)
        return 0;
    double mean = tare_stats_mean(values, count);
    double squares = 0, rest = 0, drift = 0;
    for (size_t i = 0; i < count; i++) {
        double distance = values[i] - mean;
        add(&squares, &rest, distance * distance);
        drift += distance;
    }
    /* drift is what rounding of the mean left behind */
    return (squares + rest - drift * drift / (double)count) / (double)(count - 1);
}

double tare_stats_median(const double *sorted, size_t count)
{
    if (count == 0)
        return NAN;
    double upper = sorted[count / 2];
    if (count % 2)
        return upper;
    double lower = sorted[count / 2 - 1];
    return lower == upper ? lower : 0.5 * lower + 0.5 * upper; /* halves first: the sum may overflow */
}

int tare_stats_summary(const double *sorted, size_t count, struct tare_arena *scratch,
                       struct tare_summary *ret_summary, struct tare_error *err)
{
    if (tare_stats_check(sorted, count, 1, true, err))
        return -1;
    double *distance = tare_arena_array(scratch, count, sizeof *distance);
    double *temp = tare_arena_array(scratch, count, sizeof *temp);
    if (!distance || !temp)
        return tare_fail_memory(err);
    double median = tare_stats_median(sorted, count);
    for (size_t i = 0; i < count; i++)
        distance[i] = fabs(sorted[i] - median);
    tare_stats_sort(distance, count, temp);
    *ret_summary = (struct tare_summary){
        .count = count,
        .min = sorted[0],
        .max = sorted[count - 1],
        .mean = tare_stats_mean(sorted, count),
        .variance = tare_stats_variance(sorted, count),
        .median = median,
        .mad = tare_stats_median(distance, count),
    };
    return 0;
}

size_t tare_stats_below(const double *sorted, size_t count, double value, bool inclusive)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value || (inclusive && sorted[middle] == value))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
