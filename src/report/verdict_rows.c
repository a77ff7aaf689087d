/* SPDX-License-Identifier: Apache-2.0 */
/* What all formats of verdicts say: tables and sentences. */
#include <math.h>
#include <string.h>

#include "report/verdict_report.h"

static const char *figure(struct tare_arena *arena, const struct tare_run_estimate *estimate,
                          const char *unit)
{
    if (!estimate->value.known)
        return "-";
    double value = estimate->value.value;
    if (unit && *unit)
        return tare_arena_printf(arena, "%s %s", tare_run_number(arena, value), unit);
    /* Parameters, nodes: counts have no decimals. */
    return value == floor(value) ? tare_arena_printf(arena, "%.0f", value) : tare_run_number(arena, value);
}

static const char *bounded(struct tare_arena *arena, const struct tare_run_estimate *estimate,
                           const char *unit)
{
    const char *value = figure(arena, estimate, unit);
    if (!estimate->lower.known || !estimate->upper.known ||
        (estimate->lower.value == estimate->value.value && estimate->upper.value == estimate->value.value))
        return value;
    return tare_arena_printf(arena, "%s [%s, %s]", value, tare_run_number(arena, estimate->lower.value),
                             tare_run_number(arena, estimate->upper.value));
}

static const char *ratio(struct tare_arena *arena, const struct tare_verdict *row)
{
    if (!isfinite(row->ratio))
        return "-";
    if (row->exact || !isfinite(row->low) || !isfinite(row->high))
        return tare_arena_printf(arena, "%.3fx", row->ratio);
    return tare_arena_printf(arena, "%.3fx [%.3f, %.3f]", row->ratio, row->low, row->high);
}

static const char *name(struct tare_arena *arena, const struct tare_verdict *row)
{
    return *row->label ? tare_arena_printf(arena, "%s @ %s", row->metric, row->label) : row->metric;
}

/* In words for a table: what is bad stands out. */
static const char *word(const struct tare_verdict *row)
{
    return row->kind == TARE_VERDICT_FAILED      ? "FAIL"
           : row->kind == TARE_VERDICT_PASSED    ? "pass"
           : row->kind == TARE_VERDICT_REGRESSED ? "REGRESSED"
                                                 : tare_verdict_word(row->kind);
}

static struct tare_run_grid *grid_make(struct tare_arena *arena, const char *title, const char *const *head,
                                       size_t columns, size_t rows)
{
    struct tare_run_grid *grid = tare_arena_alloc(arena, sizeof *grid);
    const char **heads = tare_arena_array(arena, columns, sizeof *heads);
    const char **cells = tare_arena_array(arena, columns * rows, sizeof *cells);
    if (!grid || !heads || !cells)
        return NULL;
    memcpy(heads, head, columns * sizeof *heads);
    *grid = (struct tare_run_grid){
        .title = title, .columns = columns, .rows = rows, .head = heads, .cells = cells, .left = 1};
    return grid;
}

/* Metric, Target, Achieved, Status. */
static void fill_threshold(struct tare_arena *arena, const struct tare_verdict *row, const char **cells)
{
    cells[0] = name(arena, row);
    cells[1] = row->target;
    cells[2] = bounded(arena, &row->b, row->unit);
    cells[3] =
        isfinite(row->ratio) && row->ratio > 0
            ? tare_arena_printf(arena, "%s (%sx target)", word(row), tare_run_number(arena, 1 / row->ratio))
            : word(row);
}

static void fill_compared(struct tare_arena *arena, const struct tare_verdict *row, const char **cells)
{
    cells[0] = name(arena, row);
    cells[1] = figure(arena, &row->a, row->unit);
    cells[2] = figure(arena, &row->b, row->unit);
    cells[3] = ratio(arena, row);
    cells[4] = isnan(row->p) ? "-" : row->p < 0.0001 ? "<0.0001" : tare_arena_printf(arena, "%.4f", row->p);
    cells[5] = isnan(row->detectable) ? "-" : tare_arena_printf(arena, "%.1f %%", 100 * row->detectable);
    cells[6] = word(row);
}

