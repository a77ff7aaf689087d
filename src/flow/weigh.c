/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: every configuration in a fresh process of its own, apart from timing, because what a process has
 * taken for one shape it keeps for the next. First what the calls take, then chunks of calls that show
 * whether it goes on.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/growth.h"
#include "core/stats_special.h"
#include "flow/bench_part.h"

/* The cold call takes the most; some more show what stays. */
enum { CALLS_LEAST = 2, CALLS_MOST = 5 };

enum { CHUNKS = 16, CHUNK_CALLS_MOST = 1000 };

/* What the repetition may take; small models are done long before. */
#define REPEAT_MOST_NS INT64_C(2000000000)

enum { TIMELINE_MOST = 512, STEPS_MOST = 64 };

struct weighing {
    struct tare_bench *bench;
    size_t index;
    struct tare_run_config *config;
    struct tare_worker *worker;
    struct tare_arena scratch;
    int64_t call_ns;
    int64_t in_use; /* the engine's allocator before the first call */
};

static struct tare_run_int known(int64_t value)
{
    return value >= 0 ? tare_run_int(value) : (struct tare_run_int){.known = false};
}

static void keep_timeline(struct tare_run *run, const struct tare_worker_memory *from,
                          struct tare_run_memory *into)
{
    size_t step = from->count / TIMELINE_MOST + 1, count = (from->count + step - 1) / step;
    into->timeline_ns = tare_arena_array(&run->arena, count + 1, sizeof *into->timeline_ns);
    into->timeline_bytes = tare_arena_array(&run->arena, count + 1, sizeof *into->timeline_bytes);
    if (!into->timeline_ns || !into->timeline_bytes)
        return;
    for (size_t i = 0; i < count; i++) {
        into->timeline_ns[i] = from->ns[i * step] - from->ns[0];
        into->timeline_bytes[i] = from->resident[i * step];
    }
    into->timeline_ns_count = into->timeline_bytes_count = count;
}

/* Bytes of the model's parameters; -1 when no file tells. A runtime keeps some of them rearranged, elsewhere
 * or mapped, so its own figures do not tell them. */
static int64_t weights_of(const struct tare_run *run, const struct tare_run_config *config)
{
    const struct tare_run_model *model = &run->model;
    int64_t bytes = 0;
    for (size_t i = 0; config->keys.model && i < run->other_models_count; i++)
        if (strcmp(run->other_models[i].label, config->keys.model) == 0)
            model = &run->other_models[i];
    for (size_t i = 0; i < model->parameters_by_type_count; i++)
        bytes += model->parameters_by_type[i].bytes.value;
    return model->parameters.known ? bytes : -1;
}

static void keep_memory(struct weighing *weighing, const struct tare_worker_ready *ready,
                        const struct tare_worker_memory *from)
{
    struct tare_run_memory *into = &weighing->config->memory;
    const struct tare_engine_memory *engine = &from->engine;
    int64_t growth = from->peak - from->before;
    into->peak_bytes = known(from->peak);
    into->average_bytes = known(from->average);
    into->growth_bytes.value = tare_run_real((double)(growth > 0 ? growth : 0));
    if (weighing->config->items_per_call.known)
        into->per_item_bytes.value =
            tare_run_real(into->growth_bytes.value.value / weighing->config->items_per_call.value);
    int64_t weights = weights_of(weighing->bench->run, weighing->config);
    into->weights_bytes =
        weights >= 0
            ? tare_run_int(weights)
            : known(weighing->in_use > 0 ? weighing->in_use : ready->resident_after - ready->resident_before);
    if (engine->peak >= 0 && weighing->in_use >= 0)
        into->activations_bytes =
            known(engine->peak > weighing->in_use ? engine->peak - weighing->in_use : 0);
    into->arena_requested_bytes = known(engine->requested);
    into->arena_in_use_bytes = known(engine->in_use);
    into->arena_total_bytes = known(engine->total);
    into->arena_peak_bytes = known(engine->peak);
    into->allocations = known(engine->allocations);
    into->largest_bytes = known(engine->largest);
    if (engine->requested >= 0 && engine->in_use > 0)
        into->fragmentation_inside = tare_run_real(1 - (double)engine->requested / (double)engine->in_use);
    /* What is free between calls is kept for the next one: only what was never used at once is lost. */
    if (engine->peak >= 0 && engine->total > 0)
        into->fragmentation_outside = tare_run_real(1 - (double)engine->peak / (double)engine->total);
    keep_timeline(weighing->bench->run, from, into);
}

