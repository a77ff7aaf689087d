/* SPDX-License-Identifier: Apache-2.0 */
/* Trends for a terminal and for programs. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/run_report.h"
#include "report/trend_report.h"

enum { SPARKS = 30 };

/* The last points, each as one of eight heights; more than fit are averaged. */
static const char *sparkline(const struct tare_trend *trend, struct tare_arena *arena)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t columns = trend->count < SPARKS ? trend->count : SPARKS;
    double means[SPARKS], low = INFINITY, high = -INFINITY;
    for (size_t c = 0; c < columns; c++) {
        size_t from = trend->count * c / columns, to = trend->count * (c + 1) / columns;
        double sum = 0;
        for (size_t i = from; i < to; i++)
            sum += trend->points[i].value;
        means[c] = sum / (double)(to - from);
        low = fmin(low, means[c]);
        high = fmax(high, means[c]);
    }
    char *text = tare_arena_alloc(arena, columns * 3 + 1);
    if (!text)
        return "";
    /* Noise of a per cent must not fill the height: the scale spans at least a tenth of the value. */
    double span = fmax(high - low, 0.1 * high), base = (low + high - span) / 2;
    for (size_t c = 0; c < columns; c++) {
        int height = (int)((means[c] - base) / span * 8);
        memcpy(text + 3 * c, bars[height < 0 ? 0 : height > 7 ? 7 : height], 3);
    }
    return text;
}

static const char *what(const struct tare_trend *trend, struct tare_arena *arena)
{
    return tare_arena_printf(arena, *trend->label ? "%s @ %s" : "%s%s", trend->metric, trend->label);
}

const char *tare_trend_sentence(const struct tare_trend *trend, const struct tare_trend_change *change,
                                struct tare_arena *arena)
{
    const struct tare_trend_point *first = &trend->points[change->first];
    const char *before = tare_run_number(arena, change->before),
               *after = tare_run_number(arena, change->after);
    const char *commit = first->commit ? tare_arena_printf(arena, ", commit %.12s", first->commit) : "";
    const char *machine =
        change->machine
            ? tare_arena_printf(arena, "; the machine changed at the same time: %s", change->machine)
            : "";
    const char *tail = change->reason ? tare_arena_printf(arena, "; acknowledged: %s", change->reason)
                       : change->gone ? "; it went away again"
                                      : "";
    if (change->drift)
        return tare_arena_printf(arena,
                                 "%s drifts %s: %s to %s %s over %zu runs, %+.2f %% a run, since %s%s%s [%s]",
                                 what(trend, arena), change->worse ? "for the worse" : "for the better",
                                 before, after, trend->unit, change->last - change->first + 1,
                                 100 * change->per_run, first->run, commit, tail, change->id);
    return tare_arena_printf(arena, "%s got %s by %.1f %%: %s to %s %s, first in %s (%s%s)%s%s [%s]",
                             what(trend, arena), change->worse ? "worse" : "better",
                             100 * fabs(change->ratio - 1), before, after, trend->unit, first->run,
                             first->timestamp, commit, machine, tail, change->id);
}

static bool is_quiet(const struct tare_trend_change *change)
{
    return change->reason || change->gone;
}

static void put_table(const struct tare_trends *trends, struct tare_arena *arena, struct tare_out *out)
{
    static const char *head[] = {"Metric", "Trend", "Runs", "First", "Last", "Changes"};
    enum { COLUMNS = 6 };
    const char **cells = tare_arena_array(arena, COLUMNS * trends->count, sizeof *cells);
    if (!cells)
        return;
    for (size_t i = 0; i < trends->count; i++) {
        const struct tare_trend *trend = &trends->items[i];
        const char **row = cells + COLUMNS * i;
        double last = trend->points[trend->count - 1].value;
        size_t loud = 0;
        for (size_t k = 0; k < trend->changes_count; k++)
            loud += !is_quiet(&trend->changes[k]);
        row[0] = what(trend, arena);
        row[1] = sparkline(trend, arena);
        row[2] = tare_arena_printf(arena, "%zu", trend->count);
        row[3] =
            tare_arena_printf(arena, "%s %s", tare_run_number(arena, trend->points[0].value), trend->unit);
        row[4] = tare_arena_printf(arena, "%s %s", tare_run_number(arena, last), trend->unit);
        row[5] = loud < trend->changes_count
                     ? tare_arena_printf(arena, "%zu (+%zu quiet)", loud, trend->changes_count - loud)
                     : tare_arena_printf(arena, "%zu", loud);
    }
    struct tare_run_grid grid = {
        .columns = COLUMNS, .rows = trends->count, .head = head, .cells = cells, .left = 2};
    tare_text_grid(out, arena, &grid);
}

