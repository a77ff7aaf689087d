/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys at the top of the file that scripts index, as plain numbers. They repeat what the configurations,
 * findings and advice say, and are made anew each time a run is written: nothing is ever read from them.
 */
#include "core/run_fields.h"

static const double mb = 1e6, ms = 1e6;

/* Contract keys are always there; null says that the number is not known. */
static void put_real(struct tare_json *json, const char *key, struct tare_run_real real, double unit)
{
    tare_json_key(json, key);
    if (real.known)
        tare_json_real(json, real.value / unit);
    else
        tare_json_null(json);
}

/* key, key_lower and key_upper; the bounds only where there are any. */
static void put_estimate(struct tare_json *json, const char *key, const struct tare_run_estimate *estimate,
                         double unit)
{
    char bound[128];
    put_real(json, key, estimate->value, unit);
    if (estimate->lower.known) {
        snprintf(bound, sizeof bound, "%s_lower", key);
        put_real(json, bound, estimate->lower, unit);
    }
    if (estimate->upper.known) {
        snprintf(bound, sizeof bound, "%s_upper", key);
        put_real(json, bound, estimate->upper, unit);
    }
}

void tare_run_derive_system(const struct tare_run *run, struct tare_json *json)
{
    tare_json_object(json);
    tare_json_put_text(json, "device", run->engine.device);
    tare_json_put_text(json, "model", run->model.name ? run->model.name : run->model.path);
    tare_json_end(json);
}

static void write_keys(const struct tare_run_keys *keys, struct tare_json *json)
{
    for (size_t i = 0; i < keys->dims_count; i++) {
        if (i == 0) {
            tare_json_key(json, "dims");
            tare_json_object(json);
        }
        tare_json_put_int(json, keys->dims[i].name, keys->dims[i].value);
    }
    if (keys->dims_count)
        tare_json_end(json);
    if (keys->threads.known)
        tare_json_put_int(json, "threads", keys->threads.value);
    if (keys->precision)
        tare_json_put_text(json, "precision", keys->precision);
}

static void write_profile(const struct tare_run *run, size_t index, struct tare_json *json)
{
    const struct tare_run_config *config = &run->configs[index];
    struct tare_run_estimate item = tare_run_config_item_ns(config);
    char key[128], one[64];
    tare_json_object(json);
    tare_json_key(json, "batch_size");
    if (config->keys.batch.known)
        tare_json_int(json, config->keys.batch.value);
    else
        tare_json_null(json);
    snprintf(key, sizeof key, "throughput_%s_per_sec", run->unit);
    put_estimate(json, key, &config->throughput_per_sec, 1);
    tare_run_unit_singular(run->unit, one, sizeof one);
    snprintf(key, sizeof key, "latency_ms_per_%s", one);
    put_estimate(json, key, &item, ms);
    put_estimate(json, "memory_delta_mb", &config->memory.growth_bytes, mb);
    tare_json_key(json, "accuracy_metrics");
    tare_json_object(json);
    for (size_t i = 0; i < config->accuracy_count; i++)
        put_real(json, config->accuracy[i].name, config->accuracy[i].value, 1);
    tare_json_end(json);
    write_keys(&config->keys, json);
    tare_json_put_bool(json, "stable", config->status != TARE_RUN_UNSTABLE);
    tare_json_put_uint(json, "configuration", index);
    tare_json_end(json);
}

void tare_run_derive_profiles(const struct tare_run *run, struct tare_json *json)
{
    tare_json_array(json);
    for (size_t i = 0; i < run->configs_count; i++)
        if (run->configs[i].status != TARE_RUN_NOT_MEASURED)
            write_profile(run, i, json);
    tare_json_end(json);
}

void tare_run_derive_bottlenecks(const struct tare_run *run, struct tare_json *json)
{
    tare_json_array(json);
    for (size_t i = 0; i < run->findings_count; i++)
        if (run->findings[i].kind && strcmp(run->findings[i].kind, "bottleneck") == 0)
            tare_json_text(json, run->findings[i].text);
    tare_json_end(json);
}

void tare_run_derive_recommendations(const struct tare_run *run, struct tare_json *json)
{
    tare_json_array(json);
    for (size_t i = 0; i < run->advice_count; i++)
        if (!run->advice[i].helped.known || run->advice[i].helped.value)
            tare_json_text(json, run->advice[i].text);
    tare_json_end(json);
}
