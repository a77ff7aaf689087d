/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and words of reports, drawn for a terminal and for Markdown. */
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

void tare_text_put(struct tare_out *out, const char *text)
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

void tare_text_grid(struct tare_out *out, struct tare_arena *arena, const struct tare_run_grid *grid)
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
        tare_text_put(out, grid->title);
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
        tare_text_put(out, grid->note);
        tare_out_text(out, "\n");
    }
}

void tare_markdown_put(struct tare_out *out, const char *text)
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

void tare_markdown_grid(struct tare_out *out, const struct tare_run_grid *grid)
{
    for (size_t c = 0; c < grid->columns; c++) {
        tare_out_text(out, "| ");
        tare_markdown_put(out, grid->head[c]);
        tare_out_text(out, " ");
    }
    tare_out_text(out, "|\n");
    for (size_t c = 0; c < grid->columns; c++)
        tare_out_text(out, c < grid->left ? "|:---" : "|---:");
    tare_out_text(out, "|\n");
    for (size_t r = 0; r < grid->rows; r++) {
        for (size_t c = 0; c < grid->columns; c++) {
            tare_out_text(out, "| ");
            tare_markdown_put(out, grid->cells[r * grid->columns + c]);
            tare_out_text(out, " ");
        }
        tare_out_text(out, "|\n");
    }
    if (grid->note) {
        tare_out_text(out, "\n");
        tare_markdown_put(out, grid->note);
        tare_out_text(out, "\n");
    }
}
