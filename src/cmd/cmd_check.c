/* SPDX-License-Identifier: Apache-2.0 */
/* tare check: the gate. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/gate_options.h"
#include "cmd/threshold_options.h"
#include "flow/gitref.h"
#include "flow/recording.h"
#include "flow/result.h"
#include "judge/compare_runs.h"
#include "judge/threshold.h"
#include "report/verdict_report.h"

struct values {
    struct tare_gate_values gate;
    struct tare_threshold_values limits;
    const char *baseline, *ref;
};

static const struct values defaults = {.gate = TARE_GATE_DEFAULTS};

static const struct tare_opt options[] = {
    TARE_THRESHOLD_OPTIONS(struct values, limits),
    {"baseline", 0, TARE_OPT_TEXT, "FILE",
     "What it must not be slower than: a model, run here in turn, or a run",
     .offset = offsetof(struct values, baseline)},
    {"baseline-ref", 0, TARE_OPT_TEXT, "GITREF", "The same: the model as it is in this commit",
     .offset = offsetof(struct values, ref)},
    TARE_GATE_OPTIONS,
    {.name = NULL},
};

struct check {
    const struct tare_cmd_call *call;
    const struct values *values;
    struct tare_result run;
    const char *folder; /* for the model of another commit */
    struct tare_verdicts verdicts;
    struct tare_threshold *thresholds;
    size_t thresholds_count;
    int caught;
};

static void add_rows(struct tare_verdicts *to, const struct tare_verdicts *from)
{
    for (size_t i = 0; i < from->count; i++) {
        struct tare_verdict *row = tare_compare_add(to);
        if (row)
            *row = from->rows[i];
    }
    to->a = from->a;
    to->b = from->b;
    to->machine = from->machine;
    to->comparable = from->comparable;
    to->notes = from->notes;
    to->notes_count = from->notes_count;
}

/* Against another model: both are run here. */
static int fight(struct check *check, const char *base, const char *model, struct tare_error *err)
{
    struct tare_verdicts verdicts;
    if (tare_gate_fight(&check->values->gate, base, model, false, check->call->arena, &verdicts,
                        &check->caught, err))
        return -1;
    if (check->values->ref)
        verdicts.a = tare_arena_printf(check->call->arena, "%s at %s", model, check->values->ref);
    add_rows(&check->verdicts, &verdicts);
    return 0;
}

static int against_run(struct check *check, struct tare_error *err)
{
    struct tare_result base = {0};
    struct tare_verdicts verdicts;
    struct tare_gate_rule rule;
    const char *path = check->values->baseline;
    if (tare_result_load(path, &base, err))
        return -1;
    int rc = -1;
    if (!base.run)
        tare_fail(err, TARE_E_USAGE, 0, "'%s' is a profile: a baseline is a run, or a model", path);
    else if (tare_gate_rule_make(&check->values->gate, &rule, err) == 0 &&
             tare_compare_runs(base.run, path, check->run.run, check->call->operands[0], &rule,
                               check->call->arena, &verdicts, err) == 0) {
        add_rows(&check->verdicts, &verdicts);
        rc = 0;
    }
    tare_result_finish(&base);
    return rc;
}

static int against_baseline(struct check *check, struct tare_error *err)
{
    const struct values *values = check->values;
    const char *operand = check->call->operands[0], *note = NULL, *base = values->baseline;
    bool is_model = tare_gate_is_model(&values->gate, operand);
    const char *model = is_model ? operand : check->run.run->model.path;
    if (values->ref) {
        if (!model)
            return tare_fail(err, TARE_E_INPUT, 0,
                             "'%s' does not say where its model is: check the model itself", operand);
        if (tare_recording_make("/tmp/", check->call->arena, &check->folder, &note, err) ||
            tare_gitref_file(values->ref, model, check->folder, check->call->arena, &base, err))
            return -1;
        return fight(check, base, model, err);
    }
    if (access(base, F_OK) != 0 && strncmp(base, "fake:", 5) != 0) {
        tare_cmd_warn(check->call, "there is no baseline '%s' yet: nothing to compare with", base);
        return 0;
    }
    if (tare_gate_is_model(&values->gate, base)) {
        if (!model)
            return tare_fail(err, TARE_E_INPUT, 0,
                             "'%s' does not say where its model is: check the model itself", operand);
        return fight(check, base, model, err);
    }
    if (is_model)
        return tare_fail(
            err, TARE_E_USAGE, 0,
            "'%s' is a model and the baseline '%s' a run: measure it first (tare bench -o), or give a "
            "model as the baseline",
            operand, base);
    return against_run(check, err);
}

