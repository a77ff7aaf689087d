/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recommendations. Each is a change of one thing, and is run against what it would replace, interleaved in
 * fresh processes, before it is spoken of; one that could not be tried for want of time is named as such and
 * not recommended. The batch comes first, because the others are tried at the best one.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "bench/drift.h"
#include "flow/advise.h"
#include "flow/bench_model.h"

/* When it helps: faster beyond doubt, and by so much. */
#define GAIN_LEAST 1.02
enum { CLIMB_MOST = 3 };

/* What a bout of a duel takes beside loading and its calls: two processes that start and settle. */
#define BOUT_NS          INT64_C(750000000)
#define CONVERT_LEAST_NS INT64_C(25000000000)

struct trying {
    struct tare_bench *bench;
    size_t main;                  /* the configuration that all starts from */
    struct tare_worker_spec spec; /* what is recommended so far */
    double items;                 /* of one call of it */
    int left;                     /* candidates still to come, roughly: the time is shared out among them */
    struct tare_buf untried;
    bool apart; /* something was tried with processes one after the other */
};

/* One change. */
struct change {
    const char *kind;
    const char *what; /* in words, for the advice and for what was not tried */
    const char *cost; /* more words, for an advice that helped; NULL: none */
    struct tare_worker_spec spec;
    double items;
    const struct tare_worker_spec *from; /* NULL: what is recommended so far */
    double from_items;
    size_t config, instead_of; /* where they are in the run, or NONE */
    const char *accuracy;
    bool known; /* duel holds how it went already */
    struct tare_bench_duel duel;
};

/* The configuration of the run that a spec is, or NONE. */
static size_t config_of(const struct tare_bench *bench, const struct tare_worker_spec *spec)
{
    for (size_t i = 0; i < bench->specs_count; i++) {
        const struct tare_worker_spec *own = &bench->specs[i];
        bool same =
            own->batch == spec->batch && strcmp(own->model_path, spec->model_path) == 0 &&
            own->options.threads == spec->options.threads && own->options.level == spec->options.level &&
            own->options.no_spinning == spec->options.no_spinning && own->dims_count == spec->dims_count &&
            strcmp(own->options.provider ? own->options.provider : "",
                   spec->options.provider ? spec->options.provider : "") == 0;
        for (size_t k = 0; same && k < spec->dims_count; k++)
            same = own->dims[k].value == spec->dims[k].value &&
                   strcmp(own->dims[k].name, spec->dims[k].name) == 0;
        if (same && tare_advise_rate(&bench->run->configs[i]) > 0)
            return i;
    }
    return TARE_ADVISE_NONE;
}

/* What a duel takes at least, judging by the configuration that it starts from. */
static int64_t least_ns(const struct trying *t, const struct change *change)
{
    const struct tare_run_config *config = &t->bench->run->configs[t->main];
    double item = config->latency.mean_ns.value.value / fmax(1, config->items_per_call.value);
    double load = config->load_ns.value.known ? config->load_ns.value.value : 0;
    double calls = item * fmax(change->items, change->from_items);
    return TARE_DUEL_BOUTS_LEAST * ((int64_t)(2 * load + 24 * calls) + BOUT_NS);
}

static void leave_untried(struct trying *t, const struct change *change)
{
    tare_buf_printf(&t->untried, "%s%s", t->untried.length ? "; " : "", change->what);
}

static struct tare_run_estimate memory_of(const struct trying *t, const struct change *change)
{
    struct tare_run_estimate more = {0};
    if (change->config == TARE_ADVISE_NONE || change->instead_of == TARE_ADVISE_NONE)
        return more;
    const struct tare_run_memory *a = &t->bench->run->configs[change->instead_of].memory;
    const struct tare_run_memory *b = &t->bench->run->configs[change->config].memory;
    if (a->peak_bytes.known && b->peak_bytes.known)
        more.value = tare_run_real((double)(b->peak_bytes.value - a->peak_bytes.value));
    return more;
}

