/* SPDX-License-Identifier: Apache-2.0 */
/* Two models compared by running them: every configuration of the plan, every block in fresh processes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/stats.h"
#include "flow/bench_part.h"
#include "flow/versus.h"
#include "judge/compare_runs.h"

/* A process costs its start anyway: it then runs for long enough that its median means something. */
enum { SAMPLES_LEAST = 5, SAMPLES_MOST = 2000 };
#define WARM_NS INT64_C(150000000)
#define RUN_NS  INT64_C(150000000)

/* Per configuration. */
enum { LATENCY, MEMORY, METRICS };

struct models {
    struct tare_bench bench[2];
    const struct tare_versus_options *options;
    int64_t end_ns;
};

/* Median of one process, and what it holds at its end. */
static int measure(const struct tare_bench *bench, size_t config, struct tare_verdict_process *ret_runs,
                   struct tare_error *err)
{
    struct tare_harness_limits limits = {
        .min_samples = SAMPLES_LEAST, .max_samples = SAMPLES_MOST, .budget_ns = RUN_NS};
    struct tare_worker *worker = NULL;
    struct tare_worker_ready ready;
    struct tare_harness_warmup warmup;
    struct tare_arena scratch;
    const double *sorted;
    int64_t *ns;
    size_t count;
    int rc = -1;
    tare_arena_init(&scratch, 0);
    if (tare_bench_worker(bench, &bench->specs[config], &worker, &ready, err) ||
        tare_worker_warm(worker, WARM_NS, &warmup, err) ||
        tare_worker_measure(worker, &limits, &scratch, &ns, &count, NULL, err))
        goto out;
    int64_t resident = tare_bench_resident(tare_worker_pid(worker));
    double *values = tare_arena_array(&scratch, count + 1, sizeof *values);
    if (!values || count == 0) {
        tare_fail(err, TARE_E_INPUT, 0, "a process gave no figures");
        goto out;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = (double)ns[i] / (double)warmup.calls_per_sample;
    if (tare_stats_sorted(values, count, &scratch, &sorted, err))
        goto out;
    ret_runs[LATENCY] = (struct tare_verdict_process){.cost = fmax(tare_stats_median(sorted, count), 1),
                                                      .calls = (double)count,
                                                      .mean = tare_stats_mean(sorted, count),
                                                      .variance = tare_stats_variance(sorted, count)};
    ret_runs[MEMORY] = (struct tare_verdict_process){.cost = resident > 0 ? (double)resident : 1};
    rc = 0;
out:
    tare_worker_close(worker);
    tare_arena_finish(&scratch);
    return rc;
}

static int process(void *data, bool b, struct tare_verdict_process *ret_runs, struct tare_error *err)
{
    struct models *models = data;
    const struct tare_bench *bench = &models->bench[b];
    for (size_t i = 0; i < bench->specs_count; i++)
        if (measure(bench, i, ret_runs + METRICS * i, err))
            return -1;
    return 0;
}

static const struct tare_versus_metric *list_metrics(const struct tare_bench *bench, struct tare_arena *arena)
{
    struct tare_versus_metric *metrics =
        tare_arena_array(arena, METRICS * bench->specs_count, sizeof *metrics);
    for (size_t i = 0; metrics && i < bench->specs_count; i++) {
        const char *name = tare_compare_name(&bench->run->configs[i], arena);
        metrics[METRICS * i + LATENCY] = (struct tare_versus_metric){name, "latency", "ms", 1e6};
        metrics[METRICS * i + MEMORY] = (struct tare_versus_metric){name, "memory", "MB", 1e6};
    }
    return metrics;
}

/* The two plans come out alike only if both models have the same free dimensions. */
static int check_alike(const struct models *models, struct tare_arena *arena, struct tare_error *err)
{
    const struct tare_bench *a = &models->bench[0], *b = &models->bench[1];
    bool alike = a->specs_count == b->specs_count;
    for (size_t i = 0; alike && i < a->specs_count; i++)
        alike = strcmp(tare_compare_name(&a->run->configs[i], arena),
                       tare_compare_name(&b->run->configs[i], arena)) == 0;
    return alike ? 0
                 : tare_fail(err, TARE_E_INPUT, 0,
                             "the two models do not take the same shapes: give --batch and --dim values that "
                             "both can run");
}

static int compare(struct models *models, struct tare_arena *arena, struct tare_verdicts *verdicts,
                   struct tare_error *err)
{
    struct tare_versus versus = {
        .metrics = list_metrics(&models->bench[0], arena),
        .metrics_count = METRICS * models->bench[0].specs_count,
        .data = models,
        .process = process,
        .options = models->options,
        .end_ns = models->end_ns,
    };
    if (!versus.metrics)
        return tare_fail_memory(err);
    if (check_alike(models, arena, err) || tare_versus_run(&versus, verdicts, err) ||
        tare_compare_whole(&models->bench[0].run->model, &models->bench[1].run->model, verdicts, err))
        return -1;
    tare_verdicts_label(verdicts);
    tare_verdicts_sort(verdicts);
    return tare_arena_check(arena, err);
}

int tare_versus_models(const char *a, const char *b, const struct tare_bench_plan *plan,
                       const struct tare_versus_options *options, struct tare_arena *arena,
                       struct tare_verdicts *ret_verdicts, struct tare_error *err)
{
    struct models models = {.options = options, .end_ns = tare_clock_ns() + options->time_ns};
    struct tare_bench_plan plans[2] = {*plan, *plan};
    struct tare_bench_watch watch = {.stop = options->stop, .worker_argv = options->worker_argv};
    int opened = 0, rc = -1;
    plans[0].model_path = a;
    plans[1].model_path = b;
    plans[0].time_ns = plans[1].time_ns = options->time_ns;
    *ret_verdicts = (struct tare_verdicts){
        .arena = arena, .a = a, .b = b, .comparable = true, .threshold = options->rule.threshold};
    for (; opened < 2; opened++)
        if (tare_bench_open(&models.bench[opened], &plans[opened], &watch, err))
            goto out;
    rc = compare(&models, arena, ret_verdicts, err);
out:
    for (int i = 0; i < opened; i++)
        tare_bench_close(&models.bench[i]);
    return rc;
}
