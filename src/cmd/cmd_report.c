/* SPDX-License-Identifier: Apache-2.0 */
/* tare report: a saved result in any format. */
#include <unistd.h>

#include "cmd/cmd.h"
#include "core/diff.h"
#include "flow/result.h"

/* A terminal shows what fits a screen; a pipe gets everything. */
enum { TERMINAL_ROWS = 25 };

struct values {
    int format; /* -1: not given */
    struct tare_opt_list outputs;
    const char *base;
    const char *sort;
    const char *column;
    const char *match;
    int64_t rows; /* -1: not given */
    bool reverse, strip_dirs, json, normalise;
};

static const struct values defaults = {.format = -1, .rows = -1};

static const struct tare_opt options[] = {
    {"format", 'f', TARE_OPT_CHOICE, "FORMAT",
     "What to write; without it the extension of OUT decides, else a table", .choice = tare_format_name,
     .offset = offsetof(struct values, format)},
    {"output", 'o', TARE_OPT_LIST, "FILE",
     "Write here instead of standard output; may be given several times",
     .offset = offsetof(struct values, outputs)},
    {"base", 'b', TARE_OPT_TEXT, "FILE", "Show the difference from this profile",
     .offset = offsetof(struct values, base)},
    {"normalise", 0, TARE_OPT_FLAG, NULL,
     "With --base: compare shares, by scaling the base to the same total",
     .offset = offsetof(struct values, normalise)},
    {"sort", 's', TARE_OPT_TEXT, "KEY",
     "Order of a table: cumulative, tottime, calls, name... (every key of pstats, several with commas)",
     .offset = offsetof(struct values, sort)},
    {"rows", 'n', TARE_OPT_INTEGER, "N",
     "Most rows of a table, 0 for all (default: 25 on a terminal, all in a pipe)", .min = 0, .max = 4e9,
     .offset = offsetof(struct values, rows)},
    {"reverse", 'r', TARE_OPT_FLAG, NULL, "Sort the other way round",
     .offset = offsetof(struct values, reverse)},
    {"column", 'c', TARE_OPT_TEXT, "NAME", "Which value to show, when the profile has several",
     .offset = offsetof(struct values, column)},
    {"match", 'm', TARE_OPT_TEXT, "TEXT", "Only functions whose file:line(name) contains this",
     .offset = offsetof(struct values, match)},
    {"strip-dirs", 0, TARE_OPT_FLAG, NULL, "Show file names without their folders",
     .offset = offsetof(struct values, strip_dirs)},
    {"json", 0, TARE_OPT_FLAG, NULL, "The same as -f json", .offset = offsetof(struct values, json)},
    {.name = NULL},
};

static int subtract(struct tare_result *result, const struct values *values, struct tare_error *err)
{
    struct tare_result base = {0};
    struct tare_profile *diff = NULL;
    struct tare_diff_options how = {.column = values->column, .normalise = values->normalise};
    if (tare_result_load(values->base, &base, err) < 0)
        return -1;
    int rc = -1;
    if (!result->profile || !base.profile)
        rc = tare_fail(err, TARE_E_USAGE, 0,
                       "--base shows the difference of two profiles, and one of these is a run");
    else
        rc = tare_profile_diff(base.profile, result->profile, &how, &diff, err);
    tare_result_finish(&base);
    if (rc < 0)
        return -1;
    tare_result_finish(result);
    result->profile = diff;
    return 0;
}

static int write_all(const struct tare_cmd_call *call, const struct tare_result *result,
                     struct tare_error *err)
{
    const struct values *values = call->values;
    const char *format = values->json         ? "json"
                         : values->format < 0 ? NULL
                                              : tare_format_name((size_t)values->format);
    struct tare_view view = {
        .column = values->column,
        .sort = values->sort,
        .match = values->match,
        .reverse = values->reverse,
        .strip_dirs = values->strip_dirs,
        .rows = values->rows > 0 ? (uint32_t)values->rows : 0,
    };
    for (size_t i = 0; i < values->outputs.count; i++)
        if (tare_result_save(result, values->outputs.items[i], format, &view, err) < 0)
            return -1;
    if (values->outputs.count)
        return 0;
    struct tare_format chosen = tare_result_text(result);
    if (format && tare_result_format(result, format, NULL, &chosen, err) < 0)
        return -1;
    bool terminal = isatty(STDOUT_FILENO);
    if (terminal && tare_format_binary(&chosen))
        return tare_fail(err, TARE_E_USAGE, 0,
                         "'%s' is not for a terminal: give -o FILE, or send it into a pipe", format);
    if (terminal && values->rows < 0)
        view.rows = TERMINAL_ROWS;
    tare_result_write(result, &chosen, &view, call->out);
    return 0;
}

static int report_run(const struct tare_cmd_call *call, struct tare_error *err)
{
    const struct values *values = call->values;
    struct tare_result result = {0};
    if (tare_result_load_all(call->operands, call->operand_count, &result, err) < 0)
        return -1;
    for (uint32_t i = 0; result.profile && i < tare_profile_notes(result.profile); i++)
        tare_cmd_warn(call, "%s", tare_profile_note_at(result.profile, i));
    int rc = values->base ? subtract(&result, values, err) : 0;
    if (rc == 0)
        rc = write_all(call, &result, err);
    tare_result_finish(&result);
    return rc < 0 ? -1 : TARE_EXIT_OK;
}

const struct tare_cmd tare_cmd_report = {
    .name = "report",
    .args = "FILE...",
    .summary = "Show a saved result in any format",
    .about = "Reads pprof, the .prof and .stats files of cProfile, folded stacks, run files, and captures or "
             "a folder of them, recognised "
             "by what "
             "they hold and not by their names; \"-\" is standard input. Several profiles are added up.\n\n"
             "The format of an output follows from its extension: .txt (table), .svg (flame graph), .pb.gz "
             "(pprof), "
             ".prof (pstats), .folded, .speedscope.json, .json; for runs .txt, .json, .csv, .md.\n\n"
             "A .prof holds pairs of caller and function, not stacks: flame graphs, folded stacks and "
             "speedscope files "
             "made from one are estimated by proportion, and say so.",
    .options = options,
    .values_size = sizeof(struct values),
    .defaults = &defaults,
    .min_operands = 1,
    .max_operands = TARE_CMD_MANY,
    .run = report_run,
};
