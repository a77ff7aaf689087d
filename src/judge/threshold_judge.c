/* SPDX-License-Identifier: Apache-2.0 */
/* Judging a run by thresholds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "judge/compare_runs.h"
#include "judge/threshold.h"
#include "judge/threshold_metric.h"

static bool same_number(const char *text, int64_t value)
{
    char *end;
    long long number = strtoll(text, &end, 10);
    return *end == '\0' && end != text && number == value;
}

/* Does a configuration have this key with this value? */
static bool key_fits(const struct tare_run_keys *keys, const char *name, const char *value)
{
    const struct {
        const char *name, *value;
    } texts[] = {{"precision", keys->precision},
                 {"provider", keys->provider},
                 {"graph_level", keys->graph_level},
                 {"model", keys->model}};
    if (strcmp(name, "batch") == 0)
        return keys->batch.known && same_number(value, keys->batch.value);
    if (strcmp(name, "threads") == 0)
        return keys->threads.known && same_number(value, keys->threads.value);
    if (strcmp(name, "inter_threads") == 0)
        return keys->inter_threads.known && same_number(value, keys->inter_threads.value);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i].name) == 0)
            return texts[i].value && strcmp(value, texts[i].value) == 0;
    for (size_t i = 0; i < keys->dims_count; i++)
        if (strcmp(name, keys->dims[i].name) == 0)
            return same_number(value, keys->dims[i].value);
    for (size_t i = 0; i < keys->labels_count; i++)
        if (strcmp(name, keys->labels[i].name) == 0)
            return strcmp(value, keys->labels[i].value) == 0;
    return false;
}

static bool is_about(const struct tare_threshold *threshold, const struct tare_run_config *config)
{
    for (size_t i = 0; i < threshold->keys_count; i++)
        if (!key_fits(&config->keys, threshold->keys[i].name, threshold->keys[i].value))
            return false;
    return true;
}

/*
 * Few samples know little of how they depend on each other, and nothing of bursts that have not come yet:
 * their bounds are too narrow. So a verdict from n samples needs bounds that are wider by 1 + sqrt(WIDEN /
 * n), and room for bursts of UNSEEN / 3 calls that double a call's time, of which n calls may have missed as
 * much as the rule of three allows (or, when n is small, may hold nothing else). What is far from its limit
 * is decided early all the same. bench/threshold_truth.c is where the two numbers come from.
 */
#define WIDEN  1000.0
#define UNSEEN 60.0

static void widen(struct tare_run_estimate *achieved, const struct tare_threshold_metric *metric,
                  const struct tare_run_config *config)
{
    if (!config->latency.count.known || config->latency.count.value < 1 || !achieved->value.known)
        return;
    double count = (double)config->latency.count.value, value = achieved->value.value;
    double more = 1 + sqrt(WIDEN / count);
    double unseen = metric->averaged || count < 4 * UNSEEN ? UNSEEN / count : 0;
    if (achieved->lower.known)
        achieved->lower = tare_run_real(
            fmax(value - (value - achieved->lower.value) * more - value * fmin(unseen, 0.5), 0));
    if (achieved->upper.known)
        achieved->upper =
            tare_run_real(value + (achieved->upper.value - value) * more + value * fmin(unseen, 1));
}

static enum tare_run_verdict judge(const struct tare_threshold *threshold,
                                   const struct tare_run_estimate *achieved)
{
    bool ceiling = threshold->bound == TARE_RUN_BOUND_UPPER;
    if (!achieved->value.known)
        return TARE_RUN_INCONCLUSIVE;
    const struct tare_run_real *worst = ceiling ? &achieved->upper : &achieved->lower;
    const struct tare_run_real *best = ceiling ? &achieved->lower : &achieved->upper;
    if (worst->known && (ceiling ? worst->value <= threshold->limit : worst->value >= threshold->limit))
        return TARE_RUN_PASS;
    if (best->known && (ceiling ? best->value > threshold->limit : best->value < threshold->limit))
        return TARE_RUN_FAIL;
    return TARE_RUN_INCONCLUSIVE;
}

