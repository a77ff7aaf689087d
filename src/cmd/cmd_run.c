/* SPDX-License-Identifier: Apache-2.0 */
/* tare run: a Python program under the deterministic profiler, as if it ran by itself. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "core/functions.h"
#include "flow/captures.h"
#include "flow/interpreter.h"
#include "flow/launch.h"
#include "flow/outputs.h"
#include "flow/recording.h"
#include "flow/result.h"

/* A terminal shows what fits a screen; a pipe gets everything. */
enum { TERMINAL_ROWS = 25 };

/* Helpers of a program (a pool's resource tracker) end just after it. */
#define PATIENCE_NS INT64_C(300000000)

struct values {
    const char *sort;
    struct tare_opt_list outputs;
    int64_t rows; /* -1: not given */
    const char *python;
    uint64_t memory; /* 0: not given */
    bool python_only, keep, raw;
};

static const struct values defaults = {.rows = -1};

static const struct tare_opt options[] = {
    {"sort", 's', TARE_OPT_TEXT, "KEY",
     "Order of the table: cumulative (the default), tottime, calls, name... (every key of pstats)",
     .offset = offsetof(struct values, sort)},
    {"output", 'o', TARE_OPT_LIST, "FILE",
     "Write here instead of the table; the extension is the format; {pid} and {rank} make a file per "
     "process; "
     "may be given several times",
     .offset = offsetof(struct values, outputs)},
    {"rows", 'n', TARE_OPT_INTEGER, "N",
     "Most rows of the table, 0 for all (default: 25 on a terminal, all in a pipe)", .min = 0, .max = 4e9,
     .offset = offsetof(struct values, rows)},
    {"python", 0, TARE_OPT_TEXT, "PATH", "The interpreter to run the program with",
     .offset = offsetof(struct values, python)},
    {"python-only", 0, TARE_OPT_FLAG, NULL, "Leave functions written in C out: cheaper from Python 3.12 on",
     .offset = offsetof(struct values, python_only)},
    {"memory", 0, TARE_OPT_SIZE, "SIZE", "Most room for what one process records (default: 256MiB)",
     .offset = offsetof(struct values, memory)},
    {"keep", 0, TARE_OPT_FLAG, NULL, "Keep the captures, for 'tare report'",
     .offset = offsetof(struct values, keep)},
    {"raw", 0, TARE_OPT_FLAG, NULL, "Show times as they were recorded, the profiler's own cost included",
     .offset = offsetof(struct values, raw)},
    {.name = NULL},
};

/* Python's own options; -s and -h are tare's. */
static const struct tare_opt_pass pass = {.flags = "bBdEiIOPqRSuvx", .values = "WX", .rest = "mc"};

/* One run, from the command line to the result. */
struct run {
    const struct tare_cmd_call *call;
    const struct values *values;
    struct tare_interpreter interpreter;
    struct tare_outputs outputs;
    struct tare_view view;
    const char *folder;
    struct tare_launch_end end;
};

static void say_written(const char *path)
{
    const char *why = tare_outputs_fallback(path)
                          ? ", a pstats file, as cProfile writes (the table: tare report FILE)"
                          : "";
    fprintf(stderr, "tare run: wrote %s%s\n", path, why);
}

/* Is there a program behind the interpreter's flags? */
static bool has_program(const char *const *operands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = operands[i];
        if (text[0] != '-' || !text[1])
            return true;
        text += strcspn(text, "WXmc");
        if (*text == 'm' || *text == 'c')
            return true;
        i += *text && !text[1];
    }
    return false;
}

/* A sort key that does not exist must not be found out after the program ran. */
static int check_view(const struct tare_view *view, struct tare_error *err)
{
    struct tare_profile *empty;
    struct tare_out nowhere;
    if (tare_profile_create(0, &empty, err) < 0)
        return -1;
    tare_profile_add_column(empty, "calls", "count");
    tare_profile_add_column(empty, "wall", "nanoseconds");
    tare_out_init_memory(&nowhere, 65536);
    tare_writer_table.write(empty, view, &nowhere);
    int rc = tare_out_commit(&nowhere, err);
    tare_out_finish(&nowhere);
    tare_profile_destroy(empty);
    return rc;
}

