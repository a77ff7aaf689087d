/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of a difference: per function what it was before and after, the largest change first. The figures
 * are each function's own; sorted by "cumulative" they are with all that it called, by "calls" how often it
 * was called. Functions that did not change are counted, not listed.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/diff.h"
#include "core/functions.h"
#include "core/pairs.h"
#include "report/amount.h"
#include "report/report.h"

enum figure { FIGURE_SELF, FIGURE_TOTAL, FIGURE_CALLS };

struct diff_row {
    const struct tare_function *function;
    int64_t before, after, change;
};

struct diff_table {
    const struct tare_view *view;
    struct tare_profile *sides[2]; /* base, now */
    struct tare_functions functions[2];
    const char *unit;
    enum figure figure;
    bool by_name;
    struct diff_row *rows;
    uint32_t count;
    uint32_t unchanged;
    int64_t before, after; /* totals */
};

static const struct {
    const char *key;
    enum figure figure;
    bool by_name;
} sort_keys[] = {
    {"change", FIGURE_SELF, false},      {"time", FIGURE_SELF, false},     {"tottime", FIGURE_SELF, false},
    {"cumulative", FIGURE_TOTAL, false}, {"cumtime", FIGURE_TOTAL, false}, {"calls", FIGURE_CALLS, false},
    {"ncalls", FIGURE_CALLS, false},     {"name", FIGURE_SELF, true},
};

static int choose_figure(struct diff_table *table, const char *column, struct tare_error *err)
{
    const char *sort = table->view->sort;
    if (!sort) {
        /* A profile of caller pairs names its figures by columns. */
        bool pairs = tare_profile_meta_const(table->sides[1])->kind == TARE_PROFILE_PAIRS;
        sort = pairs && strcmp(column, "cumtime") == 0 ? "cumulative"
               : pairs && strcmp(column, "calls") == 0 ? "calls"
                                                       : "change";
    }
    for (size_t i = 0; i < sizeof sort_keys / sizeof *sort_keys; i++) {
        if (strcmp(sort, sort_keys[i].key) == 0) {
            table->figure = sort_keys[i].figure;
            table->by_name = sort_keys[i].by_name;
            return 0;
        }
    }
    return tare_fail(err, TARE_E_USAGE, 0,
                     "a difference cannot be sorted by '%s': use change, cumulative, calls or name", sort);
}

static int64_t figure_of(const struct diff_table *table, const struct tare_function *function)
{
    switch (table->figure) {
    case FIGURE_TOTAL:
        return function->figures.total;
    case FIGURE_CALLS:
        return function->figures.calls;
    case FIGURE_SELF:
        break;
    }
    return function->figures.self;
}

static int compare_functions(const void *a, const void *b, void *context)
{
    const struct tare_functions *functions = context;
    return tare_function_compare(&functions->items[*(const uint32_t *)a],
                                 &functions->items[*(const uint32_t *)b]);
}

/* The numbers of a side's functions in the order of tare_function_compare; NULL without memory. */
static uint32_t *sorted_functions(struct tare_functions *functions)
{
    uint32_t *sorted = malloc(((size_t)functions->count + 1) * sizeof *sorted);
    if (!sorted)
        return NULL;
    for (uint32_t i = 0; i < functions->count; i++)
        sorted[i] = i;
    qsort_r(sorted, functions->count, sizeof *sorted, compare_functions, functions);
    return sorted;
}

/* As pstats shows a function: `file:line(name)`, or `{built-in method builtins.len}`. */
static void function_label(const struct tare_function *function, struct tare_buf *label)
{
    bool builtin = strcmp(function->file, "~") == 0 && function->name_length > 2;
    tare_buf_clear(label);
    if (builtin && function->name[0] == '<' && function->name[function->name_length - 1] == '>') {
        tare_buf_add_byte(label, '{');
        tare_buf_add(label, function->name + 1, function->name_length - 2);
        tare_buf_add_byte(label, '}');
    } else if (function->bare || builtin) {
        tare_buf_add(label, function->name, function->name_length);
    } else {
        tare_buf_add(label, function->file, function->file_length);
        if (function->line)
            tare_buf_printf(label, ":%" PRIu32, function->line);
        tare_buf_add_byte(label, '(');
        tare_buf_add(label, function->name, function->name_length);
        tare_buf_add_byte(label, ')');
    }
    for (size_t i = 0; i < label->length; i++)
        if ((unsigned char)label->data[i] < ' ' || label->data[i] == 0x7f)
            label->data[i] = '?'; /* a name must not steer the terminal */
}