/* Units of a rate: all count one item a sample, but tokens, which are many. */
static int check_unit(const struct tare_threshold *threshold, const struct tare_run *run,
                      struct tare_error *err)
{
    if (threshold->metric->kind != TARE_THRESHOLD_RATE || !*threshold->counted || !run->unit ||
        strcmp(threshold->counted, run->unit) == 0)
        return 0;
    if (strcmp(threshold->counted, "tokens") != 0 && strcmp(run->unit, "tokens") != 0)
        return 0;
    return tare_fail(err, TARE_E_USAGE, 0,
                     "threshold '%s' counts %s, but the run counted %s: give --unit %s, or a limit in %s/s",
                     threshold->text, threshold->counted, run->unit, threshold->counted, run->unit);
}

static struct tare_run_real scaled(struct tare_run_real real, double scale)
{
    return real.known ? tare_run_real(real.value / scale) : real;
}

/* How many times as good as asked: a ceiling kept with half of it is 2x target. */
static struct tare_run_real how_good(const struct tare_threshold *threshold, struct tare_run_real achieved)
{
    if (!achieved.known)
        return achieved;
    return tare_run_real(threshold->bound == TARE_RUN_BOUND_UPPER ? threshold->limit / achieved.value
                                                                  : achieved.value / threshold->limit);
}

static int add_row(const struct tare_threshold *threshold, struct tare_run *run, size_t config, bool whole,
                   struct tare_error *err)
{
    struct tare_run_estimate achieved = tare_threshold_metric_get(threshold->metric, threshold->accuracy, run,
                                                                  whole ? NULL : &run->configs[config]);
    struct tare_run_threshold *row =
        tare_run_append(run, &run->thresholds, &run->thresholds_count, sizeof *run->thresholds);
    if (!row)
        return tare_fail_memory(err);
    if (threshold->metric->sampled && !whole)
        widen(&achieved, threshold->metric, &run->configs[config]);
    row->text = tare_arena_copy(&run->arena, threshold->text);
    row->metric = threshold->accuracy
                      ? tare_arena_printf(&run->arena, "%s.%s", threshold->metric->name, threshold->accuracy)
                      : tare_arena_copy(&run->arena, threshold->metric->name);
    row->unit = tare_arena_copy(&run->arena, threshold->unit);
    row->bound = threshold->bound;
    row->status = judge(threshold, &achieved);
    if (!whole)
        row->configuration = tare_run_int((int64_t)config);
    row->target = tare_run_real(threshold->limit / threshold->scale);
    row->ratio = how_good(threshold, achieved.value);
    row->achieved = achieved;
    row->achieved.extra = NULL;
    row->achieved.value = scaled(achieved.value, threshold->scale);
    row->achieved.lower = scaled(achieved.lower, threshold->scale);
    row->achieved.upper = scaled(achieved.upper, threshold->scale);
    return 0;
}

static int badness(enum tare_run_verdict verdict)
{
    return verdict == TARE_RUN_FAIL ? 2 : verdict == TARE_RUN_INCONCLUSIVE ? 1 : 0;
}

/* Worst first; of two alike the one further from its target. */
static bool comes_before(const struct tare_run_threshold *a, const struct tare_run_threshold *b)
{
    if (a->status != b->status)
        return badness(a->status) > badness(b->status);
    return a->ratio.known && b->ratio.known && a->ratio.value < b->ratio.value;
}

