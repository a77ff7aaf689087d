/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/tax.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/model_write.h"
#include "bench/twin.h"

enum {
    TURNS_MOST = 6,
    CHAIN = 200,
    CHAIN_CALLS = 48,
    SPLIT = 4,
    RANK = 6,
    WIDE_ROWS = 64,
    WIDE_COLUMNS = 384
};

/* The chains and what their nodes have, on average. The last is of nodes whose work several threads share. */
enum chain { PLAIN, RANKED, JOINED, FORKED, WIDE, CHAINS };
struct features {
    double inputs, outputs, dimensions;
};
static const struct features features[CHAINS] = {
    [PLAIN] = {1, 1, 2},
    [RANKED] = {1, 1, 2 * RANK},
    [JOINED] = {SPLIT, 1, SPLIT + 1},
    [FORKED] = {(1 + SPLIT) / 2.0, (1 + SPLIT) / 2.0, 1 + SPLIT},
    [WIDE] = {1, 1, 4},
};

/* Names as long as those of real models: the profiler copies them. */
static const char *value_name(char *text, size_t size, int node, int output)
{
    snprintf(text, size, "/model/layer.%d/attention/value_%d", node, output);
    return text;
}

static void add_nodes(struct tare_model_writer *writer, enum chain chain, int node)
{
    char name[64], from[64], to[SPLIT][64], joined[64];
    const char *inputs[SPLIT], *outputs[SPLIT];
    snprintf(name, sizeof name, "/model/layer.%d/attention/self/Node", node);
    value_name(from, sizeof from, node, 0);
    value_name(joined, sizeof joined, node + 1, 0);
    for (int i = 0; i < SPLIT; i++) {
        inputs[i] = from;
        outputs[i] = value_name(to[i], sizeof to[i], node, i + 1);
    }
    const char *const end = joined;
    switch (chain) {
    case JOINED:
        tare_model_writer_node(writer, "Max", name, inputs, SPLIT, &end, 1, NULL, 0);
        break;
    case FORKED:
        tare_model_writer_node(writer, "Split", name, inputs, 1, outputs, SPLIT, "axis", 0);
        snprintf(name, sizeof name, "/model/layer.%d/attention/self/Join", node);
        tare_model_writer_node(writer, "Concat", name, outputs, SPLIT, &end, 1, "axis", 0);
        break;
    default:
        /* One that costs enough to be split, the other next to nothing. */
        tare_model_writer_node(writer, chain == WIDE ? "Softmax" : "Neg", name, inputs, 1, &end, 1, NULL, 0);
        break;
    }
}

static int write_chain(enum chain chain, const char *path, struct tare_error *err)
{
    static const int64_t ones[RANK] = {1, 1, 1, 1, 1, 1}, four = SPLIT, wide[2] = {WIDE_ROWS, WIDE_COLUMNS};
    const int64_t *dims = chain == FORKED ? &four : chain == WIDE ? wide : ones;
    size_t rank = chain == RANKED ? RANK : chain == WIDE ? 2 : 1;
    int count = chain == FORKED ? CHAIN / 2 : CHAIN;
    char name[64];
    struct tare_model_writer writer;
    tare_model_writer_init(&writer);
    tare_model_writer_input(&writer, value_name(name, sizeof name, 0, 0), TARE_ELEMENT_F32, dims, rank);
    for (int i = 0; i < count; i++)
        add_nodes(&writer, chain, i);
    tare_model_writer_output(&writer, value_name(name, sizeof name, count, 0), TARE_ELEMENT_F32, dims, rank);
    int rc = tare_model_writer_save(&writer, path, err);
    tare_model_writer_finish(&writer);
    return rc;
}

/* What was inside the nodes of a chain, as a share of the gaps after them, and how sure that is. */
struct share {
    double share, gap_ns, error;
    double split; /* of the nodes' runs, how many were split among threads */
};

static int measure_chain(const struct tare_worker_start *start, const struct tare_engine_options *options,
                         const char *folder, enum chain chain, int64_t budget_ns, struct share *ret_share,
                         struct tare_error *err)
{
    struct tare_arena arena;
    struct tare_twin twin = {0};
    tare_arena_init(&arena, 0);
    struct tare_worker_spec spec = {
        .engine = "onnxruntime",
        .model_path = tare_arena_printf(&arena, "%s/chain-%d.onnx", folder, (int)chain),
        .options = *options,
    };
    spec.options.level = TARE_GRAPH_OFF; /* nothing may be fused away */
    int rc = -1;
    if (tare_arena_check(&arena, err) < 0 || write_chain(chain, spec.model_path, err) < 0)
        goto out;
    rc = tare_twin_measure(start, &spec, NULL, folder, CHAIN_CALLS, budget_ns, &twin, err);
    unlink(spec.model_path);
    if (rc < 0)
        goto out;
    const struct tare_ort_profile *profile = twin.profile;
    double gap_ns = tare_tax_gap(profile), count = (double)profile->nodes_count;
    if (profile->nodes_count < CHAIN || !(gap_ns > 0)) {
        rc = tare_fail(err, TARE_E_INPUT, 0, "the runtime's profile of a chain of %d nodes shows %zu", CHAIN,
                       profile->nodes_count);
        goto out;
    }
    int64_t runs = 0, split = 0;
    for (size_t i = 0; i < profile->nodes_count; i++) {
        runs += profile->nodes[i].calls;
        split += profile->nodes[i].split;
    }
    ret_share->split = runs > 0 ? (double)split / (double)runs : 0;
    double inside_ns = (profile->sum_ns - twin.plain_ns.estimate) / count;
    ret_share->gap_ns = gap_ns;
    ret_share->share = inside_ns > 0 ? inside_ns / gap_ns : 0;
    ret_share->error = (twin.profiled_ns.high - twin.profiled_ns.low) / 2 / twin.profiled_ns.estimate;
out:
    tare_twin_finish(&twin);
    tare_arena_finish(&arena);
    return rc;
}

