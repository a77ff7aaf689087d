/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time goes inside a model. One call with graph rewriting off tells how much the model computes;
 * the graph that the runtime writes down tells what it fused; several pairs of processes, one of each pair
 * profiled, tell how long each node takes once the profiler's tax is off (bench/tax.h).
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/fusions.h"
#include "bench/inputs.h"
#include "bench/model_facts.h"
#include "flow/layering_part.h"

enum { PAIRS_MOST = TARE_LAYERING_PAIRS, CALLS_MOST = 64, CALLS_FIRST = 16 };
/* The profiler drops what comes after its limit; a graph runs its own events too. */
enum { EVENTS_MOST = TARE_ORT_PROFILE_EVENTS / 2 };
static const int64_t least_ns = 1000000000; /* below this there is no use in starting */

static struct tare_worker_start start_of(const struct tare_bench *bench)
{
    static const char *const usual[] = {"/proc/self/exe", ".worker", NULL};
    struct tare_worker_start start = {.argv = usual};
    if (bench->watch && bench->watch->worker_argv)
        start.argv = bench->watch->worker_argv;
    if (bench->watch)
        start.stop = bench->watch->stop;
    return start;
}

/* The plan's smaller part of what is left. */
static int64_t slice(const struct tare_bench *bench, int64_t most_ns, int part)
{
    int64_t left = tare_bench_left_ns(bench) / part;
    return left < most_ns ? left : most_ns;
}

static int count_profile(const struct tare_worker_spec *spec, const struct tare_model *model,
                         const struct tare_ort_profile *profile, struct tare_arena *arena,
                         struct tare_model_count *ret_count, struct tare_error *err)
{
    struct tare_inputs inputs;
    const struct tare_inputs_ask ask = {
        .batch = spec->batch, .dims = spec->dims, .dims_count = spec->dims_count, .path = spec->inputs_path};
    if (tare_inputs_bind(model, &ask, arena, &inputs, err) < 0)
        return -1;
    return tare_model_count(model, profile, inputs.tensors, inputs.count, arena, ret_count, err);
}

/* The model as its file says it, run once with nothing rewritten. */
static int count_original(struct tare_layering *layering, const struct tare_worker_spec *spec,
                          struct tare_model_count *ret_count, struct tare_error *err)
{
    struct tare_bench *bench = layering->bench;
    struct tare_worker *worker = NULL;
    struct tare_worker_ready ready;
    struct tare_ort_profile *profile = NULL;
    struct tare_worker_spec plain = *spec;
    struct tare_in *in = NULL;
    const char *path = NULL;
    int rc = -1;
    plain.options.level = TARE_GRAPH_OFF;
    plain.options.optimised_path = NULL;
    plain.options.profile_prefix = tare_arena_printf(&layering->arena, "%s/original", bench->folder);
    if (tare_bench_worker(bench, &plain, &worker, &ready, err) < 0 ||
        tare_worker_profile(worker, 1, &layering->arena, &path, err) < 0 ||
        tare_in_open(path, &in, err) < 0 || tare_ort_profile_read(in, 0, &profile, err) < 0 ||
        count_profile(&plain, layering->original, profile, &layering->arena, ret_count, err) < 0)
        goto out;
    rc = 0;
out:
    tare_ort_profile_destroy(profile);
    tare_in_close(in);
    if (path)
        unlink(path);
    tare_worker_close(worker);
    return rc;
}

/* Copies what the count has into the run: it lives longer. */
static void keep_count(struct tare_run *run, const struct tare_model_count *count, int64_t batch)
{
    struct tare_run_model *model = &run->model;
    int64_t items = batch > 0 ? batch : 1;
    model->macs = tare_run_int(count->macs / items);
    model->flops = tare_run_int(2 * (count->macs / items));
    model->elementwise = tare_run_int(count->elementwise / items);
    model->ops = tare_arena_array(&run->arena, count->ops_count + 1, sizeof *model->ops);
    model->not_counted =
        tare_arena_array(&run->arena, count->not_counted_count + 1, sizeof *model->not_counted);
    if (!model->ops || !model->not_counted)
        return;
    for (size_t i = 0; i < count->ops_count; i++) {
        model->ops[i] = count->ops[i];
        model->ops[i].op = tare_arena_copy(&run->arena, count->ops[i].op);
    }
    for (size_t i = 0; i < count->not_counted_count; i++)
        model->not_counted[i] = tare_arena_copy(&run->arena, count->not_counted[i]);
    model->ops_count = count->ops_count;
    model->not_counted_count = count->not_counted_count;
}

