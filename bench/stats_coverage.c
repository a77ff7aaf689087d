/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often do the bounds hold? Series with a known percentile are made again and again, and the share of
 * 95 % bounds that contain the truth is counted; next to it, what the same bounds would do if every sample
 * were taken for independent. Then the same for bootstrap bounds. Usage: stats_coverage [REPETITIONS [SEED]]
 *
 * A missing bound says "the truth may be anything here", so it contains the truth; "bounded" says how often
 * both were there, and "if bounded" counts those alone. "thin" means that a series shows fewer than about 20
 * bursts on average: then some show none at all, and no estimate can know what they do not show.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "core/stats_random.h"
#include "core/stats_special.h"

enum { MOST = 20000 };

struct workload {
    const char *name;
    double keep;         /* lag-1 correlation of the logarithms */
    double spread;       /* their standard deviation */
    double enter, leave; /* chance of a burst to start and to end; 0 for none */
    double factor;       /* how much slower a burst is */
    unsigned processes;  /* each with a level of its own, with this standard deviation */
    double process_spread;
};

static const struct workload workloads[] = {
    {"independent", .spread = 0.3},
    {"lag-1 0.5", .spread = 0.3, .keep = 0.5},
    {"lag-1 0.9", .spread = 0.3, .keep = 0.9},
    {"bursts of 10, 5 %", .spread = 0.1, .enter = 1.0 / 190, .leave = 1.0 / 10, .factor = 3},
    {"bursts of 20, 9 %", .spread = 0.1, .enter = 1.0 / 200, .leave = 1.0 / 20, .factor = 2},
    {"bursts of 20, 4 %", .spread = 0.1, .enter = 1.0 / 480, .leave = 1.0 / 20, .factor = 4},
    {"bursts of 30, 3 %", .spread = 0.1, .enter = 1.0 / 970, .leave = 1.0 / 30, .factor = 3},
    {"20 processes", .spread = 0.1, .processes = 20, .process_spread = 0.05},
};

static double normal(struct tare_random *random)
{
    /* Box and Muller; one of the pair is thrown away */
    double radius = sqrt(-2 * log(1 - tare_random_unit(random)));
    return radius * cos(6.283185307179586 * tare_random_unit(random));
}

static void fill(const struct workload *work, size_t count, struct tare_random *random, double *values,
                 uint32_t *process)
{
    double at = normal(random), level = 0, share = work->enter / (work->enter + work->leave);
    bool burst = work->enter > 0 && tare_random_unit(random) < share;
    for (size_t i = 0; i < count; i++) {
        process[i] = work->processes ? (uint32_t)(i * work->processes / count) : 0;
        if (work->processes && (i == 0 || process[i] != process[i - 1]))
            level = work->process_spread * normal(random);
        at = work->keep * at + sqrt(1 - work->keep * work->keep) * normal(random);
        values[i] = exp(level + work->spread * at) * (burst ? work->factor : 1);
        if (work->enter > 0 && tare_random_unit(random) < (burst ? work->leave : work->enter))
            burst = !burst;
    }
}

/* The true percentile: where the mixture of the two log-normals has that much below it. */
static double truth_of(const struct workload *work, double percent)
{
    double spread = hypot(work->spread, work->process_spread);
    double share = work->enter > 0 ? work->enter / (work->enter + work->leave) : 0;
    double low = -10, high = 10;
    for (int i = 0; i < 100; i++) {
        double x = 0.5 * (low + high);
        double above = (1 - share) * tare_special_normal_above(x / spread);
        if (share > 0)
            above += share * tare_special_normal_above((x - log(work->factor)) / spread);
        if (above > 1 - percent / 100)
            low = x;
        else
            high = x;
    }
    return exp(low);
}

struct score {
    size_t tries, held, bounded, held_bounded, naive, supported;
    double effective, width;
};

static bool holds(const struct tare_percentile *p, double truth)
{
    return !(p->has_low && p->low > truth) && !(p->has_high && p->high < truth);
}

static int try_once(const struct workload *work, size_t count, const double *percents, size_t percent_count,
                    struct tare_random *random, struct score *scores, struct tare_error *err)
{
    static double values[MOST];
    static uint32_t process[MOST];
    struct tare_arena arena;
    struct tare_percentile found[4];
    const double *sorted;
    int status = -1;
    tare_arena_init(&arena, 0);
    fill(work, count, random, values, process);
    struct tare_series series = {
        .values = values, .count = count, .process = work->processes ? process : NULL};
    if (tare_stats_percentiles(&series, percents, percent_count, &arena, found, err) ||
        tare_stats_sorted(values, count, &arena, &sorted, err))
        goto out;
    for (size_t i = 0; i < percent_count; i++) {
        struct tare_percentile naive;
        double truth = truth_of(work, percents[i]);
        bool held = holds(&found[i], truth), bounded = found[i].has_low && found[i].has_high;
        if (tare_stats_percentile(sorted, count, percents[i], (double)count, &naive, err))
            goto out;
        scores[i].tries++;
        scores[i].held += held;
        scores[i].bounded += bounded;
        scores[i].held_bounded += held && bounded;
        scores[i].supported += found[i].supported;
        scores[i].naive += holds(&naive, truth);
        scores[i].effective += found[i].effective;
        scores[i].width += bounded ? (found[i].high - found[i].low) / found[i].value : 0;
    }
    status = 0;
out:
    tare_arena_finish(&arena);
    return status;
}

