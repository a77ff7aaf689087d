/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of functions. Where calls were counted and times measured it is the one that pstats prints, to
 * the byte; other profiles (samples, bytes) get their own value and total with shares.
 */
#include <inttypes.h>
#include <stdio.h>

#include "report/function_rows.h"

/* "12" or "12/3", right-aligned. */
static void put_calls(struct tare_out *out, const struct tare_figures *figures)
{
    char text[48];
    if (figures->calls == figures->primitive)
        snprintf(text, sizeof text, "%" PRId64, figures->calls);
    else
        snprintf(text, sizeof text, "%" PRId64 "/%" PRId64, figures->calls, figures->primitive);
    tare_out_printf(out, "%9s", text);
}

/* A time, and the time of one of count calls. */
static void put_times(struct tare_out *out, double seconds, int64_t count)
{
    char text[TARE_FUNCTION_ROWS_TEXT];
    tare_out_printf(out, " %8s", tare_function_rows_seconds(text, sizeof text, seconds));
    if (count)
        tare_function_rows_seconds(text, sizeof text, seconds / (double)count);
    tare_out_printf(out, " %8s", count ? text : "");
}

static void put_calls_table(const struct tare_function_rows *rows, struct tare_out *out)
{
    const struct tare_functions *functions = &rows->functions;
    char text[TARE_FUNCTION_ROWS_TEXT];
    double seconds = 0; /* summed up as pstats does it, so that it rounds alike */
    for (uint32_t i = 0; i < functions->count; i++)
        seconds += (double)functions->items[i].figures.self * rows->seconds;
    tare_out_printf(out, "         %" PRId64 " function calls ", functions->calls_sum);
    if (functions->calls_sum != functions->primitive_sum)
        tare_out_printf(out, "(%" PRId64 " primitive calls) ", functions->primitive_sum);
    tare_out_printf(out, "in %s seconds\n\n", tare_function_rows_seconds(text, sizeof text, seconds));
    if (rows->count == 0)
        return;
    tare_out_printf(out, "%s\n", rows->message.data);
    tare_out_text(out, "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n");
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct tare_figures *figures = &rows->functions.items[rows->order[i]].figures;
        put_calls(out, figures);
        put_times(out, (double)figures->self * rows->seconds, figures->calls);
        put_times(out, (double)figures->total * rows->seconds, figures->primitive);
        tare_out_printf(out, " %s\n", tare_function_rows_label(rows, rows->order[i]));
    }
    tare_out_text(out, "\n\n");
}

/* A share in percent with one digit behind the point, whatever the locale. */
static void put_share(struct tare_out *out, int64_t part, int64_t whole)
{
    double share = whole ? 1000.0 * (double)part / (double)whole : 0;
    int64_t tenths = share < 1e15 && share > -1e15 ? (int64_t)(share + (share < 0 ? -0.5 : 0.5)) : 0;
    char text[40];
    snprintf(text, sizeof text, "%s%" PRId64 ".%d%%", tenths < 0 ? "-" : "",
             (tenths < 0 ? -tenths : tenths) / 10, (int)((tenths < 0 ? -tenths : tenths) % 10));
    tare_out_printf(out, " %8s", text);
}

static void put_value(const struct tare_function_rows *rows, struct tare_out *out, int64_t value)
{
    char text[TARE_FUNCTION_ROWS_TEXT];
    tare_function_rows_right(out, tare_function_rows_value(rows, text, sizeof text, value), 10);
}

static void put_values_table(const struct tare_function_rows *rows, struct tare_out *out)
{
    const struct tare_functions *functions = &rows->functions;
    const struct tare_profile *profile = functions->profile;
    char text[TARE_FUNCTION_ROWS_TEXT];
    tare_out_printf(out, "         %s: %s in %u functions\n\n",
                    tare_profile_column_name(profile, functions->column),
                    tare_function_rows_value(rows, text, sizeof text, functions->self_sum), functions->count);
    if (rows->count == 0)
        return;
    tare_out_printf(out, "%s\n", rows->message.data);
    tare_out_printf(out, "%s      self   self %%      total  total %% filename:lineno(function)\n",
                    functions->has_calls ? "   ncalls " : "");
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct tare_figures *figures = &functions->items[rows->order[i]].figures;
        if (functions->has_calls) {
            put_calls(out, figures);
            tare_out_text(out, " ");
        }
        put_value(rows, out, figures->self);
        put_share(out, figures->self, functions->self_sum);
        tare_out_text(out, " ");
        put_value(rows, out, figures->total);
        put_share(out, figures->total, functions->self_sum);
        tare_out_printf(out, " %s\n", tare_function_rows_label(rows, rows->order[i]));
    }
    tare_out_text(out, "\n\n");
}

static void table_write(const struct tare_profile *profile, const struct tare_view *view,
                        struct tare_out *out)
{
    struct tare_function_rows rows;
    struct tare_error err;
    if (tare_function_rows_init(&rows, profile, view, &err) < 0) {
        tare_out_fail(out, &err);
        return;
    }
    if (view->title)
        tare_out_printf(out, "%s\n\n", view->title);
    if (rows.functions.has_calls && rows.seconds > 0)
        put_calls_table(&rows, out);
    else
        put_values_table(&rows, out);
    tare_function_rows_finish(&rows);
}

const struct tare_writer tare_writer_table = {
    .name = "table",
    .extensions = ".txt",
    .summary = "the table of functions that cProfile prints",
    .write = table_write,
};
