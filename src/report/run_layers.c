/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of what is inside a model: groups of nodes, the slowest nodes, what was fused. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/run_rows.h"

/* A terminal's worth; the files hold them all. */
enum { GROUPS_MOST = 12, NODES_MOST = 8 };

static const double ms = 1e6, us = 1e3;

/* "62.1", "62.1 (error)" when it is more than there is, "-" when not known. */
static const char *peak_cell(struct tare_arena *arena, struct tare_run_real share)
{
    const char *text = tare_run_real_cell(arena, share, 0.01);
    return share.known && share.value > 1 ? tare_arena_printf(arena, "%s (error)", text) : text;
}

static const char *rate_cell(struct tare_arena *arena, const struct tare_run_layer *layer)
{
    double ns = layer->time_ns.value.value;
    if (!layer->flops.known || layer->flops.value <= 0 || !layer->time_ns.value.known || !(ns > 0))
        return "-";
    return tare_run_number(arena, (double)layer->flops.value / ns);
}

static void groups_grid(struct tare_run_make *make, size_t config)
{
    static const char *const head[] = {"Layer group", "Nodes",          "Time (ms)",       "Share (%)",
                                       "GFLOP/s",     "Of compute (%)", "Of bandwidth (%)"};
    enum { COLUMNS = sizeof head / sizeof *head };
    const struct tare_run_layers *layers = &make->run->configs[config].layers;
    size_t count = layers->groups_count < GROUPS_MOST ? layers->groups_count : GROUPS_MOST;
    if (count == 0)
        return;
    struct tare_run_grid *grid = tare_run_make_grid(
        make, tare_arena_printf(make->arena, "Layers, %s", tare_run_make_name(make, config)), COLUMNS, count);
    if (!grid)
        return;
    memcpy(grid->head, head, sizeof head);
    grid->left = 1;
    for (size_t i = 0; i < count; i++) {
        const struct tare_run_layer *group = &layers->groups[i];
        const char **cells = grid->cells + i * COLUMNS;
        cells[0] = group->name;
        cells[1] =
            group->members.known ? tare_arena_printf(make->arena, "%" PRId64, group->members.value) : "-";
        cells[2] = tare_run_cell(make->arena, &group->time_ns, ms, "");
        cells[3] = tare_run_real_cell(make->arena, group->share, 0.01);
        cells[4] = rate_cell(make->arena, group);
        cells[5] = peak_cell(make->arena, group->compute_share);
        cells[6] = peak_cell(make->arena, group->bandwidth_share);
    }
    const char *more = layers->groups_count > count
                           ? tare_arena_printf(make->arena, "%zu smaller groups are in the file. ",
                                               layers->groups_count - count)
                           : "";
    if (layers->residual_ns.known && layers->sum_ns.known)
        grid->note = tare_arena_printf(make->arena,
                                       "%sTaken off each node, because the runtime's profiler adds it: %s "
                                       "us. The sum is %s ms; not explained: %s "
                                       "ms of an unprofiled call (%.1f %%). Compute and bandwidth are shares "
                                       "of this machine's measured peaks.",
                                       more, tare_run_cell(make->arena, &layers->tax_ns, us, ""),
                                       tare_run_real_cell(make->arena, layers->sum_ns, ms),
                                       tare_run_real_cell(make->arena, layers->residual_ns, ms),
                                       100 * layers->residual_ns.value /
                                           (layers->sum_ns.value + layers->residual_ns.value));
}

static int by_time(const void *a, const void *b)
{
    double x = (*(const struct tare_run_layer *const *)a)->time_ns.value.value;
    double y = (*(const struct tare_run_layer *const *)b)->time_ns.value.value;
    return (x < y) - (x > y);
}

static void nodes_grid(struct tare_run_make *make, size_t config)
{
    static const char *const head[] = {"Slowest layers", "Op",      "Output",        "Time (ms)",
                                       "Share (%)",      "GFLOP/s", "Of compute (%)"};
    enum { COLUMNS = sizeof head / sizeof *head };
    const struct tare_run_layers *layers = &make->run->configs[config].layers;
    size_t count = layers->nodes_count < NODES_MOST ? layers->nodes_count : NODES_MOST;
    const struct tare_run_layer **sorted =
        tare_arena_array(make->arena, layers->nodes_count + 1, sizeof *sorted);
    struct tare_run_grid *grid = count > 0 && sorted ? tare_run_make_grid(make, NULL, COLUMNS, count) : NULL;
    if (!grid)
        return;
    memcpy(grid->head, head, sizeof head);
    grid->left = 3;
    for (size_t i = 0; i < layers->nodes_count; i++)
        sorted[i] = &layers->nodes[i];
    qsort(sorted, layers->nodes_count, sizeof *sorted, by_time);
    for (size_t i = 0; i < count; i++) {
        const char **cells = grid->cells + i * COLUMNS;
        cells[0] = sorted[i]->name;
        cells[1] = sorted[i]->op ? sorted[i]->op : "-";
        cells[2] = sorted[i]->shape ? sorted[i]->shape : "-";
        cells[3] = tare_run_cell(make->arena, &sorted[i]->time_ns, ms, "");
        cells[4] = tare_run_real_cell(make->arena, sorted[i]->share, 0.01);
        cells[5] = rate_cell(make->arena, sorted[i]);
        cells[6] = peak_cell(make->arena, sorted[i]->compute_share);
    }
}

static void fusions_grid(struct tare_run_make *make)
{
    static const char *const head[] = {"Fusion", "Done", "Possible", "What was not done"};
    enum { COLUMNS = sizeof head / sizeof *head };
    const struct tare_run_model *model = &make->run->model;
    if (model->fusions_count == 0)
        return;
    struct tare_run_grid *grid = tare_run_make_grid(make, "Fusions", COLUMNS, model->fusions_count);
    if (!grid)
        return;
    memcpy(grid->head, head, sizeof head);
    grid->left = 1;
    for (size_t i = 0; i < model->fusions_count; i++) {
        const struct tare_run_fusion *fusion = &model->fusions[i];
        const char **cells = grid->cells + i * COLUMNS;
        cells[0] = fusion->name;
        cells[1] =
            fusion->found.known ? tare_arena_printf(make->arena, "%" PRId64, fusion->found.value) : "-";
        cells[2] =
            fusion->possible.known ? tare_arena_printf(make->arena, "%" PRId64, fusion->possible.value) : "-";
        cells[3] = fusion->text ? fusion->text : "";
    }
    if (model->nodes.known && model->optimised_nodes.known)
        grid->note =
            tare_arena_printf(make->arena, "The file has %" PRId64 " nodes, the runtime runs %" PRId64 ".",
                              model->nodes.value, model->optimised_nodes.value);
}

void tare_run_make_layers(struct tare_run_make *make)
{
    for (size_t i = 0; i < make->run->configs_count; i++) {
        groups_grid(make, i);
        nodes_grid(make, i);
    }
    fusions_grid(make);
}
