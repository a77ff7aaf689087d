/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions a text view lists, in which order and under which labels: what pstats does between
 * sort_stats and print_stats. Labels are cleaned for a terminal: control characters and bytes that are not
 * UTF-8 do not pass. Valid as long as the profile is not changed.
 */
#ifndef TARE_REPORT_FUNCTION_ROWS_H
#define TARE_REPORT_FUNCTION_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/out.h"
#include "core/functions.h"
#include "report/report.h"

enum { TARE_FUNCTION_ROWS_TEXT = 64 }; /* enough for a number as text */

struct tare_function_rows {
    struct tare_functions functions;
    double seconds;          /* of one unit of self and total; 0: they are no times */
    uint32_t *order;         /* functions to list */
    uint32_t count;          /* of order */
    size_t width;            /* of the widest label, in characters */
    struct tare_buf message; /* how they are ordered and what was left out, as pstats says it */
    struct tare_buf labels;  /* all of them, each ending in NUL */
    size_t *label_at;        /* by function */
};

/** Choose and sort as the view says. */
int tare_function_rows_init(struct tare_function_rows *rows, const struct tare_profile *profile,
                            const struct tare_view *view, struct tare_error *err);

/** Free it. */
void tare_function_rows_finish(struct tare_function_rows *rows);

/** "file:line(name)", as pstats writes it. */
const char *tare_function_rows_label(const struct tare_function_rows *rows, uint32_t function);

/** Characters of a text, as Python counts them. */
size_t tare_function_rows_width(const char *text);

/** Seconds with three digits behind the point, whatever the locale. */
const char *tare_function_rows_seconds(char *text, size_t size, double seconds);

/** A value of self or total in its unit: "12.3 ms", "4.00 KiB", "1,234". */
const char *tare_function_rows_value(const struct tare_function_rows *rows, char *text, size_t size,
                                     int64_t value);

/** Text, right-aligned in width characters. */
void tare_function_rows_right(struct tare_out *out, const char *text, size_t width);

#endif
