/* SPDX-License-Identifier: Apache-2.0 */
/* How often the gate calls a true change of a fake whose processes differ by a known amount, how often it
 * calls none at all, and whether the smallest detectable effect that it prints is the true one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/stats_random.h"
#include "judge/gate.h"

static struct tare_random random_numbers;

/* Two bouts of two processes, each process sd off. */
static double block(double effect, double sd)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += tare_random_normal(&random_numbers);
    return log1p(effect) + sd * sum / 2;
}

static struct tare_gate_result compare(double effect, double sd, double threshold, size_t looks)
{
    struct tare_gate_rule rule = {.threshold = threshold};
    struct tare_gate_result result = {.verdict = TARE_GATE_INCONCLUSIVE};
    struct tare_arena arena;
    struct tare_error err;
    double logs[40];
    size_t count = 0;
    tare_arena_init(&arena, 0);
    for (size_t look = 0; look < looks && result.verdict == TARE_GATE_INCONCLUSIVE; look++) {
        while (count < tare_gate_looks[look])
            logs[count++] = block(effect, sd);
        if (tare_gate_blocks(logs, count, &rule, &arena, &result, &err)) {
            fprintf(stderr, "%s\n", err.msg);
            exit(1);
        }
    }
    tare_arena_finish(&arena);
    return result;
}

static double regressed(double effect, double sd, double threshold, int rounds)
{
    int count = 0;
    for (int i = 0; i < rounds; i++)
        count += compare(effect, sd, threshold, TARE_GATE_LOOKS).verdict == TARE_GATE_REGRESSED;
    return 100.0 * count / rounds;
}

int main(int argc, char **argv)
{
    tare_random_init(&random_numbers, 11);
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 400;
    const double sds[] = {0.01, 0.015, 0.03, 0.06};
    printf("called a regression, %% of %d comparisons each (looks at 10, 20 and 40 blocks)\n", rounds);
    printf("process sd | threshold 5 %%: true 0 / 5 / 10 %% | threshold 10 %%: true 0 / 10 / 20 %%\n");
    for (size_t i = 0; i < 4; i++)
        printf("%9.1f %% | %.1f / %.1f / %.1f | %.1f / %.1f / %.1f\n", 100 * sds[i],
               regressed(0, sds[i], 0.05, rounds), regressed(0.05, sds[i], 0.05, rounds),
               regressed(0.10, sds[i], 0.05, rounds), regressed(0, sds[i], 0.10, rounds),
               regressed(0.10, sds[i], 0.10, rounds), regressed(0.20, sds[i], 0.10, rounds));
    printf("\nsmallest detectable effect at 10 blocks, threshold 5 %%: printed (mean) and true\n");
    for (size_t i = 0; i < 4; i++) {
        double said = 0, low = 0, high = 1;
        for (int r = 0; r < 40; r++)
            said += compare(0, sds[i], 0.05, 1).detectable / 40;
        for (int step = 0; step < 9; step++) {
            double effect = (low + high) / 2;
            int hits = 0;
            for (int r = 0; r < rounds; r++)
                hits += compare(effect, sds[i], 0.05, 1).verdict == TARE_GATE_REGRESSED;
            if (hits >= 0.8 * rounds)
                high = effect;
            else
                low = effect;
        }
        printf("%9.1f %% | %.1f %% | %.1f %% | ratio %.2f\n", 100 * sds[i], 100 * said, 100 * high,
               said / high);
    }
    return 0;
}
