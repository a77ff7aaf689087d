/* SPDX-License-Identifier: Apache-2.0 */
/* A run as text for a terminal: aligned tables, then sentences. */
#include "base/utf8.h"
#include "report/run_report.h"

/* A wider cell is cut: every row of its table would be padded to it. */
enum { CELL_MOST = 60 };

/* How many columns a text takes, at most so many, and the text itself with nothing in it that moves a cursor.
 * Wide and combining characters are counted as one: their tables are a little crooked, never wrong. */
static size_t put_some(struct tare_out *out, const char *text, size_t most)
{
    size_t width = 0, length = strlen(text);
    for (size_t i = 0; i < length && width < most; width++) {
        uint32_t point = 0;
        size_t n = tare_utf8_next(text + i, length - i, &point);
        if (n == 0 || point < 0x20 || (point >= 0x7f && point < 0xa0)) {
            if (out)
                tare_out_text(out, "?");
            i += n ? n : 1;
        } else {
            if (out)
                tare_out_add(out, text + i, n);
            i += n;
        }
    }
    return width;
}

static void put(struct tare_out *out, const char *text)
{
    put_some(out, text, SIZE_MAX);
}

static void spaces(struct tare_out *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tare_out_add(out, " ", 1);
}

static void put_row(struct tare_out *out, const struct tare_run_grid *grid, const char **cells,
                    const size_t *widths)
{
    for (size_t c = 0; c < grid->columns; c++) {
        size_t pad = widths[c] - put_some(NULL, cells[c], CELL_MOST);
        if (c)
            tare_out_text(out, " | ");
        if (c >= grid->left)
            spaces(out, pad);
        put_some(out, cells[c], CELL_MOST);
        if (c < grid->left && c + 1 < grid->columns)
            spaces(out, pad);
    }
    tare_out_text(out, "\n");
}

static void put_grid(struct tare_out *out, struct tare_arena *arena, const struct tare_run_grid *grid)
{
    size_t *widths = tare_arena_array(arena, grid->columns, sizeof *widths);
    if (!widths)
        return;
    for (size_t c = 0; c < grid->columns; c++) {
        widths[c] = put_some(NULL, grid->head[c], CELL_MOST);
        for (size_t r = 0; r < grid->rows; r++) {
            size_t width = put_some(NULL, grid->cells[r * grid->columns + c], CELL_MOST);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    tare_out_text(out, "\n");
    if (grid->title) {
        put(out, grid->title);
        tare_out_text(out, "\n");
    }
    put_row(out, grid, grid->head, widths);
    for (size_t c = 0; c < grid->columns; c++) {
        if (c)
            tare_out_text(out, "-|-");
        for (size_t i = 0; i < widths[c]; i++)
            tare_out_add(out, "-", 1);
    }
    tare_out_text(out, "\n");
    for (size_t r = 0; r < grid->rows; r++)
        put_row(out, grid, grid->cells + r * grid->columns, widths);
    if (grid->note) {
        put(out, grid->note);
        tare_out_text(out, "\n");
    }
}

static void put_line(struct tare_out *out, const char *name, const char *text)
{
    if (!text)
        return;
    tare_out_printf(out, "%-8s", name);
    put(out, text);
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
        put_grid(out, &arena, grid);
    for (size_t i = 0; i < rows.remarks_count; i++) {
        tare_out_text(out, i ? "" : "\n");
        put(out, rows.remarks[i]);
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
