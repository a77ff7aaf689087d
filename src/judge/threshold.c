/* SPDX-License-Identifier: Apache-2.0 */
/* Reading thresholds. */
#include "judge/threshold.h"

#include <ctype.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "judge/threshold_metric.h"

/* The number at the start of a limit and what stands behind it. */
static size_t number_length(const char *text)
{
    size_t i = 0;
    while (isdigit((unsigned char)text[i]) || text[i] == '.' || text[i] == '_' ||
           ((text[i] == 'e' || text[i] == 'E') && i > 0 &&
            (isdigit((unsigned char)text[i + 1]) ||
             ((text[i + 1] == '-' || text[i + 1] == '+') && isdigit((unsigned char)text[i + 2])))) ||
           ((text[i] == '-' || text[i] == '+') && (i == 0 || text[i - 1] == 'e' || text[i - 1] == 'E')))
        i++;
    return i;
}

static int parse_value(enum tare_threshold_kind kind, const char *text, double *ret_value, char *counted,
                       size_t counted_size, struct tare_error *err)
{
    int64_t ns;
    uint64_t whole;
    switch (kind) {
    case TARE_THRESHOLD_TIME:
        if (tare_duration_parse(text, &ns, err))
            return -1;
        *ret_value = (double)ns;
        return 0;
    case TARE_THRESHOLD_SIZE:
        if (tare_size_parse(text, &whole, err))
            return -1;
        *ret_value = (double)whole;
        return 0;
    case TARE_THRESHOLD_COUNT:
        if (tare_count_parse(text, &whole, err))
            return -1;
        *ret_value = (double)whole;
        return 0;
    case TARE_THRESHOLD_RATE:
        return tare_rate_parse(text, ret_value, counted, counted_size, err);
    case TARE_THRESHOLD_SHARE:
        return tare_real_parse(text, ret_value, err);
    }
    return tare_fail(err, TARE_E_USAGE, 0, "unknown kind of threshold");
}

static int parse_limit(const char *limit, struct tare_arena *arena, struct tare_threshold *threshold,
                       struct tare_error *err)
{
    struct tare_error why;
    char counted[32] = "", one[96];
    enum tare_threshold_kind kind = threshold->metric->kind;
    size_t length = number_length(limit);
    if (length == 0)
        return tare_fail(err, TARE_E_USAGE, 0, "threshold '%s' has no number after %s", threshold->text,
                         threshold->metric->name);
    if (parse_value(kind, limit, &threshold->limit, counted, sizeof counted, &why))
        return tare_fail(err, TARE_E_USAGE, 0, "threshold '%s': %s", threshold->text, why.msg);
    const char *unit = limit + length;
    while (*unit == ' ')
        unit++;
    /* A time without a unit would be seconds: nobody means 100 seconds with latency:100. */
    if (kind == TARE_THRESHOLD_TIME && *unit == '\0')
        return tare_fail(err, TARE_E_USAGE, 0, "threshold '%s' needs a unit: '%s%s:%sms'?", threshold->text,
                         threshold->metric->name, threshold->accuracy ? threshold->accuracy : "", limit);
    threshold->unit = tare_arena_copy(arena, unit);
    threshold->counted = tare_arena_copy(arena, counted);
    snprintf(one, sizeof one, "1%s", unit);
    if (parse_value(kind, one, &threshold->scale, counted, sizeof counted, &why) || threshold->scale <= 0)
        threshold->scale = 1;
    return 0;
}

static int parse_keys(const char *at, size_t length, struct tare_arena *arena,
                      struct tare_threshold *threshold, struct tare_error *err)
{
    const char *end = at + length;
    size_t count = 1, n = 0;
    for (const char *p = at; p < end; p++)
        count += *p == ',';
    threshold->keys = tare_arena_array(arena, count, sizeof *threshold->keys);
    if (!threshold->keys)
        return tare_arena_check(arena, err);
    while (at < end) {
        const char *stop = memchr(at, ',', (size_t)(end - at));
        if (!stop)
            stop = end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        if (!equals || equals == at || equals + 1 == stop)
            return tare_fail(err, TARE_E_USAGE, 0,
                             "threshold '%s': after @ comes which configuration is meant, such as @batch=32",
                             threshold->text);
        threshold->keys[n].name = tare_arena_text(arena, at, (size_t)(equals - at));
        threshold->keys[n].value = tare_arena_text(arena, equals + 1, (size_t)(stop - equals - 1));
        n++;
        at = stop + (stop < end);
    }
    if (n == 0)
        return tare_fail(err, TARE_E_USAGE, 0, "threshold '%s': nothing follows the @", threshold->text);
    threshold->keys_count = n;
    return 0;
}