static bool same_dims(const struct tare_worker_spec *a, const struct tare_worker_spec *b)
{
    if (a->dims_count != b->dims_count)
        return false;
    for (size_t i = 0; i < a->dims_count; i++)
        if (strcmp(a->dims[i].name, b->dims[i].name) != 0 || a->dims[i].value != b->dims[i].value)
            return false;
    return true;
}

/* MACs of every configuration of the main model: those of the same dimensions follow from each other by the
 * batch, others are counted anew. */
static int count_configs(struct tare_layering *layering, struct tare_error *err)
{
    struct tare_bench *bench = layering->bench;
    struct tare_run *run = bench->run;
    for (size_t i = 0; i < run->configs_count; i++) {
        struct tare_run_config *config = &run->configs[i];
        const struct tare_worker_spec *spec = &bench->specs[i];
        struct tare_model_count count;
        if (config->keys.model || config->status == TARE_RUN_NOT_MEASURED || config->macs.known)
            continue;
        if (run->model.macs.known && tare_bench_left_ns(bench) < least_ns)
            break;
        if (count_original(layering, spec, &count, err) < 0)
            return -1;
        if (!run->model.macs.known)
            keep_count(run, &count, spec->batch);
        int64_t batch = spec->batch > 0 ? spec->batch : 1;
        for (size_t k = i; k < run->configs_count; k++) {
            struct tare_run_config *other = &run->configs[k];
            int64_t times = bench->specs[k].batch > 0 ? bench->specs[k].batch : 1, macs;
            if (other->keys.model || !same_dims(spec, &bench->specs[k]) ||
                __builtin_mul_overflow(count.macs / batch, times, &macs) || macs > INT64_MAX / 2)
                continue;
            other->macs = tare_run_int(macs);
            other->flops = tare_run_int(2 * macs);
        }
    }
    return 0;
}

/* The graph as the runtime really runs it. */
static int open_optimised(struct tare_layering *layering, struct tare_model **ret_model,
                          struct tare_error *err)
{
    struct tare_bench *bench = layering->bench;
    struct tare_worker *worker = NULL;
    struct tare_worker_ready ready;
    struct tare_worker_spec spec = bench->specs[layering->index];
    spec.options.profile_prefix = NULL;
    spec.options.optimised_path = tare_arena_printf(&layering->arena, "%s/optimised.onnx", bench->folder);
    int rc = tare_bench_worker(bench, &spec, &worker, &ready, err);
    tare_worker_close(worker);
    if (rc == 0)
        rc = tare_model_open(spec.options.optimised_path, ret_model, err);
    unlink(spec.options.optimised_path); /* what is mapped stays */
    return rc;
}

static int compare_graphs(struct tare_layering *layering, struct tare_error *err)
{
    struct tare_run *run = layering->bench->run;
    struct tare_run_model facts;
    if (tare_model_facts(layering->optimised, &layering->arena, &facts, err) < 0)
        return -1;
    run->model.optimised_nodes = facts.nodes;
    run->model.optimised_parameters = facts.parameters;
    return tare_fusions_find(layering->original, layering->optimised, run, &run->model, err);
}

static struct tare_run_estimate estimate_of(const struct tare_interval *interval)
{
    return (struct tare_run_estimate){.value = tare_run_real(interval->estimate),
                                      .lower = tare_run_real(interval->low),
                                      .upper = tare_run_real(interval->high),
                                      .effective = tare_run_real(interval->effective)};
}