/* Resident and used bytes now. */
static int look(struct weighing *weighing, int64_t calls, struct tare_growth_point *ret_point,
                struct tare_error *err)
{
    struct tare_worker_memory memory;
    if (tare_worker_remember(weighing->worker, calls, &weighing->scratch, &memory, err))
        return -1;
    *ret_point = (struct tare_growth_point){.resident = memory.after, .in_use = memory.engine.in_use};
    return 0;
}

static int keep_verdict(struct weighing *weighing, const struct tare_growth_point *points, int64_t calls,
                        bool varied, struct tare_error *err)
{
    struct tare_run *run = weighing->bench->run;
    struct tare_run_memory *into = &weighing->config->memory;
    struct tare_growth growth;
    tare_growth_judge(points, CHUNKS + 1, calls, varied, &growth);
    struct tare_run_leak *leak = tare_run_append(run, &into->leaks, &into->leaks_count, sizeof *into->leaks);
    if (!leak)
        return tare_fail_memory(err);
    *leak = (struct tare_run_leak){
        .shapes = varied ? "varied" : "identical",
        .verdict = growth.verdict,
        .calls = tare_run_int(calls * CHUNKS),
        .bytes_per_call = {.value = tare_run_real(growth.bytes_per_call),
                           .lower = tare_run_real(growth.lower),
                           .upper = tare_run_real(growth.upper)},
    };
    return 0;
}

/* The same shape again and again. Left out where even one call a chunk takes too long. */
static int repeat(struct weighing *weighing, int64_t budget_ns, struct tare_error *err)
{
    struct tare_growth_point points[CHUNKS + 1];
    int64_t calls = weighing->call_ns > 0 ? budget_ns / CHUNKS / weighing->call_ns : 1;
    if (calls < 1)
        return 0;
    calls = calls < CHUNK_CALLS_MOST ? calls : CHUNK_CALLS_MOST;
    for (size_t i = 0; i <= CHUNKS; i++)
        if (look(weighing, i ? calls : 0, &points[i], err))
            return -1;
    return keep_verdict(weighing, points, calls, false, err);
}

static int start(struct weighing *weighing, struct tare_worker_ready *ret_ready, struct tare_error *err)
{
    struct tare_growth_point before;
    if (tare_bench_worker(weighing->bench, &weighing->bench->specs[weighing->index], &weighing->worker,
                          ret_ready, err) ||
        look(weighing, 0, &before, err))
        return -1;
    weighing->in_use = before.in_use;
    return 0;
}

static int weigh_one(struct weighing *weighing, int64_t share_ns, struct tare_error *err)
{
    struct tare_worker_ready ready;
    struct tare_worker_memory memory;
    int64_t fit = weighing->call_ns > 0 ? share_ns / 2 / weighing->call_ns : CALLS_MOST;
    int64_t calls = fit > CALLS_MOST ? CALLS_MOST : fit < CALLS_LEAST ? CALLS_LEAST : fit;
    if (start(weighing, &ready, err) ||
        tare_worker_remember(weighing->worker, calls, &weighing->scratch, &memory, err))
        return -1;
    keep_memory(weighing, &ready, &memory);
    int64_t left = share_ns - ready.load_ns - calls * weighing->call_ns;
    return repeat(weighing, left < REPEAT_MOST_NS ? left : REPEAT_MOST_NS, err);
}

/* Do they run the same thing, but for the batch and the dimensions? */
static bool same_but_shape(const struct tare_worker_spec *a, const struct tare_worker_spec *b)
{
    return strcmp(a->model_path, b->model_path) == 0 && a->options.threads == b->options.threads &&
           a->options.level == b->options.level && strcmp(a->options.provider, b->options.provider) == 0;
}

