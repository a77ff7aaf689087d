/* SPDX-License-Identifier: Apache-2.0 */
/* Leak, plateau, fragmentation: series whose truth is known. */
#include "bench/growth.h"

#include "check.h"
#include "core/stats_random.h"

enum { POINTS = 17, CALLS = 10 };

static const int64_t mib = 1 << 20;

static struct tare_growth judge(const int64_t *resident, const int64_t *in_use, bool varied)
{
    struct tare_growth_point points[POINTS];
    struct tare_growth growth;
    for (size_t i = 0; i < POINTS; i++)
        points[i] = (struct tare_growth_point){100 * mib + resident[i], in_use ? 50 * mib + in_use[i] : -1};
    tare_growth_judge(points, POINTS, CALLS, varied, &growth);
    return growth;
}

static void a_leak_is_called_one(void)
{
    int64_t bytes[POINTS];
    struct tare_random random;
    tare_random_init(&random, 3);
    /* 20 KiB a call, seen through the steps in which memory is taken from the system. */
    for (int i = 0; i < POINTS; i++)
        bytes[i] = (i * CALLS * 20480 / 135168) * 135168 + (int64_t)tare_random_below(&random, 4) * 4096;
    struct tare_growth growth = judge(bytes, NULL, false);
    CHECK_INT(growth.verdict, TARE_RUN_GROWTH_LEAK);
    CHECK(growth.lower <= 20480 && growth.upper >= 20480);
    /* Shapes that change do not excuse it when the runtime itself uses more. */
    CHECK_INT(judge(bytes, bytes, true).verdict, TARE_RUN_GROWTH_LEAK);
    CHECK_INT(judge(bytes, NULL, true).verdict, TARE_RUN_GROWTH_LEAK);
}

static void an_arena_is_none(void)
{
    int64_t doubling[POINTS], late[POINTS], flat[POINTS];
    struct tare_random random;
    tare_random_init(&random, 4);
    for (int i = 0; i < POINTS; i++) {
        doubling[i] = (i < 4 ? mib << (2 * i) : mib << 6) + tare_random_below(&random, 8) * 4096;
        late[i] = i < 9 ? 0 : 32 * mib; /* one more extension, half way */
        flat[i] = tare_random_below(&random, 16) * 4096;
    }
    CHECK_INT(judge(doubling, NULL, false).verdict, TARE_RUN_GROWTH_PLATEAU);
    CHECK_INT(judge(late, NULL, false).verdict, TARE_RUN_GROWTH_PLATEAU);
    CHECK_INT(judge(flat, NULL, false).verdict, TARE_RUN_GROWTH_NONE);
}

static void what_only_changing_shapes_cost_is_fragmentation(void)
{
    int64_t bytes[POINTS], used[POINTS] = {0};
    for (int i = 0; i < POINTS; i++)
        bytes[i] = i * mib;
    CHECK_INT(judge(bytes, used, true).verdict, TARE_RUN_GROWTH_FRAGMENTATION);
    CHECK_INT(judge(bytes, used, false).verdict, TARE_RUN_GROWTH_LEAK);
}

static void what_nobody_can_tell_is_undecided(void)
{
    /* Two large steps, the second near the end: more calls would show whether there is a third. */
    int64_t bytes[POINTS];
    for (int i = 0; i < POINTS; i++)
        bytes[i] = (i >= 7) * 20 * mib + (i >= 14) * 20 * mib;
    CHECK_INT(judge(bytes, NULL, false).verdict, TARE_RUN_GROWTH_UNDECIDED);
    struct tare_growth_point few[4] = {{0}};
    struct tare_growth growth;
    tare_growth_judge(few, 4, CALLS, false, &growth);
    CHECK_INT(growth.verdict, TARE_RUN_GROWTH_UNKNOWN);
}

/* A process that only fluctuates is called a leak in at most one series of fifty. */
static void noise_is_seldom_called_a_leak(void)
{
    struct tare_random random;
    int called = 0;
    tare_random_init(&random, 5);
    for (int series = 0; series < 500; series++) {
        int64_t bytes[POINTS];
        for (int i = 0; i < POINTS; i++)
            bytes[i] = tare_random_below(&random, 1024) * 4096;
        called += judge(bytes, NULL, false).verdict == TARE_RUN_GROWTH_LEAK;
    }
    CHECK(called <= 10);
}

int main(void)
{
    RUN(a_leak_is_called_one);
    RUN(an_arena_is_none);
    RUN(what_only_changing_shapes_cost_is_fragmentation);
    RUN(what_nobody_can_tell_is_undecided);
    RUN(noise_is_seldom_called_a_leak);
    return check_done();
}
