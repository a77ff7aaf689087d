/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are verdicts on thresholds right? Series of the fake engine, whose truth is known, are drawn without
 * waiting and looked at as the sweep does (at 16 samples, then whenever there is half as much again, every
 * look at its own level), until each threshold is decided or the samples are spent. Limits stand at +-0.1,
 * 0.5, 1 and 5 % of the true p50, p99 and mean. One process a run. Printed: wrong verdicts, and those that
 * stay inconclusive. Exits with 1 if more than 2 % of any row's are wrong. Usage: threshold_truth [RUNS
 * [SAMPLES]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/fake.h"
#include "core/stats.h"
#include "judge/threshold.h"

#define MOST_WRONG 0.02

enum { FIRST_LOOK = 16 };

static const char *const descriptions[] = {"normal,sd=3%", "autocorrelated,sd=3%,r=0.9",
                                           "bursty,share=9%,length=20,factor=2"};
static const char *const metrics[] = {"latency.p50", "latency.p99", "latency.mean"};
static const double distances[] = {0.001, 0.005, 0.01, 0.05};

enum { METRICS = 3, DISTANCES = 4, SIDES = 2, LIMITS = METRICS * DISTANCES * SIDES };

struct limit {
    struct tare_threshold threshold;
    enum tare_run_verdict right, found;
    size_t wrong, open;
    double samples;
};

static double truth_of(const struct tare_fake *fake, size_t metric)
{
    if (metric < 2)
        return tare_fake_percentile(fake, metric == 0 ? 50 : 99);
    return 1 + fake->share * (fake->factor > 0 ? fake->factor - 1 : 0);
}

static int make_limits(const struct tare_fake *fake, struct tare_arena *arena, struct limit *limits,
                       struct tare_error *err)
{
    for (size_t i = 0; i < LIMITS; i++) {
        size_t metric = i / (DISTANCES * SIDES);
        double distance = distances[i / SIDES % DISTANCES] * (i % SIDES ? -1 : 1);
        double limit = fake->mean_ns * truth_of(fake, metric) * (1 + distance);
        const char *text = tare_arena_printf(arena, "%s:%.6fms", metrics[metric], limit / 1e6);
        limits[i] = (struct limit){.right = distance > 0 ? TARE_RUN_PASS : TARE_RUN_FAIL};
        if (!text || tare_threshold_parse(text, arena, &limits[i].threshold, err))
            return -1;
    }
    return 0;
}

/* One look: which of the open thresholds are decided now? */
static int look(struct tare_run *run, struct limit *limits, size_t number, size_t *ret_open,
                struct tare_error *err)
{
    *ret_open = 0;
    if (tare_run_config_derive_at(run->configs, tare_stats_look_level(0.95, number), err))
        return -1;
    for (size_t i = 0; i < LIMITS; i++) {
        if (limits[i].found != TARE_RUN_INCONCLUSIVE)
            continue;
        if (tare_threshold_judge(&limits[i].threshold, 1, run, err))
            return -1;
        limits[i].found = run->thresholds[0].status;
        if (limits[i].found == TARE_RUN_INCONCLUSIVE)
            ++*ret_open;
        else
            limits[i].samples += (double)run->configs->samples->ns_count;
    }
    return 0;
}

static int one_run(const struct tare_fake *fake, uint64_t salt, size_t most, int64_t *ns,
                   struct limit *limits, struct tare_error *err)
{
    struct tare_run *run;
    struct tare_fake_series series;
    size_t open = LIMITS, number = 0;
    if (tare_run_create(0, &run, err))
        return -1;
    int rc = -1;
    struct tare_run_config *config =
        tare_run_append(run, &run->configs, &run->configs_count, sizeof *run->configs);
    struct tare_run_process *process =
        config ? tare_run_append(run, &config->samples, &config->samples_count, sizeof *config->samples)
               : NULL;
    if (!process) {
        tare_fail_memory(err);
        goto out;
    }
    process->ns = ns;
    tare_fake_start(&series, fake, salt);
    for (size_t i = 0; i < LIMITS; i++)
        limits[i].found = TARE_RUN_INCONCLUSIVE;
    for (size_t next = FIRST_LOOK; open && process->ns_count < most; next += next / 2) {
        size_t until = next < most ? next : most;
        while (process->ns_count < until)
            ns[process->ns_count++] = (int64_t)(tare_fake_next(&series, fake, fake->mean_ns) + 0.5);
        if (look(run, limits, ++number, &open, err))
            goto out;
    }
    for (size_t i = 0; i < LIMITS; i++) {
        limits[i].open += limits[i].found == TARE_RUN_INCONCLUSIVE;
        limits[i].wrong += limits[i].found != TARE_RUN_INCONCLUSIVE && limits[i].found != limits[i].right;
    }
    rc = 0;
out:
    tare_run_destroy(run);
    return rc;
}

/* Both sides of a distance in one row. */
static size_t print(const char *description, const struct limit *limits, size_t runs)
{
    size_t bad = 0;
    for (size_t i = 0; i < LIMITS; i += SIDES) {
        double judged = (double)(SIDES * runs), wrong = (double)(limits[i].wrong + limits[i + 1].wrong);
        double open = (double)(limits[i].open + limits[i + 1].open);
        bool worse = fmax((double)limits[i].wrong, (double)limits[i + 1].wrong) > MOST_WRONG * (double)runs;
        bad += worse;
        printf("%-36s %-13s %5.1f %%  %6.2f %% (%.2f, %.2f) %10.1f %% %9.0f%s\n", description,
               metrics[i / (DISTANCES * SIDES)], 100 * distances[i / SIDES % DISTANCES], 100 * wrong / judged,
               100 * (double)limits[i].wrong / (double)runs, 100 * (double)limits[i + 1].wrong / (double)runs,
               100 * open / judged,
               judged > open ? (limits[i].samples + limits[i + 1].samples) / (judged - open) : 0,
               worse ? "  TOO OFTEN" : "");
    }
    return bad;
}

int main(int argc, char **argv)
{
    size_t runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 500, bad = 0;
    size_t most = argc > 2 ? strtoul(argv[2], NULL, 10) : 6000;
    static struct limit limits[LIMITS];
    struct tare_error err = {.msg = ""};
    struct tare_arena arena;
    int64_t *ns = calloc(most + 1, sizeof *ns);
    tare_arena_init(&arena, 0);
    printf("%zu runs each, at most %zu samples\n%-36s %-13s %7s  %-23s %12s %9s\n", runs, most, "series",
           "metric", "limit", "wrong (above, below)", "inconclusive", "samples");
    for (size_t d = 0; ns && d < sizeof descriptions / sizeof *descriptions; d++) {
        struct tare_fake fake;
        if (tare_fake_parse(descriptions[d], &fake, &err) || make_limits(&fake, &arena, limits, &err))
            goto fail;
        for (size_t r = 0; r < runs; r++)
            if (one_run(&fake, r + 1, most, ns, limits, &err))
                goto fail;
        bad += print(descriptions[d], limits, runs);
    }
    free(ns);
    tare_arena_finish(&arena);
    return bad > 0;
fail:
    fprintf(stderr, "threshold_truth: %s\n", err.msg);
    free(ns);
    tare_arena_finish(&arena);
    return 2;
}
