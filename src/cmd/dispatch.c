/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/dispatch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <yyjson.h>
#include <zlib.h>

#include "base/suggest.h"
#include "bench/ort_load.h"
#include "bench/worker.h"
#include "cmd/cmd.h"

/* Every command, in the order in which help lists them. A new one: its file, its declaration in cmd.h, and a
 * row here. */
const struct tare_cmd *const tare_cmds[] = {
    &tare_cmd_run,     &tare_cmd_bench,  &tare_cmd_profile, &tare_cmd_compare, &tare_cmd_check,
    &tare_cmd_history, &tare_cmd_report, &tare_cmd_doctor,  &tare_cmd_help,    NULL,
};

/* Options and operands are a command line's; the bound is against a mistake, not for thrift. */
#define ARENA_CAP ((size_t)256 << 20)

struct global_values {
    bool version;
};

static const struct tare_opt global_options[] = {
    {"version", 'V', TARE_OPT_FLAG, NULL, "Show the version of tare and of what it is built with",
     .offset = offsetof(struct global_values, version)},
    {.name = NULL},
};

static const struct tare_opt_page program_page = {
    .name = "",
    .args = "COMMAND",
    .summary = "Weigh machine-learning code and models, with the scale's own weight taken off",
    .about = "Results go to standard output, everything else to standard error. Durations and sizes take "
             "units (10s, 512MiB); bare durations are seconds and bare sizes bytes. 'tare help COMMAND' "
             "tells more about a command.",
    .options = global_options,
    .stop_at_operand = true,
};

const struct tare_cmd *tare_cmd_find(const char *name)
{
    for (const struct tare_cmd *const *cmd = tare_cmds; *cmd; cmd++)
        if (strcmp((*cmd)->name, name) == 0)
            return *cmd;
    return NULL;
}

struct tare_opt_page tare_cmd_page(const struct tare_cmd *cmd)
{
    return (struct tare_opt_page){
        .name = cmd->name,
        .args = cmd->args,
        .summary = cmd->summary,
        .about = cmd->about,
        .options = cmd->options,
        .stop_at_operand = cmd->stop_at_operand,
        .pass = cmd->pass,
    };
}

const struct tare_opt_page *tare_cmd_pages(struct tare_arena *arena, size_t *ret_count)
{
    size_t count = 0;
    while (tare_cmds[count])
        count++;
    struct tare_opt_page *pages = tare_arena_array(arena, count + 1, sizeof *pages);
    if (!pages)
        return NULL;
    pages[0] = program_page;
    for (size_t i = 0; i < count; i++)
        pages[i + 1] = tare_cmd_page(tare_cmds[i]);
    *ret_count = count + 1;
    return pages;
}

unsigned tare_cmd_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

int tare_cmd_unknown(const char *name, struct tare_error *err)
{
    struct tare_suggest suggest = {0};
    for (const struct tare_cmd *const *cmd = tare_cmds; *cmd; cmd++)
        tare_suggest_offer(&suggest, name, (*cmd)->name);
    if (suggest.best)
        return tare_fail(err, TARE_E_USAGE, 0, "unknown command '%.60s'; did you mean '%s'?", name,
                         suggest.best);
    if (tare_cmd_find("report") && access(name, F_OK) == 0)
        return tare_fail(err, TARE_E_USAGE, 0, "unknown command '%.60s'; did you mean 'tare report %.60s'?",
                         name, name);
    return tare_fail(err, TARE_E_USAGE, 0, "unknown command '%.60s'", name);
}

static void complain(const char *name, const char *message)
{
    fprintf(stderr, "tare%s%s: %s\n", *name ? " " : "", name, message);
}

static void hint(const char *name)
{
    fprintf(stderr, "Try 'tare %s%s--help'.\n", name, *name ? " " : "");
}

void tare_cmd_warn(const struct tare_cmd_call *call, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(stderr, "tare %s: warning: %s\n", call->cmd->name, text);
}

/* Send what is buffered. A reader that went away (tare report x | head) has what it wanted: no complaint, and
 * the status stays. */
static int deliver(const char *name, struct tare_out *out, int status, int fail_status)
{
    struct tare_error err;
    if (tare_out_commit(out, &err) == 0 || err.sys == EPIPE)
        return status;
    complain(name, err.msg);
    return fail_status;
}

