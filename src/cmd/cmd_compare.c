/* SPDX-License-Identifier: Apache-2.0 */
/* tare compare: which of two is faster, and how sure that is. */
#include <string.h>

#include "cmd/gate_options.h"
#include "core/diff.h"
#include "flow/result.h"
#include "judge/compare_runs.h"

struct values {
    struct tare_gate_values gate;
    bool commands;
};

static const struct values defaults = {.gate = TARE_GATE_DEFAULTS};

static const struct tare_opt options[] = {
    {"command", 'C', TARE_OPT_FLAG, NULL, "A and B are commands for the shell, each in quotes",
     .offset = offsetof(struct values, commands)},
    TARE_GATE_OPTIONS,
    {.name = NULL},
};

static int status_of(const struct tare_verdicts *verdicts)
{
    switch (tare_verdicts_worst(verdicts)) {
    case TARE_VERDICT_REGRESSED:
    case TARE_VERDICT_FAILED:
        return TARE_EXIT_BAD;
    case TARE_VERDICT_INCONCLUSIVE:
        return TARE_EXIT_INCONCLUSIVE;
    default:
        return TARE_EXIT_OK;
    }
}

static int compare_profiles(const struct tare_cmd_call *call, const struct tare_result *a,
                            const struct tare_result *b, struct tare_error *err)
{
    const struct values *values = call->values;
    struct tare_diff_options how = {.column = NULL};
    struct tare_view view = {.rows = 25};
    struct tare_result diff = {0};
    struct tare_format format;
    if (tare_profile_diff(a->profile, b->profile, &how, &diff.profile, err))
        return -1;
    int rc = 0;
    for (size_t i = 0; i < values->gate.outputs.count && rc == 0; i++)
        rc = tare_result_save(&diff, values->gate.outputs.items[i], NULL, &view, err);
    format = tare_result_text(&diff);
    if (rc == 0 && values->gate.json)
        rc = tare_result_format(&diff, "json", NULL, &format, err);
    if (rc == 0)
        tare_result_write(&diff, &format, &view, call->out);
    tare_result_finish(&diff);
    return rc < 0 ? -1 : TARE_EXIT_OK;
}

static int compare_files(const struct tare_cmd_call *call, struct tare_error *err)
{
    const struct values *values = call->values;
    struct tare_result a = {0}, b = {0};
    struct tare_verdicts verdicts;
    struct tare_gate_rule rule;
    int rc = -1;
    if (tare_result_load(call->operands[0], &a, err))
        return -1;
    if (tare_result_load(call->operands[1], &b, err))
        goto out;
    if (!a.run != !b.run) {
        tare_fail(err, TARE_E_USAGE, 0, "'%s' is a %s and '%s' a %s: two of one kind can be compared",
                  call->operands[0], a.run ? "run" : "profile", call->operands[1], b.run ? "run" : "profile");
        goto out;
    }
    if (a.profile) {
        rc = compare_profiles(call, &a, &b, err);
        goto out;
    }
    if (tare_gate_rule_make(&values->gate, &rule, err) || tare_gate_outputs_check(&values->gate, err) ||
        tare_compare_runs(a.run, call->operands[0], b.run, call->operands[1], &rule, call->arena, &verdicts,
                          err) ||
        tare_gate_tell(call, &values->gate, &verdicts, err))
        goto out;
    rc = status_of(&verdicts);
out:
    tare_result_finish(&a);
    tare_result_finish(&b);
    return rc;
}

static int compare_run(const struct tare_cmd_call *call, struct tare_error *err)
{
    const struct values *values = call->values;
    const char *a = call->operands[0], *b = call->operands[1];
    struct tare_verdicts verdicts;
    int caught = 0;
    bool model_a = tare_gate_is_model(&values->gate, a), model_b = tare_gate_is_model(&values->gate, b);
    if (!values->commands && !model_a && !model_b)
        return compare_files(call, err);
    if (!values->commands && model_a != model_b)
        return tare_fail(err, TARE_E_USAGE, 0,
                         "'%s' is a model and '%s' is not: two of one kind can be compared", model_a ? a : b,
                         model_a ? b : a);
    if (tare_gate_outputs_check(&values->gate, err) ||
        tare_gate_fight(&values->gate, a, b, values->commands, call->arena, &verdicts, &caught, err))
        return caught ? 128 + caught : -1;
    if (tare_gate_tell(call, &values->gate, &verdicts, err))
        return -1;
    return caught ? 128 + caught : status_of(&verdicts);
}

const struct tare_cmd tare_cmd_compare = {
    .name = "compare",
    .args = "A B",
    .summary = "Say which of two is faster, and how sure that is",
    .about =
        "A is the base, B what is new. Two models or two commands are run here, again and again in fresh "
        "processes, until it is clear which is faster or the time is over: models take turns of a few calls, "
        "commands run A B B A. Two runs saved by tare bench are "
        "compared as they are, machines first. Two profiles give the functions that account for the "
        "difference; -o diff.svg draws it.\n\n"
        "  tare compare old.onnx new.onnx --dim seq=16\n"
        "  tare compare --command 'python old.py' 'python new.py'\n"
        "  tare compare monday.json tuesday.json\n"
        "  tare compare before.prof after.prof -o diff.svg\n\n"
        "Slower means: beyond --change, with bounds that leave no change out, and a rank test below 1 %. "
        "Ends with 0 when nothing got worse, 1 when something did, 3 when it cannot tell.",
    .options = options,
    .values_size = sizeof(struct values),
    .defaults = &defaults,
    .min_operands = 2,
    .max_operands = 2,
    .run = compare_run,
};
