/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bootstrap bounds: percentiles of the resampled statistic, "expanded" for small samples (Hesterberg, What
 * Teachers Should Know About the Bootstrap, 2014): the tails are those of a normal at sqrt(n / (n - 1)) times
 * Student's t quantile, which undoes the two ways in which the plain percentile interval is too narrow (the
 * resampled variance divides by n, and the spread is itself estimated). For the median of 10 normal values
 * the plain one contains the truth in 94 %, this one in 97 %; of the mean in 89 % and 95 %. Why not others:
 * BCa's acceleration comes from a jackknife, which is inconsistent for the median, the statistic used most
 * here; the basic interval contains the median of 10 in 83 %. Bounds are resampled values themselves, so that
 * nothing depends on how a platform rounds. bench/stats_coverage.c shows the coverage.
 */
#include <math.h>
#include <string.h>

#include "core/stats.h"
#include "core/stats_detail.h"
#include "core/stats_random.h"
#include "core/stats_special.h"

struct sample {
    const double *sorted;
    double *resample;
    uint32_t *times; /* how often each value was drawn */
    uint32_t count;
};

static int sample_init(struct sample *sample, const double *values, size_t count, struct tare_arena *scratch,
                       struct tare_error *err)
{
    if (count > UINT32_MAX)
        return tare_fail(err, TARE_E_LIMIT, 0, "bootstrap of %zu values: at most 4294967295", count);
    if (tare_stats_check(values, count, 2, true, err) ||
        tare_stats_sorted(values, count, scratch, &sample->sorted, err))
        return -1;
    sample->resample = tare_arena_array(scratch, count, sizeof *sample->resample);
    sample->times = tare_arena_array(scratch, count, sizeof *sample->times);
    if (!sample->resample || !sample->times)
        return tare_fail_memory(err);
    sample->count = (uint32_t)count;
    return 0;
}

/* Drawing is counted, so that the resample comes out in order without being sorted. */
static void sample_draw(struct sample *sample, struct tare_random *random)
{
    memset(sample->times, 0, sample->count * sizeof *sample->times);
    for (uint32_t i = 0; i < sample->count; i++)
        sample->times[tare_random_below(random, sample->count)]++;
    double *out = sample->resample;
    for (uint32_t i = 0; i < sample->count; i++) {
        for (uint32_t k = sample->times[i]; k > 0; k--)
            *out++ = sample->sorted[i];
    }
}

static int read_options(const struct tare_bootstrap *options, struct tare_bootstrap *ret_options,
                        struct tare_error *err)
{
    struct tare_bootstrap result = *options;
    result.resamples = result.resamples ? result.resamples : 10000;
    result.level = result.level != 0 ? result.level : 0.95;
    if (!(result.level > 0 && result.level < 1))
        return tare_fail(err, TARE_E_USAGE, 0, "level %g: it must lie between 0 and 1", result.level);
    if (result.resamples < 100)
        return tare_fail(err, TARE_E_USAGE, 0, "%zu resamples: at least 100 are needed", result.resamples);
    *ret_options = result;
    return 0;
}

/* results are sorted here; count is the number of values behind the statistic. */
static void set_bounds(double *results, double *temp, const struct tare_bootstrap *options, size_t count,
                       struct tare_interval *interval)
{
    double n = (double)count;
    double t = tare_special_t_quantile(0.5 * (1 - options->level), n - 1);
    double tail = tare_special_normal_above(sqrt(n / (n - 1)) * t);
    size_t skip = (size_t)floor(tail * (double)options->resamples);
    tare_stats_sort(results, options->resamples, temp);
    interval->low = results[skip];
    interval->high = results[options->resamples - 1 - skip];
    interval->effective = n;
}

int tare_stats_bootstrap(const double *values, size_t count,
                         double (*statistic)(const double *sorted, size_t count),
                         const struct tare_bootstrap *options, struct tare_arena *scratch,
                         struct tare_interval *ret_interval, struct tare_error *err)
{
    struct tare_bootstrap asked;
    struct sample sample;
    if (read_options(options, &asked, err) || sample_init(&sample, values, count, scratch, err))
        return -1;
    double *results = tare_arena_array(scratch, asked.resamples, sizeof *results);
    double *temp = tare_arena_array(scratch, asked.resamples, sizeof *temp);
    if (!results || !temp)
        return tare_fail_memory(err);
    struct tare_random random;
    tare_random_init(&random, asked.seed);
    for (size_t i = 0; i < asked.resamples; i++) {
        sample_draw(&sample, &random);
        results[i] = statistic(sample.resample, count);
    }
    ret_interval->estimate = statistic(sample.sorted, count);
    set_bounds(results, temp, &asked, count, ret_interval);
    return 0;
}

int tare_stats_bootstrap_ratio(const double *x, size_t x_count, const double *y, size_t y_count,
                               double (*statistic)(const double *sorted, size_t count),
                               const struct tare_bootstrap *options, struct tare_arena *scratch,
                               struct tare_interval *ret_interval, struct tare_error *err)
{
    struct tare_bootstrap asked;
    struct sample below, above;
    if (read_options(options, &asked, err) || sample_init(&below, x, x_count, scratch, err) ||
        sample_init(&above, y, y_count, scratch, err))
        return -1;
    if (below.sorted[0] <= 0 || above.sorted[0] <= 0)
        return tare_fail(err, TARE_E_INPUT, 0, "a ratio needs values above 0, but one is %g",
                         fmin(below.sorted[0], above.sorted[0]));
    double *results = tare_arena_array(scratch, asked.resamples, sizeof *results);
    double *temp = tare_arena_array(scratch, asked.resamples, sizeof *temp);
    if (!results || !temp)
        return tare_fail_memory(err);
    struct tare_random random;
    tare_random_init(&random, asked.seed);
    for (size_t i = 0; i < asked.resamples; i++) {
        sample_draw(&below, &random);
        sample_draw(&above, &random);
        results[i] = statistic(above.resample, y_count) / statistic(below.resample, x_count);
    }
    ret_interval->estimate = statistic(above.sorted, y_count) / statistic(below.sorted, x_count);
    /* the smaller side limits what is known of the spread */
    set_bounds(results, temp, &asked, x_count < y_count ? x_count : y_count, ret_interval);
    return 0;
}
