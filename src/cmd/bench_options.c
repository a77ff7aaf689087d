/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/bench_options.h"

#include <string.h>

#include "base/units.h"
#include "flow/result.h"

const char *const tare_bench_engines[] = {"onnxruntime", "fake", NULL};
const char *const tare_bench_units[] = {"pairs", "texts", "tokens", "images", "samples", "requests", NULL};

/* A mistyped list must not take the whole day. */
enum { LIST_MOST = 64 };
static const uint64_t value_most = 1000000000;

/* The parts of "a,b,c"; empty ones are refused. */
static int split(const char *option, const char *text, struct tare_arena *arena,
                 const char *const **ret_items, size_t *ret_count, struct tare_error *err)
{
    const char **items = tare_arena_array(arena, LIST_MOST, sizeof *items);
    size_t count = 0;
    if (!items)
        return tare_fail_memory(err);
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0)
            return tare_fail(err, TARE_E_USAGE, 0, "--%s %.60s: a value is missing", option, text);
        if (count == LIST_MOST)
            return tare_fail(err, TARE_E_USAGE, 0, "--%s: more than %d values", option, LIST_MOST);
        items[count++] = tare_arena_text(arena, at, length);
        at += length;
        if (!*at)
            break;
    }
    *ret_items = items;
    *ret_count = count;
    return 0;
}

static int numbers(const char *option, const char *text, struct tare_arena *arena, const int64_t **ret_values,
                   size_t *ret_count, struct tare_error *err)
{
    const char *const *items;
    size_t count;
    struct tare_error why;
    if (!text)
        return 0;
    if (split(option, text, arena, &items, &count, err))
        return -1;
    int64_t *values = tare_arena_array(arena, count, sizeof *values);
    if (!values)
        return tare_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        if (tare_count_parse(items[i], &value, &why))
            return tare_fail(err, TARE_E_USAGE, 0, "--%s: %s", option, why.msg);
        if (value < 1 || value > value_most)
            return tare_fail(err, TARE_E_USAGE, 0, "--%s %.40s: it must be at least 1 and at most %llu",
                             option, items[i], (unsigned long long)value_most);
        values[i] = (int64_t)value;
    }
    *ret_values = values;
    *ret_count = count;
    return 0;
}

static int dimensions(const struct tare_bench_values *values, struct tare_arena *arena,
                      struct tare_bench_plan *plan, struct tare_error *err)
{
    struct tare_bench_dim *dims = tare_arena_array(arena, values->dims.count + 1, sizeof *dims);
    if (!dims)
        return tare_fail_memory(err);
    for (size_t i = 0; i < values->dims.count; i++) {
        const char *text = values->dims.items[i], *equals = strrchr(text, '=');
        if (!equals || equals == text)
            return tare_fail(err, TARE_E_USAGE, 0,
                             "--dim %.60s: it takes a name and values, such as seq=16,128", text);
        dims[i].name = tare_arena_text(arena, text, (size_t)(equals - text));
        for (size_t j = 0; j < i; j++)
            if (strcmp(dims[i].name, dims[j].name) == 0)
                return tare_fail(err, TARE_E_USAGE, 0, "--dim %.40s is given twice: write %.40s=A,B",
                                 dims[i].name, dims[i].name);
        if (numbers("dim", equals + 1, arena, &dims[i].values, &dims[i].count, err))
            return -1;
    }
    plan->dims = dims;
    plan->dims_count = values->dims.count;
    return 0;
}

static int precisions(const char *text, struct tare_arena *arena, struct tare_bench_plan *plan,
                      struct tare_error *err)
{
    const char *const *items;
    if (!text)
        return 0;
    if (split("precision", text, arena, &items, &plan->precisions_count, err))
        return -1;
    struct tare_bench_precision *list = tare_arena_array(arena, plan->precisions_count, sizeof *list);
    if (!list)
        return tare_fail_memory(err);
    for (size_t i = 0; i < plan->precisions_count; i++) {
        const char *equals = strchr(items[i], '=');
        size_t length = equals ? (size_t)(equals - items[i]) : strlen(items[i]);
        list[i] = (struct tare_bench_precision){tare_arena_text(arena, items[i], length),
                                                equals ? equals + 1 : NULL};
        if (length == 0 || (equals && !equals[1]))
            return tare_fail(err, TARE_E_USAGE, 0, "--precision %.60s: it takes NAME or NAME=PATH", items[i]);
        for (size_t j = 0; j < i; j++)
            if (strcmp(list[i].name, list[j].name) == 0)
                return tare_fail(err, TARE_E_USAGE, 0, "--precision: %.40s is given twice", list[i].name);
    }
    plan->precisions = list;
    return 0;
}

