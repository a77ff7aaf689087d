/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the answers stay the same? Some samples of every configuration's batch are run alone through the same
 * session (does the batch change the answer?) and through the reference (does the configuration?). The
 * reference is the main model in a batch of one, or --reference. Metrics of the first kind are called
 * batch_max_abs, batch_cosine...; those of the second max_abs, cosine...
 */
#include "flow/answers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* Samples of a batch that are run alone: its first, its last, and some between. */
enum { SAMPLES = 4 };

/* Rounding in another order is no change: largest difference, relative to the largest value. fp32 keeps seven
 * digits, and a sum of a thousand products loses two or three of them; the others keep three or fewer. */
#define SAME_FP32  1e-4
#define SAME_OTHER 1e-2

/* One configuration being compared. */
struct comparing {
    struct tare_bench *bench;
    struct tare_asked *own, *reference;
    const struct tare_worker_spec *spec, *reference_spec;
    const char *reference_name;
    size_t config;
    struct tare_arena arena;
    struct tare_answer one, many; /* the same inputs for one sample, and for the batch */
    int *axes;                    /* of the inputs: which is the batch */
    struct tare_drift batch, drift;
    int64_t samples; /* compared so far */
    bool same_session;
};

static const char *name_of(struct comparing *c)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 4096);
    tare_run_config_name(&c->bench->run->configs[c->config], &buf);
    const char *name = tare_arena_copy(&c->arena, buf.data);
    tare_buf_finish(&buf);
    return name;
}

/* One sample's part of an output. The whole of it when there is only one sample. */
static int part_of(struct comparing *c, size_t output, int64_t sample, struct tare_tensor *ret_part,
                   struct tare_error *err)
{
    const struct tare_tensor *many = &c->many.outputs[output];
    const struct tare_tensor *one = tare_answer_like(&c->one, many, output);
    if (c->spec->batch <= 1) {
        *ret_part = *many;
        return 0;
    }
    int axis = one ? tare_drift_batch_axis(one, many, c->spec->batch) : -1;
    if (axis < 0)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "output '%.60s' has no dimension that is the batch, so its samples cannot be told "
                         "apart",
                         many->name ? many->name : "?");
    return tare_drift_take(many, (size_t)axis, sample, 1, &c->arena, ret_part, err);
}

/* Add what one sample's outputs say to a drift. */
static int add_outputs(struct comparing *c, const struct tare_answer *reference, int64_t sample,
                       struct tare_drift *drift, struct tare_error *err)
{
    for (size_t i = 0; i < c->many.outputs_count; i++) {
        struct tare_tensor part;
        const struct tare_tensor *other = tare_answer_like(reference, &c->many.outputs[i], i);
        if (!other)
            return tare_fail(err, TARE_E_INPUT, 0, "the reference has no output '%.80s'",
                             c->many.outputs[i].name ? c->many.outputs[i].name : "?");
        if (part_of(c, i, sample, &part, err) || tare_drift_add(drift, other, &part, 0, err))
            return -1;
    }
    return 0;
}

static int compare_sample(struct comparing *c, int64_t sample, struct tare_error *err)
{
    struct tare_answer alone, told;
    if (c->spec->batch > 1) {
        if (tare_asked_some(c->own, c->many.inputs, c->axes, c->many.inputs_count, sample, 1, &c->arena,
                            &alone, err) ||
            add_outputs(c, &alone, sample, &c->batch, err))
            return -1;
    } else {
        alone = c->many;
    }
    /* Where the session is the reference's own, it has answered already. */
    if (c->same_session)
        told = alone;
    else if (tare_asked_some(c->reference, c->many.inputs, c->axes, c->many.inputs_count, sample, 1,
                             &c->arena, &told, err))
        return -1;
    if (add_outputs(c, &told, sample, &c->drift, err))
        return -1;
    c->samples++;
    return 0;
}

static int prepare(struct comparing *c, struct tare_error *err)
{
    if (tare_asked_load(c->bench, c->own, c->spec, err))
        return -1;
    c->same_session = tare_asked_same(c->spec, c->reference_spec);
    if (!c->same_session && tare_asked_load(c->bench, c->reference, c->reference_spec, err))
        return -1;
    if (tare_asked_batch(c->own, c->spec, c->spec->batch, &c->arena, &c->many, err))
        return -1;
    c->one = c->many;
    if (c->spec->batch > 1 && tare_asked_batch(c->own, c->spec, 1, &c->arena, &c->one, err))
        return -1;
    if (c->one.inputs_count != c->many.inputs_count)
        return tare_fail(err, TARE_E_INPUT, 0, "the number of inputs changes with the batch");
    c->axes = tare_arena_array(&c->arena, c->many.inputs_count + 1, sizeof *c->axes);
    if (!c->axes)
        return tare_fail_memory(err);
    for (size_t i = 0; i < c->many.inputs_count; i++)
        c->axes[i] = c->spec->batch > 1
                         ? tare_drift_batch_axis(&c->one.inputs[i], &c->many.inputs[i], c->spec->batch)
                         : -1;
    return 0;
}

