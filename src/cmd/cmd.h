/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subcommand is one const struct in one file, and one row in the table of dispatch.c. dispatch parses the
 * options, checks the number of operands, answers --help, opens standard output, calls run, and turns what it
 * returns into words and an exit status; a command only does its work. To add one: write cmd_NAME.c with
 *
 *     struct values { const char *output; bool json; };
 *     static const struct tare_opt options[] = { ... , {.name = NULL}};
 *     static int report_run(const struct tare_cmd_call *call, struct tare_error *err)
 *     {
 *         const struct values *values = call->values;
 *         ...
 *         tare_out_printf(call->out, ...);
 *         return TARE_EXIT_OK;
 *     }
 *     const struct tare_cmd tare_cmd_report = {
 *         .name = "report", .args = "FILE", .summary = "Show a saved result in any format",
 *         .options = options, .values_size = sizeof(struct values),
 *         .min_operands = 1, .max_operands = 1, .run = report_run,
 *     };
 *
 * declare it below, and add it to the table in dispatch.c and to src/cmd/meson.build. Help, the man page and
 * the completions follow by themselves.
 *
 * SIGPIPE is ignored while a command runs: a command that starts programs gives it to them
 * as tare got it (pipe_ignored). Commands
 * run on one thread, the caller's.
 */
#ifndef TARE_CMD_CMD_H
#define TARE_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/opt.h"
#include "base/out.h"

/* Exit statuses. Commands that run a program return that program's own. */
enum {
    TARE_EXIT_OK = 0,
    TARE_EXIT_BAD = 1,          /* the verdict is bad: threshold crossed, regression */
    TARE_EXIT_FAILED = 2,       /* usage, or the operation failed */
    TARE_EXIT_INCONCLUSIVE = 3, /* compare could not tell */
    TARE_EXIT_SELF = 125,       /* tare itself failed, where a program's status is returned */
    TARE_EXIT_CANNOT_RUN = 126,
    TARE_EXIT_NOT_FOUND = 127,
};

/* max_operands of a command that takes any number. */
enum { TARE_CMD_MANY = 0xffff };

struct tare_cmd;

/* One call of a command. */
struct tare_cmd_call {
    const struct tare_cmd *cmd;
    const void *values; /* the command's own struct, parsed */
    const char *const *operands;
    size_t operand_count;
    struct tare_out *out;     /* standard output; dispatch commits it */
    struct tare_arena *arena; /* lives as long as the call */
    bool pipe_ignored; /* SIGPIPE was ignored already when tare was started: programs get it as it was */
};

struct tare_cmd {
    const char *name;
    const char *args;    /* operands as help shows them: "FILE", "A B"; NULL for none */
    const char *summary; /* one phrase, capital first, no full stop */
    const char *about;   /* paragraphs for help and man page, see struct tare_opt_page; may be NULL */
    const struct tare_opt *options; /* may be NULL */
    size_t values_size;
    const void *defaults; /* what values starts from; NULL for zeros */
    unsigned short min_operands, max_operands;
    bool stop_at_operand;             /* what follows the first operand belongs to another program */
    const struct tare_opt_pass *pass; /* letters that do; may be NULL */
    int fail_status;                  /* the exit status of an error; 0 means TARE_EXIT_FAILED */

    /** Do it: an exit status, or -1 with err filled, which dispatch prints as "tare NAME: message". */
    int (*run)(const struct tare_cmd_call *call, struct tare_error *err);
};

/** Say something on standard error, as "tare NAME: warning: ...". */
void tare_cmd_warn(const struct tare_cmd_call *call, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** The commands that exist, ended by NULL, in the order in which help lists them. */
extern const struct tare_cmd *const tare_cmds[];

extern const struct tare_cmd tare_cmd_bench;
extern const struct tare_cmd tare_cmd_check;
extern const struct tare_cmd tare_cmd_compare;
extern const struct tare_cmd tare_cmd_doctor;
extern const struct tare_cmd tare_cmd_help;
extern const struct tare_cmd tare_cmd_history;
extern const struct tare_cmd tare_cmd_profile;
extern const struct tare_cmd tare_cmd_report;
extern const struct tare_cmd tare_cmd_run;

/** The whole program: what main() and `python -m tare` call. Returns the exit status. */
int tare_main(int argc, char **argv);

#endif
