/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/gate_options.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units.h"
#include "base/words.h"
#include "cmd/follow.h"
#include "report/verdict_report.h"

#define USUAL_TIME_NS INT64_C(300000000000)

const char *tare_gate_format(size_t index)
{
    return tare_verdict_writers[index] ? tare_verdict_writers[index]->name : NULL;
}

int tare_gate_rule_make(const struct tare_gate_values *values, struct tare_gate_rule *ret_rule,
                        struct tare_error *err)
{
    *ret_rule = (struct tare_gate_rule){.threshold = 0.05};
    return values->change ? tare_share_parse("change", values->change, &ret_rule->threshold, err) : 0;
}

int tare_gate_outputs_check(const struct tare_gate_values *values, struct tare_error *err)
{
    for (size_t i = 0; i < values->outputs.count; i++)
        if (!tare_verdict_writer_find(NULL, values->outputs.items[i]))
            return tare_fail(err, TARE_E_USAGE, 0,
                             "'%s' does not say which format: end it in .txt, .json, .md or .xml",
                             values->outputs.items[i]);
    return 0;
}

bool tare_gate_is_model(const struct tare_gate_values *values, const char *path)
{
    struct stat status;
    if (strcmp(tare_bench_engines[values->bench.engine], "fake") == 0)
        return strncmp(path, "fake:", 5) == 0;
    if (tare_words_end(path, ".onnx"))
        return true;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void progress(void *data, const char *text, int64_t left_ns)
{
    tare_follow_show(data, "comparing", text, left_ns);
}

int tare_gate_fight(const struct tare_gate_values *values, const char *a, const char *b, bool commands,
                    struct tare_arena *arena, struct tare_verdicts *ret_verdicts, int *ret_signal,
                    struct tare_error *err)
{
    struct tare_follow follow;
    struct tare_bench_values bench = values->bench;
    struct tare_bench_plan plan;
    struct tare_versus_options options = {
        .time_ns = bench.time_ns > 0 ? bench.time_ns : USUAL_TIME_NS,
        .blocks = (size_t)values->blocks,
        .progress = progress,
    };
    if (!bench.batches)
        bench.batches = "1";
    if (tare_gate_rule_make(values, &options.rule, err) ||
        (!commands && tare_bench_plan_make(&bench, a, arena, &plan, err)))
        return -1;
    tare_follow_begin(&follow);
    options.data = &follow;
    options.stop = follow.stop;
    options.worker_argv = follow.worker_argv;
    int rc = commands ? tare_versus_commands(a, b, &options, arena, ret_verdicts, err)
                      : tare_versus_models(a, b, &plan, &options, arena, ret_verdicts, err);
    *ret_signal = tare_follow_end(&follow);
    return rc;
}

static int save(const struct tare_verdicts *verdicts, const char *path, struct tare_error *err)
{
    struct tare_out out;
    if (tare_out_open(&out, path, err))
        return -1;
    tare_verdict_writer_find(NULL, path)->write(verdicts, &out);
    int rc = tare_out_commit(&out, err);
    tare_out_finish(&out);
    return rc;
}

int tare_gate_tell(const struct tare_cmd_call *call, const struct tare_gate_values *values,
                   const struct tare_verdicts *verdicts, struct tare_error *err)
{
    const struct tare_verdict_writer *writer = tare_verdict_writers[0];
    if (values->format >= 0)
        writer = tare_verdict_writers[values->format];
    if (values->json)
        writer = tare_verdict_writer_find("json", NULL);
    for (size_t i = 0; i < values->outputs.count; i++)
        if (save(verdicts, values->outputs.items[i], err))
            return -1;
    writer->write(verdicts, call->out);
    return 0;
}
