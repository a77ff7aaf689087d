/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers and the reader of runs, one file per format. Text and Markdown show the same tables, which
 * run_rows.c makes; they differ in how a table is drawn and in what must be escaped. Writers are pure
 * functions of a run and never check their output. What a run says in words comes from other people's files:
 * nothing of it reaches a terminal or a page unescaped.
 *
 * To add a format: write run_FORMAT.c with one const struct tare_run_writer, declare it below and add it to
 * the table tare_run_writers.
 */
#ifndef TARE_REPORT_RUN_REPORT_H
#define TARE_REPORT_RUN_REPORT_H

#include "base/arena.h"
#include "base/in.h"
#include "base/out.h"
#include "core/run.h"
#include "report/report.h"

extern const struct tare_run_writer tare_run_writer_text;
extern const struct tare_run_writer tare_run_writer_json;
extern const struct tare_run_writer tare_run_writer_csv;
extern const struct tare_run_writer tare_run_writer_markdown;

/** The most bytes of a run's file; of a compressed one, which can claim a lot in little. */
#define TARE_RUN_FILE_MOST       ((size_t)256 << 20)
#define TARE_RUN_COMPRESSED_MOST ((size_t)24 << 20)

/** Do these first bytes (decompressed, up to 4096) look like a run? A run of another version does, too:
 * reading it says why it is refused. */
bool tare_run_recognise(const uint8_t *head, size_t length, bool whole);

/** Read a run from a file, plain or gzip. */
int tare_run_load(struct tare_in *in, struct tare_run **ret_run, struct tare_error *err);

/* One table: a title or NULL, a head and rows of text. Cells are plain text, not escaped yet. */
struct tare_run_grid {
    const char *title;
    const char *note; /* a sentence below it, or NULL */
    size_t columns, rows;
    const char **head;
    const char **cells; /* rows times columns */
    size_t left;        /* so many first columns are words: aligned left */
    struct tare_run_grid *next;
};

/* What a report says, in the order in which it says it. */
struct tare_run_rows {
    struct tare_arena *arena;
    const char *machine, *model, *engine, *constant; /* one line each; NULL when nothing is known */
    struct tare_run_grid *grids;
    const char **remarks; /* not measured, unstable, findings, advice, notes: a sentence each */
    size_t remarks_count;
};

/** Make all tables of a run. Everything lives in the arena. */
void tare_run_rows_make(const struct tare_run *run, struct tare_arena *arena, struct tare_run_rows *ret_rows);

/** Text for a terminal: nothing in it moves a cursor. */
void tare_text_put(struct tare_out *out, const char *text);

/** A table for a terminal, an empty line before it. */
void tare_text_grid(struct tare_out *out, struct tare_arena *arena, const struct tare_run_grid *grid);

/** Text that stands for itself: what Markdown or HTML would act on is escaped, and lines are not broken. */
void tare_markdown_put(struct tare_out *out, const char *text);

/** A table in Markdown, and its note. */
void tare_markdown_grid(struct tare_out *out, const struct tare_run_grid *grid);

/** A number with four digits that mean something: "1493", "115.2", "8.681", "0.04321". */
const char *tare_run_number(struct tare_arena *arena, double value);

#endif
