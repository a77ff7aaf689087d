/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a run, for the formats that people read. */
#include <inttypes.h>

#include "report/run_rows.h"

enum { METRICS_MOST = 8 }; /* columns of a table; the files hold them all */

static const double mb = 1e6, ms = 1e6;

struct tare_run_grid *tare_run_make_grid(struct tare_run_make *make, const char *title, size_t columns,
                                         size_t rows)
{
    struct tare_run_grid *grid = tare_arena_alloc(make->arena, sizeof *grid);
    if (!grid)
        return NULL;
    *grid = (struct tare_run_grid){.title = title, .columns = columns, .rows = rows};
    grid->head = tare_arena_array(make->arena, columns, sizeof *grid->head);
    grid->cells = tare_arena_array(make->arena, columns * rows, sizeof *grid->cells);
    if (!grid->head || !grid->cells)
        return NULL;
    *make->tail = grid;
    make->tail = &grid->next;
    return grid;
}

/* A column of a table of configurations. */
struct figure {
    const char *title;
    const char *(*cell)(struct tare_arena *arena, const struct tare_run_config *config);
};

static const char *throughput_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_real_cell(arena, config->throughput_per_sec.value, 1);
}

static const char *throughput_bounds_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_cell(arena, &config->throughput_per_sec, 1, "");
}

static const char *item_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_real_cell(arena, tare_run_config_item_ns(config).value, ms);
}

static const char *growth_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_real_cell(arena, config->memory.growth_bytes.value, mb);
}

static const char *samples_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_arena_printf(arena, "%zu", tare_run_config_samples(config));
}

static const char *effective_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    struct tare_run_real count = config->latency.effective_count;
    return count.known ? tare_arena_printf(arena, "%.0f", count.value) : "-";
}

static const char *p50_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_cell(arena, &config->latency.p50_ns, ms, "");
}

static const char *p99_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_cell(arena, &config->latency.p99_ns, ms, "");
}

static const char *max_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_real_cell(arena, config->latency.max_ns.value, ms);
}

static const char *cold_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_real_cell(arena, config->cold_ns.value, ms);
}

static const char *load_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_real_cell(arena, config->load_ns.value, ms);
}

static const char *peak_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_int_cell(arena, config->memory.peak_bytes, mb);
}

static const char *average_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_int_cell(arena, config->memory.average_bytes, mb);
}

static const char *weights_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_int_cell(arena, config->memory.weights_bytes, mb);
}

static const char *activations_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_int_cell(arena, config->memory.activations_bytes, mb);
}

static const char *cpu_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    return tare_run_real_cell(arena, config->resources.cpu_use, 1);
}

/* What must be known before a row is believed. */
static const char *status_cell(struct tare_arena *arena, const struct tare_run_config *config)
{
    (void)arena;
    if (config->status == TARE_RUN_UNSTABLE)
        return "unstable";
    return config->decided.known && !config->decided.value ? "undecided" : "-";
}

/* One row per configuration that was measured, its keys first. */
static void configs_grid(struct tare_run_make *make, const char *title, const char *note,
                         const struct figure *figures, size_t count)
{
    size_t keys = 0, measured = 0;
    for (size_t i = 0; i < make->columns.count; i++)
        keys += tare_run_make_column(&make->columns.items[i]);
    for (size_t i = 0; i < make->run->configs_count; i++)
        measured += make->run->configs[i].status != TARE_RUN_NOT_MEASURED;
    if (measured == 0)
        return;
    struct tare_run_grid *grid = tare_run_make_grid(make, title, keys + count, measured);
    if (!grid)
        return;
    grid->note = note;
    size_t at = 0;
    for (size_t c = 0; c < make->columns.count; c++)
        if (tare_run_make_column(&make->columns.items[c]))
            grid->head[at++] =
                make->columns.items[c].key == TARE_RUN_KEY_BATCH ? "Batch" : make->columns.items[c].name;
    for (size_t f = 0; f < count; f++)
        grid->head[at++] = figures[f].title;
    at = 0;
    for (size_t i = 0; i < make->run->configs_count; i++) {
        if (make->run->configs[i].status == TARE_RUN_NOT_MEASURED)
            continue;
        for (size_t c = 0; c < make->columns.count; c++)
            if (tare_run_make_column(&make->columns.items[c]))
                grid->cells[at++] = tare_run_make_key(make, &make->columns.items[c], i);
        for (size_t f = 0; f < count; f++)
            grid->cells[at++] = figures[f].cell(make->arena, &make->run->configs[i]);
    }
}

