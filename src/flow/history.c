/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/in.h"
#include "base/words.h"
#include "core/run.h"
#include "flow/result.h"
#include "judge/changes.h"
#include "judge/compare_runs.h"

static const char acknowledged[] = "acknowledged.txt";

/* What is kept of a run; the run itself is let go at once, so that 10,000 of them fit. */
struct entry {
    const char *file, *timestamp, *commit, *benchmark;
    const char *machine;      /* fingerprint */
    const char *surroundings; /* what may explain a change: kernel, runtime, libraries */
    struct figure *figures;
    size_t count;
};

struct figure {
    const char *configuration, *metric, *unit;
    bool higher_better;
    double value;
};

struct history {
    struct tare_arena *arena;
    struct entry *entries;
    size_t count, size;
    struct tare_trends *trends;
    const char *match;
    char *acknowledged; /* text of the file, or NULL */
};

static void keep(struct entry *entry, struct tare_arena *arena, const struct tare_run_config *config,
                 const char *metric, const char *unit, bool higher_better, struct tare_run_real value,
                 double scale)
{
    if (!value.known || value.value <= 0)
        return;
    entry->figures[entry->count++] = (struct figure){.configuration = tare_compare_name(config, arena),
                                                     .metric = metric,
                                                     .unit = unit,
                                                     .higher_better = higher_better,
                                                     .value = value.value / scale};
}

static const char *describe_surroundings(const struct tare_run *run, struct tare_arena *arena)
{
    const struct tare_machine *machine = run->machine;
    return tare_arena_printf(arena, "kernel %s, runtime %s",
                             machine && machine->kernel_release ? machine->kernel_release : "?",
                             run->engine.version ? run->engine.version : "?");
}

static int take(struct history *history, const char *file, const struct tare_run *run, struct tare_error *err)
{
    enum { FIGURES = 3 };
    struct tare_arena *arena = history->arena;
    if (history->count == history->size) {
        size_t size = history->size ? history->size * 2 : 256;
        struct entry *entries = tare_arena_array(arena, size, sizeof *entries);
        if (!entries)
            return tare_fail_memory(err);
        if (history->count)
            memcpy(entries, history->entries, history->count * sizeof *entries);
        history->entries = entries;
        history->size = size;
    }
    struct entry *entry = &history->entries[history->count++];
    const char *name = run->benchmark ? run->benchmark : run->model.name;
    *entry = (struct entry){.file = tare_arena_copy(arena, file),
                            .timestamp = tare_arena_copy(arena, run->timestamp ? run->timestamp : ""),
                            .commit = tare_arena_copy(arena, run->git.commit),
                            .benchmark = tare_arena_copy(arena, name ? name : ""),
                            .surroundings = describe_surroundings(run, arena)};
    if (run->machine) {
        char fingerprint[TARE_MACHINE_FINGERPRINT_SIZE];
        tare_machine_fingerprint(run->machine, fingerprint);
        entry->machine = tare_arena_copy(arena, fingerprint);
    }
    entry->figures = tare_arena_array(arena, FIGURES * run->configs_count + 1, sizeof *entry->figures);
    if (!entry->figures)
        return tare_fail_memory(err);
    for (size_t i = 0; i < run->configs_count; i++) {
        const struct tare_run_config *config = &run->configs[i];
        struct tare_run_real peak = config->memory.peak_bytes.known
                                        ? tare_run_real((double)config->memory.peak_bytes.value)
                                        : (struct tare_run_real){false, 0};
        struct tare_run_real time =
            config->latency.p50_ns.value.known ? config->latency.p50_ns.value : config->latency.mean_ns.value;
        keep(entry, arena, config, "latency", "ms", false, time, 1e6);
        keep(entry, arena, config, "throughput",
             tare_arena_printf(arena, "%s/s", run->unit ? run->unit : "samples"), true,
             config->throughput_per_sec.value, 1);
        keep(entry, arena, config, "memory.peak", "MB", false, peak, 1e6);
    }
    return 0;
}

static bool looks_like_run(const char *name)
{
    return tare_words_end(name, ".json") || tare_words_end(name, ".json.gz");
}

static int read_file(struct history *history, const char *folder, const char *name, struct tare_error *err)
{
    struct tare_result result = {0};
    struct tare_error why;
    struct tare_buf path;
    tare_buf_init(&path, 8192);
    tare_buf_printf(&path, "%s/%s", folder, name);
    int rc = tare_result_load(path.data, &result, &why);
    tare_buf_finish(&path);
    if (rc || !result.run) {
        history->trends->skipped++;
        if (!history->trends->skipped_why)
            history->trends->skipped_why = rc ? tare_arena_copy(history->arena, why.msg)
                                              : tare_arena_printf(history->arena, "'%s' is a profile", name);
        tare_result_finish(&result);
        return 0;
    }
    rc = take(history, name, result.run, err);
    tare_result_finish(&result);
    history->trends->runs++;
    return rc;
}