static double percent_of(size_t part, size_t all)
{
    return all ? 100.0 * (double)part / (double)all : NAN;
}

static int percentiles(size_t repetitions, uint64_t seed, struct tare_error *err)
{
    static const double percents[] = {50, 90, 99, 99.9};
    static const size_t counts[] = {1000, 2000, 5000, 20000};
    printf("%-18s %6s %5s  %7s %7s %8s %10s %9s %10s %7s\n", "series", "n", "p", "naive", "holds", "bounded",
           "if bounded", "supported", "effective", "width");
    for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            struct score scores[4] = {0};
            struct tare_random random;
            tare_random_init(&random, seed + w * 100 + c);
            for (size_t r = 0; r < repetitions; r++) {
                if (try_once(&workloads[w], counts[c], percents, 4, &random, scores, err))
                    return -1;
            }
            for (size_t i = 0; i < 4; i++) {
                const struct score *s = &scores[i];
                bool thin = workloads[w].enter > 0 && workloads[w].enter * (double)counts[c] < 20;
                printf("%-18s %6zu %5g  %6.1f%% %6.1f%% %7.0f%% %9.1f%% %8.0f%% %10.0f %6.1f%%%s\n",
                       workloads[w].name, counts[c], percents[i], percent_of(s->naive, s->tries),
                       percent_of(s->held, s->tries), percent_of(s->bounded, s->tries),
                       percent_of(s->held_bounded, s->bounded), percent_of(s->supported, s->tries),
                       s->effective / (double)s->tries, 100 * s->width / (double)s->bounded,
                       thin ? "  thin" : "");
            }
            fflush(stdout);
        }
    }
    return 0;
}

struct population {
    const char *name;
    double spread; /* of the logarithm, or 0 for a normal one */
    bool heavy;    /* Student's t with 3 degrees of freedom */
};

static const struct population populations[] = {
    {"normal", 0, false},
    {"log-normal 0.8", 0.8, false},
    {"Student's t, 3", 0, true},
};

static double draw(const struct population *population, struct tare_random *random)
{
    double z = normal(random);
    if (population->spread > 0)
        return exp(population->spread * z);
    if (!population->heavy)
        return z;
    double squares = 0;
    for (int i = 0; i < 3; i++) {
        double other = normal(random);
        squares += other * other;
    }
    return z / sqrt(squares / 3);
}

static int bootstraps(size_t repetitions, uint64_t seed, struct tare_error *err)
{
    static const size_t counts[] = {5, 10, 20, 40};
    printf("\n%-18s %6s %8s %8s\n", "bootstrap of", "n", "median", "mean");
    for (size_t p = 0; p < sizeof populations / sizeof *populations; p++) {
        double spread = populations[p].spread;
        double median = spread > 0 ? 1 : 0, mean = spread > 0 ? exp(0.5 * spread * spread) : 0;
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            size_t median_held = 0, mean_held = 0;
            struct tare_random random;
            tare_random_init(&random, seed + 1000 * p + c);
            for (size_t r = 0; r < repetitions; r++) {
                double values[40];
                struct tare_bootstrap options = {.seed = r, .resamples = 2000};
                struct tare_interval of_median, of_mean;
                struct tare_arena arena;
                for (size_t i = 0; i < counts[c]; i++)
                    values[i] = draw(&populations[p], &random);
                tare_arena_init(&arena, 0);
                int status =
                    tare_stats_bootstrap(values, counts[c], tare_stats_median, &options, &arena, &of_median,
                                         err) ||
                    tare_stats_bootstrap(values, counts[c], tare_stats_mean, &options, &arena, &of_mean, err);
                tare_arena_finish(&arena);
                if (status)
                    return -1;
                median_held += of_median.low <= median && median <= of_median.high;
                mean_held += of_mean.low <= mean && mean <= of_mean.high;
            }
            printf("%-18s %6zu %7.1f%% %7.1f%%\n", populations[p].name, counts[c],
                   percent_of(median_held, repetitions), percent_of(mean_held, repetitions));
            fflush(stdout);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    size_t repetitions = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct tare_error err;
    if (percentiles(repetitions, seed, &err) || bootstraps(repetitions * 5, seed, &err)) {
        fprintf(stderr, "stats_coverage: %s\n", err.msg);
        return 2;
    }
    return 0;
}
