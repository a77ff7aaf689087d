/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run.h"

#include <inttypes.h>
#include <time.h>

#include "base/words.h"

enum { UNIT_MOST = 32 };

int tare_run_create(size_t cap, struct tare_run **ret_run, struct tare_error *err)
{
    struct tare_run *run = calloc(1, sizeof *run);
    if (!run)
        return tare_fail_memory(err);
    tare_arena_init(&run->arena, cap);
    run->tool_version = TARE_VERSION;
    run->unit = "samples";
    *ret_run = run;
    return 0;
}

void tare_run_destroy(struct tare_run *run)
{
    if (!run)
        return;
    yyjson_doc_free(run->document);
    tare_arena_finish(&run->arena);
    free(run);
}

void *tare_run_append(struct tare_run *run, void *items, size_t *count, size_t size)
{
    char *list;
    memcpy(&list, items, sizeof list);
    /* The room is the smallest power of two that holds the count, so that it need not be stored. */
    if ((*count & (*count - 1)) == 0) {
        char *larger = tare_arena_array(&run->arena, *count ? *count * 2 : 1, size);
        if (!larger)
            return NULL;
        if (*count)
            memcpy(larger, list, *count * size);
        list = larger;
        memcpy(items, &list, sizeof list);
    }
    return list + (*count)++ * size;
}

void tare_run_stamp(struct tare_run *run, int64_t seconds)
{
    struct tm tm;
    time_t when = (time_t)seconds;
    if (!gmtime_r(&when, &tm))
        return;
    run->timestamp = tare_arena_printf(&run->arena, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
                                       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

bool tare_run_unit_valid(const char *unit)
{
    size_t length = strlen(unit);
    if (length == 0 || length > UNIT_MOST || unit[0] < 'a' || unit[0] > 'z')
        return false;
    return strspn(unit, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

void tare_run_unit_singular(const char *unit, char *out, size_t size)
{
    static const char *const two[] = {"ches", "shes", "sses", "xes"};
    size_t keep = strlen(unit);
    const char *tail = "";
    if (tare_words_end(unit, "ies")) {
        keep -= 3;
        tail = "y";
    } else if (tare_words_end(unit, "s") && !tare_words_end(unit, "ss")) {
        keep -= 1;
        for (size_t i = 0; i < sizeof two / sizeof two[0]; i++)
            if (tare_words_end(unit, two[i]))
                keep = strlen(unit) - 2;
    }
    snprintf(out, size, "%.*s%s", (int)keep, unit, tail);
}

size_t tare_run_config_samples(const struct tare_run_config *config)
{
    size_t count = 0;
    for (size_t i = 0; i < config->samples_count; i++)
        count += config->samples[i].ns_count;
    return count;
}

static void name_add(struct tare_buf *buf, size_t start, const char *key, const char *value)
{
    if (!value)
        return;
    tare_buf_printf(buf, "%s%s=%s", buf->length > start ? " " : "", key, value);
}

static void name_add_int(struct tare_buf *buf, size_t start, const char *key, struct tare_run_int value)
{
    char text[32];
    if (!value.known)
        return;
    snprintf(text, sizeof text, "%" PRId64, value.value);
    name_add(buf, start, key, text);
}

void tare_run_config_name(const struct tare_run_config *config, struct tare_buf *buf)
{
    const struct tare_run_keys *keys = &config->keys;
    size_t start = buf->length;
    name_add_int(buf, start, "batch", keys->batch);
    for (size_t i = 0; i < keys->dims_count; i++)
        name_add_int(buf, start, keys->dims[i].name, tare_run_int(keys->dims[i].value));
    name_add_int(buf, start, "threads", keys->threads);
    name_add_int(buf, start, "inter_threads", keys->inter_threads);
    name_add(buf, start, "precision", keys->precision);
    name_add(buf, start, "provider", keys->provider);
    name_add(buf, start, "graph_level", keys->graph_level);
    name_add(buf, start, "model", keys->model);
    for (size_t i = 0; i < keys->labels_count; i++)
        name_add(buf, start, keys->labels[i].name, keys->labels[i].value);
}

static struct tare_run_real divide(struct tare_run_real value, double by)
{
    return value.known ? tare_run_real(value.value / by) : value;
}

struct tare_run_estimate tare_run_config_item_ns(const struct tare_run_config *config)
{
    struct tare_run_estimate mean = config->latency.mean_ns;
    if (!config->items_per_call.known || !(config->items_per_call.value > 0))
        return (struct tare_run_estimate){.supported = {false, false}};
    double items = config->items_per_call.value;
    mean.value = divide(mean.value, items);
    mean.lower = divide(mean.lower, items);
    mean.upper = divide(mean.upper, items);
    mean.extra = NULL;
    return mean;
}