static int add_advice(struct trying *t, const struct change *change, bool helped, struct tare_error *err)
{
    struct tare_run *run = t->bench->run;
    const struct tare_run_estimate *gain = &change->duel.ratio;
    struct tare_run_advice *advice = tare_run_append(run, &run->advice, &run->advice_count, sizeof *advice);
    if (!advice)
        return tare_fail_memory(err);
    advice->kind = change->kind;
    advice->tried = tare_run_flag(true);
    advice->helped = tare_run_flag(helped);
    advice->gain = *gain;
    advice->memory_bytes = memory_of(t, change);
    advice->accuracy = change->accuracy;
    if (change->config != TARE_ADVISE_NONE)
        advice->configuration = tare_run_int((int64_t)change->config);
    if (change->instead_of != TARE_ADVISE_NONE)
        advice->instead_of = tare_run_int((int64_t)change->instead_of);
    const char *text =
        tare_arena_printf(&run->arena, "%s%s",
                          helped && change->accuracy ? "where the answers may change, " : "", change->what);
    if (helped && change->cost)
        text = tare_arena_printf(&run->arena, "%s; %s", text, change->cost);
    if (helped && advice->memory_bytes.value.known)
        text = tare_arena_printf(&run->arena, "%s; %.3g MB %s at the peak", text,
                                 fabs(advice->memory_bytes.value.value) / 1e6,
                                 advice->memory_bytes.value.value < 0 ? "less" : "more");
    if (change->accuracy)
        text = tare_arena_printf(&run->arena, "%s; %s", text, change->accuracy);
    if (!helped && gain->value.value >= GAIN_LEAST)
        text = tare_arena_printf(&run->arena, "%s; not beyond doubt, more --time may tell", text);
    advice->text = text;
    return 0;
}

static int conclude(struct trying *t, const struct change *change, bool *ret_helped, struct tare_error *err)
{
    const struct tare_run_estimate *gain = &change->duel.ratio;
    bool helped = gain->value.value >= GAIN_LEAST && gain->lower.known && gain->lower.value > 1;
    *ret_helped = helped;
    return add_advice(t, change, helped, err);
}

/* Run it against what it would replace. ret_helped is false when it was not tried. */
static int try(struct trying *t, struct change *change, bool *ret_helped, struct tare_error *err)
{
    struct tare_error why;
    *ret_helped = false;
    if (!change->from) {
        change->from = &t->spec;
        change->from_items = t->items;
    }
    change->config = config_of(t->bench, &change->spec);
    change->instead_of = config_of(t->bench, change->from);
    int64_t left = tare_bench_left_ns(t->bench), share = left / (t->left > 0 ? t->left : 1);
    t->left--;
    if (left < least_ns(t, change)) {
        leave_untried(t, change);
        return 0;
    }
    share = share > least_ns(t, change) ? share : least_ns(t, change);
    tare_bench_say(t->bench, TARE_BENCH_ADVICE, "trying: %s", change->what);
    if (tare_bench_duel(t->bench, change->from, change->from_items, &change->spec, change->items, share,
                        &change->duel, &why)) {
        if (why.code == TARE_E_MEMORY) {
            *err = why;
            return -1;
        }
        if (why.code == TARE_E_LIMIT)
            leave_untried(t, change);
        else
            tare_bench_note(t->bench, "could not be tried: %s: %s", change->what, why.msg);
        return 0;
    }
    change->known = true;
    t->apart = t->apart || change->duel.apart;
    return conclude(t, change, ret_helped, err);
}