/* Which samples of a batch: spread from the first to the last. */
static int64_t sample_at(int64_t batch, int n)
{
    return n * (batch - 1) / (SAMPLES - 1);
}

static int compare_all(struct comparing *c, struct tare_error *err)
{
    int64_t before = -1;
    for (int n = 0; n < SAMPLES; n++) {
        int64_t sample = c->spec->batch > 1 ? sample_at(c->spec->batch, n) : 0;
        if (sample == before || (n > 0 && tare_bench_left_ns(c->bench) == 0))
            continue;
        if (compare_sample(c, sample, err))
            return -1;
        before = sample;
    }
    return 0;
}

static bool is_fp32(const struct tare_run_config *config)
{
    return !config->keys.precision || strcmp(config->keys.precision, "fp32") == 0;
}

/* The metrics of one drift; prefix is "" or "batch_". */
static int write_drift(struct comparing *c, const struct tare_drift *drift, bool batch, const char *reference,
                       struct tare_error *err)
{
    struct tare_run *run = c->bench->run;
    struct tare_run_config *config = &run->configs[c->config];
    struct tare_run_accuracy *metric =
        tare_answers_add(run, config, batch ? "batch_max_abs" : "max_abs", drift->max_abs, reference);
    if (!metric)
        return tare_fail_memory(err);
    if (batch) {
        double limit = drift->largest * (is_fp32(config) ? SAME_FP32 : SAME_OTHER);
        metric->limit = tare_run_real(limit);
        metric->passed = tare_run_flag(drift->max_abs <= limit && drift->unlike == 0);
    }
    bool full = drift->max_ulp >= 0 && !tare_answers_add(run, config, batch ? "batch_max_ulp" : "max_ulp",
                                                         (double)drift->max_ulp, reference);
    if (!full && !isnan(drift->cosine))
        full = !tare_answers_add(run, config, batch ? "batch_cosine" : "cosine", drift->cosine, reference);
    if (!full && drift->rows > 0)
        full = !tare_answers_add(run, config, batch ? "batch_top1_flips" : "top1_flips", (double)drift->flips,
                                 reference);
    if (!full && drift->unlike > 0)
        full = !tare_answers_add(run, config, batch ? "batch_not_finite" : "not_finite",
                                 (double)drift->unlike, reference);
    return full ? tare_fail_memory(err) : 0;
}

static int compare_config(struct tare_bench *bench, struct tare_asked *own, struct tare_asked *reference,
                          const struct tare_worker_spec *reference_spec, const char *reference_name,
                          size_t config, struct tare_error *err)
{
    struct comparing c = {.bench = bench,
                          .own = own,
                          .reference = reference,
                          .spec = &bench->specs[config],
                          .reference_spec = reference_spec,
                          .reference_name = reference_name,
                          .config = config};
    int rc = 0;
    tare_arena_init(&c.arena, 0);
    tare_drift_init(&c.batch);
    tare_drift_init(&c.drift);
    if (prepare(&c, err) || compare_all(&c, err)) {
        rc = -1;
    } else {
        const char *rows = tare_arena_printf(&bench->run->arena, "%s, %lld sample%s", reference_name,
                                             (long long)c.samples, c.samples == 1 ? "" : "s");
        const char *alone =
            tare_arena_printf(&bench->run->arena, "the same %lld samples alone", (long long)c.samples);
        if (write_drift(&c, &c.drift, false, rows, err) ||
            (c.spec->batch > 1 && write_drift(&c, &c.batch, true, alone, err)))
            rc = -1;
    }
    if (rc && err->code != TARE_E_MEMORY && !tare_bench_stopped(bench))
        tare_bench_note(bench, "answers of %s not compared: %s", name_of(&c), err->msg);
    if (rc) {
        /* A process that failed may be gone. */
        tare_asked_close(own);
        tare_asked_close(reference);
    }
    tare_arena_finish(&c.arena);
    return rc && err->code == TARE_E_MEMORY ? -1 : 0;
}

/* What comparing one configuration will take at least: its batch once, single samples, perhaps loading. */
static int64_t foreseen_ns(const struct tare_run_config *config)
{
    double call = config->latency.mean_ns.value.known ? config->latency.mean_ns.value.value : 0;
    double load = config->load_ns.value.known ? config->load_ns.value.value : 0;
    return (int64_t)(2 * call + load);
}

