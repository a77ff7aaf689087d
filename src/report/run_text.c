/* SPDX-License-Identifier: Apache-2.0 */
/* A run as text for a terminal: aligned tables, then sentences. */
#include "report/run_report.h"

static void put_line(struct tare_out *out, const char *name, const char *text)
{
    if (!text)
        return;
    tare_out_printf(out, "%-8s", name);
    tare_text_put(out, text);
    tare_out_text(out, "\n");
}

static void text_write(const struct tare_run *run, struct tare_out *out)
{
    struct tare_arena arena;
    struct tare_run_rows rows;
    struct tare_error err;
    tare_arena_init(&arena, 0);
    tare_run_rows_make(run, &arena, &rows);
    put_line(out, "Run", run->timestamp);
    put_line(out, "System", rows.machine);
    put_line(out, "Model", rows.model);
    put_line(out, "Engine", rows.engine);
    put_line(out, "Fixed", rows.constant);
    for (const struct tare_run_grid *grid = rows.grids; grid; grid = grid->next)
        tare_text_grid(out, &arena, grid);
    for (size_t i = 0; i < rows.remarks_count; i++) {
        tare_out_text(out, i ? "" : "\n");
        tare_text_put(out, rows.remarks[i]);
        tare_out_text(out, "\n");
    }
    if (tare_arena_check(&arena, &err))
        tare_out_fail(out, &err);
    tare_arena_finish(&arena);
}

const struct tare_run_writer tare_run_writer_text = {
    .name = "text",
    .extensions = ".txt",
    .summary = "tables to read in a terminal",
    .write = text_write,
};