static int read_folder(struct history *history, const char *folder, struct tare_error *err)
{
    DIR *list = opendir(folder);
    if (!list)
        return tare_fail(err, TARE_E_IO, errno, "cannot read the folder '%s'", folder);
    int rc = 0;
    for (struct dirent *item; rc == 0 && (item = readdir(list));)
        if (looks_like_run(item->d_name))
            rc = read_file(history, folder, item->d_name, err);
    closedir(list);
    if (rc == 0 && history->count == 0)
        rc = tare_fail(err, TARE_E_INPUT, 0,
                       "'%s' holds no runs: 'tare bench MODEL -o %s/NAME.json' writes one%s%s", folder,
                       folder, history->trends->skipped_why ? "; " : "",
                       history->trends->skipped_why ? history->trends->skipped_why : "");
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    int order = strcmp(left->timestamp, right->timestamp);
    return order ? order : strcmp(left->file, right->file);
}

/* ---- trends ---- */

/* A figure of a run, with what it belongs to. */
struct member {
    const struct entry *entry;
    const struct figure *figure;
    size_t order; /* of its run in time */
};

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int same_trend(const struct member *a, const struct member *b)
{
    int order = compare_texts(a->entry->benchmark, b->entry->benchmark);
    if (order == 0)
        order = compare_texts(a->entry->machine, b->entry->machine);
    if (order == 0)
        order = compare_texts(a->figure->configuration, b->figure->configuration);
    return order ? order : compare_texts(a->figure->metric, b->figure->metric);
}

static int by_trend(const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    int order = same_trend(left, right);
    return order ? order : left->order < right->order ? -1 : 1;
}

static void make_id(const struct tare_trend *trend, const struct tare_trend_change *change, char ret_id[9])
{
    struct tare_buf key;
    tare_buf_init(&key, 16384);
    tare_buf_printf(&key, "%s|%s|%s|%s", trend->benchmark, trend->configuration, trend->metric,
                    trend->points[change->first].run);
    snprintf(ret_id, 9, "%08x", (unsigned)(tare_hash_bytes(key.data, key.length) & 0xffffffffu));
    tare_buf_finish(&key);
}

/* The reason behind an id in acknowledged.txt, or NULL. */
static const char *find_reason(const struct history *history, const char *id)
{
    for (const char *line = history->acknowledged; line && *line;) {
        size_t length = strcspn(line, "\n");
        if (length >= 8 && memcmp(line, id, 8) == 0) {
            const char *reason = line + 8;
            size_t left = length - 8;
            while (left && *reason == ' ') {
                reason++;
                left--;
            }
            return tare_arena_text(history->arena, reason, left);
        }
        line += length + (line[length] == '\n');
    }
    return NULL;
}

static int judge(const struct history *history, struct tare_trend *trend, const struct member *members,
                 struct tare_error *err)
{
    struct tare_arena scratch;
    struct tare_change *changes;
    size_t count;
    double *values;
    int rc = -1;
    tare_arena_init(&scratch, 0);
    values = tare_arena_array(&scratch, trend->count, sizeof *values);
    if (!values) {
        tare_fail_memory(err);
        goto out;
    }
    for (size_t i = 0; i < trend->count; i++)
        values[i] = trend->points[i].value;
    if (tare_changes_find(values, trend->count, NULL, &scratch, &changes, &count, err))
        goto out;
    trend->changes = tare_arena_array(history->arena, count + 1, sizeof *trend->changes);
    if (!trend->changes) {
        tare_fail_memory(err);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        struct tare_trend_change *change = &trend->changes[trend->changes_count++];
        *change = (struct tare_trend_change){
            .drift = changes[i].kind == TARE_CHANGE_DRIFT,
            .worse = (changes[i].ratio > 1) != trend->higher_better,
            .gone = changes[i].gone,
            .first = changes[i].first,
            .last = changes[i].last,
            .before = changes[i].before,
            .after = changes[i].after,
            .ratio = changes[i].ratio,
            .per_run = changes[i].per_point,
            .p = changes[i].p,
        };
        make_id(trend, change, change->id);
        change->reason = find_reason(history, change->id);
        const char *now = members[change->first].entry->surroundings;
        const char *before = change->first ? members[change->first - 1].entry->surroundings : now;
        if (!change->drift && strcmp(now, before) != 0)
            change->machine = tare_arena_printf(history->arena, "%s, then %s", before, now);
    }
    rc = 0;
out:
    tare_arena_finish(&scratch);
    return rc;
}

static int add_trend(struct history *history, const struct member *members, size_t count,
                     struct tare_error *err)
{
    const struct figure *figure = members[0].figure;
    struct tare_trend *trend = &history->trends->items[history->trends->count++];
    *trend = (struct tare_trend){.benchmark = members[0].entry->benchmark,
                                 .machine = members[0].entry->machine,
                                 .configuration = figure->configuration,
                                 .metric = figure->metric,
                                 .unit = figure->unit,
                                 .higher_better = figure->higher_better,
                                 .count = count};
    trend->points = tare_arena_array(history->arena, count, sizeof *trend->points);
    if (!trend->points)
        return tare_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        trend->points[i] = (struct tare_trend_point){.value = members[i].figure->value,
                                                     .run = members[i].entry->file,
                                                     .timestamp = members[i].entry->timestamp,
                                                     .commit = members[i].entry->commit};
    return judge(history, trend, members, err);
}

