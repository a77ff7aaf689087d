/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "bench/harness.h"
#include "check.h"
#include "core/stats.h"

enum { MANY = 2000 };
static struct tare_clock now_clock;
static int64_t ns[MANY];

static struct tare_engine *opened(const char *text)
{
    struct tare_engine_options options = {.threads = 1};
    struct tare_engine *engine = NULL;
    struct tare_error err = {0};
    CHECK_INT(tare_engine_fake.open(text, &options, &engine, &err), 0);
    CHECK_TEXT(err.msg, "");
    return engine;
}

static double median(size_t count)
{
    static double sorted[MANY], temp[MANY];
    for (size_t i = 0; i < count; i++)
        sorted[i] = (double)ns[i];
    tare_stats_sort(sorted, count, temp);
    return tare_stats_median(sorted, count);
}

static void warms_until_stable(void)
{
    struct tare_harness_warmup warmup = {0};
    struct tare_error err = {0};
    struct tare_engine *engine = opened("constant,mean=200us,cold=20");
    if (!engine)
        return;
    CHECK_INT(tare_harness_warm(engine, &now_clock, INT64_C(10000000000), &warmup, &err), 0);
    CHECK(warmup.stable);
    CHECK(warmup.cold_ns > 3990000);
    CHECK(warmup.calls > 100 && warmup.calls < 100000);
    CHECK(warmup.ns > 45000000);
    /* Others on this machine may lengthen it. */
    CHECK(warmup.call_ns > 199000 && warmup.call_ns < 4000000);
    CHECK_INT(warmup.calls_per_sample, 1);
    tare_engine_fake.close(engine);
}

static void gives_up_on_what_never_settles(void)
{
    struct tare_harness_warmup warmup = {0};
    struct tare_error err = {0};
    /* 20, 40, 60 ms... and each call is a window. */
    struct tare_engine *engine = opened("drift,mean=20ms,sd=0,drift=100000%,span=1000");
    if (!engine)
        return;
    CHECK_INT(tare_harness_warm(engine, &now_clock, 300000000, &warmup, &err), 0);
    CHECK(!warmup.stable);
    CHECK(warmup.ns >= 300000000 && warmup.ns < 3000000000);
    tare_engine_fake.close(engine);
    engine = opened("constant,mean=1ms");
    if (!engine)
        return;
    /* Without time: the cold call and two more, in a window of its own length. */
    CHECK_INT(tare_harness_warm(engine, &now_clock, 0, &warmup, &err), 0);
    CHECK(!warmup.stable && warmup.calls >= 3);
    tare_engine_fake.close(engine);
}

static void measures_what_was_drawn(void)
{
    static const double means[] = {5e3, 1e5, 1e6};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        char text[64];
        size_t count = 0;
        struct tare_error err = {0};
        struct tare_harness_limits limits = {.min_samples = 5, .max_samples = MANY, .budget_ns = 100000000};
        snprintf(text, sizeof text, "constant,mean=%.0fns", means[i]);
        struct tare_engine *engine = opened(text);
        if (!engine)
            return;
        CHECK_INT(tare_harness_measure(engine, &now_clock, &limits, 1, ns, &count, &err), 0);
        CHECK(count >= 5);
        /* The fake itself adds some tens of nanoseconds. */
        CHECK(fabs(median(count) - means[i]) < 0.01 * means[i] + 150);
        tare_engine_fake.close(engine);
    }
}

static void keeps_its_limits(void)
{
    size_t count = 0;
    struct tare_error err = {0};
    struct tare_engine *engine = opened("constant,mean=1ms");
    if (!engine)
        return;
    struct tare_harness_limits limits = {.min_samples = 5, .max_samples = 7, .budget_ns = INT64_MAX / 4};
    CHECK_INT(tare_harness_measure(engine, &now_clock, &limits, 1, ns, &count, &err), 0);
    CHECK_INT(count, 7);
    limits = (struct tare_harness_limits){.min_samples = 5, .max_samples = MANY, .budget_ns = 0};
    CHECK_INT(tare_harness_measure(engine, &now_clock, &limits, 1, ns, &count, &err), 0);
    CHECK_INT(count, 5);
    limits = (struct tare_harness_limits){.min_samples = 1, .max_samples = MANY, .budget_ns = 50000000};
    CHECK_INT(tare_harness_measure(engine, &now_clock, &limits, 1, ns, &count, &err), 0);
    CHECK(count >= 1 && count <= 51);
    limits = (struct tare_harness_limits){.min_samples = 5, .max_samples = 0, .budget_ns = 50000000};
    CHECK_INT(tare_harness_measure(engine, &now_clock, &limits, 1, ns, &count, &err), 0);
    CHECK_INT(count, 0);
    tare_engine_fake.close(engine);
}

static void keeps_what_came_before_a_failure(void)
{
    size_t count = 0;
    struct tare_error err = {0};
    struct tare_engine *engine = opened("constant,mean=10us,fail=8");
    if (!engine)
        return;
    struct tare_harness_limits limits = {.min_samples = 5, .max_samples = 100, .budget_ns = 1000000000};
    CHECK_INT(tare_harness_measure(engine, &now_clock, &limits, 1, ns, &count, &err), -1);
    CHECK_INT(count, 7);
    CHECK(strstr(err.msg, "call 8"));
    CHECK_REAL((double)ns[0], 1e4, 3);
    tare_engine_fake.close(engine);
}

static void short_calls_are_timed_in_blocks(void)
{
    size_t count = 0;
    struct tare_harness_warmup warmup = {0};
    struct tare_error err = {0};
    struct tare_engine *engine = opened("constant,mean=300ns");
    if (!engine)
        return;
    CHECK_INT(tare_harness_warm(engine, &now_clock, 1000000000, &warmup, &err), 0);
    CHECK(warmup.calls_per_sample > 10 && warmup.calls_per_sample < 100);
    struct tare_harness_limits limits = {.min_samples = 5, .max_samples = 1000, .budget_ns = 100000000};
    CHECK_INT(tare_harness_measure(engine, &now_clock, &limits, warmup.calls_per_sample, ns, &count, &err),
              0);
    CHECK_INT(count, 1000);
    CHECK(fabs(median(count) / (double)warmup.calls_per_sample - 300) < 100);
    tare_engine_fake.close(engine);
}

int main(void)
{
    tare_clock_init(&now_clock);
    RUN(warms_until_stable);
    RUN(gives_up_on_what_never_settles);
    RUN(measures_what_was_drawn);
    RUN(keeps_its_limits);
    RUN(keeps_what_came_before_a_failure);
    RUN(short_calls_are_timed_in_blocks);
    return check_done();
}
