/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold between the values of a run, whoever made it; types and ranges are the reader's business. */
#include "core/run.h"

#include <inttypes.h>
#include <stdarg.h>

/* Names in one configuration are compared with each other, so their number is bounded. */
enum { NAMES_MOST = 64 };

struct check {
    const char *name;
    struct tare_error *err;
    char path[128]; /* of what is being checked, with a dot behind it unless empty */
};

static int bad(const struct check *check, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int bad(const struct check *check, const char *key, const char *fmt, ...)
{
    char what[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return tare_fail(check->err, TARE_E_INPUT, 0, "'%s': %s%s: %s", check->name, check->path, key, what);
}

/* "2026-01-31T12:00:00Z", with a fraction of a second if it likes. */
static bool is_timestamp(const char *text)
{
    static const char form[] = "0000-00-00T00:00:00";
    static const struct {
        int at, least, most;
    } parts[] = {{5, 1, 12}, {8, 1, 31}, {11, 0, 23}, {14, 0, 59}, {17, 0, 60}};
    for (size_t i = 0; i < sizeof form - 1; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (form[i] == '0' ? !digit : text[i] != form[i])
            return false;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int value = (text[parts[i].at] - '0') * 10 + text[parts[i].at + 1] - '0';
        if (value < parts[i].least || value > parts[i].most)
            return false;
    }
    const char *rest = text + sizeof form - 1;
    if (*rest == '.') {
        size_t digits = strspn(rest + 1, "0123456789");
        if (digits == 0 || digits > 9)
            return false;
        rest += 1 + digits;
    }
    return strcmp(rest, "Z") == 0;
}

static int check_estimate(const struct check *check, const char *key,
                          const struct tare_run_estimate *estimate)
{
    if (estimate->lower.known && estimate->upper.known && estimate->lower.value > estimate->upper.value)
        return bad(check, key, "its lower bound %g is above its upper bound %g", estimate->lower.value,
                   estimate->upper.value);
    return 0;
}

static int check_index(const struct check *check, const struct tare_run *run, const char *key,
                       struct tare_run_int index)
{
    if (index.known && (uint64_t)index.value >= run->configs_count)
        return bad(check, key, "is %" PRId64 ", but there are %zu configurations, counted from 0",
                   index.value, run->configs_count);
    return 0;
}

static int check_model(const struct check *check, const struct tare_run_model *model)
{
    if (model->sha256 && (strlen(model->sha256) != 64 || strspn(model->sha256, "0123456789abcdef") != 64))
        return bad(check, "sha256", "is not 64 hexadecimal digits in lower case");
    return 0;
}

static int check_samples(const struct check *check, const char *key, const struct tare_run_process *samples,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct tare_run_process *process = &samples[i];
        char at[64];
        snprintf(at, sizeof at, "%s[%zu]", key, i);
        if (!process->process.known)
            return bad(check, at, "has no process number");
        if (i && process->process.value <= samples[i - 1].process.value)
            return bad(check, at, "process numbers must rise, and %" PRId64 " follows %" PRId64,
                       process->process.value, samples[i - 1].process.value);
        size_t sum = 0;
        for (size_t r = 0; r < process->rounds_count; r++) {
            if (process->rounds[r] < 0 || (uint64_t)process->rounds[r] > process->ns_count - sum)
                return bad(check, at, "its rounds hold more than its %zu samples", process->ns_count);
            sum += (size_t)process->rounds[r];
        }
        if (process->rounds_count && sum != process->ns_count)
            return bad(check, at, "its rounds hold %zu of its %zu samples", sum, process->ns_count);
        for (size_t s = 0; s < process->ns_count; s++)
            if (process->ns[s] < 0)
                return bad(check, at, "sample %zu is below zero", s);
    }
    return 0;
}

static int check_latency(const struct check *check, const struct tare_run_latency *latency)
{
    if (latency->confidence.known && !(latency->confidence.value > 0 && latency->confidence.value < 1))
        return bad(check, "latency.confidence", "is %g and not between 0 and 1", latency->confidence.value);
    const struct {
        const char *key;
        const struct tare_run_estimate *estimate;
    } all[] = {
        {"latency.mean_ns", &latency->mean_ns}, {"latency.p50_ns", &latency->p50_ns},
        {"latency.p90_ns", &latency->p90_ns},   {"latency.p95_ns", &latency->p95_ns},
        {"latency.p99_ns", &latency->p99_ns},   {"latency.p999_ns", &latency->p999_ns},
        {"latency.max_ns", &latency->max_ns},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (check_estimate(check, all[i].key, all[i].estimate))
            return -1;
    return 0;
}

/* The nth of count names; size is that of the struct that starts with the name. */
static const char *nth_name(const void *items, size_t size, size_t n)
{
    const char *name;
    memcpy(&name, (const char *)items + n * size, sizeof name);
    return name;
}

static int check_names(const struct check *check, const char *key, const void *items, size_t count,
                       size_t size)
{
    if (count > NAMES_MOST)
        return bad(check, key, "holds %zu names, more than the %d that are allowed", count, NAMES_MOST);
    for (size_t i = 0; i < count; i++) {
        const char *name = nth_name(items, size, i);
        if (!name || !*name)
            return bad(check, key, "holds something without a name");
        for (size_t j = 0; j < i; j++)
            if (strcmp(name, nth_name(items, size, j)) == 0)
                return bad(check, key, "\"%.40s\" is given twice", name);
    }
    return 0;
}

static int check_config(const struct check *check, const struct tare_run *run,
                        const struct tare_run_config *config)
{
    const struct tare_run_keys *keys = &config->keys;
    const struct tare_run_memory *memory = &config->memory;
    if (config->status == TARE_RUN_NOT_MEASURED && !config->reason)
        return bad(check, "reason", "is missing: a configuration that was not measured says why");
    if (config->status == TARE_RUN_UNSTABLE && !config->reason)
        return bad(check, "reason", "is missing: an unstable configuration says why");
    if (config->calls_per_sample.known && config->calls_per_sample.value < 1)
        return bad(check, "calls_per_sample", "is below 1");
    if (config->items_per_call.known && !(config->items_per_call.value > 0))
        return bad(check, "items_per_call", "is not above zero");
    if (check_names(check, "keys.dims", keys->dims, keys->dims_count, sizeof *keys->dims) ||
        check_names(check, "keys.labels", keys->labels, keys->labels_count, sizeof *keys->labels) ||
        check_names(check, "accuracy", config->accuracy, config->accuracy_count, sizeof *config->accuracy))
        return -1;
    size_t model = 0;
    while (keys->model && model < run->other_models_count &&
           (!run->other_models[model].label || strcmp(keys->model, run->other_models[model].label) != 0))
        model++;
    if (keys->model && model == run->other_models_count)
        return bad(check, "keys.model", "\"%.40s\" is not the label of one of other_models", keys->model);
    if (memory->timeline_ns_count != memory->timeline_bytes_count)
        return bad(check, "memory.timeline_bytes", "holds %zu sizes for %zu times",
                   memory->timeline_bytes_count, memory->timeline_ns_count);
    if (check_estimate(check, "throughput_per_sec", &config->throughput_per_sec) ||
        check_estimate(check, "memory.growth_bytes", &memory->growth_bytes) ||
        check_latency(check, &config->latency))
        return -1;
    return check_samples(check, "samples", config->samples, config->samples_count);
}

static int check_stages(struct check *check, const struct tare_run_config *config)
{
    size_t length = strlen(check->path);
    for (size_t i = 0; i < config->stages_count; i++) {
        const struct tare_run_stage *stage = &config->stages[i];
        snprintf(check->path + length, sizeof check->path - length, "stages[%zu].", i);
        if (check_latency(check, &stage->latency) ||
            check_samples(check, "samples", stage->samples, stage->samples_count))
            return -1;
    }
    return 0;
}

static int check_configs(struct check *check, const struct tare_run *run)
{
    for (size_t i = 0; i < run->configs_count; i++) {
        snprintf(check->path, sizeof check->path, "configurations[%zu].", i);
        if (check_config(check, run, &run->configs[i]) || check_stages(check, &run->configs[i]))
            return -1;
    }
    return 0;
}

/* What points to configurations by number. */
static int check_references(struct check *check, const struct tare_run *run)
{
    for (size_t i = 0; i < run->findings_count; i++) {
        snprintf(check->path, sizeof check->path, "findings[%zu].", i);
        if (!run->findings[i].kind || !run->findings[i].text)
            return bad(check, "text", "or kind is missing");
        if (check_index(check, run, "configuration", run->findings[i].configuration))
            return -1;
    }
    for (size_t i = 0; i < run->advice_count; i++) {
        snprintf(check->path, sizeof check->path, "advice[%zu].", i);
        if (!run->advice[i].text)
            return bad(check, "text", "is missing");
        if (check_index(check, run, "configuration", run->advice[i].configuration) ||
            check_index(check, run, "instead_of", run->advice[i].instead_of) ||
            check_estimate(check, "gain", &run->advice[i].gain))
            return -1;
    }
    for (size_t i = 0; i < run->thresholds_count; i++) {
        snprintf(check->path, sizeof check->path, "thresholds[%zu].", i);
        if (!run->thresholds[i].metric)
            return bad(check, "metric", "is missing");
        if (check_index(check, run, "configuration", run->thresholds[i].configuration) ||
            check_estimate(check, "achieved", &run->thresholds[i].achieved))
            return -1;
    }
    return 0;
}

int tare_run_check(const struct tare_run *run, const char *name, struct tare_error *err)
{
    struct check check = {.name = name, .err = err};
    if (!run->timestamp || !is_timestamp(run->timestamp))
        return bad(&check, "timestamp", "is not a UTC time such as 2026-01-31T12:00:00Z");
    if (!run->unit || !tare_run_unit_valid(run->unit))
        return bad(&check, "unit", "is not a plain lower-case word such as pairs");
    if (run->other_models_count > NAMES_MOST)
        return bad(&check, "other_models", "holds more than %d models", NAMES_MOST);
    snprintf(check.path, sizeof check.path, "model.");
    if (check_model(&check, &run->model))
        return -1;
    for (size_t i = 0; i < run->other_models_count; i++) {
        snprintf(check.path, sizeof check.path, "other_models[%zu].", i);
        if (check_model(&check, &run->other_models[i]))
            return -1;
    }
    if (check_configs(&check, run))
        return -1;
    return check_references(&check, run);
}