static bool is_wanted(const struct history *history, const struct figure *figure)
{
    struct tare_buf text;
    if (!history->match)
        return true;
    tare_buf_init(&text, 8192);
    tare_buf_printf(&text, "%s @ %s", figure->metric, figure->configuration);
    bool wanted = strstr(text.data, history->match) != NULL;
    tare_buf_finish(&text);
    return wanted;
}

static int label_all(struct tare_trends *trends, struct tare_error *err)
{
    const char **names = tare_arena_array(trends->arena, trends->count + 1, sizeof *names);
    if (!names)
        return tare_fail_memory(err);
    for (size_t i = 0; i < trends->count; i++)
        names[i] = trends->items[i].configuration;
    tare_run_short_names(names, trends->count, trends->arena);
    for (size_t i = 0; i < trends->count; i++)
        trends->items[i].label = names[i];
    return 0;
}

static int make_trends(struct history *history, struct tare_error *err)
{
    size_t most = 0, count = 0;
    for (size_t i = 0; i < history->count; i++)
        most += history->entries[i].count;
    struct member *members = tare_arena_array(history->arena, most + 1, sizeof *members);
    history->trends->items = tare_arena_array(history->arena, most + 1, sizeof *history->trends->items);
    if (!members || !history->trends->items)
        return tare_fail_memory(err);
    for (size_t i = 0; i < history->count; i++)
        for (size_t k = 0; k < history->entries[i].count; k++)
            if (is_wanted(history, &history->entries[i].figures[k]))
                members[count++] = (struct member){&history->entries[i], &history->entries[i].figures[k], i};
    if (count == 0)
        return tare_fail(err, TARE_E_INPUT, 0, "no run has a figure that matches '%s'",
                         history->match ? history->match : "");
    qsort(members, count, sizeof *members, by_trend);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && same_trend(&members[from], &members[to]) == 0;)
            to++;
        if (add_trend(history, members + from, to - from, err))
            return -1;
    }
    return label_all(history->trends, err);
}

static char *read_acknowledged(const char *folder, struct tare_arena *arena)
{
    struct tare_error ignored;
    struct tare_in *in;
    struct tare_buf text;
    char *copy = NULL;
    if (tare_in_open(tare_arena_printf(arena, "%s/%s", folder, acknowledged), &in, &ignored))
        return NULL;
    tare_buf_init(&text, 1 << 20);
    if (tare_in_all(in, &text, &ignored) == 0) {
        copy = tare_arena_alloc(arena, text.length + 1);
        if (copy)
            memcpy(copy, text.data, text.length);
    }
    tare_buf_finish(&text);
    tare_in_close(in);
    return copy;
}

int tare_history_read(const char *folder, const char *match, struct tare_arena *arena,
                      struct tare_trends *ret_trends, struct tare_error *err)
{
    struct history history = {.arena = arena, .trends = ret_trends, .match = match};
    *ret_trends = (struct tare_trends){.arena = arena, .folder = tare_arena_copy(arena, folder)};
    if (read_folder(&history, folder, err))
        return -1;
    qsort(history.entries, history.count, sizeof *history.entries, by_time);
    history.acknowledged = read_acknowledged(folder, arena);
    if (make_trends(&history, err))
        return -1;
    return tare_arena_check(arena, err);
}

int tare_history_acknowledge(const char *folder, const struct tare_trends *trends, const char *id,
                             const char *reason, struct tare_error *err)
{
    bool known = false;
    for (size_t i = 0; i < trends->count; i++)
        for (size_t k = 0; k < trends->items[i].changes_count; k++)
            known = known || strcmp(trends->items[i].changes[k].id, id) == 0;
    if (!known)
        return tare_fail(err, TARE_E_USAGE, 0, "there is no change '%.40s' in '%s'", id, folder);
    if (!*reason || strchr(reason, '\n'))
        return tare_fail(err, TARE_E_USAGE, 0, "--reason takes one line that says why this is all right");
    struct tare_buf path;
    tare_buf_init(&path, 8192);
    tare_buf_printf(&path, "%s/%s", folder, acknowledged);
    int file = open(path.data, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    tare_buf_finish(&path);
    if (file < 0 || dprintf(file, "%s %s\n", id, reason) < 0) {
        int why = errno;
        if (file >= 0)
            close(file);
        return tare_fail(err, TARE_E_IO, why, "cannot write '%s' in '%s'", acknowledged, folder);
    }
    return close(file) ? tare_fail(err, TARE_E_IO, errno, "cannot write '%s'", acknowledged) : 0;
}