/* Shapes in turn, one after the other, as a server sees them: the cheap ones, as far as the time goes. */
static int vary(struct weighing *weighing, int64_t budget_ns, struct tare_error *err)
{
    const struct tare_bench *bench = weighing->bench;
    const struct tare_worker_spec *own = &bench->specs[weighing->index];
    struct tare_growth_point points[CHUNKS + 1];
    size_t shapes[STEPS_MOST], count = 0;
    int64_t spent = 0;
    for (size_t i = 0; i < bench->specs_count && count < STEPS_MOST; i++) {
        const struct tare_run_latency *latency = &bench->run->configs[i].latency;
        if (!latency->mean_ns.value.known || !same_but_shape(own, &bench->specs[i]))
            continue;
        int64_t cost = (int64_t)latency->mean_ns.value.value * (CHUNKS + 2);
        if (spent + cost > budget_ns)
            continue;
        spent += cost;
        shapes[count++] = i;
    }
    struct tare_worker_ready ready;
    if (count < 2)
        return 0;
    if (start(weighing, &ready, err))
        return -1;
    for (size_t i = 0; i <= CHUNKS; i++) {
        for (size_t s = 0; s < count; s++) {
            const struct tare_worker_spec *spec = &bench->specs[shapes[s]];
            if (tare_worker_shape(weighing->worker, spec->batch, spec->dims, spec->dims_count, err) ||
                look(weighing, 1, &points[i], err))
                return -1;
        }
    }
    return keep_verdict(weighing, points, (int64_t)count, true, err);
}

static struct weighing begin(struct tare_bench *bench, size_t index)
{
    struct tare_run_config *config = &bench->run->configs[index];
    struct weighing weighing = {.bench = bench, .index = index, .config = config, .in_use = -1};
    weighing.call_ns = (int64_t)config->latency.mean_ns.value.value;
    tare_arena_init(&weighing.scratch, 0);
    return weighing;
}

static void end(struct weighing *weighing)
{
    tare_worker_close(weighing->worker);
    tare_arena_finish(&weighing->scratch);
}

/* Equal in all but the batch? */
static bool same_but_batch(const struct tare_run_config *a, const struct tare_run_config *b,
                           const struct tare_worker_spec *x, const struct tare_worker_spec *y)
{
    if (!same_but_shape(x, y) || a->keys.dims_count != b->keys.dims_count)
        return false;
    for (size_t i = 0; i < a->keys.dims_count; i++)
        if (a->keys.dims[i].value != b->keys.dims[i].value)
            return false;
    return true;
}

/* The slope of memory over the batch, by least squares over the configurations that differ in nothing else.
 */
static int find_step(struct tare_bench *bench, size_t first, struct tare_error *err)
{
    struct tare_run *run = bench->run;
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (size_t i = 0; i < run->configs_count; i++) {
        const struct tare_run_config *config = &run->configs[i];
        if (!config->memory.growth_bytes.value.known || !config->keys.batch.known ||
            !same_but_batch(&run->configs[first], config, &bench->specs[first], &bench->specs[i]))
            continue;
        if (i < first)
            return 0; /* its group has been done */
        double x = (double)config->keys.batch.value, y = config->memory.growth_bytes.value.value;
        n++, sx += x, sy += y, sxx += x * x, sxy += x * y, syy += y * y;
    }
    double spread = sxx - sx * sx / n;
    if (n < 2 || spread <= 0)
        return 0;
    double slope = (sxy - sx * sy / n) / spread, reach = NAN;
    if (n > 2) {
        double rest = fmax(syy - sy * sy / n - slope * slope * spread, 0);
        reach = tare_special_t_quantile(0.025, n - 2) * sqrt(rest / (n - 2) / spread);
    }
    struct tare_run_finding *finding =
        tare_run_append(run, &run->findings, &run->findings_count, sizeof *run->findings);
    if (!finding)
        return tare_fail_memory(err);
    char one[64];
    struct tare_buf dims;
    tare_run_unit_singular(run->unit, one, sizeof one);
    tare_buf_init(&dims, 4096);
    const struct tare_run_keys *keys = &run->configs[first].keys;
    for (size_t i = 0; i < keys->dims_count; i++)
        tare_buf_printf(&dims, "%s%s=%lld", i ? " " : " at ", keys->dims[i].name,
                        (long long)keys->dims[i].value);
    *finding = (struct tare_run_finding){
        .kind = "memory_per_step",
        .text = tare_arena_printf(&run->arena, "Memory grows by %.3g MB per further sample in the batch%s.",
                                  slope / 1e6, dims.data),
        .configuration = tare_run_int((int64_t)first),
        .value = tare_run_real(slope),
        .lower = tare_run_real(slope - reach),
        .upper = tare_run_real(slope + reach),
        .unit = "bytes",
    };
    tare_buf_finish(&dims);
    return 0;
}

