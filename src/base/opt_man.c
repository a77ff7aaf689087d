/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/opt.h"

/* Text as roff shows it: a minus that can be copied, no accidental escapes or requests. A blank line starts a
 * paragraph, lines that start with a space are examples. */
static void prose(struct tare_out *out, const char *text, size_t length)
{
    bool line_start = true, example = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (line_start && c == '\n') {
            tare_out_text(out, example ? ".EE\n.PP\n" : ".PP\n");
            example = false;
            continue;
        }
        if (line_start && (c == ' ') != example) {
            tare_out_text(out, example ? ".EE\n" : ".EX\n");
            example = !example;
        }
        if (line_start && (c == '.' || c == '\''))
            tare_out_text(out, "\\&");
        if (c == '\\')
            tare_out_text(out, "\\e");
        else if (c == '-')
            tare_out_text(out, "\\-");
        else
            tare_out_add(out, &c, 1);
        line_start = c == '\n';
    }
    if (!line_start)
        tare_out_text(out, "\n");
    if (example)
        tare_out_text(out, ".EE\n");
}

static void text_line(struct tare_out *out, const char *text)
{
    prose(out, text, strlen(text));
}

/* The same within a line: no newline behind it. */
static void inline_text(struct tare_out *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '-')
            tare_out_text(out, "\\-");
        else if (*text == '\\')
            tare_out_text(out, "\\e");
        else
            tare_out_add(out, text, 1);
    }
}

static void option_entry(struct tare_out *out, const struct tare_opt *opt)
{
    tare_out_text(out, ".TP\n");
    if (opt->letter)
        tare_out_printf(out, "\\fB\\-%c\\fR, ", opt->letter);
    tare_out_text(out, "\\fB\\-\\-");
    inline_text(out, opt->name);
    tare_out_text(out, "\\fR");
    if (opt->arg) {
        tare_out_text(out, " \\fI");
        inline_text(out, opt->arg);
        tare_out_text(out, opt->kind == TARE_OPT_LIST_MANY ? "\\fR..." : "\\fR");
    }
    tare_out_text(out, "\n");
    inline_text(out, opt->help);
    const char *name;
    for (size_t i = 0; opt->kind == TARE_OPT_CHOICE && (name = tare_opt_choice_name(opt, i)); i++) {
        tare_out_text(out, i ? ", " : ": ");
        inline_text(out, name);
    }
    tare_out_text(out, ".\n");
}

static void options_list(struct tare_out *out, const struct tare_opt *options)
{
    static const struct tare_opt help = {"help", 'h', TARE_OPT_FLAG, NULL, "Show help", .offset = 0};
    for (const struct tare_opt *opt = options; opt && opt->name; opt++)
        option_entry(out, opt);
    option_entry(out, &help);
}

static void command_section(struct tare_out *out, const char *program, const struct tare_opt_page *page)
{
    tare_out_printf(out, ".SS \"%s %s%s", program, page->name, page->options ? " [OPTION]..." : "");
    if (page->args) {
        tare_out_text(out, " ");
        inline_text(out, page->args);
    }
    tare_out_text(out, "\"\n");
    inline_text(out, page->summary);
    tare_out_text(out, ".\n");
    if (page->about) {
        tare_out_text(out, ".PP\n");
        text_line(out, page->about);
    }
    options_list(out, page->options);
}

void tare_opt_man(const char *program, const char *version, const struct tare_opt_page *pages, size_t count,
                  const char *tail, struct tare_out *out)
{
    tare_out_text(out, ".TH ");
    for (const char *at = program; *at; at++)
        tare_out_printf(out, "%c", *at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
    tare_out_printf(out, " 1 \"\" \"%s %s\" \"User Commands\"\n.SH NAME\n%s \\- ", program, version, program);
    inline_text(out, pages[0].summary);
    tare_out_printf(out,
                    "\n.SH SYNOPSIS\n\\fB%s\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n",
                    program);
    if (pages[0].about) {
        tare_out_text(out, ".SH DESCRIPTION\n");
        text_line(out, pages[0].about);
    }
    tare_out_text(out, ".SH OPTIONS\n");
    options_list(out, pages[0].options);
    tare_out_text(out, ".SH COMMANDS\n");
    for (size_t i = 1; i < count; i++)
        command_section(out, program, &pages[i]);
    if (tail)
        tare_out_text(out, tail);
}
