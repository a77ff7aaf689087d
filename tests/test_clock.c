/* SPDX-License-Identifier: Apache-2.0 */
/* clock: agrees with CLOCK_MONOTONIC within the error that it states, on whichever source it picked. Built
 * twice: with this processor's counter, and with clock_fallback.c. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "check.h"

static struct tare_clock made;

static void sleep_ns(long ns)
{
    struct timespec left = {.tv_nsec = ns};
    nanosleep(&left, NULL);
}

static void says_what_it_is(void)
{
    CHECK(made.source && *made.source);
    CHECK_INT(made.counter, made.refused[0] == '\0');
    CHECK(made.frequency_hz > 1e6);
    CHECK(made.read_ns > 0 && made.read_ns < 100000);
    CHECK(made.rate_error >= 0 && made.rate_error < 1e-2);
    printf("%s at %.6f MHz, rate error %.2g, base error %.0f ns, a read costs %.1f ns%s%s\n", made.source,
           made.frequency_hz / 1e6, made.rate_error, made.base.error_ns, made.read_ns,
           *made.refused ? "; no counter: " : "", made.refused);
}

static void agrees(const struct tare_clock *clock)
{
    double worst = 0;
    for (int i = 0; i < 100; i++) {
        int64_t before = tare_clock_ns();
        uint64_t ticks = tare_clock_ticks(clock);
        int64_t after = tare_clock_ns();
        double ns = (double)tare_clock_to_ns(clock, ticks);
        double outside = fmax((double)before - ns, ns - (double)after);
        double allowed = tare_clock_error_ns(clock, ticks);
        worst = fmax(worst, outside / fmax(allowed, 1));
        if (outside > allowed) {
            CHECK(outside <= allowed);
            fprintf(stderr, "    %.0f ns outside, %.0f allowed\n", outside, allowed);
        }
        sleep_ns(500 * 1000);
    }
    printf("worst disagreement: %.2f of the stated error\n", worst);
}

static void agrees_with_the_system(void)
{
    agrees(&made);
}

static void refining_narrows_the_error(void)
{
    struct tare_clock clock;
    tare_clock_init(&clock);
    double error = clock.rate_error;
    sleep_ns(200 * 1000 * 1000);
    tare_clock_refine(&clock);
    if (clock.counter)
        CHECK(clock.rate_error < error / 2);
    agrees(&clock);
}

static void never_goes_back(void)
{
    uint64_t last = tare_clock_ticks(&made);
    int64_t last_ns = tare_clock_to_ns(&made, last);
    for (int i = 0; i < 200 * 1000; i++) {
        uint64_t ticks = tare_clock_ticks(&made);
        int64_t ns = tare_clock_to_ns(&made, ticks);
        if (ticks < last || ns < last_ns) {
            CHECK(ticks >= last && ns >= last_ns);
            return;
        }
        last = ticks;
        last_ns = ns;
    }
}

/* The last ticks that any thread read; a later read elsewhere must not be smaller. */
static _Atomic uint64_t shared;
static _Atomic int steps_back;

static void *compare_with_shared(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200 * 1000; i++) {
        uint64_t seen = shared;
        /* The system's clock has a fence inside; without one the counter may be read before `shared` is. */
        tare_clock_ns();
        uint64_t ticks = tare_clock_ticks(&made);
        if (ticks < seen)
            steps_back++;
        shared = ticks;
    }
    return NULL;
}

static void threads_agree(void)
{
    pthread_t threads[3];
    shared = tare_clock_ticks(&made);
    for (int i = 0; i < 3; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, compare_with_shared, NULL), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(steps_back, 0);
}

/* Known rates, so that the arithmetic can be checked by hand. */
static void years_do_not_overflow(void)
{
    struct tare_clock clock = {.counter = true, .frequency_hz = 2.5e9, .base = {.ticks = 1000, .ns = 5000}};
    clock.scale = (uint64_t)(0.4 * 0x1p56);
    uint64_t year = 2500000000u * UINT64_C(31557600);
    CHECK(llabs(tare_clock_span_ns(&clock, 2500) - 1000) <= 1);
    for (unsigned years = 1; years <= 200; years++) {
        int64_t want = (int64_t)years * 31557600 * 1000000000;
        CHECK_REAL((double)tare_clock_span_ns(&clock, year * years), (double)want, 1e-15);
    }
    /* 24 MHz, as many arm64 machines have. */
    clock.scale = (uint64_t)(1e9 / 24e6 * 0x1p56);
    CHECK_REAL((double)tare_clock_span_ns(&clock, 24000000 * UINT64_C(3155760000)), 3155760000e9, 1e-15);
    /* Before the base. */
    CHECK(llabs(tare_clock_to_ns(&clock, 1000 - 24) - 4000) <= 1);
    CHECK_INT(tare_clock_to_ns(&clock, 1000), 5000);
}

static void falls_back(void)
{
    struct tare_clock clock;
    tare_clock_init_monotonic(&clock, "told so");
    CHECK_TEXT(clock.source, "CLOCK_MONOTONIC");
    CHECK_TEXT(clock.refused, "told so");
    int64_t before = tare_clock_ns();
    int64_t now = tare_clock_to_ns(&clock, tare_clock_ticks(&clock));
    CHECK(now >= before && now <= tare_clock_ns());
    CHECK_INT(tare_clock_span_ns(&clock, 123), 123);
    tare_clock_refine(&clock);
    agrees(&clock);
}

static void processor_time(void)
{
    int64_t cpu = tare_clock_thread_cpu_ns(), all = tare_clock_process_cpu_ns(), wall = tare_clock_ns();
    sleep_ns(30 * 1000 * 1000);
    int64_t slept_wall = tare_clock_ns() - wall;
    CHECK(slept_wall >= 30 * 1000 * 1000);
    CHECK(tare_clock_thread_cpu_ns() - cpu < slept_wall / 2);
    cpu = tare_clock_thread_cpu_ns();
    while (tare_clock_thread_cpu_ns() - cpu < 5 * 1000 * 1000)
        continue;
    CHECK(tare_clock_process_cpu_ns() - all >= 5 * 1000 * 1000);
}

int main(void)
{
    tare_clock_init(&made);
    RUN(says_what_it_is);
    RUN(agrees_with_the_system);
    RUN(refining_narrows_the_error);
    RUN(never_goes_back);
    RUN(threads_agree);
    RUN(years_do_not_overflow);
    RUN(falls_back);
    RUN(processor_time);
    return check_done();
}