static int measure_peaks(struct tare_layering *layering, int threads, struct tare_peaks *peaks,
                         struct tare_error *err)
{
    struct tare_run *run = layering->bench->run;
    if (tare_peaks_measure(threads, slice(layering->bench, 600000000, 8), peaks, err) < 0)
        return -1;
    run->peaks.flops_per_sec = estimate_of(&peaks->flops_per_sec);
    run->peaks.bytes_per_sec = estimate_of(&peaks->levels[TARE_PEAKS_LEVELS - 1].bytes_per_sec);
    run->peaks.method = tare_arena_printf(
        &run->arena,
        "multiply-adds of 32-bit floats (%s), reading %d MiB; %d thread%s, 90th percentile of slices of 1 ms",
        peaks->kernel, (int)(peaks->levels[TARE_PEAKS_LEVELS - 1].bytes >> 20), threads,
        threads == 1 ? "" : "s");
    layering->peaks = peaks;
    return 0;
}

/* Add one pair's times to the nodes', unless its profile shows other nodes. */
static void add_pair(struct tare_layering *layering, const struct tare_twin *twin, const struct tare_tax *tax)
{
    const struct tare_ort_profile *profile = twin->profile;
    if (profile->nodes_count != layering->count)
        return;
    for (size_t i = 0; i < layering->count; i++)
        if (strcmp(profile->nodes[i].name, layering->nodes[i].seen->name) != 0)
            return;
    double gap_ns = tare_tax_gap(profile);
    if (!(gap_ns > 0)) /* a single node has none */
        gap_ns = tax->gap_ns;
    size_t pair = layering->pairs++;
    double plain_ns = twin->plain_ns.estimate;
    if (layering->others.count > 0) /* the copy as it is runs the same graph */
        plain_ns = (plain_ns + twin->others_ns[0].estimate) / 2;
    for (size_t i = 0; i < layering->count; i++) {
        struct tare_layering_node *into = &layering->nodes[i];
        const struct tare_ort_node *node = &profile->nodes[i];
        into->raws[pair] = node->ns / plain_ns;
        into->taxes[pair] = tare_tax_of(tax, node, profile->calls, gap_ns) / plain_ns;
        into->half_ns += 4 * node->error_ns * node->error_ns; /* squared until all are there */
    }
    layering->plains_ns[pair] = twin->plain_ns.estimate;
    layering->calls += (int64_t)profile->typical;
    tare_layering_repeat_add(layering, twin);
}

/* Is what is left of it no more than the tax may be wrong by? */
static bool is_doubtful(const struct tare_layering_node *node)
{
    return node->ns < node->tax_ns / 2;
}

/*
 * Of nodes that take next to nothing, some come out below zero. To call those zero and leave the others as
 * they are would add their noise up; so together they keep the sum that they have, and what is above zero
 * gives way.
 */
static void settle(struct tare_layering *layering)
{
    double sum_ns = 0, above_ns = 0;
    for (size_t i = 0; i < layering->count; i++)
        if (is_doubtful(&layering->nodes[i])) {
            sum_ns += layering->nodes[i].ns;
            above_ns += layering->nodes[i].ns > 0 ? layering->nodes[i].ns : 0;
        }
    double keep = above_ns > 0 && sum_ns > 0 ? sum_ns / above_ns : 0;
    for (size_t i = 0; i < layering->count; i++)
        if (is_doubtful(&layering->nodes[i]))
            layering->nodes[i].ns = layering->nodes[i].ns > 0 ? layering->nodes[i].ns * keep : 0;
}

/* The machine changes its speed from one pair to the next, but for all of a pair alike. */
static void average_pairs(struct tare_layering *layering)
{
    layering->plain_ns = tare_layering_middle(layering->plains_ns, layering->pairs);
    for (size_t i = 0; i < layering->count; i++) {
        struct tare_layering_node *node = &layering->nodes[i];
        node->raw_ns = tare_layering_middle(node->raws, layering->pairs) * layering->plain_ns;
        node->tax_ns = tare_layering_middle(node->taxes, layering->pairs) * layering->plain_ns;
    }
}