static int64_t subtract(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return a < b ? INT64_MIN : INT64_MAX;
    return difference;
}

static void add_row(struct diff_table *table, const struct tare_function *shown,
                    const struct tare_function *before, const struct tare_function *after)
{
    struct diff_row row = {.function = shown,
                           .before = before ? figure_of(table, before) : 0,
                           .after = after ? figure_of(table, after) : 0};
    row.change = subtract(row.after, row.before);
    if (row.change == 0)
        table->unchanged++;
    else
        table->rows[table->count++] = row;
}

static bool is_matched(const struct diff_table *table, const struct tare_function *function,
                       struct tare_buf *label)
{
    if (!table->view->match)
        return true;
    function_label(function, label);
    return strstr(label->data, table->view->match) != NULL;
}

/* Both lists are sorted: walk them side by side. */
static int join(struct diff_table *table, struct tare_error *err)
{
    struct tare_functions *before = &table->functions[0], *after = &table->functions[1];
    uint32_t *before_order = sorted_functions(before), *after_order = sorted_functions(after);
    size_t most = (size_t)before->count + after->count;
    table->rows = malloc((most + 1) * sizeof *table->rows);
    struct tare_buf label;
    tare_buf_init(&label, 1 << 16);
    int rc = 0;
    if (!before_order || !after_order || !table->rows) {
        rc = tare_fail_memory(err);
        goto out;
    }
    for (uint32_t b = 0, a = 0; b < before->count || a < after->count;) {
        const struct tare_function *old = b < before->count ? &before->items[before_order[b]] : NULL;
        const struct tare_function *new = a < after->count ? &after->items[after_order[a]] : NULL;
        int by = !old ? 1 : !new ? -1 : tare_function_compare(old, new);
        const struct tare_function *shown = by < 0 ? old : new;
        b += by <= 0;
        a += by >= 0;
        if (shown && is_matched(table, shown, &label))
            add_row(table, shown, by <= 0 ? old : NULL, by >= 0 ? new : NULL);
    }
out:
    free(before_order);
    free(after_order);
    tare_buf_finish(&label);
    return rc;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static int compare_rows(const void *a_pointer, const void *b_pointer, void *context)
{
    const struct diff_table *table = context;
    const struct diff_row *a = a_pointer, *b = b_pointer;
    uint64_t size_a = magnitude(a->change), size_b = magnitude(b->change);
    int by = 0;
    if (!table->by_name)
        by = (size_a < size_b) - (size_a > size_b);
    if (by == 0)
        by = tare_function_compare(a->function, b->function);
    return table->view->reverse ? -by : by;
}

static int diff_table_init(struct diff_table *table, const struct tare_profile *diff,
                           const struct tare_view *view, struct tare_error *err)
{
    uint32_t kind = tare_profile_meta_const(diff)->kind;
    table->view = view;
    if (kind != TARE_PROFILE_DIFF && kind != TARE_PROFILE_DIFF_PAIRS)
        return tare_fail(err, TARE_E_USAGE, 0,
                         "this is one profile, not a difference: compare it with another");
    uint32_t column = tare_view_column(view, diff, err);
    if (column == TARE_NONE)
        return -1;
    for (int i = 0; i < 2; i++)
        if (tare_diff_side(diff, i == 0, &table->sides[i], err) < 0 ||
            tare_functions_init(&table->functions[i], table->sides[i], column / 2, view->strip_dirs, err) < 0)
            return -1;
    if (choose_figure(table, tare_profile_column_name(diff, column | 1), err) < 0)
        return -1;
    if (table->figure == FIGURE_CALLS && !(table->functions[0].has_calls && table->functions[1].has_calls))
        return tare_fail(err, TARE_E_USAGE, 0, "these profiles do not count calls");
    table->unit = table->figure == FIGURE_CALLS
                      ? "count"
                      : tare_profile_column_unit(table->sides[1], table->functions[1].column);
    if (join(table, err) < 0)
        return -1;
    qsort_r(table->rows, table->count, sizeof *table->rows, compare_rows, table);
    int64_t *sums[] = {&table->before, &table->after};
    for (int i = 0; i < 2; i++) {
        *sums[i] = table->functions[i].self_sum;
        if (table->figure != FIGURE_CALLS)
            continue;
        *sums[i] = 0;
        for (uint32_t f = 0; f < table->functions[i].count; f++)
            if (__builtin_add_overflow(*sums[i], table->functions[i].items[f].figures.calls, sums[i]))
                *sums[i] = INT64_MAX;
    }
    return 0;
}

static void diff_table_finish(struct diff_table *table)
{
    free(table->rows);
    for (int i = 0; i < 2; i++) {
        tare_functions_finish(&table->functions[i]);
        tare_profile_destroy(table->sides[i]);
    }
}

/* "+12.3%", "new", "gone". */
static const char *percent(char *text, size_t size, int64_t before, int64_t after)
{
    if (before == 0)
        snprintf(text, size, after ? "new" : "");
    else if (after == 0)
        snprintf(text, size, "gone");
    else if (fabs((double)after / (double)before) >= 100)
        snprintf(text, size, "x%.0f", (double)after / (double)before);
    else
        snprintf(text, size, "%+.1f%%", 100 * ((double)after - (double)before) / (double)before);
    return text;
}

static void write_row(const struct diff_table *table, int64_t before, int64_t after, struct tare_out *out)
{
    char texts[3][TARE_AMOUNT_TEXT], share[32];
    tare_out_printf(out, "%12s %12s %12s %9s",
                    tare_amount_format(texts[0], sizeof texts[0], before, table->unit),
                    tare_amount_format(texts[1], sizeof texts[1], after, table->unit),
                    tare_change_format(texts[2], sizeof texts[2], subtract(after, before), table->unit),
                    percent(share, sizeof share, before, after));
}

static void write_table(const struct diff_table *table, const struct tare_profile *diff, struct tare_out *out)
{
    struct tare_buf label;
    tare_buf_init(&label, 1 << 16);
    if (table->view->title)
        tare_out_printf(out, "%s\n\n", table->view->title);
    for (uint32_t i = 0; i < tare_profile_comments(diff); i++) {
        const char *comment = tare_profile_text(diff, tare_profile_comment_at(diff, i));
        if (strstr(comment, "so that both totals are equal"))
            tare_out_printf(out, "%s\n\n", comment);
    }
    tare_out_printf(out, "%12s %12s %12s %9s  %s\n", "before", "after", "change", "", "function");
    uint32_t shown = table->view->rows && table->view->rows < table->count ? table->view->rows : table->count;
    for (uint32_t i = 0; i < shown; i++) {
        const struct diff_row *row = &table->rows[i];
        write_row(table, row->before, row->after, out);
        function_label(row->function, &label);
        tare_out_printf(out, "  %s\n", label.data);
    }
    write_row(table, table->before, table->after, out);
    tare_out_printf(out, "  total\n\n");
    const char *column = tare_profile_column_name(table->sides[1], table->functions[1].column);
    if (table->figure == FIGURE_CALLS)
        tare_out_text(out, "calls of each function");
    else
        tare_out_printf(out, "%s of each function%s", column,
                        table->figure == FIGURE_TOTAL ? " with all it called" : " itself");
    if (tare_profile_meta_const(diff)->estimated)
        tare_out_text(out, ", " TARE_PAIRS_ESTIMATED);
    tare_out_printf(out, "; %" PRIu32 " function%s changed", table->count, table->count == 1 ? "" : "s");
    if (shown < table->count)
        tare_out_printf(out, ", %" PRIu32 " shown", shown);
    tare_out_printf(out, ", %" PRIu32 " did not\n", table->unchanged);
    tare_buf_finish(&label);
}

static void diff_write(const struct tare_profile *profile, const struct tare_view *view, struct tare_out *out)
{
    struct diff_table table = {0};
    struct tare_error err;
    if (diff_table_init(&table, profile, view, &err) < 0)
        tare_out_fail(out, &err);
    else
        write_table(&table, profile, out);
    diff_table_finish(&table);
}

const struct tare_writer tare_writer_diff = {
    .name = "diff",
    .summary = "the difference of two profiles, function by function",
    .write = diff_write,
};