static void sort_rows(struct tare_run_threshold *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct tare_run_threshold row = rows[i];
        size_t at = i;
        for (; at > 0 && comes_before(&row, &rows[at - 1]); at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

int tare_threshold_check(const struct tare_threshold *thresholds, size_t count, const struct tare_run *run,
                         struct tare_error *err)
{
    for (size_t t = 0; t < count; t++) {
        const struct tare_threshold *threshold = &thresholds[t];
        bool about = threshold->metric->whole && threshold->keys_count == 0;
        for (size_t i = 0; i < run->configs_count && !about; i++)
            about = is_about(threshold, &run->configs[i]);
        if (check_unit(threshold, run, err))
            return -1;
        if (!about)
            return tare_fail(
                err, TARE_E_USAGE, 0,
                "threshold '%s' is about no configuration of this run: what follows @ must be one "
                "that is measured",
                threshold->text);
    }
    return 0;
}

int tare_threshold_judge(const struct tare_threshold *thresholds, size_t count, struct tare_run *run,
                         struct tare_error *err)
{
    if (tare_threshold_check(thresholds, count, run, err))
        return -1;
    run->thresholds = NULL;
    run->thresholds_count = 0;
    for (size_t t = 0; t < count; t++) {
        const struct tare_threshold *threshold = &thresholds[t];
        if (threshold->metric->whole && threshold->keys_count == 0) {
            if (add_row(threshold, run, 0, true, err))
                return -1;
            continue;
        }
        for (size_t i = 0; i < run->configs_count; i++)
            if (is_about(threshold, &run->configs[i]) &&
                add_row(threshold, run, i, threshold->metric->whole, err))
                return -1;
    }
    sort_rows(run->thresholds, run->thresholds_count);
    return tare_arena_check(&run->arena, err);
}

bool tare_threshold_decided(const struct tare_threshold *thresholds, size_t count, const struct tare_run *run,
                            const struct tare_run_config *config)
{
    for (size_t t = 0; t < count; t++) {
        const struct tare_threshold *threshold = &thresholds[t];
        if (!threshold->metric->sampled || !is_about(threshold, config))
            continue;
        struct tare_run_estimate achieved =
            tare_threshold_metric_get(threshold->metric, threshold->accuracy, run, config);
        widen(&achieved, threshold->metric, config);
        /* What the samples do not tell now (percentiles of calls timed in blocks) they never will. */
        if (achieved.value.known && judge(threshold, &achieved) == TARE_RUN_INCONCLUSIVE)
            return false;
    }
    return true;
}

enum tare_run_verdict tare_threshold_worst(const struct tare_run *run)
{
    enum tare_run_verdict worst = TARE_RUN_PASS;
    for (size_t i = 0; i < run->thresholds_count; i++)
        if (badness(run->thresholds[i].status) > badness(worst))
            worst = run->thresholds[i].status;
    return worst;
}

/* What would settle it. What Python measured has a number of runs, and no time. */
static const char *advice(const struct tare_run_threshold *row, const struct tare_run *run,
                          struct tare_arena *arena)
{
    bool timed = run->procedure.time_limit_ns.known;
    if (row->status != TARE_RUN_INCONCLUSIVE)
        return NULL;
    if (!row->achieved.value.known)
        return "not measured";
    if (row->achieved.more_samples.known && row->achieved.more_samples.value > 0)
        return tare_arena_printf(arena, "%lld more samples are needed: raise %s",
                                 (long long)row->achieved.more_samples.value,
                                 timed ? "--time" : "runs= (num_runs= of a profiler)");
    return tare_arena_printf(arena,
                             "the bounds lie on both sides of the target: a longer run (%s) narrows them",
                             timed ? "--time" : "runs=, num_runs= of a profiler");
}

int tare_threshold_verdicts(const struct tare_run *run, struct tare_verdicts *verdicts,
                            struct tare_error *err)
{
    static const enum tare_verdict_kind kinds[] = {
        [TARE_RUN_INCONCLUSIVE] = TARE_VERDICT_INCONCLUSIVE,
        [TARE_RUN_PASS] = TARE_VERDICT_PASSED,
        [TARE_RUN_FAIL] = TARE_VERDICT_FAILED,
    };
    for (size_t i = 0; i < run->thresholds_count; i++) {
        const struct tare_run_threshold *from = &run->thresholds[i];
        struct tare_verdict *row = tare_compare_add(verdicts);
        if (!row)
            return tare_fail_memory(err);
        row->kind = kinds[from->status];
        row->metric = tare_arena_copy(verdicts->arena, from->metric);
        row->unit = tare_arena_copy(verdicts->arena, from->unit ? from->unit : "");
        row->target = tare_arena_printf(verdicts->arena, "%s %.10g%s%s",
                                        from->bound == TARE_RUN_BOUND_LOWER ? ">=" : "<=", from->target.value,
                                        row->unit[0] ? " " : "", row->unit);
        row->a.value = from->target;
        row->b = from->achieved;
        row->b.extra = NULL;
        if (from->ratio.known && from->ratio.value > 0)
            row->ratio = 1 / from->ratio.value;
        row->note = advice(from, run, verdicts->arena);
        if (from->configuration.known && (size_t)from->configuration.value < run->configs_count)
            row->configuration = tare_compare_name(&run->configs[from->configuration.value], verdicts->arena);
    }
    return tare_arena_check(verdicts->arena, err);
}
