/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the tables and sentences of a run are made, shared by run_rows.c and run_layers.c (tables), run_words.c
 * (sentences) and run_cells.c (numbers). Only those include it. All text lives in the report's arena.
 */
#ifndef TARE_REPORT_RUN_ROWS_H
#define TARE_REPORT_RUN_ROWS_H

#include "report/run_keys.h"
#include "report/run_report.h"

/* While a report is made: the run, its columns, and where the next table goes. */
struct tare_run_make {
    const struct tare_run *run;
    struct tare_arena *arena;
    struct tare_run_rows *rows;
    struct tare_run_grid **tail;
    struct tare_run_columns columns;
};

/** "-" when it is not known. */
const char *tare_run_real_cell(struct tare_arena *arena, struct tare_run_real real, double unit);
const char *tare_run_int_cell(struct tare_arena *arena, struct tare_run_int number, double unit);

/** "8.612 ms [8.551, 8.700]", or what is missing for the bounds; suffix follows the value. */
const char *tare_run_cell(struct tare_arena *arena, const struct tare_run_estimate *estimate, double unit,
                          const char *suffix);

/** Is it a column of the tables? Batch always is, the rest where it varies; what does not is said once. */
bool tare_run_make_column(const struct tare_run_column *column);

/** What a configuration has in a column, "-" for nothing. */
const char *tare_run_make_key(struct tare_run_make *make, const struct tare_run_column *column,
                              size_t config);

/** "batch=32 seq=128": what tells it from the others. */
const char *tare_run_make_name(struct tare_run_make *make, size_t config);

/** A new table at the end, with room for its cells; NULL when memory ran out. */
struct tare_run_grid *tare_run_make_grid(struct tare_run_make *make, const char *title, size_t columns,
                                         size_t rows);

/** The tables of what is inside the model: groups, the slowest nodes, fusions. */
void tare_run_make_layers(struct tare_run_make *make);

/** The lines above the tables. */
void tare_run_make_lines(struct tare_run_make *make);

/** The sentences below them. */
void tare_run_make_remarks(struct tare_run_make *make);

#endif
