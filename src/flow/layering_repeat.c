/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tax as it is inside the model at hand. The chains of bench/tax.h tell how it differs from node to node,
 * but not how much of it there is among other neighbours, nor what the profiler's own memory drives out of
 * the caches, which large nodes pay for. So the small nodes and the large ones each run once more in a copy
 * of the graph: by what a call grows, unprofiled, is what they take; what the profiler said above that was
 * its tax.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/model_repeat.h"
#include "flow/layering_part.h"

enum { TIMES_MOST = 4, NODES_MOST = 2000 };
/* So many pairs tell by themselves how much they differ. */
enum { PAIRS_TELL = 4 };
/* What the tax of a class may be, in units of that of the chains, before anything is known. */
static const double prior_sd = 1;
/* By how much of a call pairs may differ, when they are too few to tell. */
static const double few_sd = 0.2;
/* The profiler does its work in every node, wherever it is. */
static const double least_factor = 0.3;
/* Below this share of a call the tax does not matter. */
static const double least_share = 0.01;
/* The time of a node that does nothing: some nodes come out below it by chance. */
static const double least_node_ns = 400;

static bool wanted(const struct tare_layering *layering)
{
    const struct tare_worker_spec *spec = &layering->bench->specs[layering->index];
    int64_t available = tare_bench_available();
    if (!layering->optimised || (spec->options.provider && strcmp(spec->options.provider, "cpu") != 0))
        return false;
    /* Several more processes hold the weights, some of them twice. */
    return available < 0 || layering->optimised->file_bytes < available / 16;
}

/* Which nodes are of which class, and what they seem to take, from the first pair. */
static void classify(struct tare_layering *layering, bool *taken)
{
    for (size_t i = 0; i < layering->count; i++) {
        struct tare_layering_node *node = &layering->nodes[i];
        node->kind = node->seen->low_ns < 2 * node->tax_ns ? TARE_LAYERING_SMALL : TARE_LAYERING_LARGE;
        node->repeated = node->node && !node->seen->nested && tare_model_repeat_can(node->node) &&
                         !taken[node->node - layering->optimised->graph.nodes]; /* names may be alike */
        struct tare_layering_class *class = &layering->classes[node->kind];
        if (!node->repeated)
            continue;
        taken[node->node - layering->optimised->graph.nodes] = true;
        class->nodes++;
        class->tax_ns += node->tax_ns;
        class->ns += fmax(node->raw_ns - node->tax_ns, least_node_ns);
    }
}

static int write_class(struct tare_layering *layering, enum tare_layering_kind kind, bool *chosen,
                       const char *path, struct tare_error *err)
{
    struct tare_layering_class *class = &layering->classes[kind];
    const struct tare_model_graph *graph = &layering->optimised->graph;
    /* So often that the call grows by about itself: less is hard to see in its noise. */
    double times = round(layering->plain_ns / class->ns);
    class->times = times > TIMES_MOST ? TIMES_MOST : times > 1 ? (int)times : 1;
    while (class->times > 1 && class->nodes * (size_t) class->times > NODES_MOST)
        class->times--;
    memset(chosen, 0, graph->nodes_count * sizeof *chosen);
    for (size_t i = 0; i < layering->count; i++)
        if (layering->nodes[i].repeated && layering->nodes[i].kind == kind)
            chosen[layering->nodes[i].node - graph->nodes] = true;
    return tare_model_repeat(layering->optimised, chosen, class->times, path, err);
}

static struct tare_worker_spec *add_copy(struct tare_layering *layering)
{
    const struct tare_bench *bench = layering->bench;
    struct tare_worker_spec *spec = &layering->copies[layering->others.count];
    *spec = bench->specs[layering->index];
    spec->model_path =
        tare_arena_printf(&layering->arena, "%s/again-%zu.onnx", bench->folder, layering->others.count++);
    spec->options.level = TARE_GRAPH_OFF; /* it is rewritten already, and must not become less */
    return spec;
}