static void write_version(struct tare_out *out)
{
    uint32_t yyjson = yyjson_version();
    tare_out_printf(out, "tare %s\n", TARE_VERSION);
#if defined(__clang__)
    tare_out_printf(out, "compiler: clang %d.%d.%d\n", __clang_major__, __clang_minor__,
                    __clang_patchlevel__);
#else
    tare_out_printf(out, "compiler: gcc %d.%d.%d\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
    tare_out_printf(out, "zlib: %s\nyyjson: %u.%u.%u\n", zlibVersion(), yyjson >> 16, yyjson >> 8 & 0xff,
                    yyjson & 0xff);
    /* Its interface N came with 1.N. */
    if (tare_ort_header() > 0)
        tare_out_printf(out, "onnxruntime header: 1.%d\n", tare_ort_header());
    else
        tare_out_printf(out, "onnxruntime header: none\n");
}

/* What an operand is missing or too much, in the words of the command's own help. */
static int check_operands(const struct tare_cmd *cmd, const struct tare_opt_list *operands,
                          struct tare_error *err)
{
    if (operands->count < cmd->min_operands)
        return tare_fail(err, TARE_E_USAGE, 0, "needs %s", cmd->args);
    if (operands->count > cmd->max_operands && cmd->max_operands == 0)
        return tare_fail(err, TARE_E_USAGE, 0, "takes no argument such as '%.60s'", operands->items[0]);
    if (operands->count > cmd->max_operands && cmd->max_operands != TARE_CMD_MANY)
        return tare_fail(err, TARE_E_USAGE, 0, "one argument too many: '%.60s' (takes %s)",
                         operands->items[cmd->max_operands], cmd->args);
    return 0;
}

static int call_command(const struct tare_cmd *cmd, int argc, char **argv, struct tare_arena *arena,
                        struct tare_out *out, bool pipe_ignored)
{
    struct tare_error err = {0};
    struct tare_opt_list operands = {0};
    struct tare_opt_page page = tare_cmd_page(cmd);
    int fail_status = cmd->fail_status ? cmd->fail_status : TARE_EXIT_FAILED;
    void *values = tare_arena_alloc(arena, cmd->values_size);
    if (!values) {
        complain(cmd->name, "out of memory");
        return fail_status;
    }
    if (cmd->defaults)
        memcpy(values, cmd->defaults, cmd->values_size);
    int rc = tare_opt_parse(&page, argc, argv, arena, values, &operands, &err);
    if (rc == 1) {
        tare_opt_help("tare", &page, tare_cmd_width(), out);
        return deliver(cmd->name, out, TARE_EXIT_OK, fail_status);
    }
    if (rc == 0)
        rc = check_operands(cmd, &operands, &err);
    if (rc < 0) {
        complain(cmd->name, err.msg);
        hint(cmd->name);
        return fail_status;
    }
    struct tare_cmd_call call = {
        .cmd = cmd,
        .values = values,
        .operands = operands.items,
        .operand_count = operands.count,
        .out = out,
        .arena = arena,
        .pipe_ignored = pipe_ignored,
    };
    int status = cmd->run(&call, &err);
    if (status < 0) {
        complain(cmd->name, err.msg);
        return fail_status;
    }
    return deliver(cmd->name, out, status, fail_status);
}

static int dispatch(int argc, char **argv, struct tare_arena *arena, struct tare_out *out, bool pipe_ignored)
{
    struct global_values values = {0};
    struct tare_opt_list operands = {0};
    struct tare_error err = {0};
    int rc = tare_opt_parse(&program_page, argc, argv, arena, &values, &operands, &err);
    if (rc == 1)
        return call_command(&tare_cmd_help, 0, NULL, arena, out, pipe_ignored);
    if (rc == 0 && values.version) {
        write_version(out);
        return deliver("", out, TARE_EXIT_OK, TARE_EXIT_FAILED);
    }
    if (rc == 0 && operands.count == 0)
        rc = tare_fail(&err, TARE_E_USAGE, 0, "needs a command");
    const struct tare_cmd *cmd = rc == 0 ? tare_cmd_find(operands.items[0]) : NULL;
    if (rc == 0 && !cmd)
        tare_cmd_unknown(operands.items[0], &err);
    if (!cmd) {
        complain("", err.msg);
        hint("");
        return TARE_EXIT_FAILED;
    }
    /* The command and everything behind it, exactly as it was given. */
    int first = argc - (int)operands.count;
    return call_command(cmd, argc - first - 1, argv + first + 1, arena, out, pipe_ignored);
}

/* A standard descriptor that was closed would be taken by the next file that is opened, and then be written
 * to by mistake. Open it the wrong way round, so that using it is an error. */
static void occupy_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

int tare_main(int argc, char **argv)
{
    struct sigaction before, ignore = {.sa_handler = SIG_IGN};
    struct tare_arena arena;
    struct tare_out out;
    /* A part of ourselves, started again by ourselves: nothing that a user types. */
    if (argc == 2 && strcmp(argv[1], ".worker") == 0 && tare_worker_main(TARE_WORKER_DESCRIPTOR) < 0) {
        complain("", "'.worker' is for tare itself: use 'tare bench'");
        return TARE_EXIT_FAILED;
    }
    occupy_standard_descriptors();
    /* A reader that goes away must not kill us between two writes: it is an error like any other. */
    sigaction(SIGPIPE, &ignore, &before);
    tare_arena_init(&arena, ARENA_CAP);
    tare_out_init_fd(&out, STDOUT_FILENO, "standard output");
    int status = dispatch(argc > 0 ? argc - 1 : 0, argv + 1, &arena, &out, before.sa_handler == SIG_IGN);
    tare_out_finish(&out);
    tare_arena_finish(&arena);
    sigaction(SIGPIPE, &before, NULL);
    return status;
}