static void take_tax_off(struct tare_layering *layering, const struct tare_tax *tax)
{
    double factors[TARE_LAYERING_KINDS];
    for (int kind = 0; kind < TARE_LAYERING_KINDS; kind++)
        factors[kind] = tare_layering_repeat_factor(layering, (enum tare_layering_kind)kind);
    layering->tax_error = tax->error;
    for (size_t i = 0; i < layering->count; i++) {
        struct tare_layering_node *node = &layering->nodes[i];
        node->tax_ns *= factors[node->kind];
        node->ns = node->raw_ns - node->tax_ns;
        node->half_ns = sqrt(node->half_ns) / (double)layering->pairs + node->tax_ns * tax->error;
    }
    settle(layering);
}

static int begin_nodes(struct tare_layering *layering, const struct tare_twin *twin, struct tare_twin *first,
                       struct tare_error *err)
{
    *first = *twin;
    layering->count = twin->profile->nodes_count;
    layering->nodes = tare_arena_array(&layering->arena, layering->count + 1, sizeof *layering->nodes);
    if (!layering->nodes)
        return tare_fail_memory(err);
    for (size_t i = 0; i < layering->count; i++) {
        double *times = tare_arena_array(&layering->arena, 2 * (size_t)PAIRS_MOST, sizeof *times);
        if (!times)
            return tare_fail_memory(err);
        layering->nodes[i].seen = &twin->profile->nodes[i];
        layering->nodes[i].raws = times;
        layering->nodes[i].taxes = times + PAIRS_MOST;
    }
    tare_layering_join_names(layering);
    return 0;
}

/* Processes differ more from each other than the calls of one do: many short pairs tell more than one long
 * one. The first one's profile stays: it says what the nodes are. */
static int measure_pairs(struct tare_layering *layering, const struct tare_tax *tax, struct tare_twin *first,
                         struct tare_error *err)
{
    struct tare_bench *bench = layering->bench;
    const struct tare_worker_start start = start_of(bench);
    const struct tare_worker_spec *spec = &bench->specs[layering->index];
    int64_t calls = CALLS_MOST, nodes = bench->run->model.nodes.known ? bench->run->model.nodes.value : 1000;
    if (nodes > 0 && calls > EVENTS_MOST / nodes)
        calls = EVENTS_MOST / nodes > 2 ? EVENTS_MOST / nodes : 2;
    for (int i = 0; i < PAIRS_MOST && (i == 0 || tare_bench_left_ns(bench) > least_ns / 2); i++) {
        struct tare_twin twin;
        int64_t began_ns = tare_clock_ns();
        /* The first one is to tell what there is, and quickly. */
        int64_t most = i == 0 && calls > CALLS_FIRST ? CALLS_FIRST : calls;
        if (tare_twin_measure(&start, spec, &layering->others, bench->folder, most,
                              slice(bench, 2000000000, PAIRS_MOST + 1 - i), &twin, err) < 0) {
            if (i == 0)
                return -1;
            if (layering->others.count == 0 || layering->pairs > 1 || tare_bench_stopped(bench))
                break; /* what there is will do */
            /* A copy may not run. */
            tare_bench_note(bench, "Layers: the profiler's tax was not measured in this model: %s", err->msg);
            tare_layering_repeat_close(layering);
            continue;
        }
        if (i == 0 && begin_nodes(layering, &twin, first, err) < 0)
            return -1;
        add_pair(layering, &twin, tax);
        if (i == 0)
            average_pairs(layering);
        if (i == 0 && tare_layering_repeat_open(layering, err) < 0)
            tare_bench_note(bench, "Layers: the profiler's tax was not measured in this model: %s", err->msg);
        if (i > 0)
            tare_twin_finish(&twin);
        if (i > 0 && tare_clock_ns() - began_ns > tare_bench_left_ns(bench))
            break; /* another would not fit */
    }
    if (layering->others.count > 0 && layering->pairs < 2)
        tare_bench_note(
            bench, "Layers: no time was left to measure the profiler's tax in this model; raise --time.");
    tare_layering_repeat_close(layering);
    average_pairs(layering);
    take_tax_off(layering, tax);
    return 0;
}