static int graph_levels(const char *text, struct tare_arena *arena, struct tare_bench_plan *plan,
                        struct tare_error *err)
{
    static const enum tare_graph_level all[] = {TARE_GRAPH_ALL, TARE_GRAPH_OFF, TARE_GRAPH_BASIC,
                                                TARE_GRAPH_EXTENDED};
    const char *const *items;
    if (!text)
        return 0;
    if (split("graph-level", text, arena, &items, &plan->levels_count, err))
        return -1;
    enum tare_graph_level *list = tare_arena_array(arena, plan->levels_count, sizeof *list);
    if (!list)
        return tare_fail_memory(err);
    for (size_t i = 0; i < plan->levels_count; i++) {
        size_t at = 0;
        while (at < sizeof all / sizeof all[0] && strcmp(items[i], tare_graph_level_name(all[at])) != 0)
            at++;
        if (at == sizeof all / sizeof all[0])
            return tare_fail(err, TARE_E_USAGE, 0, "--graph-level %.40s: it is off, basic, extended or all",
                             items[i]);
        list[i] = all[at];
    }
    plan->levels = list;
    return 0;
}

int tare_bench_plan_make(const struct tare_bench_values *values, const char *model, struct tare_arena *arena,
                         struct tare_bench_plan *ret_plan, struct tare_error *err)
{
    const char *batches = values->batches ? values->batches : values->batch_sizes;
    struct tare_bench_plan plan = {
        .engine = tare_bench_engines[values->engine],
        .model_path = model,
        .inputs_path = values->inputs,
        .reference_path = values->reference,
        .library = values->library,
        .python = values->python,
        .groups = values->groups.items,
        .groups_count = values->groups.count,
        .unit = values->unit < 0 ? NULL : tare_bench_units[values->unit],
        .items = values->items,
        .runs = values->runs,
        .warmup_runs = values->warmup_runs,
        .duration_ns = values->duration_ns,
        .time_ns = values->time_ns,
        .processes = values->processes,
        .memory_bytes = values->memory < INT64_MAX ? (int64_t)values->memory : INT64_MAX,
        .no_memory = values->no_memory,
        .no_layers = values->no_layers,
        .no_answers = values->no_answers,
        .no_advice = values->no_advice,
        .reversed = values->reversed,
    };
    if (values->batches && values->batch_sizes)
        return tare_fail(err, TARE_E_USAGE, 0, "--batch and --batch-sizes are the same: give one");
    if (values->validate_accuracy && values->no_answers)
        return tare_fail(err, TARE_E_USAGE, 0, "--validate-accuracy and --no-answers exclude each other");
    if (!plan.unit && values->items > 0)
        plan.unit = "pairs";
    if (numbers(values->batches ? "batch" : "batch-sizes", batches, arena, &plan.batches, &plan.batches_count,
                err) ||
        numbers("threads", values->threads, arena, &plan.threads, &plan.threads_count, err) ||
        dimensions(values, arena, &plan, err) || precisions(values->precisions, arena, &plan, err) ||
        graph_levels(values->levels, arena, &plan, err) ||
        (values->until && tare_share_parse("until", values->until, &plan.until, err)))
        return -1;
    for (size_t i = 0; i < plan.threads_count; i++)
        if (plan.threads[i] > 1024)
            return tare_fail(err, TARE_E_USAGE, 0, "--threads %lld: it must be at most 1024",
                             (long long)plan.threads[i]);
    if (values->providers &&
        split("provider", values->providers, arena, &plan.providers, &plan.providers_count, err))
        return -1;
    *ret_plan = plan;
    return tare_arena_check(arena, err);
}

int tare_bench_output_check(const char *path, struct tare_error *err)
{
    struct tare_run *run;
    struct tare_format format;
    if (tare_run_create(0, &run, err))
        return -1;
    struct tare_result result = {.run = run};
    int rc = tare_result_format(&result, NULL, path, &format, err);
    tare_result_finish(&result);
    return rc;
}
