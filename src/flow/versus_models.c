/* SPDX-License-Identifier: Apache-2.0 */
/* Two models compared by running them: every configuration of the plan, every block in fresh processes. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "flow/bench_part.h"
#include "flow/versus.h"
#include "judge/compare_runs.h"

/* A process costs its start anyway: it then runs for long enough that its figure means something. */
#define RUN_NS INT64_C(100000000)

/* Per configuration. */
enum { LATENCY, MEMORY, METRICS };

struct models {
    struct tare_bench bench[2];
    const struct tare_versus_options *options;
    int64_t end_ns;
    struct tare_bout_side (*sides)[2]; /* by configuration */
    bool apart, restless;              /* of any bout */
};

static int bout(void *data, bool b_first, struct tare_versus_bout *ret_bout, struct tare_error *err)
{
    struct models *models = data;
    struct tare_bout made;
    for (size_t i = 0; i < models->bench[0].specs_count; i++) {
        struct tare_verdict_process *a = ret_bout->runs[0] + METRICS * i,
                                    *b = ret_bout->runs[1] + METRICS * i;
        if (tare_bench_bout(models->sides[i], b_first, RUN_NS, &made, err))
            return -1;
        a[LATENCY] = made.sides[0].calls;
        b[LATENCY] = made.sides[1].calls;
        a[MEMORY].cost = fmax((double)made.sides[0].resident, 1);
        b[MEMORY].cost = fmax((double)made.sides[1].resident, 1);
        ret_bout->logs[METRICS * i + LATENCY] = made.log;
        ret_bout->logs[METRICS * i + MEMORY] = log(b[MEMORY].cost / a[MEMORY].cost);
        models->apart = models->apart || made.apart;
        models->restless = models->restless || (made.restless && !made.apart);
    }
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
        .bout = bout,
        .options = models->options,
        .end_ns = models->end_ns,
    };
    models->sides = tare_arena_array(arena, models->bench[0].specs_count, sizeof *models->sides);
    if (!versus.metrics || !models->sides)
        return tare_fail_memory(err);
    if (check_alike(models, arena, err))
        return -1;
    for (size_t i = 0; i < models->bench[0].specs_count; i++)
        for (int side = 0; side < 2; side++)
            models->sides[i][side] =
                (struct tare_bout_side){&models->bench[side], &models->bench[side].specs[i], 1, 0};
    if (tare_versus_run(&versus, verdicts, err) ||
        tare_compare_whole(&models->bench[0].run->model, &models->bench[1].run->model, verdicts, err))
        return -1;
    if (models->apart)
        tare_compare_note(
            verdicts, "processes of the two ran one after the other, because memory does not hold both or "
                      "one does not rest after a call: where the machine's speed changes that sees less");
    if (models->restless)
        tare_compare_note(verdicts, "a process was still busy when the other one was measured");
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
