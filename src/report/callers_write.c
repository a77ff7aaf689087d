/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who calls each function, and whom each function calls: pstats' print_callers and print_callees, to the byte
 * where calls were counted and times measured. Two callers that are equal without the folders of their files
 * are added up; pstats shows only one of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/function_rows.h"

/* One side of a pair, seen from the other. */
struct other {
    uint32_t function, pair;
};

static int compare_others(const void *left, const void *right, void *context)
{
    const struct tare_functions *functions = context;
    const struct other *a = left, *b = right;
    return tare_function_compare(&functions->items[a->function], &functions->items[b->function]);
}

static void put_spaces(struct tare_out *out, size_t count)
{
    while (count--)
        tare_out_add(out, " ", 1);
}

/* Text, filled up with spaces to width characters. */
static void put_left(struct tare_out *out, const char *text, size_t width)
{
    size_t used = tare_function_rows_width(text);
    tare_out_text(out, text);
    put_spaces(out, used < width ? width - used : 0);
}

/* Does a pair have times? pstats prints a heading over them if the first pair has. */
static bool has_figures(const struct tare_functions *functions)
{
    for (uint32_t i = 0; i < functions->count; i++)
        if (functions->first[i] < functions->first[i + 1])
            return !tare_functions_counted(functions,
                                           &functions->pairs[functions->callers[functions->first[i]]]);
    return false;
}

static void put_heading(const struct tare_function_rows *rows, const char *title, size_t width,
                        struct tare_out *out)
{
    put_left(out, "Function ", width);
    tare_out_printf(out, "%s\n", title);
    if (!has_figures(&rows->functions))
        return;
    put_spaces(out, width);
    if (rows->functions.has_calls && rows->seconds > 0)
        tare_out_text(out, "    ncalls  tottime  cumtime\n");
    else
        tare_out_printf(out, "   %s      self      total\n", rows->functions.has_calls ? " ncalls " : "");
}

static void put_other(const struct tare_function_rows *rows, const struct other *other, bool first,
                      size_t width, struct tare_out *out)
{
    const struct tare_functions *functions = &rows->functions;
    const struct tare_figures *figures = &functions->pairs[other->pair].figures;
    const char *label = tare_function_rows_label(rows, other->function);
    char text[TARE_FUNCTION_ROWS_TEXT];
    if (tare_functions_counted(functions, &functions->pairs[other->pair])) {
        put_spaces(out, first ? 0 : width + 3);
        double total = (double)functions->items[other->function].figures.total * rows->seconds;
        tare_out_printf(out, "%s(%" PRId64 ") %8s\n", label, figures->calls,
                        tare_function_rows_seconds(text, sizeof text, total));
        return;
    }
    put_spaces(out, first ? 0 : width + 1);
    if (functions->has_calls) {
        char calls[48];
        if (figures->calls == figures->primitive)
            snprintf(calls, sizeof calls, "%" PRId64, figures->calls);
        else
            snprintf(calls, sizeof calls, "%" PRId64 "/%" PRId64, figures->calls, figures->primitive);
        tare_out_printf(out, "%*s ", first ? 7 : 9, calls);
    } else {
        put_spaces(out, first ? 0 : 2);
    }
    const int64_t values[] = {figures->self, figures->total};
    for (int i = 0; i < 2; i++) {
        tare_out_text(out, i ? " " : "");
        if (functions->has_calls && rows->seconds > 0)
            tare_out_printf(out, "%8s",
                            tare_function_rows_seconds(text, sizeof text, (double)values[i] * rows->seconds));
        else
            tare_function_rows_right(out, tare_function_rows_value(rows, text, sizeof text, values[i]), 10);
    }
    tare_out_printf(out, "  %s\n", label);
}

static void put_line(const struct tare_function_rows *rows, uint32_t function, const char *arrow,
                     struct other *others, uint32_t count, size_t width, struct tare_out *out)
{
    /* The context of a sort is not const, though this one only reads it. */
    struct tare_functions functions = rows->functions;
    put_left(out, tare_function_rows_label(rows, function), width);
    tare_out_printf(out, "%s ", arrow);
    if (count == 0)
        tare_out_text(out, "\n");
    qsort_r(others, count, sizeof *others, compare_others, &functions);
    for (uint32_t i = 0; i < count; i++)
        put_other(rows, &others[i], i == 0, width, out);
}

/* Pairs grouped by caller, as functions->callers groups them by callee. */
static int group_callees(const struct tare_functions *functions, uint32_t **ret_first, uint32_t **ret_pairs,
                         struct tare_error *err)
{
    uint32_t *first = calloc((size_t)functions->count + 2, sizeof *first);
    uint32_t *pairs = malloc(((size_t)functions->pair_count + 1) * sizeof *pairs);
    if (!first || !pairs) {
        free(first);
        free(pairs);
        return tare_fail_memory(err);
    }
    for (uint32_t i = 0; i < functions->pair_count; i++)
        first[functions->pairs[i].caller + 2]++;
    for (uint32_t i = 0; i < functions->count; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < functions->pair_count; i++)
        pairs[first[functions->pairs[i].caller + 1]++] = i;
    *ret_first = first;
    *ret_pairs = pairs;
    return 0;
}

static void write_lines(const struct tare_profile *profile, const struct tare_view *view, bool callees,
                        struct tare_out *out)
{
    struct tare_function_rows rows;
    struct tare_error err;
    if (tare_function_rows_init(&rows, profile, view, &err) < 0) {
        tare_out_fail(out, &err);
        return;
    }
    const struct tare_functions *functions = &rows.functions;
    uint32_t *first = NULL, *pairs = NULL;
    struct other *others = malloc(((size_t)functions->count + 1) * sizeof *others);
    if (!others) {
        tare_fail_memory(&err);
        tare_out_fail(out, &err);
        goto out;
    }
    if (callees && group_callees(functions, &first, &pairs, &err) < 0) {
        tare_out_fail(out, &err);
        goto out;
    }
    if (rows.count == 0)
        goto out;
    tare_out_printf(out, "%s\n", rows.message.data);
    put_heading(&rows, callees ? "called..." : "was called by...", rows.width + 2, out);
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t function = rows.order[i], count = 0;
        const uint32_t *begin = callees ? first : functions->first;
        for (uint32_t k = begin[function]; k < begin[function + 1]; k++) {
            uint32_t pair = callees ? pairs[k] : functions->callers[k];
            uint32_t other = callees ? functions->pairs[pair].callee : functions->pairs[pair].caller;
            others[count++] = (struct other){other, pair};
        }
        put_line(&rows, function, callees ? "->" : "<-", others, count, rows.width + 2, out);
    }
    tare_out_text(out, "\n\n");
out:
    free(first);
    free(pairs);
    free(others);
    tare_function_rows_finish(&rows);
}

static void callers_write(const struct tare_profile *profile, const struct tare_view *view,
                          struct tare_out *out)
{
    write_lines(profile, view, false, out);
}

static void callees_write(const struct tare_profile *profile, const struct tare_view *view,
                          struct tare_out *out)
{
    write_lines(profile, view, true, out);
}

const struct tare_writer tare_writer_callers = {
    .name = "callers",
    .summary = "who calls each function",
    .write = callers_write,
};

const struct tare_writer tare_writer_callees = {
    .name = "callees",
    .summary = "whom each function calls",
    .write = callees_write,
};
