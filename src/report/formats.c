/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of profile readers and writers: one row per format, NULL-terminated. */
#include "base/buf.h"
#include "report/report.h"

/* In the order in which help lists them. */
const struct tare_writer *const tare_writers[] = {
    &tare_writer_table,
    &tare_writer_callers,
    &tare_writer_callees,
    &tare_writer_folded,
    &tare_writer_svg,
    &tare_writer_speedscope,
    &tare_writer_pprof,
    &tare_writer_pstats,
    &tare_writer_json,
    &tare_writer_diff,
    NULL,
};

/* In the order in which they are asked: the surest signs first. */
const struct tare_reader *const tare_readers[] = {
    &tare_reader_pstats,
    &tare_reader_pprof,
    &tare_reader_folded,
    NULL,
};

uint32_t tare_view_column(const struct tare_view *view, const struct tare_profile *profile,
                          struct tare_error *err)
{
    uint32_t columns = tare_profile_columns(profile);
    uint32_t column =
        view->column ? tare_profile_find_column(profile, view->column) : tare_profile_main_column(profile);
    if (column != TARE_NONE)
        return column;
    if (columns == 0) {
        tare_fail(err, TARE_E_INPUT, 0, "the profile has no column of values");
        return TARE_NONE;
    }
    struct tare_buf names;
    tare_buf_init(&names, 160);
    for (uint32_t i = 0; i < columns; i++) {
        const char *before = i == 0 ? "" : i + 1 < columns ? ", " : " and ";
        tare_buf_printf(&names, "%s%s", before, tare_profile_column_name(profile, i));
    }
    tare_fail(err, TARE_E_USAGE, 0, "the profile has no column '%s'; it has %s", view->column, names.data);
    tare_buf_finish(&names);
    return TARE_NONE;
}