/* Is a figure known for any configuration? Tables of nothing are not shown. */
static bool any(struct tare_run_make *make, const struct figure *figure)
{
    for (size_t i = 0; i < make->run->configs_count; i++)
        if (strcmp(figure->cell(make->arena, &make->run->configs[i]), "-") != 0)
            return true;
    return false;
}

/* "pairs" in a head: "Pairs". */
static const char *capital(struct tare_arena *arena, const char *unit)
{
    char first = unit[0];
    if (first >= 'a' && first <= 'z')
        first = (char)(first - 'a' + 'A');
    return tare_arena_printf(arena, "%c%s", first, unit + 1);
}

static const char *bounds_note(struct tare_run_make *make)
{
    for (size_t i = 0; i < make->run->configs_count; i++)
        if (make->run->configs[i].latency.confidence.known)
            return tare_arena_printf(make->arena,
                                     "In brackets: %g %% bounds, on the effective number of samples.",
                                     100 * make->run->configs[i].latency.confidence.value);
    return NULL;
}

static void configs_grids(struct tare_run_make *make)
{
    const char *unit = capital(make->arena, make->run->unit);
    const char *rate = tare_arena_printf(make->arena, "%s/Sec", unit);
    char one[64];
    tare_run_unit_singular(make->run->unit, one, sizeof one);
    const struct figure first[] = {{rate, throughput_cell},
                                   {"Latency (ms)", item_cell},
                                   {"Memory (MB)", growth_cell},
                                   {"Status", status_cell}};
    size_t shown = sizeof first / sizeof first[0];
    if (!any(make, &first[shown - 1]))
        shown--;
    configs_grid(make, NULL,
                 tare_arena_printf(make->arena,
                                   "Latency is the mean per %s; memory is what the process gained while "
                                   "processing; 1 MB is 1,000,000 bytes.",
                                   one),
                 first, shown);
    const struct figure latency[] = {{rate, throughput_bounds_cell}, {"p50 (ms)", p50_cell},
                                     {"p99 (ms)", p99_cell},         {"Max (ms)", max_cell},
                                     {"Cold (ms)", cold_cell},       {"Samples", samples_cell},
                                     {"Effective", effective_cell}};
    configs_grid(make, "Time of one call", bounds_note(make), latency, sizeof latency / sizeof latency[0]);
    const struct figure memory[] = {{"Load (ms)", load_cell},
                                    {"Peak (MB)", peak_cell},
                                    {"Average (MB)", average_cell},
                                    {"Weights (MB)", weights_cell},
                                    {"Activations (MB)", activations_cell},
                                    {"Cores busy", cpu_cell}};
    struct figure known[sizeof memory / sizeof memory[0]];
    size_t count = 0;
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        if (any(make, &memory[i]))
            known[count++] = memory[i];
    if (count)
        configs_grid(make, "What it costs", NULL, known, count);
}

static const struct tare_run_accuracy *metric(const struct tare_run_config *config, const char *name)
{
    for (size_t i = 0; i < config->accuracy_count; i++)
        if (strcmp(config->accuracy[i].name, name) == 0)
            return &config->accuracy[i];
    return NULL;
}

