/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "bench/fake.h"
#include "bench/stability.h"
#include "check.h"

enum { SEEDS = 100, MOST = 5000 };

static struct tare_stability_verdict judged(const struct tare_stability_facts *facts)
{
    struct tare_stability_verdict verdict = {0};
    struct tare_error err = {0};
    struct tare_arena scratch;
    tare_arena_init(&scratch, 0);
    CHECK_INT(tare_stability_judge(facts, &scratch, &verdict, &err), 0);
    tare_arena_finish(&scratch);
    CHECK_INT(verdict.kind == TARE_STABLE, verdict.reason[0] == '\0');
    return verdict;
}

/* How many of the seeds are called so. */
static int called(const char *text, size_t count, enum tare_stability kind)
{
    static int64_t ns[MOST];
    struct tare_stability_facts facts = {.ns = ns, .count = count, .wall_ns = -1};
    int found = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct tare_fake fake;
        struct tare_fake_series series;
        struct tare_error err = {0};
        CHECK_INT(tare_fake_parse(text, &fake, &err), 0);
        tare_fake_start(&series, &fake, seed);
        for (size_t i = 0; i < count; i++)
            ns[i] = (int64_t)tare_fake_next(&series, &fake, 1e6);
        found += judged(&facts).kind == kind;
    }
    return found;
}

static void two_modes_are_unstable(void)
{
    CHECK(called("modes", 1000, TARE_UNSTABLE_MODES) >= 98);
    CHECK(called("modes,factor=1.2,sd=2%", 1000, TARE_UNSTABLE_MODES) >= 98);
    CHECK(called("modes,length=3", 100, TARE_UNSTABLE_MODES) >= 98);
    /* Too near to matter. */
    CHECK_INT(called("modes,factor=1.05,sd=0.5%", 1000, TARE_UNSTABLE_MODES), 0);
}

static void drift_is_unstable(void)
{
    CHECK(called("drift,drift=20%,span=200", 200, TARE_UNSTABLE_DRIFT) >= 98);
    CHECK(called("drift,drift=-30%,span=1000", 1000, TARE_UNSTABLE_DRIFT) >= 98);
    CHECK_INT(called("drift,drift=3%,span=1000", 1000, TARE_UNSTABLE_DRIFT), 0);
}

static void noise_is_not(void)
{
    static const char *const calm[] = {
        "constant",
        "normal,sd=1%",
        "normal,sd=10%",
        "normal,sd=30%",
        "autocorrelated,sd=3%",
        "autocorrelated,sd=10%",
        "autocorrelated,sd=30%",
        "bursty,share=3%,length=5,factor=3",
        "bursty,share=5%,length=5,factor=1.5",
    };
    for (size_t i = 0; i < sizeof calm / sizeof *calm; i++) {
        int stable = called(calm[i], 100, TARE_STABLE), longer = called(calm[i], 1000, TARE_STABLE);
        CHECK(stable >= 95);
        CHECK(longer >= 99);
        if (stable < 95 || longer < 99)
            fprintf(stderr, "    %s: %d and %d of 100 are called stable\n", calm[i], stable, longer);
    }
}

static void what_the_machine_took_is_told(void)
{
    int64_t ns[] = {1000000, 1000000, 1000000};
    struct tare_stability_facts facts = {
        .ns = ns, .count = 3, .wall_ns = 1000000000, .throttled_ns = 200000000, .steal_ns = 0, .cores = 2};
    struct tare_stability_verdict verdict = judged(&facts);
    CHECK_INT(verdict.kind, TARE_UNSTABLE_THROTTLED);
    CHECK(strstr(verdict.reason, "20 %"));
    facts.throttled_ns = -1;
    facts.steal_ns = 300000000;
    verdict = judged(&facts);
    CHECK_INT(verdict.kind, TARE_UNSTABLE_STEAL);
    CHECK(strstr(verdict.reason, "15 %"));
    facts.steal_ns = 50000000;
    CHECK_INT(judged(&facts).kind, TARE_STABLE);
    facts.steal_ns = -1;
    CHECK_INT(judged(&facts).kind, TARE_STABLE);
    facts.count = 0;
    CHECK_INT(judged(&facts).kind, TARE_STABLE);
}

int main(void)
{
    RUN(two_modes_are_unstable);
    RUN(drift_is_unstable);
    RUN(noise_is_not);
    RUN(what_the_machine_took_is_told);
    return check_done();
}
