/* SPDX-License-Identifier: Apache-2.0 */
/* tare history: how figures went, run after run, and where they changed. */
#include <string.h>

#include "base/words.h"
#include "cmd/cmd.h"
#include "flow/history.h"
#include "report/trend_report.h"

struct values {
    const char *output, *match, *acknowledge, *reason;
    bool json, all;
};

static const struct tare_opt options[] = {
    {"output", 'o', TARE_OPT_TEXT, "FILE", "Draw the trends here (.svg), or write .json or .txt",
     .offset = offsetof(struct values, output)},
    {"match", 'm', TARE_OPT_TEXT, "TEXT", "Only what contains this, such as latency or batch=8",
     .offset = offsetof(struct values, match)},
    {"all", 'a', TARE_OPT_FLAG, NULL, "Also tell changes that were acknowledged or went away again",
     .offset = offsetof(struct values, all)},
    {"acknowledge", 0, TARE_OPT_TEXT, "ID", "Keep quiet about this change from now on; --reason says why",
     .offset = offsetof(struct values, acknowledge)},
    {"reason", 0, TARE_OPT_TEXT, "TEXT", "Why a change is all right: kept with the runs",
     .offset = offsetof(struct values, reason)},
    {"json", 0, TARE_OPT_FLAG, NULL, "Print JSON", .offset = offsetof(struct values, json)},
    {.name = NULL},
};

static int save(const struct tare_trends *trends, const char *path, bool all, struct tare_error *err)
{
    struct tare_out out;
    if (!tare_words_end(path, ".svg") && !tare_words_end(path, ".json") && !tare_words_end(path, ".txt"))
        return tare_fail(err, TARE_E_USAGE, 0,
                         "'%s' does not say which format: end it in .svg, .json or .txt", path);
    if (tare_out_open(&out, path, err))
        return -1;
    if (tare_words_end(path, ".svg"))
        tare_trends_svg(trends, &out);
    else if (tare_words_end(path, ".json"))
        tare_trends_json(trends, &out);
    else
        tare_trends_text(trends, all, &out);
    int rc = tare_out_commit(&out, err);
    tare_out_finish(&out);
    return rc;
}

static int history_run(const struct tare_cmd_call *call, struct tare_error *err)
{
    const struct values *values = call->values;
    const char *folder = call->operands[0];
    struct tare_trends trends;
    if (!values->acknowledge != !values->reason)
        return tare_fail(err, TARE_E_USAGE, 0, "--acknowledge ID and --reason TEXT go together");
    if (tare_history_read(folder, values->match, call->arena, &trends, err))
        return -1;
    if (trends.skipped_why)
        tare_cmd_warn(call, "%zu files are not runs; the first: %s", trends.skipped, trends.skipped_why);
    if (values->acknowledge &&
        (tare_history_acknowledge(folder, &trends, values->acknowledge, values->reason, err) ||
         tare_history_read(folder, values->match, call->arena, &trends, err)))
        return -1;
    if (values->output && save(&trends, values->output, values->all, err))
        return -1;
    if (values->json)
        tare_trends_json(&trends, call->out);
    else
        tare_trends_text(&trends, values->all, call->out);
    return TARE_EXIT_OK;
}

const struct tare_cmd tare_cmd_history = {
    .name = "history",
    .args = "DIR",
    .summary = "Show how figures went from run to run, and where they changed",
    .about =
        "DIR is a folder of runs that tare bench wrote (-o DIR/NAME.json), in git or wherever you keep it. "
        "Every metric of every configuration on every machine is a trend. A change is told once it has "
        "held for six runs, with the first run that has it, its commit, and what changed on the "
        "machine at the same time; what moves little by little is called a drift.\n\n"
        "  tare history runs/\n"
        "  tare history runs/ -m latency -o trends.svg\n"
        "  tare history runs/ --acknowledge 1f0c9a2e --reason 'larger model, on purpose'\n\n"
        "The reasons are kept in DIR/acknowledged.txt.",
    .options = options,
    .values_size = sizeof(struct values),
    .min_operands = 1,
    .max_operands = 1,
    .run = history_run,
};