int tare_layering_repeat_open(struct tare_layering *layering, struct tare_error *err)
{
    struct tare_bench *bench = layering->bench;
    struct tare_tensor *inputs = NULL;
    if (!wanted(layering))
        return 0;
    bool *chosen = calloc(layering->optimised->graph.nodes_count + 1, sizeof *chosen);
    if (!chosen)
        return tare_fail_memory(err);
    classify(layering, chosen);
    layering->others.specs = layering->copies;
    struct tare_worker_spec *spec = add_copy(layering);
    int rc = tare_arena_check(&layering->arena, err);
    if (rc == 0)
        rc = tare_model_repeat(layering->optimised, chosen, 0, spec->model_path, err);
    for (int kind = 0; rc == 0 && kind < TARE_LAYERING_KINDS; kind++) {
        struct tare_layering_class *class = &layering->classes[kind];
        if (class->nodes == 0 || class->tax_ns < least_share * layering->plain_ns)
            continue;
        class->copy = layering->others.count;
        spec = add_copy(layering);
        rc = tare_arena_check(&layering->arena, err);
        if (rc == 0)
            rc = write_class(layering, (enum tare_layering_kind)kind, chosen, spec->model_path, err);
    }
    if (rc == 0)
        rc = tare_bench_inputs(bench, &bench->specs[layering->index], &layering->arena, &inputs,
                               &layering->others.inputs_count, err);
    layering->others.inputs = inputs;
    free(chosen);
    if (rc < 0 || layering->others.count == 1) /* nothing to compare with the copy as it is */
        tare_layering_repeat_close(layering);
    return rc;
}

void tare_layering_repeat_close(struct tare_layering *layering)
{
    for (size_t i = 0; i < layering->others.count; i++)
        if (layering->copies[i].model_path)
            unlink(layering->copies[i].model_path);
    layering->others.count = 0;
}

static double variance_of(const struct tare_interval *interval)
{
    double sd = (interval->high - interval->low) / (2 * 1.96);
    return sd * sd;
}

void tare_layering_repeat_add(struct tare_layering *layering, const struct tare_twin *twin)
{
    const struct tare_interval *base = &twin->others_ns[0];
    for (int kind = 0; layering->others.count > 0 && kind < TARE_LAYERING_KINDS; kind++) {
        struct tare_layering_class *class = &layering->classes[kind];
        if (class->copy == 0)
            continue;
        const struct tare_interval *again = &twin->others_ns[class->copy];
        class->took[class->count] = (again->estimate - base->estimate) / class->times / base->estimate;
        class->variance += (variance_of(again) + variance_of(base)) / pow(class->times * base->estimate, 2);
        for (size_t i = 0; i < layering->count; i++)
            if (layering->nodes[i].repeated && layering->nodes[i].kind == (enum tare_layering_kind)kind)
                class->raw[class->count] += layering->nodes[i].raws[layering->pairs - 1];
        class->count++;
    }
}

double tare_layering_middle(double *values, size_t count)
{
    size_t cut = count >= 4 ? count / 4 : 0;
    if (count > 0)
        qsort(values, count, sizeof *values, tare_stats_by_value);
    return tare_stats_mean(values + cut, count - 2 * cut);
}

/* Of the mean of the middle half of sorted values, by how far apart its ends are. */
static double error_squared(const double *sorted, size_t count)
{
    double sd = (sorted[count - 1 - count / 4] - sorted[count / 4]) / 1.35;
    return 1.2 * sd * sd / (double)count;
}

/* All that runs again cannot take longer than the call: by as much as it seems to, the machine was busy,
 * which the longer call of a copy suffers from more. */
static double excess(struct tare_layering *layering)
{
    double took = 0;
    for (int kind = 0; kind < TARE_LAYERING_KINDS; kind++)
        if (layering->classes[kind].count > 0)
            took += tare_layering_middle(layering->classes[kind].took, layering->classes[kind].count);
    return took > 1 ? took - 1 : 0;
}

double tare_layering_repeat_factor(struct tare_layering *layering, enum tare_layering_kind kind)
{
    struct tare_layering_class *class = &layering->classes[kind];
    double raw_ns = 0, tax_ns = 0, plain_ns = layering->plain_ns;
    for (size_t i = 0; i < layering->count; i++)
        if (layering->nodes[i].repeated && layering->nodes[i].kind == kind) {
            raw_ns += layering->nodes[i].raw_ns;
            tax_ns += layering->nodes[i].tax_ns;
        }
    if (class->count == 0 || !(tax_ns > 0) || !(plain_ns > 0))
        return 1;
    double took = tare_layering_middle(class->took, class->count), took_ns = took * plain_ns;
    double variance = fmax(class->variance / (double)class->count, few_sd * few_sd) / (double)class->count;
    double prior = pow(prior_sd * tax_ns / plain_ns, 2);
    if (class->count >= PAIRS_TELL) {
        qsort(class->raw, class->count, sizeof *class->raw, tare_stats_by_value);
        variance = error_squared(class->took, class->count);
        prior += error_squared(class->raw, class->count);
    }
    variance += pow(excess(layering) * took, 2);
    /* Each of the two counts as far as it is sure. */
    took_ns += (raw_ns - tax_ns - took_ns) * variance / (variance + prior);
    return fmax((raw_ns - took_ns) / tax_ns, least_factor);
}