static const char *words(struct trying *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static const char *words(struct trying *t, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return tare_arena_copy(&t->bench->arena, text);
}

/* The same spec with another batch. */
static struct change with_batch(const struct trying *t, int64_t batch)
{
    struct change change = {.kind = "batch", .spec = t->spec};
    change.spec.batch = batch;
    change.items = t->items / (double)t->spec.batch * (double)batch;
    return change;
}

/* Batches that nobody measured beside the best one: larger ones while they help, else a smaller one. */
static int climb(struct trying *t, struct tare_error *err)
{
    bool helped = false, any = false;
    int64_t half = tare_bench_left_ns(t->bench) / 2;
    for (int i = 0; i < CLIMB_MOST; i++) {
        struct change change = with_batch(t, t->spec.batch * 2);
        if (config_of(t->bench, &change.spec) != TARE_ADVISE_NONE)
            break;
        /* Half of the time is for the other changes. */
        if (any && tare_bench_left_ns(t->bench) < half)
            break;
        change.what =
            words(t, "batch %lld instead of %lld", (long long)change.spec.batch, (long long)t->spec.batch);
        if (try(t, &change, &helped, err))
            return -1;
        if (!helped)
            break;
        any = true;
        t->spec = change.spec;
        t->items = change.items;
    }
    struct change smaller = with_batch(t, t->spec.batch / 2);
    if (any || smaller.spec.batch < 2 || config_of(t->bench, &smaller.spec) != TARE_ADVISE_NONE)
        return 0;
    smaller.what =
        words(t, "batch %lld instead of %lld", (long long)smaller.spec.batch, (long long)t->spec.batch);
    if (try(t, &smaller, &helped, err))
        return -1;
    if (helped) {
        t->spec = smaller.spec;
        t->items = smaller.items;
    }
    return 0;
}

static double call_ms(const struct tare_run_config *config)
{
    return config->latency.mean_ns.value.value / 1e6;
}

/* The recommended batch against the smallest one, and collecting requests into the balanced one. */
static int try_batch(struct trying *t, struct tare_error *err)
{
    struct tare_run *run = t->bench->run;
    size_t small = tare_advise_smallest(run, t->main);
    size_t balanced = tare_advise_best(run, t->main, TARE_ADVISE_NEAR);
    const struct tare_run_config *from = &run->configs[small];
    struct change change = {.kind = "batch",
                            .spec = t->spec,
                            .items = t->items,
                            .from = &t->bench->specs[small],
                            .from_items = from->items_per_call.value};
    bool helped;
    if (from->keys.batch.value == t->spec.batch)
        return 0;
    change.what =
        words(t, "batch %lld instead of %lld", (long long)t->spec.batch, (long long)from->keys.batch.value);
    if (try(t, &change, &helped, err))
        return -1;
    if (balanced == small || from->keys.batch.value != 1)
        return 0;
    const struct tare_run_config *to = &run->configs[balanced];
    struct change gather = {.kind = "batch_accumulation",
                            .spec = t->bench->specs[balanced],
                            .items = to->items_per_call.value,
                            .from = &t->bench->specs[small],
                            .from_items = from->items_per_call.value};
    if (gather.spec.batch == change.spec.batch && change.known) {
        gather.known = true;
        gather.duel = change.duel;
        gather.config = change.config;
        gather.instead_of = change.instead_of;
    }
    gather.what = words(t, "where requests come one by one, collect %lld of them for one call",
                        (long long)to->keys.batch.value);
    gather.cost =
        words(t, "the call then takes %.3g ms in place of %.3g ms, and the first request waits for the last",
              call_ms(to), call_ms(from));
    return gather.known ? conclude(t, &gather, &helped, err) : try(t, &gather, &helped, err);
}

static int try_threads(struct trying *t, struct tare_error *err)
{
    const struct tare_machine *machine = t->bench->run->machine;
    int cores = machine && machine->cpu_affinity > 0 ? (int)machine->cpu_affinity : 1;
    int now = t->spec.options.threads;
    int tries[2] = {now < cores ? cores : 0, now > 1 ? now / 2 : 0};
    bool helped;
    for (int i = 0; i < 2; i++) {
        struct change change = {.kind = "threads", .spec = t->spec, .items = t->items};
        if (tries[i] == 0)
            continue;
        change.spec.options.threads = tries[i];
        change.what = words(t, "%d thread%s instead of %d", tries[i], tries[i] == 1 ? "" : "s", now);
        if (try(t, &change, &helped, err))
            return -1;
    }
    return 0;
}

static int try_spinning(struct trying *t, struct tare_error *err)
{
    struct change change = {.kind = "spinning", .spec = t->spec, .items = t->items};
    bool helped;
    if (t->spec.options.threads < 2)
        return 0;
    change.spec.options.no_spinning = !change.spec.options.no_spinning;
    change.what = change.spec.options.no_spinning ? "idle threads that sleep instead of spinning"
                                                  : "idle threads that spin instead of sleeping";
    return try(t, &change, &helped, err);
}

static int try_level(struct trying *t, struct tare_error *err)
{
    struct change change = {.kind = "fusion", .spec = t->spec, .items = t->items};
    bool helped;
    change.spec.options.level =
        t->spec.options.level == TARE_GRAPH_ALL ? TARE_GRAPH_EXTENDED : TARE_GRAPH_ALL;
    change.what = words(t, "graph level %s instead of %s", tare_graph_level_name(change.spec.options.level),
                        tare_graph_level_name(t->spec.options.level));
    return try(t, &change, &helped, err);
}

/* A model of lower precision: one of the run's own, or made with the runtime's tools when there is time. */
static int lower_precision(struct trying *t, const char **ret_path, const char **ret_name)
{
    struct tare_bench *bench = t->bench;
    struct tare_error why;
    *ret_path = NULL;
    for (size_t i = 0; i < bench->specs_count; i++)
        if (bench->run->configs[i].keys.model && bench->run->configs[i].keys.precision) {
            *ret_path = bench->specs[i].model_path;
            *ret_name = bench->run->configs[i].keys.precision;
            return 0;
        }
    if (strcmp(t->spec.engine, "onnxruntime") != 0)
        return 0;
    *ret_name = "int8";
    if (tare_bench_left_ns(bench) < CONVERT_LEAST_NS) {
        tare_buf_printf(&t->untried, "%sint8, which would have to be made first",
                        t->untried.length ? "; " : "");
        return 0;
    }
    if (tare_bench_convert(bench, t->spec.model_path, "int8", ret_path, &why)) {
        *ret_path = NULL;
        tare_bench_note(bench, "int8 was not tried: %s", why.msg);
    }
    return 0;
}

static int try_precision(struct trying *t, struct tare_error *err)
{
    struct change change = {.kind = "precision", .spec = t->spec, .items = t->items};
    struct tare_drift drift;
    struct tare_error why;
    const char *name = NULL;
    bool helped;
    if (lower_precision(t, &change.spec.model_path, &name))
        return -1;
    if (!change.spec.model_path)
        return 0;
    change.what =
        words(t, "%s instead of %s", name,
              t->bench->run->configs[t->main].keys.precision ? t->bench->run->configs[t->main].keys.precision
                                                             : "the model as it is");
    struct tare_worker_spec one = change.spec;
    one.batch = 1;
    if (!t->bench->plan->no_answers && tare_bench_left_ns(t->bench) > least_ns(t, &change)) {
        if (tare_bench_drift(t->bench, &one, &drift, &why) == 0)
            change.accuracy = tare_arena_printf(
                &t->bench->run->arena, "its answers differ by up to %.2g from the reference's%s",
                drift.max_abs, isnan(drift.cosine) ? "" : words(t, ", cosine %.4f", drift.cosine));
        else if (why.code != TARE_E_MEMORY)
            change.accuracy = "its answers could not be compared with the reference's";
    }
    return try(t, &change, &helped, err);
}

/* Half of the longest dimension that counts tokens. */
static int try_truncation(struct trying *t, struct tare_error *err)
{
    struct change change = {.kind = "truncation", .spec = t->spec, .items = t->items};
    struct tare_run_dim *dims = tare_arena_array(&t->bench->arena, t->spec.dims_count + 1, sizeof *dims);
    bool helped, any = false;
    if (!dims)
        return tare_fail_memory(err);
    if (strcmp(t->bench->run->unit, "texts") != 0 && strcmp(t->bench->run->unit, "pairs") != 0)
        return 0;
    for (size_t i = 0; i < t->spec.dims_count; i++) {
        dims[i] = t->spec.dims[i];
        if (any || !strstr(dims[i].name, "seq") || dims[i].value < 32)
            continue;
        any = true;
        dims[i].value /= 2;
        change.what = words(t, "inputs cut to %s=%lld instead of %lld", dims[i].name,
                            (long long)dims[i].value, (long long)t->spec.dims[i].value);
    }
    change.spec.dims = dims;
    change.accuracy = "what stands beyond is not seen by the model, so only where texts are that short";
    return any ? try(t, &change, &helped, err) : 0;
}

static bool batch_is_free(const struct tare_run *run, size_t main)
{
    return tare_advise_smallest(run, main) != tare_advise_best(run, main, 1) ||
           run->configs[main].keys.batch.value == 1;
}

int tare_advise_try(struct tare_bench *bench, struct tare_error *err)
{
    struct trying t = {.bench = bench, .main = tare_advise_main(bench->run), .left = 7};
    if (t.main == TARE_ADVISE_NONE)
        return 0;
    t.spec = bench->specs[t.main];
    t.items = bench->run->configs[t.main].items_per_call.value;
    tare_buf_init(&t.untried, 4096);
    bool batched = batch_is_free(bench->run, t.main) && t.spec.batch > 0 && !bench->plan->inputs_path &&
                   bench->plan->given_count == 0 && bench->run->configs_count > 1;
    int rc = (batched && try_batch(&t, err)) || (batched && climb(&t, err)) || try_precision(&t, err) ||
                     try_threads(&t, err) || try_spinning(&t, err) || try_truncation(&t, err) ||
                     try_level(&t, err)
                 ? -1
                 : 0;
    if (rc == 0 && t.untried.length && !tare_bench_stopped(bench))
        tare_bench_note(bench, "not tried, for want of time: %s", t.untried.data);
    if (rc == 0 && t.apart)
        tare_bench_note(bench, "advice was tried with processes that ran one after the other, because memory "
                               "does not hold both or one does not rest after a call");
    tare_buf_finish(&t.untried);
    return rc;
}
