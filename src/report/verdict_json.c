/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts for programs. */
#include <math.h>

#include "base/json.h"
#include "report/verdict_report.h"

static void put_estimate(struct tare_json *json, const char *key, const struct tare_run_estimate *estimate)
{
    if (!estimate->value.known)
        return;
    tare_json_key(json, key);
    tare_json_record(json);
    tare_json_put_real(json, "value", estimate->value.value);
    if (estimate->lower.known)
        tare_json_put_real(json, "lower", estimate->lower.value);
    if (estimate->upper.known)
        tare_json_put_real(json, "upper", estimate->upper.value);
    tare_json_end(json);
}

static void put_known(struct tare_json *json, const char *key, double value)
{
    if (isfinite(value))
        tare_json_put_real(json, key, value);
}

static void put_costs(struct tare_json *json, const char *key, const struct tare_verdict_process *runs,
                      size_t count)
{
    if (!runs)
        return;
    tare_json_key(json, key);
    tare_json_row(json);
    for (size_t i = 0; i < count; i++)
        tare_json_real(json, runs[i].cost);
    tare_json_end(json);
}

static void put_ratios(struct tare_json *json, const double *ratios, size_t count)
{
    if (count == 0)
        return;
    tare_json_key(json, "block_ratios");
    tare_json_row(json);
    for (size_t i = 0; i < count; i++)
        tare_json_real(json, ratios[i]);
    tare_json_end(json);
}

/* Count, mean and standard deviation: all that a test on pooled calls would need. */
static void put_calls(struct tare_json *json, const char *key, const struct tare_verdict_process *runs,
                      size_t count)
{
    if (!runs || count == 0 || !(runs[0].calls > 0))
        return;
    tare_json_key(json, key);
    tare_json_array(json);
    for (size_t i = 0; i < count; i++) {
        tare_json_record(json);
        tare_json_put_real(json, "count", runs[i].calls);
        tare_json_put_real(json, "mean", runs[i].mean);
        put_known(json, "sd", sqrt(runs[i].variance));
        tare_json_end(json);
    }
    tare_json_end(json);
}

static void put_row(struct tare_json *json, const struct tare_verdict *row)
{
    tare_json_object(json);
    tare_json_put_text(json, "verdict", tare_verdict_word(row->kind));
    tare_json_put_text(json, "metric", row->metric);
    tare_json_put_text(json, "configuration", row->configuration);
    tare_json_put_text(json, "unit", row->unit);
    if (row->target) {
        tare_json_put_text(json, "target", row->target);
        put_estimate(json, "limit", &row->a);
        put_estimate(json, "achieved", &row->b);
    } else {
        put_estimate(json, "base", &row->a);
        put_estimate(json, "new", &row->b);
        tare_json_put_bool(json, "exact", row->exact);
        tare_json_put_uint(json, "processes_base", row->processes_a);
        tare_json_put_uint(json, "processes_new", row->processes_b);
        put_costs(json, "costs_base", row->runs_a, row->processes_a);
        put_costs(json, "costs_new", row->runs_b, row->processes_b);
        put_calls(json, "calls_base", row->runs_a, row->processes_a);
        put_calls(json, "calls_new", row->runs_b, row->processes_b);
        put_ratios(json, row->block_ratios, row->blocks);
    }
    put_known(json, "cost_ratio", row->ratio);
    put_known(json, "cost_ratio_lower", row->low);
    put_known(json, "cost_ratio_upper", row->high);
    put_known(json, "p", row->p);
    put_known(json, "detectable", row->detectable);
    if (row->note)
        tare_json_put_text(json, "note", row->note);
    tare_json_end(json);
}

static void json_write(const struct tare_verdicts *verdicts, struct tare_out *out)
{
    struct tare_json json;
    tare_json_init(&json, out, 2);
    tare_json_object(&json);
    tare_json_put_text(&json, "schema", "tare.verdicts/1");
    tare_json_put_text(&json, "verdict", tare_verdict_word(tare_verdicts_worst(verdicts)));
    tare_json_put_text(&json, "base", verdicts->a);
    tare_json_put_text(&json, "new", verdicts->b);
    tare_json_put_real(&json, "threshold", verdicts->threshold);
    tare_json_put_bool(&json, "comparable", verdicts->comparable);
    tare_json_key(&json, "rows");
    tare_json_array(&json);
    for (size_t i = 0; i < verdicts->count; i++)
        put_row(&json, &verdicts->rows[i]);
    tare_json_end(&json);
    tare_json_key(&json, "notes");
    tare_json_array(&json);
    for (size_t i = 0; i < verdicts->notes_count; i++)
        tare_json_text(&json, verdicts->notes[i]);
    tare_json_end(&json);
    tare_json_end(&json);
    tare_out_text(out, "\n");
}

const struct tare_verdict_writer tare_verdict_writer_json = {
    .name = "json", .extensions = ".json", .summary = "for programs", .write = json_write};
