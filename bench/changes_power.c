/* SPDX-License-Identifier: Apache-2.0 */
/* How well change points are found: steps of 5 % in noise, series without any, and drift. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/stats_random.h"
#include "judge/changes.h"

static struct tare_random random_numbers;

struct counts {
    int steps, found, near, best, false_points, drifts;
};

/* Where one who knows both levels beforehand would place the step: where it is likeliest. */
static size_t likeliest(const double *values, size_t count, double middle)
{
    double above = 0, most = -INFINITY;
    size_t best = count;
    for (size_t at = count; at-- > 0;) {
        above += values[at] - middle;
        if (above > most) {
            most = above;
            best = at;
        }
    }
    return best;
}

/* Levels of 10 points each, up and down by 5 % in turn. */
static void try_stairs(double noise, struct counts *counts)
{
    enum { LEVELS = 10, LEVEL = 10 };
    double values[LEVELS * LEVEL];
    struct tare_arena arena;
    struct tare_error err;
    struct tare_change *changes;
    size_t n;
    for (size_t i = 0; i < LEVELS * LEVEL; i++)
        values[i] = 100 * (i / LEVEL % 2 ? 1.05 : 1) * (1 + noise * tare_random_normal(&random_numbers));
    tare_arena_init(&arena, 0);
    if (tare_changes_find(values, LEVELS * LEVEL, NULL, &arena, &changes, &n, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    for (size_t step = LEVEL; step < LEVELS * LEVEL; step += LEVEL) {
        int best = LEVEL;
        for (size_t i = 0; i < n; i++) {
            int off = abs((int)changes[i].first - (int)step);
            best = off < best ? off : best;
        }
        counts->steps++;
        counts->found += best <= LEVEL / 2;
        counts->near += best <= 1;
    }
    counts->false_points += (int)n > LEVELS - 1 ? (int)n - (LEVELS - 1) : 0;
    tare_arena_finish(&arena);
}

/* One series of count points: a step of 5 % at `step` (0: none), and a slope. */
static void try(size_t count, size_t step, double noise, double slope, struct counts *counts)
{
    static double values[20000];
    struct tare_arena arena;
    struct tare_error err;
    struct tare_change *changes;
    size_t n;
    for (size_t i = 0; i < count; i++)
        values[i] = 100 * (1 + slope * (double)i) * (step && i >= step ? 1.05 : 1) *
                    (1 + noise * tare_random_normal(&random_numbers));
    tare_arena_init(&arena, 0);
    if (tare_changes_find(values, count, NULL, &arena, &changes, &n, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    counts->steps += step > 0;
    counts->best += step && abs((int)likeliest(values, count, 102.5) - (int)step) <= 1;
    int best = -1;
    for (size_t i = 0; i < n; i++) {
        int off = abs((int)changes[i].first - (int)step);
        if (changes[i].kind == TARE_CHANGE_DRIFT)
            counts->drifts++;
        else if (step && off <= 6 && (best < 0 || off < best))
            best = off;
        else
            counts->false_points++;
    }
    counts->found += best >= 0;
    counts->near += best >= 0 && best <= 1;
    tare_arena_finish(&arena);
}

/* No step, but noise that is 1 and 4 % in turn, for 10 to 49 points each. */
static int try_uneven(void)
{
    enum { COUNT = 1000 };
    static double values[COUNT];
    struct tare_arena arena;
    struct tare_error err;
    struct tare_change *changes;
    size_t n, left = 0;
    double noise = 0.01;
    for (size_t i = 0; i < COUNT; i++, left--) {
        if (left == 0) {
            left = 10 + tare_random_below(&random_numbers, 40);
            noise = noise > 0.02 ? 0.01 : 0.04;
        }
        values[i] = 100 * (1 + noise * tare_random_normal(&random_numbers));
    }
    tare_arena_init(&arena, 0);
    if (tare_changes_find(values, COUNT, NULL, &arena, &changes, &n, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    tare_arena_finish(&arena);
    return (int)n;
}

int main(int argc, char **argv)
{
    tare_random_init(&random_numbers, 11);
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 500;
    const double noises[] = {0.01, 0.02, 0.03, 0.05};
    printf("a step of 5 %%, 40 points before and 10 after it, %d series each\n", rounds);
    printf("noise   found   within one   known levels   false points\n");
    for (size_t i = 0; i < 4; i++) {
        struct counts counts = {0};
        for (int r = 0; r < rounds; r++)
            try(50, 40, noises[i], 0, &counts);
        printf("%4.0f %%  %5.1f %%  %5.1f %%   %5.1f %%      %d\n", noises[i] * 100,
               100.0 * counts.found / rounds, 100.0 * counts.near / rounds, 100.0 * counts.best / rounds,
               counts.false_points);
    }
    printf(
        "\nten levels of 10 points, 5 %% up and down in turn\nnoise   found   within one   false points\n");
    for (size_t i = 0; i < 4; i++) {
        struct counts counts = {0};
        for (int r = 0; r < rounds / 5; r++)
            try_stairs(noises[i], &counts);
        printf("%4.0f %%  %5.1f %%  %5.1f %%      %d\n", noises[i] * 100, 100.0 * counts.found / counts.steps,
               100.0 * counts.near / counts.steps, counts.false_points);
    }
    printf("\nno step, 1,000 points, %d series each\nnoise   false points per 1,000   drifts\n", rounds / 5);
    for (size_t i = 0; i < 4; i++) {
        struct counts counts = {0};
        for (int r = 0; r < rounds / 5; r++)
            try(1000, 0, noises[i], 0, &counts);
        printf("%4.0f %%  %.3f   %d\n", noises[i] * 100, counts.false_points / (rounds / 5.0), counts.drifts);
    }
    int uneven = 0;
    for (int r = 0; r < rounds / 5; r++)
        uneven += try_uneven();
    printf("1 and 4 %% in turn  %.3f\n", uneven / (rounds / 5.0));
    printf("\ndrift of 0.2 %% a point, 60 points\nnoise   called drift   steps called\n");
    for (size_t i = 0; i < 4; i++) {
        struct counts counts = {0};
        for (int r = 0; r < rounds; r++)
            try(60, 0, noises[i], 0.002, &counts);
        printf("%4.0f %%  %5.1f %%  %d\n", noises[i] * 100, 100.0 * counts.drifts / rounds,
               counts.false_points);
    }
    struct counts counts = {0};
    int64_t start = tare_clock_ns();
    try(10000, 5000, 0.02, 0, &counts);
    printf("\n10,000 points judged in %.2f s\n", (double)(tare_clock_ns() - start) / 1e9);
    return 0;
}
