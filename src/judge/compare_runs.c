/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/compare_runs.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "core/stats.h"

static const double ms = 1e6, mb = 1e6;

/* Less than this, of too few processes, is not judged at all. */
static const double moment_ns = 200e6;

/* A machine is busy when others take the processor more often than this in a second. */
static const double taken_per_sec = 50;

/* A configuration has at most 64 dimensions and labels; a longer name is cut. */
enum { NAME_MOST = 4096 };

struct comparison {
    const struct tare_run *a, *b;
    struct tare_gate_rule rule;
    struct tare_arena *arena;
    struct tare_verdicts *verdicts;
    struct tare_gate_result *results; /* of the rows that have a test, for Holm */
    size_t *tested;                   /* and which rows these are */
    size_t tested_count;
    struct tare_error *err;
};

struct tare_verdict *tare_compare_add(struct tare_verdicts *verdicts)
{
    enum { STEP = 16 };
    if (verdicts->count % STEP == 0) {
        struct tare_verdict *rows = tare_arena_array(verdicts->arena, verdicts->count + STEP, sizeof *rows);
        if (!rows)
            return NULL;
        if (verdicts->count)
            memcpy(rows, verdicts->rows, verdicts->count * sizeof *rows);
        verdicts->rows = rows;
    }
    struct tare_verdict *row = &verdicts->rows[verdicts->count++];
    *row = (struct tare_verdict){
        .configuration = "", .label = "", .ratio = NAN, .low = NAN, .high = NAN, .p = NAN, .detectable = NAN};
    return row;
}

void tare_compare_note(struct tare_verdicts *verdicts, const char *text)
{
    const char **notes = tare_arena_array(verdicts->arena, verdicts->notes_count + 1, sizeof *notes);
    if (!notes)
        return;
    if (verdicts->notes_count)
        memcpy(notes, verdicts->notes, verdicts->notes_count * sizeof *notes);
    notes[verdicts->notes_count++] = text;
    verdicts->notes = notes;
}

static enum tare_verdict_kind kind_of(enum tare_gate_verdict verdict)
{
    static const enum tare_verdict_kind kinds[] = {
        [TARE_GATE_INCONCLUSIVE] = TARE_VERDICT_INCONCLUSIVE,
        [TARE_GATE_SAME] = TARE_VERDICT_SAME,
        [TARE_GATE_IMPROVED] = TARE_VERDICT_IMPROVED,
        [TARE_GATE_REGRESSED] = TARE_VERDICT_REGRESSED,
    };
    return kinds[verdict];
}

/* What would settle it. */
static const char *advice(const struct tare_gate_result *result, double threshold, struct tare_arena *arena)
{
    if (result->verdict != TARE_GATE_INCONCLUSIVE)
        return NULL;
    if (result->allowance > 0)
        return tare_arena_printf(
            arena,
            "%zu and %zu processes: fewer than %d tell nothing of how processes differ%s, so only "
            "a change of more than %.0f %% is called; measure with --processes %d, or let "
            "tare run both",
            result->a, result->b, TARE_GATE_PROCESSES,
            result->allowance > TARE_GATE_ALLOWANCE ? ", and others wanted the processor" : "",
            100 * result->allowance, TARE_GATE_PROCESSES);
    return tare_arena_printf(arena,
                             "a true change of %.1f %% would be called in 4 of 5 such comparisons; more "
                             "processes, or a quieter machine, see less than that%s",
                             100 * result->detectable,
                             result->detectable > 2 * threshold ? " (this one is very noisy)" : "");
}

void tare_compare_fill(struct tare_verdict *row, const struct tare_gate_result *result, double threshold,
                       struct tare_arena *arena)
{
    row->kind = kind_of(result->verdict);
    row->ratio = result->ratio;
    row->low = result->low;
    row->high = result->high;
    row->p = result->p;
    row->detectable = result->exact ? NAN : result->detectable;
    row->processes_a = result->a;
    row->processes_b = result->b;
    row->exact = result->exact;
    row->note = advice(result, threshold, arena);
}

static struct tare_run_estimate scaled(struct tare_run_estimate estimate, double scale)
{
    estimate.extra = NULL;
    estimate.value = estimate.value.known ? tare_run_real(estimate.value.value / scale) : estimate.value;
    estimate.lower = estimate.lower.known ? tare_run_real(estimate.lower.value / scale) : estimate.lower;
    estimate.upper = estimate.upper.known ? tare_run_real(estimate.upper.value / scale) : estimate.upper;
    return estimate;
}

