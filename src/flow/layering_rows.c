/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the result: every node, and the groups that they make. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "flow/layering_part.h"

/* A time below this says nothing about how fast anything was. */
static const double least_ns = 1000;

/* What a node or a group adds up to. */
struct sums {
    double ns, raw_ns, half_ns;
    double ideal_ns;             /* at the peak bandwidth of each node's own size */
    double timed_ns, timed_macs; /* of those whose MACs are of 32-bit floats and whose time says something */
    double moved_ns;             /* of those whose bytes are known and whose time says something */
    double macs, bytes, memory;
    bool has_macs, has_bytes;
};

static bool is_float(const struct tare_ort_node *node)
{
    return node->inputs_count > 0 && node->inputs[0].element == TARE_ELEMENT_F32;
}

static void add(struct sums *sums, const struct tare_layering_node *node, const struct tare_peaks *peaks)
{
    bool timed = node->ns > least_ns && node->ns > 2 * node->half_ns;
    sums->ns += node->ns;
    sums->raw_ns += node->raw_ns;
    sums->half_ns += node->half_ns;
    if (node->macs >= 0) {
        sums->has_macs = true;
        sums->macs += (double)node->macs;
        if (timed && node->macs > 0 && is_float(node->seen)) {
            sums->timed_ns += node->ns;
            sums->timed_macs += (double)node->macs;
        }
    }
    if (node->bytes >= 0) {
        sums->has_bytes = true;
        sums->bytes += (double)node->bytes;
        if (timed && node->bytes > 0 && peaks) {
            sums->ideal_ns += (double)node->bytes / tare_peaks_bandwidth(peaks, (double)node->bytes) * 1e9;
            sums->moved_ns += node->ns;
        }
    }
    if (node->seen->output_bytes > 0)
        sums->memory += (double)node->seen->output_bytes;
}

static struct tare_run_int whole(double value, bool known)
{
    return known && value < 0x1p62 ? tare_run_int((int64_t)value) : (struct tare_run_int){.known = false};
}

static void fill(struct tare_run_layer *row, const struct sums *sums, const struct tare_peaks *peaks,
                 double total_ns)
{
    row->time_ns = (struct tare_run_estimate){
        .value = tare_run_real(sums->ns),
        .lower = tare_run_real(sums->ns > sums->half_ns ? sums->ns - sums->half_ns : 0),
        .upper = tare_run_real(sums->ns + sums->half_ns),
    };
    row->raw_ns = tare_run_real(sums->raw_ns);
    if (total_ns > 0)
        row->share = tare_run_real(sums->ns / total_ns);
    row->macs = whole(sums->macs, sums->has_macs);
    row->flops = whole(2 * sums->macs, sums->has_macs);
    row->bytes = whole(sums->bytes, sums->has_bytes);
    row->memory_bytes = whole(sums->memory, true);
    if (peaks && sums->timed_ns > 0)
        row->compute_share =
            tare_run_real(2 * sums->timed_macs / sums->timed_ns * 1e9 / peaks->flops_per_sec.estimate);
    if (peaks && sums->moved_ns > 0)
        row->bandwidth_share = tare_run_real(sums->ideal_ns / sums->moved_ns);
}

static const char *shape_text(struct tare_arena *arena, const struct tare_ort_node *node)
{
    if (node->outputs_count == 0 || !node->outputs[0].ranked)
        return NULL;
    struct tare_buf buf;
    tare_buf_init(&buf, 1024);
    for (size_t i = 0; i < node->outputs[0].rank; i++)
        tare_buf_printf(&buf, "%s%" PRId64, i > 0 ? "," : "", node->outputs[0].dims[i]);
    const char *text = tare_arena_copy(arena, buf.data);
    tare_buf_finish(&buf);
    return text;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const struct tare_run_layer *)a)->time_ns.value.value;
    double y = ((const struct tare_run_layer *)b)->time_ns.value.value;
    return (x < y) - (x > y);
}

