/* SPDX-License-Identifier: Apache-2.0 */
/* Change points in series whose truth is known; bench/changes_power.c makes the long table. */
#include "check.h"
#include "core/stats_random.h"
#include "judge/changes.h"

static struct tare_random random_numbers;
static struct tare_arena arena;
static struct tare_error err;
static struct tare_change *changes;

static size_t find(const double *values, size_t count)
{
    size_t found = 0;
    CHECK_INT(tare_changes_find(values, count, NULL, &arena, &changes, &found, &err), 0);
    return found;
}

static void a_step_is_found_where_it_is(void)
{
    double values[50];
    tare_random_init(&random_numbers, 1);
    for (int series = 0; series < 50; series++) {
        for (size_t i = 0; i < 50; i++)
            values[i] = (i < 40 ? 100 : 105) * (1 + 0.01 * tare_random_normal(&random_numbers));
        size_t count = find(values, 50);
        CHECK_INT(count, 1);
        if (count != 1)
            continue;
        CHECK_INT(changes[0].kind, TARE_CHANGE_STEP);
        CHECK(changes[0].first >= 39 && changes[0].first <= 41);
        CHECK_REAL(changes[0].ratio, 1.05, 0.02);
        CHECK(!changes[0].gone);
    }
}

static void nothing_is_found_where_nothing_is(void)
{
    static double values[1000];
    size_t false_points = 0;
    tare_random_init(&random_numbers, 2);
    for (int series = 0; series < 20; series++) {
        for (size_t i = 0; i < 1000; i++)
            values[i] = 100 * (1 + 0.03 * tare_random_normal(&random_numbers));
        false_points += find(values, 1000);
    }
    CHECK(false_points <= 20);
}

static void a_drift_is_called_drift(void)
{
    double values[60];
    tare_random_init(&random_numbers, 3);
    for (int series = 0; series < 20; series++) {
        for (size_t i = 0; i < 60; i++)
            values[i] = 100 * (1 + 0.002 * (double)i) * (1 + 0.01 * tare_random_normal(&random_numbers));
        CHECK_INT(find(values, 60), 1);
        CHECK_INT(changes[0].kind, TARE_CHANGE_DRIFT);
        CHECK_REAL(changes[0].per_point, 0.002, 0.3);
    }
}

static void levels_that_come_and_go_are_steps(void)
{
    double values[100];
    tare_random_init(&random_numbers, 11);
    for (int series = 0; series < 100; series++) {
        for (size_t i = 0; i < 100; i++)
            values[i] = (i / 10 % 2 ? 105 : 100) * (1 + 0.01 * tare_random_normal(&random_numbers));
        size_t count = find(values, 100);
        CHECK_INT(count, 9);
        for (size_t i = 0; i < count; i++)
            CHECK_INT(changes[i].kind, TARE_CHANGE_STEP);
    }
}

static void a_drift_that_ends_at_once_is_one(void)
{
    double values[60];
    tare_random_init(&random_numbers, 5);
    for (int series = 0; series < 20; series++) {
        for (size_t i = 0; i < 60; i++)
            values[i] =
                100 * (i < 40 ? 1 + 0.003 * (double)i : 1) * (1 + 0.01 * tare_random_normal(&random_numbers));
        CHECK_INT(find(values, 60), 2);
        CHECK_INT(changes[0].kind, TARE_CHANGE_DRIFT);
        CHECK_INT(changes[1].kind, TARE_CHANGE_STEP);
        CHECK(changes[1].first >= 39 && changes[1].first <= 41);
    }
}

static void what_went_away_is_marked(void)
{
    double values[60];
    tare_random_init(&random_numbers, 4);
    for (size_t i = 0; i < 60; i++)
        values[i] = (i >= 20 && i < 40 ? 110 : 100) * (1 + 0.01 * tare_random_normal(&random_numbers));
    CHECK_INT(find(values, 60), 2);
    CHECK(changes[0].gone);
    CHECK(!changes[1].gone);
    CHECK_INT(changes[0].first, 20);
    CHECK_INT(changes[0].last, 39);
}

static void edges(void)
{
    double flat[30], few[] = {1, 2, 3};
    for (size_t i = 0; i < 30; i++)
        flat[i] = i < 15 ? 7 : 9;
    CHECK_INT(find(few, 3), 0);
    CHECK_INT(find(flat, 15), 0);
    CHECK_INT(find(flat, 30), 1); /* no noise at all */
    CHECK_INT(changes[0].first, 15);
    flat[3] = NAN;
    size_t count;
    CHECK_INT(tare_changes_find(flat, 30, NULL, &arena, &changes, &count, &err), -1);
    CHECK(strstr(err.msg, "figure 4"));
}

int main(void)
{
    tare_arena_init(&arena, 0);
    RUN(a_step_is_found_where_it_is);
    RUN(nothing_is_found_where_nothing_is);
    RUN(a_drift_is_called_drift);
    RUN(levels_that_come_and_go_are_steps);
    RUN(a_drift_that_ends_at_once_is_one);
    RUN(what_went_away_is_marked);
    RUN(edges);
    tare_arena_finish(&arena);
    return check_done();
}