static struct tare_run_estimate plain(double value)
{
    return (struct tare_run_estimate){.value = tare_run_real(value)};
}

/* The median of each process of a configuration. */
static int medians(const struct tare_run_config *config, struct tare_arena *arena, double **ret_values,
                   size_t *ret_count, struct tare_error *err)
{
    double calls = config->calls_per_sample.known ? (double)config->calls_per_sample.value : 1;
    double *values = tare_arena_array(arena, config->samples_count + 1, sizeof *values);
    size_t count = 0;
    if (!values)
        return tare_arena_check(arena, err);
    for (size_t i = 0; i < config->samples_count; i++) {
        const struct tare_run_process *process = &config->samples[i];
        const double *sorted;
        double *times = tare_arena_array(arena, process->ns_count + 1, sizeof *times);
        if (!times)
            return tare_arena_check(arena, err);
        if (process->ns_count == 0)
            continue;
        for (size_t k = 0; k < process->ns_count; k++)
            times[k] = (double)process->ns[k] / calls;
        if (tare_stats_sorted(times, process->ns_count, arena, &sorted, err))
            return -1;
        values[count++] = tare_stats_median(sorted, process->ns_count);
    }
    *ret_values = values;
    *ret_count = count;
    return 0;
}

/* All that was measured of a configuration, in nanoseconds. */
static double measured(const struct tare_run_config *config)
{
    double sum = 0;
    for (size_t i = 0; i < config->samples_count; i++)
        for (size_t k = 0; k < config->samples[i].ns_count; k++)
            sum += (double)config->samples[i].ns[k];
    return sum;
}

/* How often a second others took its processor. */
static double taken(const struct tare_run_config *config)
{
    const struct tare_run_resources *use = &config->resources;
    if (!use->switches_involuntary.known || !use->wall_ns.known || use->wall_ns.value <= 0)
        return 0;
    return 1e9 * (double)use->switches_involuntary.value / (double)use->wall_ns.value;
}

static int compare_times(struct comparison *comparison, const struct tare_run_config *a,
                         const struct tare_run_config *b, const char *name)
{
    double *values_a = NULL, *values_b = NULL;
    size_t count_a = 0, count_b = 0;
    struct tare_gate_result *result = &comparison->results[comparison->tested_count];
    if (medians(a, comparison->arena, &values_a, &count_a, comparison->err) ||
        medians(b, comparison->arena, &values_b, &count_b, comparison->err))
        return -1;
    if (count_a == 0 || count_b == 0)
        return 0;
    struct tare_gate_rule rule = comparison->rule;
    if (fmax(taken(a), taken(b)) > taken_per_sec)
        rule.allowance = TARE_GATE_ALLOWANCE_BUSY;
    if (tare_gate_sides(values_a, count_a, values_b, count_b, &rule, comparison->arena, result,
                        comparison->err))
        return -1;
    /* A moment on a busy machine can be off by more than the allowance. */
    if (result->allowance > 0 && fmin(measured(a), measured(b)) < moment_ns)
        result->verdict = TARE_GATE_INCONCLUSIVE;
    struct tare_verdict *row = tare_compare_add(comparison->verdicts);
    if (!row)
        return tare_fail_memory(comparison->err);
    row->configuration = name;
    row->metric = "latency";
    row->unit = "ms";
    row->a = scaled(a->latency.p50_ns.value.known ? a->latency.p50_ns : a->latency.mean_ns, ms);
    row->b = scaled(b->latency.p50_ns.value.known ? b->latency.p50_ns : b->latency.mean_ns, ms);
    comparison->tested[comparison->tested_count++] = comparison->verdicts->count - 1;
    return 0;
}

