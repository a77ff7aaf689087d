/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bench/engine.h"
#include "bench/fake.h"
#include "check.h"
#include "core/stats.h"

enum { MANY = 20000 };
static double values[MANY];

static struct tare_fake parsed(const char *text)
{
    struct tare_fake fake = {0};
    struct tare_error err = {0};
    CHECK_INT(tare_fake_parse(text, &fake, &err), 0);
    CHECK_TEXT(err.msg, "");
    return fake;
}

static void fill(const char *text, size_t count)
{
    struct tare_fake fake = parsed(text);
    struct tare_fake_series series;
    tare_fake_start(&series, &fake, 0);
    for (size_t i = 0; i < count; i++)
        values[i] = tare_fake_next(&series, &fake, tare_fake_base_ns(&fake, 1, 1, 1));
}

static double correlation(size_t count)
{
    double mean = tare_stats_mean(values, count), own = 0, next = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        own += (values[i] - mean) * (values[i] - mean);
        next += (values[i] - mean) * (values[i + 1] - mean);
    }
    return next / own;
}

static void descriptions_are_read(void)
{
    struct tare_fake fake = parsed("fake:normal,mean=2ms,sd=5%,seed=7,per_item=10us,memory=1MiB,leak=4k");
    CHECK_REAL(fake.mean_ns, 2e6, 0);
    CHECK_REAL(fake.sd, 0.05, 1e-15);
    CHECK_REAL(fake.seed, 7, 0);
    CHECK_REAL(fake.per_item_ns, 1e4, 0);
    CHECK_REAL(fake.memory, 1048576, 0);
    CHECK_REAL(fake.leak, 4000, 0);
    CHECK_REAL(parsed("autocorrelated").r, 0.9, 0);
    CHECK_REAL(parsed("constant,sd=0.02").sd, 0.02, 0);
}

static void wrong_descriptions_are_refused(void)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"fake:", "is no kind"},
        {"fake:norml", "did you mean 'normal'"},
        {"fake:normal,means=1ms", "did you mean 'mean'"},
        {"fake:normal,mean", "needs KEY=VALUE"},
        {"fake:normal,mean=-1ms", "-1ms"},
        {"fake:normal,sd=200%", "lie in 0..1"},
        {"fake:autocorrelated,r=1", "between -1 and 1"},
        {"fake:bursty,length=0", "at least 1 call"},
        {"fake:normal,tide=50%", "needs a period"},
        {"fake:normal,sd=%", ""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tare_fake fake;
        struct tare_error err = {0};
        CHECK_INT(tare_fake_parse(wrong[i].text, &fake, &err), -1);
        CHECK(err.msg[0] && strstr(err.msg, wrong[i].says));
        if (!strstr(err.msg, wrong[i].says))
            fprintf(stderr, "    %s: %s\n", wrong[i].text, err.msg);
    }
}

static void series_are_what_they_say(void)
{
    fill("normal,mean=1ms,sd=3%", MANY);
    CHECK_REAL(tare_stats_mean(values, MANY), 1e6, 0.002);
    CHECK_REAL(sqrt(tare_stats_variance(values, MANY)), 3e4, 0.03);
    CHECK(fabs(correlation(MANY)) < 0.03);
    fill("autocorrelated,mean=1ms,sd=3%,r=0.9", MANY);
    CHECK_REAL(correlation(MANY), 0.9, 0.03);
    CHECK_REAL(sqrt(tare_stats_variance(values, MANY)), 3e4, 0.15);
    fill("modes,mean=1ms,factor=2,length=50", MANY);
    size_t slow = 0, changes = 0;
    for (size_t i = 0; i < MANY; i++) {
        slow += values[i] > 1.5e6;
        changes += i > 0 && (values[i] > 1.5e6) != (values[i - 1] > 1.5e6);
    }
    CHECK_REAL((double)slow, MANY / 2.0, 0.15);
    CHECK_REAL((double)changes, MANY / 50.0, 0.2);
    fill("drift,mean=1ms,sd=0,drift=50%,span=1000", 2000);
    CHECK_REAL(values[0], 1e6, 1e-9);
    CHECK_REAL(values[500], 1.25e6, 1e-9);
    CHECK_REAL(values[1500], 1.5e6, 1e-9);
}

static void the_tide_is_the_same_for_all(void)
{
    struct tare_fake fake = parsed("constant,tide=50%,period=1ms"), calm = parsed("constant");
    CHECK_REAL(tare_fake_tide(&fake, 0), 1, 0);
    CHECK_REAL(tare_fake_tide(&fake, 999999), 1, 0);
    CHECK_REAL(tare_fake_tide(&fake, 1000000), 1.5, 1e-12);
    CHECK_REAL(tare_fake_tide(&fake, 2000000), 1, 0);
    CHECK_REAL(tare_fake_tide(&calm, 1000000), 1, 0);
}

static void percentiles_are_known(void)
{
    static const char *const texts[] = {"normal,sd=10%", "autocorrelated,sd=10%", "bursty,sd=5%"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct tare_fake fake = parsed(texts[t]);
        double truth = 1e6 * tare_fake_percentile(&fake, 90);
        size_t below = 0;
        fill(texts[t], MANY);
        for (size_t i = 0; i < MANY; i++)
            below += values[i] <= truth;
        CHECK_REAL((double)below / MANY, 0.9, 0.03);
    }
    struct tare_fake constant = parsed("constant");
    CHECK_REAL(tare_fake_percentile(&constant, 99), 1, 1e-12);
}

