/* SPDX-License-Identifier: Apache-2.0 */
/* A run as Markdown, for a pull request: the main table first, the rest folded away. */
#include "report/run_report.h"

static void put_line(struct tare_out *out, const char *name, const char *text)
{
    if (!text)
        return;
    tare_out_printf(out, "- **%s:** ", name);
    tare_markdown_put(out, text);
    tare_out_text(out, "\n");
}

static void markdown_write(const struct tare_run *run, struct tare_out *out)
{
    struct tare_arena arena;
    struct tare_run_rows rows;
    struct tare_error err;
    bool folded = false;
    tare_arena_init(&arena, 0);
    tare_run_rows_make(run, &arena, &rows);
    tare_out_text(out, "### Benchmark");
    if (run->benchmark) {
        tare_out_text(out, " ");
        tare_markdown_put(out, run->benchmark);
    }
    tare_out_text(out, "\n\n");
    put_line(out, "Run", run->timestamp);
    put_line(out, "System", rows.machine);
    put_line(out, "Model", rows.model);
    put_line(out, "Engine", rows.engine);
    put_line(out, "Fixed", rows.constant);
    for (const struct tare_run_grid *grid = rows.grids; grid; grid = grid->next) {
        /* The verdict and the main table stay in sight. */
        bool detail = grid->title && strcmp(grid->title, "Thresholds") != 0;
        if (detail && !folded) {
            tare_out_text(out, "\n<details><summary>Bounds and details</summary>\n");
            folded = true;
        }
        if (grid->title) {
            tare_out_text(out, "\n**");
            tare_markdown_put(out, grid->title);
            tare_out_text(out, "**\n");
        }
        tare_out_text(out, "\n");
        tare_markdown_grid(out, grid);
    }
    if (folded)
        tare_out_text(out, "\n</details>\n");
    for (size_t i = 0; i < rows.remarks_count; i++) {
        tare_out_text(out, i ? "- " : "\n- ");
        tare_markdown_put(out, rows.remarks[i]);
        tare_out_text(out, "\n");
    }
    if (tare_arena_check(&arena, &err))
        tare_out_fail(out, &err);
    tare_arena_finish(&arena);
}

const struct tare_run_writer tare_run_writer_markdown = {
    .name = "markdown",
    .extensions = ".md",
    .summary = "tables for a pull request",
    .write = markdown_write,
};
