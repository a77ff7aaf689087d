/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cProfile file, for pstats, snakeviz and gprof2dot. A tree becomes what cProfile would have counted; pairs
 * are written as they are. Values that are no times (samples, bytes) stand where seconds do, one for one, and
 * a profile that does not count calls has 0 of them: pstats leaves the columns per call empty then.
 */
#include <math.h>

#include "base/marshal.h"
#include "core/functions.h"
#include "report/report.h"

static void put_key(struct tare_out *out, const struct tare_function *function)
{
    tare_marshal_put_tuple(out, 3);
    tare_marshal_put_text(out, function->file, function->file_length);
    tare_marshal_put_int(out, function->line);
    tare_marshal_put_text(out, function->name, function->name_length);
}

/* The float that cProfile makes of its nanoseconds; for times so long (weeks) that another float is nearer,
 * that one, so that reading gives the same time again. */
static double to_seconds(int64_t value, double scale)
{
    double seconds = (double)value * scale, per_second = round(1 / scale);
    return round(seconds * per_second) == (double)value ? seconds : (double)value / per_second;
}

/* In an entry primitive calls come first, in its callers all calls do. */
static void put_figures(struct tare_out *out, int64_t first, int64_t second,
                        const struct tare_figures *figures, double scale)
{
    tare_marshal_put_int(out, first);
    tare_marshal_put_int(out, second);
    tare_marshal_put_real(out, to_seconds(figures->self, scale));
    tare_marshal_put_real(out, to_seconds(figures->total, scale));
}

static void pstats_write(const struct tare_profile *profile, const struct tare_view *view,
                         struct tare_out *out)
{
    struct tare_functions functions = {0};
    struct tare_error err;
    uint32_t column = TARE_NONE;
    if (view->column && (column = tare_view_column(view, profile, &err)) == TARE_NONE) {
        tare_out_fail(out, &err);
        return;
    }
    if (tare_functions_init(&functions, profile, column, view->strip_dirs, &err) < 0) {
        tare_out_fail(out, &err);
        return;
    }
    double scale = tare_functions_seconds(&functions);
    if (scale == 0)
        scale = 1;
    tare_marshal_put_dict(out);
    for (uint32_t i = 0; i < functions.count; i++) {
        const struct tare_function *function = &functions.items[i];
        if (function->unlisted)
            continue;
        put_key(out, function);
        tare_marshal_put_tuple(out, 5);
        put_figures(out, function->figures.primitive, function->figures.calls, &function->figures, scale);
        tare_marshal_put_dict(out);
        for (uint32_t k = functions.first[i]; k < functions.first[i + 1]; k++) {
            const struct tare_function_pair *pair = &functions.pairs[functions.callers[k]];
            put_key(out, &functions.items[pair->caller]);
            if (tare_functions_counted(&functions, pair)) {
                tare_marshal_put_int(out, pair->figures.calls);
                continue;
            }
            tare_marshal_put_tuple(out, 4);
            put_figures(out, pair->figures.calls, pair->figures.primitive, &pair->figures, scale);
        }
        tare_marshal_put_end(out);
    }
    tare_marshal_put_end(out);
    tare_functions_finish(&functions);
}

const struct tare_writer tare_writer_pstats = {
    .name = "pstats",
    .extensions = ".prof .stats .pstats",
    .summary = "cProfile's file, for pstats and snakeviz",
    .binary = true,
    .write = pstats_write,
};
