/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/opt.h"

/* The widest left column; what is wider gets a line of its own. */
enum { LEFT_WIDEST = 28, WIDTH_LEAST = 40, WIDTH_MOST = 100 };

static unsigned sensible(unsigned width)
{
    return width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : width;
}

static void spaces(struct tare_out *out, size_t count)
{
    tare_out_printf(out, "%*s", (int)count, "");
}

/* Words of text between columns indent and width, the first line starting at column at. Lines that the text
 * itself breaks stay apart, and those that start with a space are examples and are not wrapped. */
static void wrap(struct tare_out *out, const char *text, size_t at, size_t indent, size_t width)
{
    bool first = true; /* no word on this line yet */
    while (*text) {
        if (*text == '\n') {
            tare_out_text(out, "\n");
            text++;
            spaces(out, *text && *text != '\n' ? indent : 0);
            at = indent;
            first = true;
            size_t line = strcspn(text, "\n");
            if (*text == ' ') {
                tare_out_add(out, text, line);
                text += line;
            }
            continue;
        }
        size_t word = strcspn(text, " \n");
        if (!first && at + 1 + word > width) {
            tare_out_text(out, "\n");
            spaces(out, indent);
            at = indent;
            first = true;
        }
        if (!first) {
            tare_out_text(out, " ");
            at++;
        }
        tare_out_add(out, text, word);
        at += word;
        text += word;
        first = false;
        while (*text == ' ')
            text++;
    }
    tare_out_text(out, "\n");
}

/* "-o, --output FILE". */
static void left_of(const struct tare_opt *opt, char *text, size_t size)
{
    char letter[8] = "    ";
    if (opt->letter)
        snprintf(letter, sizeof letter, "-%c, ", opt->letter);
    snprintf(text, size, "%s--%s%s%s%s", letter, opt->name, opt->arg ? " " : "", opt->arg ? opt->arg : "",
             opt->kind == TARE_OPT_LIST_MANY ? "..." : "");
}

static void row(struct tare_out *out, const char *left, const char *right, size_t column, unsigned width)
{
    size_t at = 2 + strlen(left);
    tare_out_printf(out, "  %s", left);
    if (at + 2 > column) {
        tare_out_text(out, "\n");
        at = 0;
    }
    spaces(out, column - at);
    wrap(out, right, column, column, width);
}

static void option_row(struct tare_out *out, const struct tare_opt *opt, size_t column, unsigned width)
{
    char left[80];
    struct tare_buf right;
    tare_buf_init(&right, 4096);
    tare_buf_add_text(&right, opt->help);
    const char *name;
    for (size_t i = 0; opt->kind == TARE_OPT_CHOICE && (name = tare_opt_choice_name(opt, i)); i++)
        tare_buf_printf(&right, "%s%s", i ? ", " : ": ", name);
    left_of(opt, left, sizeof left);
    row(out, left, right.data, column, width);
    tare_buf_finish(&right);
}

static void options_table(struct tare_out *out, const struct tare_opt *options, unsigned width)
{
    static const struct tare_opt help = {"help", 'h', TARE_OPT_FLAG, NULL, "Show this help", .offset = 0};
    size_t widest = strlen("-h, --help");
    char left[80];
    for (const struct tare_opt *opt = options; opt && opt->name; opt++) {
        left_of(opt, left, sizeof left);
        size_t length = strlen(left);
        if (length > widest && length <= LEFT_WIDEST)
            widest = length;
    }
    tare_out_text(out, "\nOptions:\n");
    for (const struct tare_opt *opt = options; opt && opt->name; opt++)
        option_row(out, opt, widest + 4, width);
    option_row(out, &help, widest + 4, width);
}

static void about(struct tare_out *out, const struct tare_opt_page *page, unsigned width)
{
    if (!page->about)
        return;
    tare_out_text(out, "\n");
    wrap(out, page->about, 0, 0, width);
}

void tare_opt_help(const char *program, const struct tare_opt_page *page, unsigned width,
                   struct tare_out *out)
{
    width = sensible(width);
    tare_out_printf(out, "Usage: %s%s%s%s%s%s\n\n", program, *page->name ? " " : "", page->name,
                    page->options ? " [OPTION]..." : "", page->args ? " " : "", page->args ? page->args : "");
    wrap(out, page->summary, 0, 0, width);
    about(out, page, width);
    options_table(out, page->options, width);
}

void tare_opt_overview(const char *program, const struct tare_opt_page *pages, size_t count, unsigned width,
                       struct tare_out *out)
{
    width = sensible(width);
    size_t widest = 0;
    for (size_t i = 1; i < count; i++)
        if (strlen(pages[i].name) > widest)
            widest = strlen(pages[i].name);
    tare_out_printf(out, "Usage: %s COMMAND [OPTION]... [ARGUMENT]...\n\n", program);
    wrap(out, pages[0].summary, 0, 0, width);
    about(out, &pages[0], width);
    tare_out_text(out, "\nCommands:\n");
    for (size_t i = 1; i < count; i++)
        row(out, pages[i].name, pages[i].summary, widest + 4, width);
    options_table(out, pages[0].options, width);
}