void tare_trends_text(const struct tare_trends *trends, bool all, struct tare_out *out)
{
    struct tare_arena arena;
    struct tare_error err;
    size_t quiet = 0, shown = 0;
    tare_arena_init(&arena, 0);
    tare_out_printf(out, "%zu runs", trends->runs);
    if (trends->skipped)
        tare_out_printf(out, ", %zu other files", trends->skipped);
    tare_out_text(out, "\n");
    put_table(trends, &arena, out);
    for (int worse = 1; worse >= 0; worse--)
        for (size_t i = 0; i < trends->count; i++)
            for (size_t k = 0; k < trends->items[i].changes_count; k++) {
                const struct tare_trend_change *change = &trends->items[i].changes[k];
                if (change->worse != (worse == 1))
                    continue;
                if (!all && is_quiet(change)) {
                    quiet++;
                    continue;
                }
                tare_out_text(out, shown++ ? "" : "\n");
                tare_text_put(out, tare_trend_sentence(&trends->items[i], change, &arena));
                tare_out_text(out, "\n");
            }
    if (shown == 0)
        tare_out_text(out, "\nNo change to tell.\n");
    if (quiet)
        tare_out_printf(out, "%zu more were acknowledged or went away again: --all shows them.\n", quiet);
    if (tare_arena_check(&arena, &err))
        tare_out_fail(out, &err);
    tare_arena_finish(&arena);
}

static void put_change(struct tare_json *json, const struct tare_trend *trend,
                       const struct tare_trend_change *change)
{
    const struct tare_trend_point *first = &trend->points[change->first];
    tare_json_object(json);
    tare_json_put_text(json, "id", change->id);
    tare_json_put_text(json, "kind", change->drift ? "drift" : "step");
    tare_json_put_bool(json, "worse", change->worse);
    tare_json_put_uint(json, "first", change->first);
    tare_json_put_uint(json, "last", change->last);
    tare_json_put_text(json, "run", first->run);
    tare_json_put_text(json, "timestamp", first->timestamp);
    tare_json_put_text(json, "commit", first->commit);
    tare_json_put_real(json, "before", change->before);
    tare_json_put_real(json, "after", change->after);
    tare_json_put_real(json, "ratio", change->ratio);
    if (change->drift)
        tare_json_put_real(json, "per_run", change->per_run);
    tare_json_put_real(json, "p", change->p);
    tare_json_put_bool(json, "gone", change->gone);
    tare_json_put_text(json, "machine", change->machine);
    tare_json_put_text(json, "acknowledged", change->reason);
    tare_json_end(json);
}

void tare_trends_json(const struct tare_trends *trends, struct tare_out *out)
{
    struct tare_json json;
    tare_json_init(&json, out, 2);
    tare_json_object(&json);
    tare_json_put_text(&json, "schema", "tare.history/1");
    tare_json_put_uint(&json, "runs", trends->runs);
    tare_json_put_uint(&json, "skipped", trends->skipped);
    tare_json_key(&json, "trends");
    tare_json_array(&json);
    for (size_t i = 0; i < trends->count; i++) {
        const struct tare_trend *trend = &trends->items[i];
        tare_json_object(&json);
        tare_json_put_text(&json, "benchmark", trend->benchmark);
        tare_json_put_text(&json, "configuration", trend->configuration);
        tare_json_put_text(&json, "metric", trend->metric);
        tare_json_put_text(&json, "unit", trend->unit);
        tare_json_put_text(&json, "machine", trend->machine);
        tare_json_key(&json, "values");
        tare_json_row(&json);
        for (size_t k = 0; k < trend->count; k++)
            tare_json_real(&json, trend->points[k].value);
        tare_json_end(&json);
        tare_json_key(&json, "runs");
        tare_json_row(&json);
        for (size_t k = 0; k < trend->count; k++)
            tare_json_text(&json, trend->points[k].run);
        tare_json_end(&json);
        tare_json_key(&json, "changes");
        tare_json_array(&json);
        for (size_t k = 0; k < trend->changes_count; k++)
            put_change(&json, trend, &trend->changes[k]);
        tare_json_end(&json);
        tare_json_end(&json);
    }
    tare_json_end(&json);
    tare_json_end(&json);
    tare_out_text(out, "\n");
}