static int prepare(struct run *run, struct tare_error *err)
{
    const struct tare_cmd_call *call = run->call;
    const struct values *values = run->values;
    if (!has_program(call->operands, call->operand_count))
        return tare_fail(err, TARE_E_USAGE, 0, "needs a script, -m MODULE or -c CODE");
    run->outputs = (struct tare_outputs){
        .names = values->outputs.items, .count = values->outputs.count, .arena = call->arena};
    run->view =
        (struct tare_view){.sort = values->sort, .rows = values->rows > 0 ? (uint32_t)values->rows : 0};
    if (values->outputs.count == 0 && values->rows < 0 && isatty(STDOUT_FILENO))
        run->view.rows = TERMINAL_ROWS;
    if (check_view(&run->view, err) < 0 || tare_outputs_check(&run->outputs, err) < 0 ||
        tare_interpreter_find(values->python, call->arena, &run->interpreter, err) < 0 ||
        tare_interpreter_ask(&run->interpreter, call->operands, call->operand_count, call->arena, err) < 0)
        return -1;
    fprintf(stderr, "tare run: Python %s at %s (%s)\n", run->interpreter.version, run->interpreter.path,
            run->interpreter.source);
    if (strcmp(run->interpreter.tare, TARE_VERSION) != 0)
        tare_cmd_warn(call, "that Python has tare %s, and this is " TARE_VERSION, run->interpreter.tare);
    return 0;
}

static int launch(struct run *run, struct tare_error *err)
{
    const struct tare_cmd_call *call = run->call;
    const char *note;
    if (tare_recording_make(run->outputs.count ? run->outputs.names[0] : NULL, call->arena, &run->folder,
                            &note, err) < 0)
        return -1;
    if (note)
        tare_cmd_warn(call, "%s", note);
    const char **argv = tare_arena_array(call->arena, call->operand_count + 2, sizeof *argv);
    if (!argv)
        return tare_fail_memory(err);
    argv[0] = run->interpreter.path;
    memcpy(argv + 1, call->operands, call->operand_count * sizeof *argv);
    const char *environment[] = {
        tare_arena_printf(call->arena, "TARE_RECORD=%s", run->folder),
        tare_arena_printf(call->arena, "TARE_RECORD_CAP=%" PRIu64, run->values->memory),
        run->values->python_only ? "TARE_RECORD_C=0" : "TARE_RECORD_C=1",
        NULL,
    };
    struct tare_launch how = {
        .path = argv[0], .argv = argv, .environment = environment, .pipe_ignored = call->pipe_ignored};
    if (tare_arena_check(call->arena, err) < 0)
        return -1;
    fflush(stderr);
    return tare_launch(&how, &run->end, err);
}

/* One line: where the time went. */
static int say_where(const struct tare_profile *profile, const struct tare_captures *captures,
                     struct tare_error *err)
{
    struct tare_functions functions;
    char time[TARE_UNITS_TEXT], calls[TARE_UNITS_TEXT];
    if (tare_functions_init(&functions, profile, TARE_NONE, true, err) < 0)
        return -1;
    const struct tare_function *top = NULL;
    for (uint32_t i = 0; i < functions.count; i++)
        if (!top || functions.items[i].figures.self > top->figures.self)
            top = &functions.items[i];
    fprintf(stderr, "tare run: %s in %s calls",
            tare_duration_format(time, sizeof time, (double)functions.self_sum),
            tare_count_format(calls, sizeof calls, (uint64_t)functions.calls_sum));
    if (captures->processes > 1)
        fprintf(stderr, " of %zu captures", captures->processes);
    if (top && functions.self_sum > 0) {
        int tenths = (int)(1000.0 * (double)top->figures.self / (double)functions.self_sum + 0.5);
        fprintf(stderr, "; the most, %d.%d %%, in %.*s", tenths / 10, tenths % 10, (int)top->name_length,
                top->name);
        if (top->line)
            fprintf(stderr, " (%.*s:%u)", (int)top->file_length, top->file, top->line);
    }
    fprintf(stderr, "\n");
    tare_functions_finish(&functions);
    return 0;
}

