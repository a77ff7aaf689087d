/* SPDX-License-Identifier: Apache-2.0 */
/* A run as Markdown, for a pull request: the main table first, the rest folded away. */
#include "base/utf8.h"
#include "report/run_report.h"

/* Text that stands for itself: what Markdown or HTML would act on is escaped, and lines are not broken. */
static void put(struct tare_out *out, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        uint32_t point = 0;
        size_t n = tare_utf8_next(text + i, length - i, &point);
        if (n == 0 || point < 0x20 || (point >= 0x7f && point < 0xa0)) {
            tare_out_text(out, n && (point == '\n' || point == '\t') ? " " : "?");
            i += n ? n : 1;
            continue;
        }
        if (point == '<')
            tare_out_text(out, "&lt;");
        else if (point == '&')
            tare_out_text(out, "&amp;");
        else if (point == '@')
            tare_out_text(out, "&#64;"); /* would call somebody by name */
        else if (point < 0x80 && strchr("\\`*_[]|~#", (int)point))
            tare_out_printf(out, "\\%c", (int)point);
        else
            tare_out_add(out, text + i, n);
        i += n;
    }
}

static void put_grid(struct tare_out *out, const struct tare_run_grid *grid)
{
    for (size_t c = 0; c < grid->columns; c++) {
        tare_out_text(out, "| ");
        put(out, grid->head[c]);
        tare_out_text(out, " ");
    }
    tare_out_text(out, "|\n");
    for (size_t c = 0; c < grid->columns; c++)
        tare_out_text(out, c < grid->left ? "|:---" : "|---:");
    tare_out_text(out, "|\n");
    for (size_t r = 0; r < grid->rows; r++) {
        for (size_t c = 0; c < grid->columns; c++) {
            tare_out_text(out, "| ");
            put(out, grid->cells[r * grid->columns + c]);
            tare_out_text(out, " ");
        }
        tare_out_text(out, "|\n");
    }
    if (grid->note) {
        tare_out_text(out, "\n");
        put(out, grid->note);
        tare_out_text(out, "\n");
    }
}

static void put_line(struct tare_out *out, const char *name, const char *text)
{
    if (!text)
        return;
    tare_out_printf(out, "- **%s:** ", name);
    put(out, text);
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
        put(out, run->benchmark);
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
            put(out, grid->title);
            tare_out_text(out, "**\n");
        }
        tare_out_text(out, "\n");
        put_grid(out, grid);
    }
    if (folded)
        tare_out_text(out, "\n</details>\n");
    for (size_t i = 0; i < rows.remarks_count; i++) {
        tare_out_text(out, i ? "- " : "\n- ");
        put(out, rows.remarks[i]);
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
