/* SPDX-License-Identifier: Apache-2.0 */
/* tare bench: how fast and heavy a model is here. */
#include <signal.h>
#include <stdio.h>

#include "cmd/bench_options.h"
#include "cmd/threshold_options.h"
#include "flow/result.h"

struct values {
    struct tare_bench_values bench;
    struct tare_threshold_values limits;
    struct tare_opt_list outputs;
};

static const struct values defaults = {.bench = TARE_BENCH_DEFAULTS};

static const struct tare_opt options[] = {
    TARE_BENCH_OPTIONS,
    TARE_THRESHOLD_OPTIONS(struct values, limits),
    {"output", 'o', TARE_OPT_LIST, "FILE",
     "Write the result here too: .json, .csv, .md or .txt; may be given several times",
     .offset = offsetof(struct values, outputs)},
    {.name = NULL},
};

static int bench_run(const struct tare_cmd_call *call, struct tare_error *err)
{
    const struct values *values = call->values;
    struct tare_bench_plan plan;
    struct tare_threshold *thresholds;
    struct tare_result result = {0};
    struct tare_view view = {.column = NULL};
    int caught = 0;
    if (tare_bench_plan_make(&values->bench, call->operands[0], call->arena, &plan, err) ||
        tare_threshold_values_read(&values->limits, call->arena, &thresholds, &plan.thresholds_count, err))
        return -1;
    for (size_t i = 0; i < values->outputs.count; i++)
        if (tare_bench_output_check(values->outputs.items[i], err))
            return -1;
    plan.thresholds = thresholds;
    if (tare_bench_follow(&plan, &result.run, &caught, err))
        return caught ? 128 + caught : -1;
    int rc = 0;
    for (size_t i = 0; i < values->outputs.count && rc == 0; i++) {
        rc = tare_result_save(&result, values->outputs.items[i], NULL, &view, err);
        if (rc == 0)
            fprintf(stderr, "tare bench: wrote %s\n", values->outputs.items[i]);
    }
    if (rc == 0)
        rc = tare_threshold_tell(&values->limits, call, &result, values->bench.json, caught, err);
    tare_result_finish(&result);
    return rc;
}

const struct tare_cmd tare_cmd_bench = {
    .name = "bench",
    .args = "MODEL",
    .summary = "Measure a model: how fast, how heavy, how to deploy it",
    .about =
        "Runs an ONNX model on the ONNX Runtime that is installed here and says how fast it is, how much "
        "memory it takes, where the time goes, whether its answers stay the same and which settings are "
        "best. MODEL is a file, or a folder with one .onnx in it. Every list is multiplied with every "
        "other; each configuration runs in processes of its own, all of them in turn.\n\n"
        "  tare bench model.onnx\n"
        "  tare bench model.onnx --batch 1,8,32,64 --dim seq=16,128 --time 5min -o result.json\n"
        "  tare bench model.onnx --precision fp32,int8=model-int8.onnx --threads 1,2\n"
        "  tare bench model.onnx --threshold latency:100ms throughput:1000samples/s\n\n"
        "It ends when every median is known to 1 %, or when the time is over; figures that are not so "
        "sure are marked. With thresholds it also goes on until each is decided; it ends with 1 when one is "
        "crossed. Ctrl-C ends it early and shows what there is.",
    .options = options,
    .values_size = sizeof(struct values),
    .defaults = &defaults,
    .min_operands = 1,
    .max_operands = 1,
    .run = bench_run,
};