static size_t metrics_find(const struct tare_run *run, const char *names[METRICS_MOST])
{
    size_t count = 0;
    for (size_t i = 0; i < run->configs_count; i++) {
        for (size_t a = 0; a < run->configs[i].accuracy_count && count < METRICS_MOST; a++) {
            size_t seen = 0;
            while (seen < count && strcmp(names[seen], run->configs[i].accuracy[a].name) != 0)
                seen++;
            if (seen == count)
                names[count++] = run->configs[i].accuracy[a].name;
        }
    }
    return count;
}

/* A row per configuration that has any, a column per metric. */
static void accuracy_grid(struct tare_run_make *make)
{
    const struct tare_run *run = make->run;
    const char *names[METRICS_MOST];
    size_t count = metrics_find(run, names), rows = 0, at = 0;
    for (size_t i = 0; i < run->configs_count; i++)
        rows += run->configs[i].accuracy_count > 0;
    struct tare_run_grid *grid = rows ? tare_run_make_grid(make, "Same answers?", count + 1, rows) : NULL;
    if (!grid)
        return;
    grid->left = 1;
    grid->head[0] = "Configuration";
    for (size_t m = 0; m < count; m++)
        grid->head[m + 1] = names[m];
    for (size_t i = 0; i < run->configs_count; i++) {
        if (run->configs[i].accuracy_count == 0)
            continue;
        grid->cells[at++] = tare_run_make_name(make, i);
        for (size_t m = 0; m < count; m++) {
            const struct tare_run_accuracy *row = metric(&run->configs[i], names[m]);
            struct tare_run_estimate value = {.supported = {false, false}};
            bool crossed = row && row->passed.known && !row->passed.value;
            if (row)
                value =
                    (struct tare_run_estimate){.value = row->value, .lower = row->lower, .upper = row->upper};
            grid->cells[at++] = tare_run_cell(make->arena, &value, 1, crossed ? " CROSSED" : "");
        }
    }
}

static void thresholds_grid(struct tare_run_make *make)
{
    static const char *const words[] = {"inconclusive", "pass", "FAIL"};
    static const char *const head[] = {"Metric", "Target", "Achieved", "Status"};
    const struct tare_run *run = make->run;
    if (run->thresholds_count == 0)
        return;
    struct tare_run_grid *grid = tare_run_make_grid(make, "Thresholds", 4, run->thresholds_count);
    if (!grid)
        return;
    memcpy(grid->head, head, sizeof head);
    grid->left = 1;
    for (size_t i = 0; i < run->thresholds_count; i++) {
        const struct tare_run_threshold *row = &run->thresholds[i];
        const char **cells = grid->cells + i * 4;
        const char *unit = row->unit ? row->unit : "";
        const char *sign = row->bound == TARE_RUN_BOUND_UPPER   ? "<= "
                           : row->bound == TARE_RUN_BOUND_LOWER ? ">= "
                                                                : "";
        cells[0] = row->configuration.known
                       ? tare_arena_printf(make->arena, "%s @ %s", row->metric,
                                           tare_run_make_name(make, (size_t)row->configuration.value))
                       : row->metric;
        cells[1] = tare_arena_printf(make->arena, "%s%s %s", sign,
                                     tare_run_real_cell(make->arena, row->target, 1), unit);
        cells[2] = tare_run_cell(make->arena, &row->achieved, 1, tare_arena_printf(make->arena, " %s", unit));
        cells[3] = row->ratio.known ? tare_arena_printf(make->arena, "%s (%sx target)", words[row->status],
                                                        tare_run_real_cell(make->arena, row->ratio, 1))
                                    : words[row->status];
    }
}

void tare_run_rows_make(const struct tare_run *run, struct tare_arena *arena, struct tare_run_rows *ret_rows)
{
    *ret_rows = (struct tare_run_rows){.arena = arena};
    struct tare_run_make make = {.run = run, .arena = arena, .rows = ret_rows, .tail = &ret_rows->grids};
    tare_run_columns_find(run, &make.columns);
    tare_run_make_lines(&make);
    thresholds_grid(&make);
    configs_grids(&make);
    accuracy_grid(&make);
    tare_run_make_layers(&make);
    tare_run_make_remarks(&make);
}
