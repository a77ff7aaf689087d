/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the raw samples of a configuration. */
#include "core/run.h"
#include "core/stats.h"

static const double usual_level = 0.95;

/* All samples of all processes, per call, and where each came from. */
static int gather(const struct tare_run_process *samples, size_t count, double calls,
                  struct tare_arena *arena, struct tare_series *ret_series, struct tare_error *err)
{
    size_t total = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        total += samples[i].ns_count;
    double *values = tare_arena_array(arena, total, sizeof *values);
    uint32_t *process = tare_arena_array(arena, total, sizeof *process);
    if (!values || !process)
        return tare_arena_check(arena, err);
    for (size_t i = 0; i < count; i++) {
        for (size_t s = 0; s < samples[i].ns_count; s++, at++) {
            values[at] = (double)samples[i].ns[s] / calls;
            process[at] = (uint32_t)i;
        }
    }
    *ret_series = (struct tare_series){.values = values, .process = process, .count = total};
    return 0;
}

static struct tare_run_estimate from_percentile(const struct tare_percentile *percentile)
{
    struct tare_run_estimate estimate = {
        .value = tare_run_real(percentile->value),
        .effective = tare_run_real(percentile->effective),
        .supported = tare_run_flag(percentile->supported),
    };
    if (percentile->has_low)
        estimate.lower = tare_run_real(percentile->low);
    if (percentile->has_high)
        estimate.upper = tare_run_real(percentile->high);
    if (!percentile->supported)
        estimate.more_samples =
            tare_run_int(percentile->more < INT64_MAX ? (int64_t)percentile->more : INT64_MAX);
    return estimate;
}

static int percentiles(const struct tare_series *series, double level, struct tare_arena *arena,
                       struct tare_run_latency *latency, struct tare_error *err)
{
    static const double percents[] = {50, 90, 95, 99, 99.9};
    enum { COUNT = sizeof percents / sizeof percents[0] };
    struct tare_percentile found[COUNT] = {{.percent = 0}};
    struct tare_run_estimate *const places[COUNT] = {&latency->p50_ns, &latency->p90_ns, &latency->p95_ns,
                                                     &latency->p99_ns, &latency->p999_ns};
    if (level == usual_level && tare_stats_percentiles(series, percents, COUNT, arena, found, err))
        return -1;
    for (size_t i = 0; i < COUNT && level != usual_level; i++)
        if (tare_stats_percentile_at(series, percents[i], level, arena, &found[i], err))
            return -1;
    for (size_t i = 0; i < COUNT; i++)
        *places[i] = from_percentile(&found[i]);
    /* Where several processes were heard, they are the observations of the median. */
    struct tare_interval median;
    if (tare_stats_median_bounds(series, level, arena, &median, err))
        return -1;
    if (isfinite(median.low) && isfinite(median.high)) {
        latency->p50_ns = (struct tare_run_estimate){
            .value = latency->p50_ns.value,
            .lower = tare_run_real(fmax(median.low, 0)),
            .upper = tare_run_real(median.high),
            .effective = tare_run_real(median.effective),
            .supported = tare_run_flag(true),
        };
    }
    return 0;
}