static int compare_memory(struct comparison *comparison, const struct tare_run_config *a,
                          const struct tare_run_config *b, const char *name)
{
    struct tare_run_int from = a->memory.peak_bytes, to = b->memory.peak_bytes;
    if (!from.known || !to.known || from.value <= 0)
        return 0;
    struct tare_verdict *row = tare_compare_add(comparison->verdicts);
    if (!row)
        return tare_fail_memory(comparison->err);
    double ratio = (double)to.value / (double)from.value;
    double beyond = fmax(comparison->rule.threshold, TARE_COMPARE_MEMORY_ALLOWANCE);
    row->configuration = name;
    row->metric = "memory.peak";
    row->unit = "MB";
    row->a = plain((double)from.value / mb);
    row->b = plain((double)to.value / mb);
    row->ratio = ratio;
    row->low = ratio / (1 + TARE_COMPARE_MEMORY_ALLOWANCE);
    row->high = ratio * (1 + TARE_COMPARE_MEMORY_ALLOWANCE);
    row->processes_a = row->processes_b = 1;
    row->kind = ratio > 1 + beyond         ? TARE_VERDICT_REGRESSED
                : ratio < 1 / (1 + beyond) ? TARE_VERDICT_IMPROVED
                                           : TARE_VERDICT_SAME;
    return 0;
}

static int compare_exact(struct tare_verdicts *verdicts, const char *metric, struct tare_run_int a,
                         struct tare_run_int b, struct tare_error *err)
{
    struct tare_gate_result result;
    if (!a.known || !b.known)
        return 0;
    struct tare_verdict *row = tare_compare_add(verdicts);
    if (!row)
        return tare_fail_memory(err);
    row->metric = metric;
    row->unit = "";
    row->a = plain((double)a.value);
    row->b = plain((double)b.value);
    tare_gate_exact((double)a.value, (double)b.value, &result);
    tare_compare_fill(row, &result, verdicts->threshold, verdicts->arena);
    return 0;
}

/* Only shares of right answers and flips: distances in the last digits differ from one build to the next. */
static int compare_accuracy(struct comparison *comparison, const struct tare_run_config *a,
                            const struct tare_run_config *b, const char *name)
{
    for (size_t i = 0; i < a->accuracy_count; i++) {
        const char *metric = a->accuracy[i].name;
        bool floor = strcmp(metric, "top1") == 0 || strcmp(metric, "accuracy") == 0;
        if (!floor && strcmp(metric, "top1_flips") != 0)
            continue;
        for (size_t k = 0; k < b->accuracy_count; k++) {
            if (strcmp(b->accuracy[k].name, metric) != 0 || !a->accuracy[i].value.known ||
                !b->accuracy[k].value.known)
                continue;
            struct tare_gate_result result;
            double from = a->accuracy[i].value.value, to = b->accuracy[k].value.value;
            struct tare_verdict *row = tare_compare_add(comparison->verdicts);
            if (!row)
                return tare_fail_memory(comparison->err);
            row->configuration = name;
            row->metric = tare_arena_printf(comparison->arena, "accuracy.%s", metric);
            row->unit = "";
            row->a = plain(from);
            row->b = plain(to);
            tare_gate_exact(floor ? to : from, floor ? from : to, &result);
            tare_compare_fill(row, &result, comparison->rule.threshold, comparison->arena);
        }
    }
    return 0;
}

const char *tare_compare_name(const struct tare_run_config *config, struct tare_arena *arena)
{
    struct tare_buf buf;
    tare_buf_init(&buf, NAME_MOST);
    tare_run_config_name(config, &buf);
    const char *name = tare_arena_text(arena, buf.data, buf.length);
    tare_buf_finish(&buf);
    return name;
}

static int compare_configs(struct comparison *comparison)
{
    const struct tare_run *a = comparison->a, *b = comparison->b;
    size_t matched = 0;
    const char **names = tare_arena_array(comparison->arena, a->configs_count + 1, sizeof *names);
    if (!names)
        return tare_arena_check(comparison->arena, comparison->err);
    for (size_t i = 0; i < a->configs_count; i++)
        names[i] = tare_compare_name(&a->configs[i], comparison->arena);
    for (size_t k = 0; k < b->configs_count; k++) {
        const struct tare_run_config *to = &b->configs[k];
        const char *name = tare_compare_name(to, comparison->arena);
        size_t i = 0;
        while (i < a->configs_count && strcmp(names[i], name) != 0)
            i++;
        if (i == a->configs_count) {
            tare_compare_note(comparison->verdicts, tare_arena_printf(comparison->arena, "'%s' is only in %s",
                                                                      name, comparison->verdicts->b));
            continue;
        }
        matched++;
        if (compare_times(comparison, &a->configs[i], to, name) ||
            compare_memory(comparison, &a->configs[i], to, name) ||
            compare_accuracy(comparison, &a->configs[i], to, name))
            return -1;
    }
    if (matched == 0)
        return tare_fail(comparison->err, TARE_E_INPUT, 0,
                         "%s and %s have no configuration in common: measure both with the same options",
                         comparison->verdicts->a, comparison->verdicts->b);
    return 0;
}