static int unknown_metric(const char *text, const char *name, struct tare_error *err)
{
    struct tare_suggest suggest = {NULL, 0};
    for (const struct tare_threshold_metric *metric = tare_threshold_metrics; metric->name; metric++)
        tare_suggest_offer(&suggest, name, metric->name);
    if (suggest.best)
        return tare_fail(err, TARE_E_USAGE, 0, "threshold '%s': there is no metric '%s'; did you mean '%s'?",
                         text, name, suggest.best);
    return tare_fail(
        err, TARE_E_USAGE, 0,
        "threshold '%s': there is no metric '%s'; there are latency, throughput, memory, params, "
        "accuracy.NAME and more: see 'tare help check'",
        text, name);
}

/* Where the limit begins: after a colon, or after <= or >=. The keys after @ may not hold any of them. */
static const char *find_limit(const char *text, size_t *ret_head, enum tare_run_bound *ret_bound)
{
    size_t i = strcspn(text, ":<>");
    *ret_head = i;
    *ret_bound = TARE_RUN_BOUND_NONE;
    if (text[i] == ':')
        return text + i + 1;
    if ((text[i] != '<' && text[i] != '>') || text[i + 1] != '=')
        return NULL;
    *ret_bound = text[i] == '<' ? TARE_RUN_BOUND_UPPER : TARE_RUN_BOUND_LOWER;
    return text + i + 2;
}

int tare_threshold_parse(const char *text, struct tare_arena *arena, struct tare_threshold *ret_threshold,
                         struct tare_error *err)
{
    struct tare_threshold made = {.text = tare_arena_copy(arena, text)};
    enum tare_run_bound bound;
    size_t head;
    const char *limit = find_limit(text, &head, &bound);
    while (limit && *limit == ' ')
        limit++;
    if (!limit || !*limit)
        return tare_fail(err, TARE_E_USAGE, 0,
                         "threshold '%s' has no limit: write latency:100ms, or quote it, since a shell takes "
                         "an unquoted > for a file",
                         text);
    while (head > 0 && text[head - 1] == ' ')
        head--;
    const char *at = memchr(text, '@', head);
    size_t name_length = at ? (size_t)(at - text) : head;
    const char *name = tare_arena_text(arena, text, name_length);
    made.metric = tare_threshold_metric_find(name, &made.accuracy);
    if (!made.metric)
        return unknown_metric(text, name, err);
    made.accuracy = tare_arena_copy(arena, made.accuracy);
    made.bound =
        bound != TARE_RUN_BOUND_NONE ? bound : tare_threshold_metric_bound(made.metric, made.accuracy);
    if (made.bound == TARE_RUN_BOUND_NONE)
        return tare_fail(
            err, TARE_E_USAGE, 0,
            "threshold '%s': is more or less of '%s' better? Write '%s>=LIMIT' or '%s<=LIMIT', in quotes",
            text, name, name, name);
    if (at && parse_keys(at + 1, (size_t)(text + head - at - 1), arena, &made, err))
        return -1;
    if (parse_limit(limit, arena, &made, err))
        return -1;
    *ret_threshold = made;
    return tare_arena_check(arena, err);
}

int tare_threshold_read(const char *data, size_t length, const char *name, struct tare_arena *arena,
                        struct tare_threshold **ret_thresholds, size_t *ret_count, struct tare_error *err)
{
    enum { LONGEST = 400 };
    size_t lines = 1, count = 0, number = 0;
    for (size_t i = 0; i < length; i++)
        lines += data[i] == '\n';
    struct tare_threshold *made = tare_arena_array(arena, lines, sizeof *made);
    if (!made)
        return tare_arena_check(arena, err);
    for (size_t start = 0; start < length;) {
        const char *end = memchr(data + start, '\n', length - start);
        size_t stop = end ? (size_t)(end - data) : length, next = stop + 1, from = start;
        const char *comment = memchr(data + start, '#', stop - start);
        number++;
        if (comment)
            stop = (size_t)(comment - data);
        while (from < stop && isspace((unsigned char)data[from]))
            from++;
        while (stop > from && isspace((unsigned char)data[stop - 1]))
            stop--;
        start = next;
        if (stop == from)
            continue;
        struct tare_error why;
        if (stop - from > LONGEST || memchr(data + from, '\0', stop - from))
            return tare_fail(err, TARE_E_INPUT, 0, "'%s', line %zu: not a threshold", name, number);
        if (tare_threshold_parse(tare_arena_text(arena, data + from, stop - from), arena, &made[count], &why))
            return tare_fail(err, TARE_E_INPUT, 0, "'%s', line %zu: %s", name, number, why.msg);
        count++;
    }
    *ret_thresholds = made;
    *ret_count = count;
    return tare_arena_check(arena, err);
}