/* On GitHub the verdicts also become annotations and the job's summary. */
static int tell_github(const struct check *check, struct tare_error *err)
{
    const char *actions = getenv("GITHUB_ACTIONS"), *summary = getenv("GITHUB_STEP_SUMMARY");
    bool text = !check->values->gate.json && check->values->gate.format <= 0;
    if (actions && strcmp(actions, "true") == 0 && text)
        tare_verdict_writer_github.write(&check->verdicts, check->call->out);
    if (!summary || !*summary)
        return 0;
    struct tare_out out;
    int file = open(summary, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot write the job's summary '%s'", summary);
    tare_out_init_fd(&out, file, summary);
    tare_verdict_writer_markdown.write(&check->verdicts, &out);
    int rc = tare_out_commit(&out, err);
    tare_out_finish(&out);
    close(file);
    return rc;
}

static int status_of(const struct check *check)
{
    switch (tare_verdicts_worst(&check->verdicts)) {
    case TARE_VERDICT_REGRESSED:
    case TARE_VERDICT_FAILED:
        return TARE_EXIT_BAD;
    case TARE_VERDICT_INCONCLUSIVE:
        return tare_threshold_undecided(&check->values->limits, check->call);
    default:
        return TARE_EXIT_OK;
    }
}

static int check_all(struct check *check, struct tare_error *err)
{
    const struct values *values = check->values;
    const char *operand = check->call->operands[0];
    bool is_model = tare_gate_is_model(&values->gate, operand);
    if (tare_threshold_values_read(&values->limits, check->call->arena, &check->thresholds,
                                   &check->thresholds_count, err) ||
        tare_gate_outputs_check(&values->gate, err))
        return -1;
    if (values->baseline && values->ref)
        return tare_fail(err, TARE_E_USAGE, 0, "--baseline and --baseline-ref are two baselines: give one");
    if (check->thresholds_count == 0 && !values->baseline && !values->ref)
        return tare_fail(err, TARE_E_USAGE, 0,
                         "nothing to check against: give --threshold, --baseline or --baseline-ref");
    if (is_model && check->thresholds_count)
        return tare_fail(err, TARE_E_USAGE, 0,
                         "thresholds are about a run: 'tare bench %s --threshold ...' measures and judges",
                         operand);
    if (!is_model && tare_result_load(operand, &check->run, err))
        return -1;
    if (!is_model && !check->run.run)
        return tare_fail(err, TARE_E_USAGE, 0, "'%s' is a profile: what is checked is a run of tare bench",
                         operand);
    if (check->thresholds_count &&
        (tare_threshold_judge(check->thresholds, check->thresholds_count, check->run.run, err) ||
         tare_threshold_verdicts(check->run.run, &check->verdicts, err)))
        return -1;
    if ((values->baseline || values->ref) && against_baseline(check, err))
        return -1;
    tare_verdicts_label(&check->verdicts);
    tare_verdicts_sort(&check->verdicts);
    if (tare_gate_tell(check->call, &values->gate, &check->verdicts, err) || tell_github(check, err))
        return -1;
    return status_of(check);
}

static int check_run(const struct tare_cmd_call *call, struct tare_error *err)
{
    struct check check = {.call = call, .values = call->values};
    check.verdicts = (struct tare_verdicts){.arena = call->arena, .comparable = true, .threshold = 0.05};
    int rc = check_all(&check, err);
    tare_result_finish(&check.run);
    if (check.folder)
        tare_recording_remove(check.folder);
    return check.caught ? 128 + check.caught : rc;
}

const struct tare_cmd tare_cmd_check = {
    .name = "check",
    .args = "RUN",
    .summary = "Fail when a run crosses a threshold or got slower",
    .about =
        "For CI. Best is a baseline that is run here, in turn with what is checked, because machines differ "
        "from "
        "one day to the next:\n\n"
        "  tare check model.onnx --baseline-ref origin/main --dim seq=16\n"
        "  tare check model.onnx --baseline old.onnx\n\n"
        "A saved run can be held against thresholds, and against another saved run of the same machine:\n\n"
        "  tare check run.json --threshold latency:100ms throughput@batch=32:500texts/s\n"
        "  tare check run.json --baseline baseline.json\n\n"
        "Thresholds: METRIC:LIMIT, with latency (p50), latency.p99, latency.mean, latency.cold, "
        "latency.item, load, "
        "throughput, memory (peak), memory.growth, size, params, macs, flops, nodes and accuracy.NAME; "
        "@batch=32,seq=16 says which configuration is meant, otherwise all of them. <= and >= need quotes in "
        "a "
        "shell. They are judged on the bounds of a figure: what lies on both sides is inconclusive.\n\n"
        "Ends with 0 when all is well, 1 when a threshold is crossed or something got slower, 2 when it "
        "cannot be "
        "checked. On GitHub (GITHUB_ACTIONS) it also writes annotations and the job's summary.",
    .options = options,
    .values_size = sizeof(struct values),
    .defaults = &defaults,
    .min_operands = 1,
    .max_operands = 1,
    .run = check_run,
};
