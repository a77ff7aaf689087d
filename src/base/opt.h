/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one option table. A command's options are const rows, ended by a row without a name; parsing, --help,
 * the man page and the shell completions all read the same rows, so they cannot disagree. To add an option,
 * add a member to the command's own struct and a row that names it:
 *
 *     struct report { const char *output; int sort; bool json; struct tare_opt_list focus; };
 *     static const struct tare_opt options[] = {
 *         {"output", 'o', TARE_OPT_TEXT, "FILE", "Write here instead of standard output",
 *          .offset = offsetof(struct report, output)},
 *         {"sort", 's', TARE_OPT_CHOICE, "KEY", "Order of the table", .choices = sort_names,
 *          .offset = offsetof(struct report, sort)},
 *         {"json", 0, TARE_OPT_FLAG, NULL, "Print JSON", .offset = offsetof(struct report, json)},
 *         {.name = NULL},
 *     };
 *
 * Understood: -o FILE, -oFILE, --output FILE, --output=FILE, bundled flags (-qv), options after operands,
 * and "--", after which everything is an operand. Long names are not abbreviated: a script must not change
 * its meaning when an option is added. -h and --help belong to every table and are not in it. An option given
 * twice counts as given last, except lists, which grow. Pure functions of their arguments.
 */
#ifndef TARE_BASE_OPT_H
#define TARE_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/out.h"

/* What an option takes, and the type of the member it fills. */
enum tare_opt_kind {
    TARE_OPT_FLAG,      /* nothing; bool, set to true */
    TARE_OPT_TEXT,      /* const char * */
    TARE_OPT_INTEGER,   /* int64_t; 25M and 1_000 are understood */
    TARE_OPT_REAL,      /* double */
    TARE_OPT_DURATION,  /* int64_t nanoseconds; bare numbers are seconds */
    TARE_OPT_SIZE,      /* uint64_t bytes; bare numbers are bytes */
    TARE_OPT_CHOICE,    /* int: the index of one of the choices */
    TARE_OPT_LIST,      /* struct tare_opt_list: one value each time it is given */
    TARE_OPT_LIST_MANY, /* struct tare_opt_list: one or more values, up to the next option or "--" */
};

struct tare_opt_list {
    const char *const *items;
    size_t count;
};

struct tare_opt {
    const char *name; /* long, without dashes; NULL ends the table */
    char letter;      /* 0 for none */
    enum tare_opt_kind kind;
    const char *arg;                     /* what help calls the value; FILE and DIR are completed as such */
    const char *help;                    /* one phrase, capital first, no full stop */
    const char *const *choices;          /* for CHOICE: names, ended by NULL */
    const char *(*choice)(size_t index); /* or a function that gives them, NULL after the last */
    double min, max;                     /* INTEGER and REAL: the range accepted, when the two differ */
    size_t offset;                       /* where the value goes in the command's struct */
};

/* Letters that belong to the program a command starts. They stay among the operands as they were typed, with
 * their values, so that what is handed on is what was given; a row of the table with the same letter wins. */
struct tare_opt_pass {
    const char *flags;  /* take nothing */
    const char *values; /* take a value, attached or the next argument */
    const char *rest;   /* as those, and everything behind them belongs to that program too */
};

/* What a command's help, man page section and completion are made from. */
struct tare_opt_page {
    const char *name;    /* "report"; "" for the program itself */
    const char *args;    /* "FILE..."; may be NULL */
    const char *summary; /* one phrase */
    const char *about; /* paragraphs, separated by an empty line; lines that start with a space are examples;
                          may be NULL */
    const struct tare_opt *options;
    bool stop_at_operand;             /* what follows the first operand belongs to another program */
    const struct tare_opt_pass *pass; /* may be NULL */
};

/**
 * Parse the arguments (argv[0] is the first of them, not the program's name) into values, which holds the
 * defaults beforehand. Operands and lists live in the arena; texts are those of argv. 0, or 1 when help was
 * asked for (the rest is then not looked at), or -1: err names the option and, if it is unknown, the closest.
 */
int tare_opt_parse(const struct tare_opt_page *page, int argc, char *const *argv, struct tare_arena *arena,
                   void *ret_values, struct tare_opt_list *ret_operands, struct tare_error *err);

/** The name of a choice; NULL beyond the last. */
const char *tare_opt_choice_name(const struct tare_opt *opt, size_t index);

/** Help of one command, for a terminal of width columns. */
void tare_opt_help(const char *program, const struct tare_opt_page *page, unsigned width,
                   struct tare_out *out);

/** Help of the program: pages[0] is the program itself, its commands follow. */
void tare_opt_overview(const char *program, const struct tare_opt_page *pages, size_t count, unsigned width,
                       struct tare_out *out);

/** A man page in roff (section 1); pages as above. tail is roff that goes after the commands (exit status and
 * so on) and may be NULL. */
void tare_opt_man(const char *program, const char *version, const struct tare_opt_page *pages, size_t count,
                  const char *tail, struct tare_out *out);

/** Completion for a shell, "bash" or "zsh"; pages as above. An error for another shell. */
int tare_opt_complete(const char *shell, const char *program, const struct tare_opt_page *pages, size_t count,
                      struct tare_out *out, struct tare_error *err);

#endif
