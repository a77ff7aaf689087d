/* SPDX-License-Identifier: Apache-2.0 */
/* From what was measured to what to make of it. */
#include "flow/advise.h"

#include <string.h>

#include "base/buf.h"

double tare_advise_rate(const struct tare_run_config *config)
{
    if (config->status == TARE_RUN_NOT_MEASURED || !config->throughput_per_sec.value.known)
        return 0;
    return config->throughput_per_sec.value.value;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_dims(const struct tare_run_keys *a, const struct tare_run_keys *b)
{
    if (a->dims_count != b->dims_count)
        return false;
    for (size_t i = 0; i < a->dims_count; i++)
        if (!same_text(a->dims[i].name, b->dims[i].name) || a->dims[i].value != b->dims[i].value)
            return false;
    return true;
}

bool tare_advise_family(const struct tare_run_config *a, const struct tare_run_config *b)
{
    const struct tare_run_keys *x = &a->keys, *y = &b->keys;
    return same_dims(x, y) && x->threads.value == y->threads.value && same_text(x->precision, y->precision) &&
           same_text(x->provider, y->provider) && same_text(x->graph_level, y->graph_level) &&
           same_text(x->model, y->model);
}

size_t tare_advise_best(const struct tare_run *run, size_t like, double share)
{
    size_t best = TARE_ADVISE_NONE;
    double most = 0;
    for (size_t i = 0; i < run->configs_count; i++)
        if (tare_advise_family(&run->configs[i], &run->configs[like]) &&
            tare_advise_rate(&run->configs[i]) > most)
            most = tare_advise_rate(&run->configs[i]);
    for (size_t i = 0; i < run->configs_count; i++)
        if (most > 0 && tare_advise_family(&run->configs[i], &run->configs[like]) &&
            tare_advise_rate(&run->configs[i]) > 0 && tare_advise_rate(&run->configs[i]) >= share * most &&
            (best == TARE_ADVISE_NONE ||
             run->configs[i].keys.batch.value < run->configs[best].keys.batch.value))
            best = i;
    return best;
}

size_t tare_advise_smallest(const struct tare_run *run, size_t like)
{
    return tare_advise_best(run, like, 0);
}

size_t tare_advise_main(const struct tare_run *run)
{
    size_t best = TARE_ADVISE_NONE;
    for (size_t i = 0; i < run->configs_count; i++) {
        const struct tare_run_config *config = &run->configs[i];
        if (config->keys.model || !same_dims(&config->keys, &run->configs[0].keys))
            continue;
        if (tare_advise_rate(config) > 0 &&
            (best == TARE_ADVISE_NONE || tare_advise_rate(config) > tare_advise_rate(&run->configs[best])))
            best = i;
    }
    return best;
}

/* Does this key differ anywhere in the run? */
static bool varies(const struct tare_run *run,
                   bool (*same)(const struct tare_run_keys *a, const struct tare_run_keys *b))
{
    for (size_t i = 1; i < run->configs_count; i++)
        if (!same(&run->configs[0].keys, &run->configs[i].keys))
            return true;
    return false;
}

static bool same_threads(const struct tare_run_keys *a, const struct tare_run_keys *b)
{
    return a->threads.value == b->threads.value;
}

static bool same_precision(const struct tare_run_keys *a, const struct tare_run_keys *b)
{
    return same_text(a->precision, b->precision);
}

static bool same_level(const struct tare_run_keys *a, const struct tare_run_keys *b)
{
    return same_text(a->graph_level, b->graph_level);
}

static bool same_provider(const struct tare_run_keys *a, const struct tare_run_keys *b)
{
    return same_text(a->provider, b->provider);
}

static void add_place(const struct tare_run *run, const struct tare_run_keys *keys, struct tare_buf *buf)
{
    if (varies(run, same_dims))
        for (size_t i = 0; i < keys->dims_count; i++)
            tare_buf_printf(buf, " %s=%lld", keys->dims[i].name, (long long)keys->dims[i].value);
    if (varies(run, same_threads))
        tare_buf_printf(buf, " threads=%lld", (long long)keys->threads.value);
    if (keys->precision && varies(run, same_precision))
        tare_buf_printf(buf, " %s", keys->precision);
    if (keys->graph_level && varies(run, same_level))
        tare_buf_printf(buf, " graph=%s", keys->graph_level);
    if (keys->provider && varies(run, same_provider))
        tare_buf_printf(buf, " %s", keys->provider);
}

const char *tare_advise_place(struct tare_run *run, size_t config)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 4096);
    add_place(run, &run->configs[config].keys, &buf);
    const char *text = tare_arena_copy(&run->arena, buf.length ? buf.data + 1 : "");
    tare_buf_finish(&buf);
    return text;
}

const char *tare_advise_name(struct tare_run *run, size_t config)
{
    const char *place = tare_advise_place(run, config);
    return tare_arena_printf(&run->arena, "batch=%lld%s%s", (long long)run->configs[config].keys.batch.value,
                             *place ? " " : "", place);
}

const char *tare_advise_amount(struct tare_run *run, const struct tare_run_config *config)
{
    const struct tare_run_estimate *rate = &config->throughput_per_sec;
    if (rate->lower.known && rate->upper.known)
        return tare_arena_printf(&run->arena, "%.4g [%.4g, %.4g] %s/s", rate->value.value, rate->lower.value,
                                 rate->upper.value, run->unit);
    return tare_arena_printf(&run->arena, "%.4g %s/s", rate->value.value, run->unit);
}

void tare_advise_find(struct tare_run *run, const char *kind, size_t config, double value, const char *unit,
                      const char *text)
{
    struct tare_run_finding *finding =
        tare_run_append(run, &run->findings, &run->findings_count, sizeof *finding);
    if (!finding)
        return;
    finding->kind = kind;
    finding->text = text;
    if (config != TARE_ADVISE_NONE)
        finding->configuration = tare_run_int((int64_t)config);
    finding->value = tare_run_real(value);
    finding->unit = unit;
}

int tare_bench_advise(struct tare_bench *bench, struct tare_error *err)
{
    tare_bench_say(bench, TARE_BENCH_ADVICE, "looking at the results");
    tare_advise_sizes(bench->run);
    tare_advise_answers(bench->run);
    tare_advise_limits(bench->run);
    if (tare_arena_check(&bench->run->arena, err))
        return -1;
    return tare_advise_try(bench, err);
}
