/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's rule on series whose truth is known. */
#include "check.h"
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

/* A comparison as it is really made: looks at 10, 20 and 40 blocks. */
static struct tare_gate_result compare(double effect, double sd, double threshold)
{
    struct tare_gate_rule rule = {.threshold = threshold};
    struct tare_gate_result result = {.verdict = TARE_GATE_INCONCLUSIVE};
    struct tare_arena arena;
    struct tare_error err;
    double logs[40];
    size_t count = 0;
    tare_arena_init(&arena, 0);
    for (size_t look = 0; look < TARE_GATE_LOOKS; look++) {
        while (count < tare_gate_looks[look])
            logs[count++] = block(effect, sd);
        CHECK_INT(tare_gate_blocks(logs, count, &rule, &arena, &result, &err), 0);
        if (result.verdict != TARE_GATE_INCONCLUSIVE)
            break;
    }
    tare_arena_finish(&arena);
    return result;
}

/* How many of 40 comparisons end so; bench/gate_power.c makes the long table. */
static int called(double effect, double sd, double threshold, enum tare_gate_verdict verdict)
{
    int count = 0;
    for (int i = 0; i < 40; i++)
        count += compare(effect, sd, threshold).verdict == verdict;
    return count;
}

static void identical_versions_are_never_red(void)
{
    tare_random_init(&random_numbers, 1);
    for (int sd = 1; sd <= 6; sd += 2)
        CHECK_INT(called(0, sd / 100.0, 0.05, TARE_GATE_REGRESSED), 0);
}

static void true_changes_are_called(void)
{
    tare_random_init(&random_numbers, 2);
    CHECK(called(0.10, 0.015, 0.05, TARE_GATE_REGRESSED) >= 38);
    CHECK(called(0.05, 0.015, 0.05, TARE_GATE_REGRESSED) >= 20);
    CHECK(called(0.10, 0.015, 0.10, TARE_GATE_REGRESSED) >= 20);
    CHECK(called(0.20, 0.015, 0.10, TARE_GATE_REGRESSED) >= 38);
    CHECK(called(-0.10, 0.015, 0.05, TARE_GATE_IMPROVED) >= 38);
}

static void the_smallest_detectable_effect_is_right(void)
{
    tare_random_init(&random_numbers, 3);
    const double sds[] = {0.015, 0.12};
    for (size_t s = 0; s < 2; s++) {
        struct tare_gate_rule rule = {.threshold = 0.05};
        struct tare_gate_result result;
        struct tare_arena arena;
        struct tare_error err;
        double logs[20], sum = 0;
        tare_arena_init(&arena, 0);
        for (int i = 0; i < 10; i++) {
            for (int k = 0; k < 20; k++)
                logs[k] = block(0, sds[s]);
            CHECK_INT(tare_gate_blocks(logs, 20, &rule, &arena, &result, &err), 0);
            sum += result.detectable;
        }
        /* Find what is really called in 40 of 50 such comparisons of 20 blocks. */
        double low = 0, high = 1;
        for (int step = 0; step < 7; step++) {
            double effect = (low + high) / 2;
            int hits = 0;
            for (int i = 0; i < 50; i++) {
                for (int k = 0; k < 20; k++)
                    logs[k] = block(effect, sds[s]);
                CHECK_INT(tare_gate_blocks(logs, 20, &rule, &arena, &result, &err), 0);
                hits += result.verdict == TARE_GATE_REGRESSED;
            }
            if (hits >= 40)
                high = effect;
            else
                low = effect;
            tare_arena_finish(&arena);
            tare_arena_init(&arena, 0);
        }
        fprintf(stderr, "sd %g: said %.3f, measured %.3f\n", sds[s], sum / 10, high);
        CHECK(sum / 10 < high * 1.5 && sum / 10 > high / 1.5);
        tare_arena_finish(&arena);
    }
}

static void few_processes_are_called_only_far_off(void)
{
    const double a[] = {100, 101, 99}, b[] = {112, 113, 111}, c[] = {130, 131, 129};
    struct tare_gate_result result;
    struct tare_arena arena;
    struct tare_error err;
    tare_arena_init(&arena, 0);
    CHECK_INT(tare_gate_sides(a, 3, b, 3, NULL, &arena, &result, &err), 0);
    CHECK_INT(result.verdict, TARE_GATE_INCONCLUSIVE);
    CHECK_REAL(result.allowance, TARE_GATE_ALLOWANCE, 0);
    CHECK_INT(tare_gate_sides(a, 3, c, 3, NULL, &arena, &result, &err), 0);
    CHECK_INT(result.verdict, TARE_GATE_REGRESSED);
    CHECK_INT(tare_gate_sides(c, 1, a, 1, NULL, &arena, &result, &err), 0);
    CHECK_INT(result.verdict, TARE_GATE_IMPROVED);
    CHECK_INT(tare_gate_sides(a, 0, b, 3, NULL, &arena, &result, &err), -1);
    tare_arena_finish(&arena);
}

static void sides_measured_apart(void)
{
    double a[12], b[12], c[12];
    struct tare_gate_result result[3];
    struct tare_arena arena;
    struct tare_error err;
    tare_random_init(&random_numbers, 4);
    tare_arena_init(&arena, 0);
    for (int i = 0; i < 12; i++) {
        a[i] = 100 * exp(0.01 * tare_random_normal(&random_numbers));
        b[i] = 100 * exp(0.01 * tare_random_normal(&random_numbers));
        c[i] = 110 * exp(0.01 * tare_random_normal(&random_numbers));
    }
    CHECK_INT(tare_gate_sides(a, 12, b, 12, NULL, &arena, &result[0], &err), 0);
    CHECK_INT(result[0].verdict, TARE_GATE_SAME);
    CHECK_INT(tare_gate_sides(a, 12, c, 12, NULL, &arena, &result[1], &err), 0);
    CHECK_INT(result[1].verdict, TARE_GATE_REGRESSED);
    tare_gate_exact(10, 10, &result[2]);
    CHECK_INT(tare_gate_holm(result, 3, NULL, &arena, &err), 0);
    CHECK_INT(result[1].verdict, TARE_GATE_REGRESSED);
    CHECK_INT(result[2].verdict, TARE_GATE_SAME);
    tare_arena_finish(&arena);
}

static void figures_that_do_not_vary(void)
{
    struct tare_gate_result result;
    tare_gate_exact(25e6, 25e6 + 1, &result);
    CHECK_INT(result.verdict, TARE_GATE_REGRESSED);
    tare_gate_exact(25e6, 24e6, &result);
    CHECK_INT(result.verdict, TARE_GATE_IMPROVED);
    tare_gate_exact(0, 0, &result);
    CHECK_INT(result.verdict, TARE_GATE_SAME);
}

int main(void)
{
    RUN(identical_versions_are_never_red);
    RUN(true_changes_are_called);
    RUN(the_smallest_detectable_effect_is_right);
    RUN(few_processes_are_called_only_far_off);
    RUN(sides_measured_apart);
    RUN(figures_that_do_not_vary);
    return check_done();
}