static int add_group(struct tare_layering *layering, struct tare_run_layers *layers, const char *name,
                     double total_ns, struct tare_error *err)
{
    struct tare_run *run = layering->bench->run;
    struct sums sums = {0};
    int64_t members = 0;
    const char *op = NULL;
    for (size_t i = 0; i < layering->count; i++) {
        const struct tare_layering_node *node = &layering->nodes[i];
        if (strcmp(node->group, name) != 0)
            continue;
        add(&sums, node, layering->peaks);
        op = members == 0 || (op && strcmp(op, node->seen->op) == 0) ? node->seen->op : NULL;
        members++;
    }
    struct tare_run_layer *row =
        tare_run_append(run, &layers->groups, &layers->groups_count, sizeof *layers->groups);
    if (!row)
        return tare_fail_memory(err);
    row->name = tare_arena_copy(&run->arena, name);
    row->op = tare_arena_copy(&run->arena, op);
    row->members = tare_run_int(members);
    fill(row, &sums, layering->peaks, total_ns);
    return 0;
}

/* Better than the machine can do means measured wrongly. */
static void doubt(struct tare_layering *layering, const struct tare_run_layers *layers)
{
    size_t compute = 0, memory = 0;
    for (size_t i = 0; i < layers->nodes_count; i++) {
        compute += layers->nodes[i].compute_share.known && layers->nodes[i].compute_share.value > 1;
        memory += layers->nodes[i].bandwidth_share.known && layers->nodes[i].bandwidth_share.value > 1;
    }
    if (compute > 0)
        tare_bench_note(layering->bench,
                        "Measurement error: %zu of %zu layers seem to compute faster than this machine's "
                        "measured peak.",
                        compute, layers->nodes_count);
    if (memory > 0)
        tare_bench_note(layering->bench,
                        "Measurement error: %zu of %zu layers seem to move their data faster than this "
                        "machine can.",
                        memory, layers->nodes_count);
}

int tare_layering_rows(struct tare_layering *layering, struct tare_error *err)
{
    struct tare_run *run = layering->bench->run;
    struct tare_run_layers *layers = &run->configs[layering->index].layers;
    double total_ns = 0, tax_ns = 0;
    for (size_t i = 0; i < layering->count; i++) {
        total_ns += layering->nodes[i].ns;
        tax_ns += layering->nodes[i].tax_ns;
    }
    if (layering->count > 0)
        tax_ns /= (double)layering->count;
    *layers = (struct tare_run_layers){
        .calls = tare_run_int(layering->calls),
        .tax_ns = {.value = tare_run_real(tax_ns),
                   .lower = tare_run_real(tax_ns * (1 - layering->tax_error)),
                   .upper = tare_run_real(tax_ns * (1 + layering->tax_error))},
        .sum_ns = tare_run_real(total_ns),
        .residual_ns = tare_run_real(layering->plain_ns - total_ns),
    };
    for (size_t i = 0; i < layering->count; i++) {
        const struct tare_layering_node *node = &layering->nodes[i];
        struct sums sums = {0};
        struct tare_run_layer *row =
            tare_run_append(run, &layers->nodes, &layers->nodes_count, sizeof *layers->nodes);
        if (!row)
            return tare_fail_memory(err);
        row->name = tare_arena_copy(&run->arena, node->seen->name);
        row->op = tare_arena_copy(&run->arena, node->seen->op);
        row->group = tare_arena_copy(&run->arena, node->group);
        row->provider = tare_arena_copy(&run->arena, node->seen->provider);
        row->shape = shape_text(&run->arena, node->seen);
        row->calls = tare_run_int(node->seen->calls);
        add(&sums, node, layering->peaks);
        fill(row, &sums, layering->peaks, total_ns);
    }
    for (size_t i = 0; i < layering->count; i++) {
        bool known = false;
        for (size_t k = 0; !known && k < layers->groups_count; k++)
            known = strcmp(layers->groups[k].name, layering->nodes[i].group) == 0;
        if (!known && add_group(layering, layers, layering->nodes[i].group, total_ns, err) < 0)
            return -1;
    }
    if (layers->groups_count > 1)
        qsort(layers->groups, layers->groups_count, sizeof *layers->groups, by_time);
    doubt(layering, layers);
    return tare_arena_check(&run->arena, err);
}