static int measure_nodes(struct tare_layering *layering, const struct tare_tax *tax, struct tare_error *err)
{
    struct tare_bench *bench = layering->bench;
    const struct tare_worker_spec *spec = &bench->specs[layering->index];
    struct tare_twin first = {0};
    struct tare_model_count count;
    struct tare_error ignored;
    int rc = -1;
    if (measure_pairs(layering, tax, &first, err) < 0)
        goto out;
    if (first.profile->full)
        tare_bench_note(bench,
                        "The runtime's profiler dropped events: layers rest on the calls before that.");
    bool counted = layering->optimised && count_profile(spec, layering->optimised, first.profile,
                                                        &layering->arena, &count, &ignored) == 0;
    if (counted && spec->batch >= 0 && !bench->run->model.optimised_macs.known)
        bench->run->model.optimised_macs = tare_run_int(count.macs / (spec->batch > 0 ? spec->batch : 1));
    tare_layering_join(layering, counted ? &count : NULL);
    rc = tare_layering_rows(layering, err);
out:
    tare_twin_finish(&first);
    return rc;
}

/* The configuration that is looked into: the first of the main model that was measured. */
static bool choose(const struct tare_bench *bench, size_t *ret_index)
{
    for (size_t i = 0; i < bench->run->configs_count; i++)
        if (!bench->run->configs[i].keys.model && bench->run->configs[i].status != TARE_RUN_NOT_MEASURED) {
            *ret_index = i;
            return true;
        }
    return false;
}

int tare_bench_layers(struct tare_bench *bench, struct tare_error *err)
{
    struct tare_layering layering = {.bench = bench};
    struct tare_model *original = NULL, *optimised = NULL;
    struct tare_peaks peaks;
    struct tare_tax tax;
    struct tare_error why;
    int rc = -1;
    if (strcmp(bench->run->engine.name, "onnxruntime") != 0 || !choose(bench, &layering.index))
        return 0;
    const struct tare_worker_spec *spec = &bench->specs[layering.index];
    const struct tare_worker_start start = start_of(bench);
    tare_arena_init(&layering.arena, 0);
    if (tare_model_open(spec->model_path, &original, err) < 0)
        goto out;
    layering.original = original;
    tare_bench_say(bench, TARE_BENCH_LAYERS, "counting what the model computes");
    if (count_configs(&layering, &why) < 0)
        tare_bench_note(bench, "MACs: not known: %s", why.msg);
    if (tare_bench_left_ns(bench) < least_ns) {
        tare_bench_note(bench, "Layers: left out, no time was left; raise --time.");
        rc = 0;
        goto out;
    }
    if (open_optimised(&layering, &optimised, &why) < 0) {
        tare_bench_note(bench, "Fusions: not known: %s", why.msg);
    } else {
        layering.optimised = optimised;
        if (compare_graphs(&layering, err) < 0)
            goto out;
    }
    tare_bench_say(bench, TARE_BENCH_LAYERS, "measuring this machine's peaks");
    if (measure_peaks(&layering, spec->options.threads > 0 ? spec->options.threads : 1, &peaks, &why) < 0)
        tare_bench_note(bench, "Peaks: not known: %s", why.msg);
    tare_bench_say(bench, TARE_BENCH_LAYERS, "calibrating the runtime's profiler");
    if (tare_tax_calibrate(&start, &spec->options, bench->folder, slice(bench, 3000000000, 4), &tax, err) < 0)
        goto out;
    tare_bench_say(bench, TARE_BENCH_LAYERS, "timing each node");
    rc = measure_nodes(&layering, &tax, err);
out:
    tare_model_close(optimised);
    tare_model_close(original);
    tare_arena_finish(&layering.arena);
    return rc;
}