/* Cheap ones first, so that a large batch does not cost the others their turn. */
static void sort_by_cost(const struct tare_run *run, size_t *order, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i;
             j > 0 && foreseen_ns(&run->configs[order[j]]) < foreseen_ns(&run->configs[order[j - 1]]); j--) {
            size_t swap = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swap;
        }
}

/* The main model as it would be run first; --reference is run like it. */
static struct tare_worker_spec reference_of(struct tare_bench *bench, const char **ret_name)
{
    size_t first = 0;
    for (size_t i = bench->specs_count; i-- > 0;)
        if (!bench->run->configs[i].keys.model)
            first = i;
    struct tare_worker_spec spec = bench->specs[first];
    *ret_name = "the model itself, fp32, batch 1";
    if (bench->run->configs[first].keys.precision)
        *ret_name =
            tare_arena_printf(&bench->run->arena, "%s, batch 1", bench->run->configs[first].keys.precision);
    if (bench->plan->reference_path) {
        spec.model_path = bench->plan->reference_path;
        *ret_name = tare_arena_printf(&bench->run->arena, "'%s', batch 1", bench->plan->reference_path);
    }
    return spec;
}

int tare_bench_drift(struct tare_bench *bench, const struct tare_worker_spec *spec,
                     struct tare_drift *ret_drift, struct tare_error *err)
{
    struct tare_asked own = {0}, reference = {0};
    struct tare_answer answer, told;
    struct tare_drift drift;
    struct tare_arena arena;
    const char *name;
    int rc = -1;
    struct tare_worker_spec reference_spec = reference_of(bench, &name);
    tare_arena_init(&arena, 0);
    tare_drift_init(&drift);
    if (tare_asked_load(bench, &own, spec, err) ||
        tare_asked_batch(&own, spec, spec->batch > 0 ? 1 : 0, &arena, &answer, err) ||
        tare_asked_load(bench, &reference, &reference_spec, err))
        goto out;
    int *axes = tare_arena_array(&arena, answer.inputs_count + 1, sizeof *axes);
    if (!axes) {
        tare_fail_memory(err);
        goto out;
    }
    for (size_t i = 0; i < answer.inputs_count; i++)
        axes[i] = -1;
    if (tare_asked_some(&reference, answer.inputs, axes, answer.inputs_count, 0, 1, &arena, &told, err))
        goto out;
    for (size_t i = 0; i < answer.outputs_count; i++) {
        const struct tare_tensor *other = tare_answer_like(&told, &answer.outputs[i], i);
        if (!other) {
            tare_fail(err, TARE_E_INPUT, 0, "the reference has other outputs");
            goto out;
        }
        if (tare_drift_add(&drift, other, &answer.outputs[i], 0, err))
            goto out;
    }
    *ret_drift = drift;
    rc = 0;
out:
    tare_asked_close(&own);
    tare_asked_close(&reference);
    tare_arena_finish(&arena);
    return rc;
}

int tare_bench_answers(struct tare_bench *bench, struct tare_error *err)
{
    struct tare_run *run = bench->run;
    struct tare_asked own = {0}, reference = {0};
    const char *reference_name;
    size_t left = 0;
    int rc = 0;
    if (bench->specs_count == 0)
        return 0;
    struct tare_worker_spec reference_spec = reference_of(bench, &reference_name);
    size_t *order = tare_arena_array(&bench->arena, bench->specs_count, sizeof *order);
    if (!order)
        return tare_fail_memory(err);
    for (size_t i = 0; i < bench->specs_count; i++)
        order[i] = i;
    sort_by_cost(run, order, bench->specs_count);
    for (size_t i = 0; i < bench->specs_count && rc == 0; i++) {
        struct tare_run_config *config = &run->configs[order[i]];
        if (config->status == TARE_RUN_NOT_MEASURED)
            continue;
        if (tare_bench_left_ns(bench) < foreseen_ns(config)) {
            left++;
            continue;
        }
        tare_bench_say(bench, TARE_BENCH_ANSWERS, "comparing answers, %zu of %zu", i + 1, bench->specs_count);
        rc = compare_config(bench, &own, &reference, &reference_spec, reference_name, order[i], err);
        if (rc == 0 && bench->plan->inputs_path)
            rc = tare_answers_label(bench, &own, order[i], err);
    }
    if (left > 0 && !tare_bench_stopped(bench))
        tare_bench_note(bench,
                        "answers of %zu configuration%s not compared, for want of time: --time gives more",
                        left, left == 1 ? "" : "s");
    tare_asked_close(&own);
    tare_asked_close(&reference);
    return rc;
}