void tare_verdict_grids(const struct tare_verdicts *verdicts, struct tare_arena *arena,
                        struct tare_run_grid **ret_thresholds, struct tare_run_grid **ret_compared)
{
    static const char *const threshold_head[] = {"Metric", "Target", "Achieved", "Status"};
    static const char *const compared_head[] = {"Metric", "Base",    "New",    "Cost, new / base",
                                                "p",      "Detects", "Verdict"};
    enum { THRESHOLD = 4, COMPARED = 7 };
    size_t thresholds = 0, at = 0, compared_at = 0;
    *ret_thresholds = *ret_compared = NULL;
    for (size_t i = 0; i < verdicts->count; i++)
        thresholds += verdicts->rows[i].target != NULL;
    if (thresholds)
        *ret_thresholds = grid_make(arena, "Thresholds", threshold_head, THRESHOLD, thresholds);
    if (thresholds < verdicts->count)
        *ret_compared = grid_make(arena, NULL, compared_head, COMPARED, verdicts->count - thresholds);
    for (size_t i = 0; i < verdicts->count; i++) {
        const struct tare_verdict *row = &verdicts->rows[i];
        if (row->target) {
            if (*ret_thresholds)
                fill_threshold(arena, row, (*ret_thresholds)->cells + THRESHOLD * at++);
        } else if (*ret_compared) {
            fill_compared(arena, row, (*ret_compared)->cells + COMPARED * compared_at++);
        }
    }
    if (*ret_compared)
        (*ret_compared)->note =
            "Cost above 1 is worse; in brackets 95 % bounds. Detects: the true change that "
            "such a comparison calls "
            "in 4 of 5 cases.";
}

const char *tare_verdict_summary(const struct tare_verdicts *verdicts, struct tare_arena *arena)
{
    static const enum tare_verdict_kind order[] = {TARE_VERDICT_FAILED,       TARE_VERDICT_REGRESSED,
                                                   TARE_VERDICT_INCONCLUSIVE, TARE_VERDICT_PASSED,
                                                   TARE_VERDICT_IMPROVED,     TARE_VERDICT_SAME};
    const char *text = NULL;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        size_t count = 0;
        for (size_t i = 0; i < verdicts->count; i++)
            count += verdicts->rows[i].kind == order[k];
        if (count == 0)
            continue;
        text = tare_arena_printf(arena, "%s%s%zu %s", text ? text : "", text ? ", " : "", count,
                                 order[k] == TARE_VERDICT_SAME ? "the same" : tare_verdict_word(order[k]));
    }
    return text ? text : "nothing to compare";
}

const char *tare_verdict_sentence(const struct tare_verdict *row, struct tare_arena *arena)
{
    const char *where = *row->label ? tare_arena_printf(arena, " at %s", row->label) : "";
    const char *note = row->note ? tare_arena_printf(arena, "; %s", row->note) : "";
    if (row->target)
        return tare_arena_printf(arena, "%s%s %s: %s, target %s%s", row->metric, where,
                                 tare_verdict_word(row->kind), bounded(arena, &row->b, row->unit),
                                 row->target, note);
    return tare_arena_printf(arena, "%s%s %s: %s, was %s (cost %s)%s", row->metric, where,
                             row->kind == TARE_VERDICT_SAME ? "is the same" : tare_verdict_word(row->kind),
                             figure(arena, &row->b, row->unit), figure(arena, &row->a, row->unit),
                             ratio(arena, row), note);
}

const struct tare_verdict_writer *const tare_verdict_writers[] = {
    &tare_verdict_writer_text,  &tare_verdict_writer_json,   &tare_verdict_writer_markdown,
    &tare_verdict_writer_junit, &tare_verdict_writer_github, NULL,
};

const struct tare_verdict_writer *tare_verdict_writer_find(const char *format, const char *path)
{
    size_t length = path ? strlen(path) : 0;
    for (size_t i = 0; tare_verdict_writers[i]; i++) {
        const struct tare_verdict_writer *writer = tare_verdict_writers[i];
        size_t extension = writer->extensions ? strlen(writer->extensions) : 0;
        if (format ? strcmp(format, writer->name) == 0
                   : extension && length > extension &&
                         strcmp(path + length - extension, writer->extensions) == 0)
            return writer;
    }
    return NULL;
}
