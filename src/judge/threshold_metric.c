/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/threshold_metric.h"

#include <string.h>

static struct tare_run_estimate exactly(struct tare_run_int value)
{
    struct tare_run_estimate estimate = {.value = {false, 0}};
    if (value.known)
        estimate.value = estimate.lower = estimate.upper = tare_run_real((double)value.value);
    return estimate;
}

#define OF_CONFIG(name, member)                                                                              \
    static struct tare_run_estimate name(const struct tare_run *run, const struct tare_run_config *config)   \
    {                                                                                                        \
        (void)run;                                                                                           \
        return config->member;                                                                               \
    }
#define OF_CONFIG_EXACT(name, member)                                                                        \
    static struct tare_run_estimate name(const struct tare_run *run, const struct tare_run_config *config)   \
    {                                                                                                        \
        (void)run;                                                                                           \
        return exactly(config->member);                                                                      \
    }
#define OF_RUN(name, member)                                                                                 \
    static struct tare_run_estimate name(const struct tare_run *run, const struct tare_run_config *config)   \
    {                                                                                                        \
        (void)config;                                                                                        \
        return exactly(run->member);                                                                         \
    }

OF_CONFIG(latency_mean, latency.mean_ns)
OF_CONFIG(latency_p50, latency.p50_ns)
OF_CONFIG(latency_p90, latency.p90_ns)
OF_CONFIG(latency_p95, latency.p95_ns)
OF_CONFIG(latency_p99, latency.p99_ns)
OF_CONFIG(latency_p999, latency.p999_ns)
OF_CONFIG(latency_max, latency.max_ns)
OF_CONFIG(latency_cold, cold_ns)
OF_CONFIG(load, load_ns)
OF_CONFIG(throughput, throughput_per_sec)
OF_CONFIG(memory_growth, memory.growth_bytes)
OF_CONFIG_EXACT(memory_peak, memory.peak_bytes)
OF_CONFIG_EXACT(memory_average, memory.average_bytes)
OF_CONFIG_EXACT(memory_weights, memory.weights_bytes)
OF_CONFIG_EXACT(memory_activations, memory.activations_bytes)
OF_RUN(size, model.size_bytes)
OF_RUN(params, model.parameters)
OF_RUN(macs, model.macs)
OF_RUN(flops, model.flops)
OF_RUN(nodes, model.nodes)

static struct tare_run_estimate latency_item(const struct tare_run *run, const struct tare_run_config *config)
{
    (void)run;
    return tare_run_config_item_ns(config);
}

#define TIME(name, get)                                                                                      \
    {                                                                                                        \
        name, TARE_THRESHOLD_TIME, TARE_RUN_BOUND_UPPER, false, false, true, false, get                      \
    }
#define TIME_MEAN(name, get)                                                                                 \
    {                                                                                                        \
        name, TARE_THRESHOLD_TIME, TARE_RUN_BOUND_UPPER, false, false, true, true, get                       \
    }
#define TIME_ONCE(name, get)                                                                                 \
    {                                                                                                        \
        name, TARE_THRESHOLD_TIME, TARE_RUN_BOUND_UPPER, false, false, false, false, get                     \
    }
#define SIZE(name, get)                                                                                      \
    {                                                                                                        \
        name, TARE_THRESHOLD_SIZE, TARE_RUN_BOUND_UPPER, false, false, false, false, get                     \
    }
#define WHOLE(name, kind, get)                                                                               \
    {                                                                                                        \
        name, kind, TARE_RUN_BOUND_UPPER, true, true, false, false, get                                      \
    }

const struct tare_threshold_metric tare_threshold_metrics[] = {
    TIME("latency", latency_p50),
    TIME_MEAN("latency.mean", latency_mean),
    TIME("latency.p50", latency_p50),
    TIME("latency.p90", latency_p90),
    TIME("latency.p95", latency_p95),
    TIME("latency.p99", latency_p99),
    TIME("latency.p999", latency_p999),
    TIME_ONCE("latency.max", latency_max),
    TIME_MEAN("latency.item", latency_item),
    TIME_ONCE("latency.cold", latency_cold),
    TIME_ONCE("load", load),
    {"throughput", TARE_THRESHOLD_RATE, TARE_RUN_BOUND_LOWER, false, false, true, true, throughput},
    SIZE("memory", memory_peak),
    SIZE("memory.peak", memory_peak),
    SIZE("memory.average", memory_average),
    SIZE("memory.growth", memory_growth),
    SIZE("memory.weights", memory_weights),
    SIZE("memory.activations", memory_activations),
    WHOLE("size", TARE_THRESHOLD_SIZE, size),
    WHOLE("params", TARE_THRESHOLD_COUNT, params),
    WHOLE("macs", TARE_THRESHOLD_COUNT, macs),
    WHOLE("flops", TARE_THRESHOLD_COUNT, flops),
    WHOLE("nodes", TARE_THRESHOLD_COUNT, nodes),
    {"accuracy", TARE_THRESHOLD_SHARE, TARE_RUN_BOUND_NONE, false, true, false, false, NULL},
    {.name = NULL},
};

const struct tare_threshold_metric *tare_threshold_metric_find(const char *name, const char **ret_accuracy)
{
    static const char prefix[] = "accuracy.";
    *ret_accuracy = NULL;
    for (const struct tare_threshold_metric *metric = tare_threshold_metrics; metric->name; metric++) {
        if (!metric->get && strncmp(name, prefix, sizeof prefix - 1) == 0 && name[sizeof prefix - 1]) {
            *ret_accuracy = name + sizeof prefix - 1;
            return metric;
        }
        if (metric->get && strcmp(name, metric->name) == 0)
            return metric;
    }
    return NULL;
}

/* Distances and flips should be small; shares of right answers and likeness should be large. */
enum tare_run_bound tare_threshold_metric_bound(const struct tare_threshold_metric *metric,
                                                const char *accuracy)
{
    static const char *const floors[] = {"top1", "top5", "cosine", "accuracy", "f1"};
    static const char *const ceilings[] = {"max_abs", "max_ulp", "top1_flips"};
    if (metric->get)
        return metric->bound;
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++)
        if (strcmp(accuracy, floors[i]) == 0)
            return TARE_RUN_BOUND_LOWER;
    for (size_t i = 0; i < sizeof ceilings / sizeof *ceilings; i++)
        if (strcmp(accuracy, ceilings[i]) == 0)
            return TARE_RUN_BOUND_UPPER;
    return TARE_RUN_BOUND_NONE;
}

struct tare_run_estimate tare_threshold_metric_get(const struct tare_threshold_metric *metric,
                                                   const char *accuracy, const struct tare_run *run,
                                                   const struct tare_run_config *config)
{
    struct tare_run_estimate none = {.value = {false, 0}};
    if (metric->get)
        return metric->get(run, config);
    for (size_t i = 0; i < config->accuracy_count; i++) {
        const struct tare_run_accuracy *row = &config->accuracy[i];
        if (row->name && strcmp(row->name, accuracy) == 0) {
            none.value = row->value;
            none.lower = row->lower.known ? row->lower : row->value;
            none.upper = row->upper.known ? row->upper : row->value;
            return none;
        }
    }
    return none;
}
