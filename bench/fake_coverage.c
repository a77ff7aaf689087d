/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the bounds of a percentile hold on the fake engine's own series, whose truth is known? Each description
 * is drawn again and again with other seeds, without waiting, and the share of 95 % bounds that contain the
 * true percentile is counted, next to what they would be if the samples were taken for independent. A missing
 * bound excludes nothing. "thin" means that fewer than 20 bursts are expected: some of those series show
 * none, and no estimate can know what a series does not show. Exits with 1 if another is covered in less than
 * 93 %. Usage: fake_coverage [REPETITIONS [FIRST_SEED]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/fake.h"
#include "core/stats.h"

enum { MOST = 20000 };
#define LEAST_COVERED 0.93

static const char *const descriptions[] = {
    "normal,sd=3%",
    "autocorrelated,sd=3%,r=0.9",
    "autocorrelated,sd=10%,r=0.9",
    "bursty,share=9%,length=20,factor=2",
    "bursty,share=5%,length=10,factor=3",
    "bursty,share=3%,length=30,factor=3",
};
static const size_t counts[] = {1000, 2000, 5000, 20000};

struct score {
    size_t held, naive, bounded;
};

static bool holds(const struct tare_percentile *p, double truth)
{
    return !(p->has_low && p->low > truth) && !(p->has_high && p->high < truth);
}

static int try_once(const struct tare_fake *fake, uint64_t salt, size_t count, double percent,
                    struct score *score, struct tare_error *err)
{
    static double values[MOST];
    struct tare_fake_series made;
    struct tare_arena arena;
    struct tare_percentile found, naive;
    const double *sorted;
    double truth = tare_fake_percentile(fake, percent);
    tare_fake_start(&made, fake, salt);
    for (size_t i = 0; i < count; i++)
        values[i] = tare_fake_next(&made, fake, 1);
    tare_arena_init(&arena, 0);
    struct tare_series series = {.values = values, .count = count};
    int status = tare_stats_percentiles(&series, &percent, 1, &arena, &found, err) ||
                         tare_stats_sorted(values, count, &arena, &sorted, err) ||
                         tare_stats_percentile(sorted, count, percent, (double)count, &naive, err)
                     ? -1
                     : 0;
    if (!status) {
        score->held += holds(&found, truth);
        score->naive += holds(&naive, truth);
        score->bounded += found.has_low && found.has_high;
    }
    tare_arena_finish(&arena);
    return status;
}

int main(int argc, char **argv)
{
    static const double percents[] = {50, 99};
    size_t repetitions = argc > 1 ? strtoul(argv[1], NULL, 10) : 200, missed = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct tare_error err;
    printf("%-36s %4s %6s %12s %8s %8s %8s\n", "series", "p", "calls", "bursts", "naive", "covered",
           "bounded");
    for (size_t d = 0; d < sizeof descriptions / sizeof *descriptions; d++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            for (size_t p = 0; p < sizeof percents / sizeof *percents; p++) {
                struct tare_fake fake;
                struct score score = {0};
                if (tare_fake_parse(descriptions[d], &fake, &err))
                    goto fail;
                double bursts = fake.share > 0 ? (double)counts[c] * fake.share / fake.length : 0;
                for (size_t r = 0; r < repetitions; r++)
                    if (try_once(&fake, seed + r, counts[c], percents[p], &score, &err))
                        goto fail;
                double all = (double)repetitions, covered = (double)score.held / all;
                bool thin = bursts > 0 && bursts < 20, short_of = covered < LEAST_COVERED;
                missed += short_of && !thin;
                printf("%-36s %4g %6zu %12.1f %7.1f%% %7.1f%% %7.0f%%%s\n", descriptions[d], percents[p],
                       counts[c], bursts, 100 * (double)score.naive / all, 100 * covered,
                       100 * (double)score.bounded / all,
                       thin       ? "  thin"
                       : short_of ? "  MISSED"
                                  : "");
            }
        }
    }
    return missed > 0;
fail:
    fprintf(stderr, "fake_coverage: %s\n", err.msg);
    return 2;
}