static int show(struct run *run, struct tare_profile *profile, const struct tare_captures *captures,
                struct tare_error *err)
{
    for (uint32_t i = 0; i < tare_profile_notes(profile); i++)
        fprintf(stderr, "tare run: %s\n", tare_profile_note_at(profile, i));
    if (run->values->raw)
        fprintf(stderr, "tare run: times include the profiler's own cost, as --raw asks\n");
    if (run->outputs.count == 0)
        tare_writer_table.write(profile, &run->view, run->call->out);
    else if (tare_outputs_write(&run->outputs, profile, &run->view, say_written, err) < 0)
        return -1;
    return say_where(profile, captures, err);
}

static void leave(const struct run *run, bool keep)
{
    if (!keep)
        tare_recording_remove(run->folder);
    else
        fprintf(stderr, "tare run: captures are kept: tare report %s\n", run->folder);
}

/* However the program ended, show what it did; its status is ours. */
static int conclude(struct run *run, struct tare_error *err)
{
    struct tare_captures_options how = {
        .ended_pid = run->end.pid,
        .end_ticks = run->end.ticks,
        .raw = run->values->raw,
        .patience_ns = PATIENCE_NS,
        .each = tare_outputs_each,
        .context = &run->outputs,
    };
    struct tare_captures captures = {0};
    struct tare_profile *profile = NULL;
    struct tare_error why;
    int status = tare_launch_status(&run->end);
    if (run->end.refused) {
        fprintf(stderr, "tare run: cannot run %s: %s\n", run->interpreter.path, strerror(run->end.refused));
        leave(run, false);
        return status;
    }
    if (tare_captures_read(run->folder, &how, &profile, &captures, &why) < 0) {
        bool killed = WIFSIGNALED(run->end.status), seen = captures.damaged + captures.refused > 0;
        if (killed && !seen)
            tare_cmd_warn(run->call, "nothing was recorded: the program had not begun");
        else if (!captures.starting) /* else Python has said itself that there is no such program */
            tare_cmd_warn(run->call, "nothing was recorded: %s", why.msg);
        leave(run, run->values->keep || captures.damaged);
        return status;
    }
    int rc = show(run, profile, &captures, err);
    tare_profile_destroy(profile);
    leave(run, rc < 0 || run->values->keep || captures.live || captures.damaged);
    return rc < 0 ? -1 : status;
}

static int run_run(const struct tare_cmd_call *call, struct tare_error *err)
{
    struct run run = {.call = call, .values = call->values};
    if (prepare(&run, err) < 0) {
        if (err->code != TARE_E_UNSUPPORTED || !err->sys)
            return -1;
        fprintf(stderr, "tare run: %s\n", err->msg);
        return err->sys == ENOENT || err->sys == ENOTDIR ? TARE_EXIT_NOT_FOUND : TARE_EXIT_CANNOT_RUN;
    }
    int status = launch(&run, err);
    if (status == 0)
        status = conclude(&run, err);
    else if (run.folder)
        tare_recording_remove(run.folder);
    tare_outputs_finish(&run.outputs);
    return status;
}

const struct tare_cmd tare_cmd_run = {
    .name = "run",
    .args = "[FLAG]... {SCRIPT | -m MODULE | -c CODE} [ARG]...",
    .summary = "Run Python under the deterministic profiler",
    .about =
        "Runs exactly what `python [FLAG]... SCRIPT [ARG]...` would, counts and times every call of every "
        "thread and process, and prints cProfile's table when the program ends, however it ends. Python's "
        "own "
        "flags (-O, -X, -W, -u, -I...) are passed on.\n\n"
        "  tare run train.py --epochs 1\n"
        "  tare run -o train.svg -o train.prof -m package.train\n\n"
        "The interpreter is that of the active environment, else the one beside tare, else the first on "
        "PATH. "
        "The exit status is the program's own, 128+N when signal N killed it, and 125 when tare itself "
        "failed.\n\n"
        "If tare is killed too, the captures stay in a hidden folder .tare-PID-XXXXXX: tare report FOLDER.",
    .options = options,
    .values_size = sizeof(struct values),
    .defaults = &defaults,
    .max_operands = TARE_CMD_MANY,
    .stop_at_operand = true,
    .pass = &pass,
    .fail_status = TARE_EXIT_SELF,
    .run = run_run,
};