static int say_leaks(struct tare_bench *bench, struct tare_error *err)
{
    static const char *const words[] = {
        [TARE_RUN_GROWTH_NONE] = "no growth",
        [TARE_RUN_GROWTH_PLATEAU] = "no leak: memory grows at first and then stays (an arena's plateau)",
        [TARE_RUN_GROWTH_FRAGMENTATION] = "fragmentation: memory grows while shapes change, not what is used",
        [TARE_RUN_GROWTH_LEAK] = "LEAK: memory grows from call to call",
        [TARE_RUN_GROWTH_UNDECIDED] = "undecided: memory still grew, but not evenly",
    };
    static const char *const shapes[] = {"identical", "varied"};
    struct tare_run *run = bench->run;
    for (size_t s = 0; s < 2; s++) {
        const struct tare_run_leak *worst = NULL;
        size_t at = 0, count = 0;
        for (size_t i = 0; i < run->configs_count; i++) {
            const struct tare_run_memory *memory = &run->configs[i].memory;
            for (size_t l = 0; l < memory->leaks_count; l++) {
                const struct tare_run_leak *leak = &memory->leaks[l];
                if (strcmp(leak->shapes, shapes[s]) != 0 || leak->verdict == TARE_RUN_GROWTH_UNKNOWN)
                    continue;
                count++;
                bool worse =
                    !worst ||
                    (leak->verdict == TARE_RUN_GROWTH_LEAK && worst->verdict != TARE_RUN_GROWTH_LEAK) ||
                    (leak->verdict > worst->verdict && worst->verdict != TARE_RUN_GROWTH_LEAK);
                if (worse) {
                    worst = leak;
                    at = i;
                }
            }
        }
        if (!worst)
            continue;
        struct tare_run_finding *finding =
            tare_run_append(run, &run->findings, &run->findings_count, sizeof *run->findings);
        if (!finding)
            return tare_fail_memory(err);
        *finding = (struct tare_run_finding){
            .kind = "leak",
            .configuration = tare_run_int((int64_t)at),
            .value = worst->bytes_per_call.value,
            .lower = worst->bytes_per_call.lower,
            .upper = worst->bytes_per_call.upper,
            .unit = "bytes",
        };
        bool leaks = worst->verdict == TARE_RUN_GROWTH_LEAK;
        finding->text = tare_arena_printf(
            &run->arena, "Memory over %lld calls, shapes %s: %s%s.", (long long)worst->calls.value,
            s ? "in turn" : "all the same", words[worst->verdict],
            leaks ? tare_arena_printf(
                        &run->arena, ", %.3g kB each [%.3g, %.3g]", worst->bytes_per_call.value.value / 1e3,
                        worst->bytes_per_call.lower.value / 1e3, worst->bytes_per_call.upper.value / 1e3)
                  : "");
    }
    return 0;
}

int tare_bench_weigh(struct tare_bench *bench, struct tare_error *err)
{
    struct tare_run *run = bench->run;
    size_t left = 0, missed = 0, first = run->configs_count;
    for (size_t i = 0; i < run->configs_count; i++)
        left += run->configs[i].status != TARE_RUN_NOT_MEASURED;
    /* Processes that were measured know what starting takes; the varied shapes get a share as well. */
    for (size_t i = 0; i < run->configs_count; i++) {
        if (run->configs[i].status == TARE_RUN_NOT_MEASURED)
            continue;
        struct weighing weighing = begin(bench, i);
        struct tare_error why;
        int64_t share = tare_bench_left_ns(bench) / (int64_t)(left + 1);
        int64_t least = CALLS_LEAST * weighing.call_ns + (int64_t)run->configs[i].load_ns.value.value;
        left--;
        tare_bench_say(bench, TARE_BENCH_WEIGHING, "memory of configuration %zu of %zu", i + 1,
                       run->configs_count);
        if (least > tare_bench_left_ns(bench)) {
            missed++;
        } else if (weigh_one(&weighing, share, &why)) {
            if (!tare_bench_stopped(bench))
                tare_bench_note(bench, "memory of configuration %zu: %s", i, why.msg);
        } else if (first == run->configs_count) {
            first = i;
        }
        end(&weighing);
    }
    if (missed)
        tare_bench_note(bench, "memory of %zu configurations was not measured for want of time: raise --time",
                        missed);
    if (first < run->configs_count && tare_bench_left_ns(bench) > 0) {
        struct weighing weighing = begin(bench, first);
        struct tare_error why;
        if (vary(&weighing, tare_bench_left_ns(bench), &why) && !tare_bench_stopped(bench))
            tare_bench_note(bench, "memory over varied shapes: %s", why.msg);
        end(&weighing);
    }
    for (size_t i = 0; i < run->configs_count; i++)
        if (run->configs[i].memory.growth_bytes.value.known && find_step(bench, i, err))
            return -1;
    return say_leaks(bench, err);
}