/* bench/fake_coverage.c shows more of this. */
static void bounds_cover_the_truth(void)
{
    static const char *const texts[] = {"normal", "autocorrelated,r=0.9", "bursty"};
    enum { REPETITIONS = 200, CALLS = 5000 };
    const double percent = 99;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct tare_fake fake = parsed(texts[t]);
        double truth = tare_fake_percentile(&fake, percent);
        int covered = 0, bounded = 0;
        for (uint64_t r = 0; r < REPETITIONS; r++) {
            struct tare_fake_series made;
            struct tare_percentile found = {0};
            struct tare_error err = {0};
            struct tare_arena arena;
            struct tare_series series = {.values = values, .count = CALLS};
            tare_arena_init(&arena, 0);
            tare_fake_start(&made, &fake, r);
            for (size_t i = 0; i < CALLS; i++)
                values[i] = tare_fake_next(&made, &fake, 1);
            CHECK_INT(tare_stats_percentiles(&series, &percent, 1, &arena, &found, &err), 0);
            covered += !(found.has_low && found.low > truth) && !(found.has_high && found.high < truth);
            bounded += found.has_low && found.has_high;
            tare_arena_finish(&arena);
        }
        CHECK(covered >= 0.93 * REPETITIONS);
        /* Bounds that are never there would cover everything. */
        CHECK(bounded >= 0.7 * REPETITIONS);
    }
}

static void calls_take_as_long_as_drawn(void)
{
    struct tare_engine_options options = {.threads = 2};
    struct tare_engine *engine = NULL;
    struct tare_error err = {0};
    struct tare_tensor input = {.name = "x", .element = TARE_ELEMENT_F32, .dims = {4, 2}, .rank = 2};
    float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    input.data = data;
    input.bytes = sizeof data;
    /* (0.1 + 0.1 x 4 + 0.0625 x 8) ms, halved by two threads: 0.5 ms */
    CHECK_INT(tare_engine_fake.open("constant,mean=100us,per_item=100us,per_element=62.5us,scale=1", &options,
                                    &engine, &err),
              0);
    if (!engine)
        return;
    CHECK_INT(tare_engine_fake.bind(engine, &input, 1, &err), 0);
    double best = INFINITY;
    for (int i = 0; i < 20; i++) {
        int64_t start = tare_clock_ns();
        CHECK_INT(tare_engine_fake.run(engine, &err), 0);
        best = fmin(best, (double)(tare_clock_ns() - start));
    }
    CHECK_REAL(best, 5e5, 0.02);
    tare_engine_fake.close(engine);
}

static void answers_do_not_depend_on_the_batch(void)
{
    struct tare_engine_options options = {0};
    struct tare_error err = {0};
    float data[8] = {1, 2, 3, 4, 5, 6, 7, 8}, alone[4] = {0};
    for (int wrong = 0; wrong < 2; wrong++) {
        struct tare_engine *engine = NULL;
        struct tare_arena arena;
        struct tare_tensor *outputs;
        size_t count;
        CHECK_INT(tare_engine_fake.open(wrong ? "constant,mean=1us,wrong=1%" : "constant,mean=1us", &options,
                                        &engine, &err),
                  0);
        if (!engine)
            return;
        tare_arena_init(&arena, 0);
        for (int64_t batch = 1; batch <= 2; batch++) {
            struct tare_tensor input = {
                .element = TARE_ELEMENT_F32, .dims = {batch, 4}, .rank = 2, .bytes = sizeof data};
            input.data = data;
            input.bytes = (size_t)batch * 16;
            CHECK_INT(tare_engine_fake.bind(engine, &input, 1, &err), 0);
            CHECK_INT(tare_engine_fake.run(engine, &err), 0);
            CHECK_INT(tare_engine_fake.outputs(engine, &arena, &outputs, &count, &err), 0);
            CHECK_INT(count, 1);
            CHECK_INT(outputs[0].dims[0], batch);
            if (batch == 1)
                memcpy(alone, outputs[0].data, sizeof alone);
            else
                CHECK_INT(memcmp(alone, outputs[0].data, sizeof alone) == 0, !wrong);
        }
        tare_arena_finish(&arena);
        tare_engine_fake.close(engine);
    }
}

static void failing_calls_fail(void)
{
    struct tare_engine_options options = {0}, cuda = {.provider = "cuda"};
    struct tare_engine *engine = NULL;
    struct tare_error err = {0};
    CHECK_INT(tare_engine_fake.open("constant,mean=1us,fail=2", &options, &engine, &err), 0);
    if (!engine)
        return;
    CHECK_INT(tare_engine_fake.run(engine, &err), 0);
    CHECK_INT(tare_engine_fake.run(engine, &err), -1);
    CHECK(strstr(err.msg, "call 2 fails"));
    tare_engine_fake.close(engine);
    CHECK_INT(tare_engine_fake.open("constant", &cuda, &engine, &err), -1);
    CHECK(strstr(err.msg, "cuda"));
}

int main(void)
{
    RUN(descriptions_are_read);
    RUN(wrong_descriptions_are_refused);
    RUN(series_are_what_they_say);
    RUN(the_tide_is_the_same_for_all);
    RUN(percentiles_are_known);
    RUN(bounds_cover_the_truth);
    RUN(calls_take_as_long_as_drawn);
    RUN(answers_do_not_depend_on_the_batch);
    RUN(failing_calls_fail);
    return check_done();
}
