/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the statistics cost: the median of several runs of each, in milliseconds, next to what it may cost.
 * The exit status is 1 if one costs more.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "core/stats.h"
#include "core/stats_random.h"

enum { LARGE = 1000000, RUNS = 11 };

struct data {
    double small_x[100], small_y[100], signs[500];
    double large[LARGE];
};

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static int rank_sum_40(const struct data *data, struct tare_arena *arena, struct tare_error *err)
{
    struct tare_test test;
    return tare_stats_rank_sum(data->small_x, 40, data->small_y, 40, arena, &test, err);
}

static int rank_sum_100(const struct data *data, struct tare_arena *arena, struct tare_error *err)
{
    struct tare_test test;
    return tare_stats_rank_sum(data->small_x, 100, data->small_y, 100, arena, &test, err);
}

static int signed_rank_500(const struct data *data, struct tare_arena *arena, struct tare_error *err)
{
    struct tare_test test;
    return tare_stats_signed_rank(data->signs, 500, TARE_ZEROS_PRATT, arena, &test, err);
}

static int ks_2000(const struct data *data, struct tare_arena *arena, struct tare_error *err)
{
    struct tare_test test;
    return tare_stats_ks(data->large, 2000, data->large + 2000, 2000, arena, &test, err);
}

static int bootstrap_median(const struct data *data, struct tare_arena *arena, struct tare_error *err)
{
    struct tare_bootstrap options = {.seed = 1, .resamples = 10000};
    struct tare_interval interval;
    return tare_stats_bootstrap(data->small_x, 40, tare_stats_median, &options, arena, &interval, err);
}

static int bootstrap_mean(const struct data *data, struct tare_arena *arena, struct tare_error *err)
{
    struct tare_bootstrap options = {.seed = 1, .resamples = 10000};
    struct tare_interval interval;
    return tare_stats_bootstrap(data->small_x, 40, tare_stats_mean, &options, arena, &interval, err);
}

static int percentiles(const struct data *data, struct tare_arena *arena, struct tare_error *err)
{
    const double percents[] = {50, 95, 99};
    struct tare_percentile found[3];
    struct tare_series series = {.values = data->large, .count = LARGE};
    return tare_stats_percentiles(&series, percents, 3, arena, found, err);
}

static const struct {
    const char *name;
    int (*run)(const struct data *data, struct tare_arena *arena, struct tare_error *err);
    double most_ms;
} cases[] = {
    {"Mann-Whitney, 40 and 40 with ties", rank_sum_40, 10},
    {"Mann-Whitney, 100 and 100 with ties", rank_sum_100, 500},
    {"signed rank, 500 with ties", signed_rank_500, 500},
    {"Kolmogorov-Smirnov, 2,000 and 2,000", ks_2000, 100},
    {"bootstrap, 10,000 medians of 40", bootstrap_median, 50},
    {"bootstrap, 10,000 means of 40", bootstrap_mean, 50},
    {"p50, p95, p99 of 1,000,000 with bounds", percentiles, 1000},
};

int main(void)
{
    static struct data data;
    struct tare_random random;
    int status = 0;
    tare_random_init(&random, 1);
    for (size_t i = 0; i < 100; i++) {
        data.small_x[i] = tare_random_below(&random, 60);
        data.small_y[i] = tare_random_below(&random, 70);
    }
    for (size_t i = 0; i < 500; i++)
        data.signs[i] = (double)tare_random_below(&random, 200) - 90;
    for (size_t i = 0; i < LARGE; i++)
        data.large[i] = -log(1 - tare_random_unit(&random));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double times[RUNS], temp[RUNS];
        for (size_t r = 0; r < RUNS; r++) {
            struct tare_arena arena;
            struct tare_error err;
            tare_arena_init(&arena, 0);
            double start = now_ms();
            int failed = cases[c].run(&data, &arena, &err);
            times[r] = now_ms() - start;
            tare_arena_finish(&arena);
            if (failed) {
                fprintf(stderr, "stats_speed: %s: %s\n", cases[c].name, err.msg);
                return 2;
            }
        }
        tare_stats_sort(times, RUNS, temp);
        double median = tare_stats_median(times, RUNS);
        printf("%-40s %9.3f ms, at most %g\n", cases[c].name, median, cases[c].most_ms);
        status = median > cases[c].most_ms ? 1 : status;
    }
    return status;
}