static int derive_latency(const struct tare_run_process *samples, size_t count, int64_t calls, double level,
                          struct tare_arena *arena, struct tare_run_latency *latency, struct tare_error *err)
{
    struct tare_series series = {.count = 0};
    struct tare_run_extra *extra = latency->extra;
    if (gather(samples, count, (double)calls, arena, &series, err))
        return -1;
    *latency = (struct tare_run_latency){.extra = extra};
    if (series.count == 0)
        return 0;
    latency->count = tare_run_int((int64_t)series.count);
    latency->confidence = tare_run_real(usual_level);
    latency->mean_ns.value = tare_run_real(tare_stats_mean(series.values, series.count));
    if (series.count > 1) {
        struct tare_interval mean;
        if (tare_stats_mean_bounds(&series, level, arena, &mean, err))
            return -1;
        latency->mean_ns = (struct tare_run_estimate){
            .value = tare_run_real(mean.estimate),
            .lower = tare_run_real(mean.low > 0 ? mean.low : 0), /* no call takes less than no time */
            .upper = tare_run_real(mean.high),
            .effective = tare_run_real(mean.effective),
        };
        latency->effective_count = tare_run_real(mean.effective);
        latency->stddev_ns = tare_run_real(sqrt(tare_stats_variance(series.values, series.count)));
    }
    /* The mean of a block hides its slowest call: only the mean is left to be told. */
    if (calls > 1)
        return 0;
    latency->method = "nearest-rank";
    double least = series.values[0], most = series.values[0];
    for (size_t i = 1; i < series.count; i++) {
        least = fmin(least, series.values[i]);
        most = fmax(most, series.values[i]);
    }
    latency->min_ns = tare_run_real(least);
    latency->max_ns.value = tare_run_real(most);
    return percentiles(&series, level, arena, latency, err);
}

/* The median of what each process said once. */
static int derive_once(const struct tare_run_config *config, size_t offset, struct tare_arena *arena,
                       struct tare_run_estimate *estimate, struct tare_error *err)
{
    const double *sorted;
    size_t count = 0;
    double *values = tare_arena_array(arena, config->samples_count, sizeof *values);
    if (!values)
        return tare_arena_check(arena, err);
    for (size_t i = 0; i < config->samples_count; i++) {
        struct tare_run_int number;
        memcpy(&number, (const char *)&config->samples[i] + offset, sizeof number);
        if (number.known)
            values[count++] = (double)number.value;
    }
    if (count == 0)
        return 0;
    if (tare_stats_sorted(values, count, arena, &sorted, err))
        return -1;
    estimate->value = tare_run_real(tare_stats_median(sorted, count));
    return 0;
}

static void derive_throughput(struct tare_run_config *config)
{
    struct tare_run_estimate item = tare_run_config_item_ns(config);
    struct tare_run_estimate *rate = &config->throughput_per_sec;
    if (!item.value.known)
        return;
    /* A time of zero has no rate: tare_run_real leaves it unknown. */
    *rate = (struct tare_run_estimate){.extra = rate->extra, .effective = item.effective};
    rate->value = tare_run_real(1e9 / item.value.value);
    if (item.upper.known)
        rate->lower = tare_run_real(1e9 / item.upper.value);
    if (item.lower.known)
        rate->upper = tare_run_real(1e9 / item.lower.value);
}

int tare_run_config_derive_at(struct tare_run_config *config, double level, struct tare_error *err)
{
    struct tare_arena scratch;
    int64_t calls = config->calls_per_sample.known ? config->calls_per_sample.value : 1;
    int result = -1;
    if (calls < 1)
        return tare_fail(err, TARE_E_USAGE, 0, "a sample of %lld calls cannot be", (long long)calls);
    tare_arena_init(&scratch, 0);
    if (derive_latency(config->samples, config->samples_count, calls, level, &scratch, &config->latency,
                       err) ||
        derive_once(config, offsetof(struct tare_run_process, cold_ns), &scratch, &config->cold_ns, err) ||
        derive_once(config, offsetof(struct tare_run_process, load_ns), &scratch, &config->load_ns, err))
        goto out;
    for (size_t i = 0; i < config->stages_count; i++) {
        struct tare_run_stage *stage = &config->stages[i];
        if (derive_latency(stage->samples, stage->samples_count, calls, level, &scratch, &stage->latency,
                           err))
            goto out;
        if (stage->latency.mean_ns.value.known && config->latency.mean_ns.value.known)
            stage->share =
                tare_run_real(stage->latency.mean_ns.value.value / config->latency.mean_ns.value.value);
    }
    derive_throughput(config);
    result = 0;
out:
    tare_arena_finish(&scratch);
    return result;
}

int tare_run_config_derive(struct tare_run_config *config, struct tare_error *err)
{
    return tare_run_config_derive_at(config, usual_level, err);
}