static double not_below_zero(double value)
{
    return value > 0 ? value : 0;
}

int tare_tax_calibrate(const struct tare_worker_start *start, const struct tare_engine_options *options,
                       const char *folder, int64_t budget_ns, struct tare_tax *ret_tax,
                       struct tare_error *err)
{
    struct share shares[CHAINS] = {0};
    struct tare_tax tax = {0};
    int chains = options->threads > 1 ? CHAINS : WIDE, turns = 0;
    int64_t began_ns = tare_clock_ns(), spent_ns = 0;
    /* Processes differ from each other, so all chains are gone through as often as there is time. */
    for (; turns < TURNS_MOST && (turns == 0 || spent_ns + spent_ns / turns < budget_ns); turns++) {
        for (int chain = 0; chain < chains; chain++) {
            struct share share;
            if (measure_chain(start, options, folder, (enum chain)chain, budget_ns / chains / 4, &share,
                              err) < 0)
                return -1;
            shares[chain].share += share.share;
            shares[chain].split += share.split;
            tax.gap_ns += share.gap_ns / chains;
            tax.error = fmax(tax.error, share.error);
        }
        spent_ns = tare_clock_ns() - began_ns;
    }
    for (int chain = 0; chain < chains; chain++) {
        shares[chain].share /= turns;
        shares[chain].split /= turns;
    }
    tax.gap_ns /= turns;
    /* As many chains as unknowns; features[] says which equations these are. */
    tax.dimension = not_below_zero((shares[RANKED].share - shares[PLAIN].share) / (2 * RANK - 2));
    tax.input = not_below_zero((shares[JOINED].share - shares[PLAIN].share) / (SPLIT - 1) - tax.dimension);
    double forked = shares[FORKED].share - shares[PLAIN].share - (features[FORKED].inputs - 1) * tax.input -
                    (features[FORKED].dimensions - 2) * tax.dimension;
    tax.output = not_below_zero(forked / (features[FORKED].outputs - 1));
    tax.base = not_below_zero(shares[PLAIN].share - tax.input - tax.output - 2 * tax.dimension);
    if (chains > WIDE && shares[WIDE].split > 0.5)
        tax.split =
            not_below_zero(shares[WIDE].share - shares[PLAIN].share - 2 * tax.dimension) / shares[WIDE].split;
    /* Chains of trivial nodes and real models differ by more than the chains' own noise. */
    tax.error = fmax(tax.error, 0.15);
    *ret_tax = tax;
    return 0;
}

double tare_tax_gap(const struct tare_ort_profile *profile)
{
    double *gaps = calloc(profile->nodes_count + 1, sizeof *gaps), middle = 0;
    size_t count = 0;
    for (size_t i = 0; gaps && i < profile->nodes_count; i++)
        if (profile->nodes[i].has_gap)
            gaps[count++] = profile->nodes[i].gap_ns;
    if (count > 0) {
        qsort(gaps, count, sizeof *gaps, tare_stats_by_value);
        middle = tare_stats_median(gaps, count);
    }
    free(gaps);
    return middle;
}

double tare_tax_of(const struct tare_tax *tax, const struct tare_ort_node *node, size_t calls, double gap_ns)
{
    size_t dimensions = 0;
    for (size_t i = 0; i < node->inputs_count; i++)
        dimensions += node->inputs[i].rank;
    for (size_t i = 0; i < node->outputs_count; i++)
        dimensions += node->outputs[i].rank;
    double share = tax->base + tax->input * (double)node->inputs_count +
                   tax->output * (double)node->outputs_count + tax->dimension * (double)dimensions;
    /* Between two nodes there may be other work, such as giving back memory: a gap far from the others is
     * not the profiler's. */
    double gap = node->has_gap ? fmin(fmax(node->gap_ns, gap_ns / 2), gap_ns * 2) : gap_ns;
    if (node->calls > 0)
        share += tax->split * (double)node->split / (double)node->calls;
    double runs = calls > 0 ? (double)node->calls / (double)calls : 1; /* a body may run many times */
    return share * gap * runs;
}