/* The machines, and what else must be alike before times mean anything. */
static int compare_surroundings(struct comparison *comparison)
{
    struct tare_verdicts *verdicts = comparison->verdicts;
    const struct tare_run *a = comparison->a, *b = comparison->b;
    verdicts->comparable = true;
    if (!a->machine || !b->machine) {
        tare_compare_note(comparison->verdicts, "one of the runs does not say on which machine it was made");
    } else {
        if (tare_machine_compare(a->machine, b->machine, comparison->arena, &verdicts->machine,
                                 comparison->err))
            return -1;
        verdicts->comparable = verdicts->machine.comparable;
        for (size_t i = 0; i < verdicts->machine.count; i++) {
            const struct tare_machine_difference *difference = &verdicts->machine.items[i];
            if (difference->weight != TARE_MACHINE_STATE)
                tare_compare_note(comparison->verdicts,
                                  tare_arena_printf(comparison->arena, "%s differs: %s, then %s",
                                                    difference->field, difference->a, difference->b));
        }
    }
    const char *from = a->engine.version, *to = b->engine.version;
    if (from && to && strcmp(from, to) != 0)
        tare_compare_note(comparison->verdicts,
                          tare_arena_printf(comparison->arena, "the runtime differs: %s, then %s", from, to));
    if (a->unit && b->unit && strcmp(a->unit, b->unit) != 0)
        tare_compare_note(
            comparison->verdicts,
            tare_arena_printf(comparison->arena, "the first counts %s, the second %s", a->unit, b->unit));
    return 0;
}

int tare_compare_whole(const struct tare_run_model *a, const struct tare_run_model *b,
                       struct tare_verdicts *verdicts, struct tare_error *err)
{
    if (compare_exact(verdicts, "params", a->parameters, b->parameters, err) ||
        compare_exact(verdicts, "macs", a->macs, b->macs, err) ||
        compare_exact(verdicts, "nodes", a->nodes, b->nodes, err) ||
        compare_exact(verdicts, "size", a->size_bytes, b->size_bytes, err))
        return -1;
    return 0;
}

int tare_compare_runs(const struct tare_run *a, const char *name_a, const struct tare_run *b,
                      const char *name_b, const struct tare_gate_rule *rule, struct tare_arena *arena,
                      struct tare_verdicts *ret_verdicts, struct tare_error *err)
{
    struct comparison comparison = {.a = a, .b = b, .arena = arena, .verdicts = ret_verdicts, .err = err};
    if (rule)
        comparison.rule = *rule;
    if (comparison.rule.threshold <= 0)
        comparison.rule.threshold = 0.05;
    *ret_verdicts = (struct tare_verdicts){.arena = arena,
                                           .a = tare_arena_copy(arena, name_a),
                                           .b = tare_arena_copy(arena, name_b),
                                           .threshold = comparison.rule.threshold};
    comparison.results = tare_arena_array(arena, b->configs_count + 1, sizeof *comparison.results);
    comparison.tested = tare_arena_array(arena, b->configs_count + 1, sizeof *comparison.tested);
    if (!comparison.results || !comparison.tested)
        return tare_arena_check(arena, err);
    if (compare_surroundings(&comparison) || compare_configs(&comparison) ||
        tare_compare_whole(&a->model, &b->model, ret_verdicts, err) ||
        tare_gate_holm(comparison.results, comparison.tested_count, &comparison.rule, arena, err))
        return -1;
    for (size_t i = 0; i < comparison.tested_count; i++)
        tare_compare_fill(&ret_verdicts->rows[comparison.tested[i]], &comparison.results[i],
                          comparison.rule.threshold, arena);
    if (!ret_verdicts->comparable)
        for (size_t i = 0; i < ret_verdicts->count; i++)
            if (!ret_verdicts->rows[i].exact) {
                ret_verdicts->rows[i].kind = TARE_VERDICT_INCONCLUSIVE;
                ret_verdicts->rows[i].note = "measured on different machines";
            }
    tare_verdicts_label(ret_verdicts);
    tare_verdicts_sort(ret_verdicts);
    return tare_arena_check(arena, err);
}
