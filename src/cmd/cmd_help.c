/* SPDX-License-Identifier: Apache-2.0 */
/* tare help: the commands, one command, the man page, the completions; all from the option tables. */
#include "cmd/cmd.h"
#include "cmd/dispatch.h"

struct values {
    bool man;
    int shell;
};

static const char *const shells[] = {"bash", "zsh", NULL};

static const struct values defaults = {.shell = -1};

static const struct tare_opt options[] = {
    {"man", 0, TARE_OPT_FLAG, NULL, "Print the manual page, for man -l",
     .offset = offsetof(struct values, man)},
    {"completion", 0, TARE_OPT_CHOICE, "SHELL", "Print completion for a shell", .choices = shells,
     .offset = offsetof(struct values, shell)},
    {.name = NULL},
};

static const char man_tail[] =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nAll is well.\n"
    ".TP\n.B 1\nThe verdict is bad: a threshold was crossed, or there is a regression.\n"
    ".TP\n.B 2\nThe command line makes no sense, or the operation failed.\n"
    ".TP\n.B 3\nA comparison was inconclusive.\n"
    ".PP\n"
    "Commands that run a program return its own status, 128 plus the signal's number when it died by one, "
    "125 when tare itself failed, 126 when the program cannot be executed and 127 when it is not found.\n"
    ".SH SEE ALSO\n"
    ".BR perf (1),\n"
    ".BR python3 (1)\n";

static int help_run(const struct tare_cmd_call *call, struct tare_error *err)
{
    const struct values *values = call->values;
    size_t count;
    if (values->man && values->shell >= 0)
        return tare_fail(err, TARE_E_USAGE, 0, "--man and --completion exclude each other");
    if (call->operand_count > 0 && (values->man || values->shell >= 0))
        return tare_fail(err, TARE_E_USAGE, 0, "--man and --completion cover all commands: name none");
    const struct tare_opt_page *pages = tare_cmd_pages(call->arena, &count);
    if (!pages)
        return tare_fail_memory(err);
    if (values->man) {
        tare_opt_man("tare", TARE_VERSION, pages, count, man_tail, call->out);
    } else if (values->shell >= 0) {
        return tare_opt_complete(shells[values->shell], "tare", pages, count, call->out, err);
    } else if (call->operand_count == 0) {
        tare_opt_overview("tare", pages, count, tare_cmd_width(), call->out);
    } else {
        const struct tare_cmd *cmd = tare_cmd_find(call->operands[0]);
        if (!cmd)
            return tare_cmd_unknown(call->operands[0], err);
        struct tare_opt_page page = tare_cmd_page(cmd);
        tare_opt_help("tare", &page, tare_cmd_width(), call->out);
    }
    return TARE_EXIT_OK;
}

const struct tare_cmd tare_cmd_help = {
    .name = "help",
    .args = "[COMMAND]",
    .summary = "Show the commands, or the options of one",
    .options = options,
    .values_size = sizeof(struct values),
    .defaults = &defaults,
    .max_operands = 1,
    .run = help_run,
};
