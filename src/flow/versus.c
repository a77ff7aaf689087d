/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/versus.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "core/stats.h"
#include "judge/compare_runs.h"

struct fight {
    const struct tare_versus *versus;
    struct tare_verdicts *verdicts;
    size_t most, blocks;
    double *logs;                       /* metrics times most: log ratios of blocks */
    struct tare_verdict_process *a, *b; /* metrics times 2 * most */
    struct tare_versus_bout bouts[2];   /* of one block */
    struct tare_gate_result *results;
    int64_t block_ns;
};

static bool stopped(const struct fight *fight)
{
    const volatile sig_atomic_t *stop = fight->versus->options->stop;
    return stop && *stop;
}

static void progress(const struct fight *fight)
{
    const struct tare_versus_options *options = fight->versus->options;
    char text[64];
    int64_t left = fight->versus->end_ns - tare_clock_ns();
    if (!options->progress)
        return;
    snprintf(text, sizeof text, "block %zu of at most %zu", fight->blocks + 1, fight->most);
    options->progress(options->data, text, left > 0 ? left : 0);
}

static int block(struct fight *fight, struct tare_error *err)
{
    const struct tare_versus *versus = fight->versus;
    /* Every other block begins with B: being first must not be an advantage of one side. */
    bool turned = fight->blocks % 2 == 1;
    for (int i = 0; i < 2; i++) {
        progress(fight);
        if (versus->bout(versus->data, turned != (i == 1), &fight->bouts[i], err))
            return -1;
    }
    for (size_t m = 0; m < versus->metrics_count; m++) {
        size_t at = m * fight->most + fight->blocks;
        fight->logs[at] = (fight->bouts[0].logs[m] + fight->bouts[1].logs[m]) / 2;
        for (int i = 0; i < 2; i++) {
            fight->a[2 * at + (size_t)i] = fight->bouts[i].runs[0][m];
            fight->b[2 * at + (size_t)i] = fight->bouts[i].runs[1][m];
        }
    }
    fight->blocks++;
    return 0;
}

/* Judge all metrics; says whether every one of them is settled. */
static int look(struct fight *fight, bool *ret_settled, struct tare_error *err)
{
    struct tare_arena scratch;
    const struct tare_versus *versus = fight->versus;
    int rc = -1;
    tare_arena_init(&scratch, 0);
    for (size_t m = 0; m < versus->metrics_count; m++)
        if (tare_gate_blocks(fight->logs + m * fight->most, fight->blocks, &versus->options->rule, &scratch,
                             &fight->results[m], err))
            goto out;
    if (tare_gate_holm(fight->results, versus->metrics_count, &versus->options->rule, &scratch, err))
        goto out;
    *ret_settled = true;
    for (size_t m = 0; m < versus->metrics_count; m++)
        *ret_settled = *ret_settled && fight->results[m].verdict != TARE_GATE_INCONCLUSIVE;
    rc = 0;
out:
    tare_arena_finish(&scratch);
    return rc;
}

static bool is_look(size_t blocks)
{
    for (size_t i = 0; i < TARE_GATE_LOOKS; i++)
        if (tare_gate_looks[i] == blocks)
            return true;
    return false;
}

/* The median of a side's processes, with bounds. */
static int side(const struct tare_verdict_process *runs, size_t count, double scale, struct tare_arena *arena,
                struct tare_run_estimate *ret_estimate, struct tare_error *err)
{
    struct tare_bootstrap options = {.seed = 1};
    struct tare_interval interval;
    double *costs = tare_arena_array(arena, count, sizeof *costs);
    if (!costs)
        return tare_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        costs[i] = runs[i].cost;
    if (tare_stats_bootstrap(costs, count, tare_stats_median, &options, arena, &interval, err))
        return -1;
    *ret_estimate = (struct tare_run_estimate){.value = tare_run_real(interval.estimate / scale),
                                               .lower = tare_run_real(interval.low / scale),
                                               .upper = tare_run_real(interval.high / scale)};
    return 0;
}

/* Every process, for those who want to judge by another rule. NULL when memory ran out. */
static const struct tare_verdict_process *keep(const struct tare_verdict_process *runs, size_t count,
                                               double scale, struct tare_arena *arena)
{
    struct tare_verdict_process *kept = tare_arena_array(arena, count, sizeof *kept);
    for (size_t i = 0; kept && i < count; i++)
        kept[i] = (struct tare_verdict_process){.cost = runs[i].cost / scale,
                                                .calls = runs[i].calls,
                                                .mean = runs[i].mean / scale,
                                                .variance = runs[i].variance / (scale * scale)};
    return kept;
}

static const double *keep_ratios(const double *logs, size_t count, struct tare_arena *arena)
{
    double *kept = tare_arena_array(arena, count, sizeof *kept);
    for (size_t i = 0; kept && i < count; i++)
        kept[i] = exp(logs[i]);
    return kept;
}

static int tell(struct fight *fight, struct tare_error *err)
{
    const struct tare_versus *versus = fight->versus;
    double threshold = versus->options->rule.threshold > 0 ? versus->options->rule.threshold : 0.05;
    for (size_t m = 0; m < versus->metrics_count; m++) {
        const struct tare_versus_metric *metric = &versus->metrics[m];
        struct tare_arena *arena = fight->verdicts->arena;
        struct tare_verdict *row = tare_compare_add(fight->verdicts);
        if (!row)
            return tare_fail_memory(err);
        row->configuration = metric->configuration;
        row->metric = metric->metric;
        row->unit = metric->unit;
        if (side(fight->a + 2 * m * fight->most, 2 * fight->blocks, metric->scale, arena, &row->a, err) ||
            side(fight->b + 2 * m * fight->most, 2 * fight->blocks, metric->scale, arena, &row->b, err))
            return -1;
        row->runs_a = keep(fight->a + 2 * m * fight->most, 2 * fight->blocks, metric->scale, arena);
        row->runs_b = keep(fight->b + 2 * m * fight->most, 2 * fight->blocks, metric->scale, arena);
        row->block_ratios = keep_ratios(fight->logs + m * fight->most, fight->blocks, arena);
        row->blocks = row->block_ratios ? fight->blocks : 0;
        tare_compare_fill(row, &fight->results[m], threshold, arena);
        if (row->kind == TARE_VERDICT_INCONCLUSIVE && fight->blocks < tare_gate_looks[0])
            row->note =
                tare_arena_printf(arena, "only %zu blocks%s, and %zu are needed: raise %s", fight->blocks,
                                  fight->blocks < fight->most ? " in the time there was" : "",
                                  tare_gate_looks[0], fight->blocks < fight->most ? "--time" : "--blocks");
    }
    return 0;
}

static int fight_all(struct fight *fight, struct tare_error *err)
{
    bool settled = false;
    while (fight->blocks < fight->most && !settled) {
        int64_t before = tare_clock_ns();
        if (fight->blocks >= 2 && (stopped(fight) || before + fight->block_ns > fight->versus->end_ns))
            break;
        if (block(fight, err)) {
            if (!stopped(fight) || fight->blocks < 2)
                return -1;
            break;
        }
        fight->block_ns = tare_clock_ns() - before;
        if (is_look(fight->blocks) && look(fight, &settled, err))
            return -1;
    }
    if (look(fight, &settled, err))
        return -1;
    return tell(fight, err);
}

int tare_versus_run(const struct tare_versus *versus, struct tare_verdicts *verdicts, struct tare_error *err)
{
    struct fight fight = {.versus = versus, .verdicts = verdicts};
    struct tare_arena arena;
    size_t metrics = versus->metrics_count;
    fight.most = versus->options->blocks ? versus->options->blocks : tare_gate_looks[TARE_GATE_LOOKS - 1];
    if (fight.most < 2)
        fight.most = 2;
    tare_arena_init(&arena, 0);
    fight.logs = tare_arena_array(&arena, metrics * fight.most, sizeof *fight.logs);
    fight.a = tare_arena_array(&arena, 2 * metrics * fight.most, sizeof *fight.a);
    fight.b = tare_arena_array(&arena, 2 * metrics * fight.most, sizeof *fight.b);
    for (int i = 0; i < 2; i++) {
        fight.bouts[i].logs = tare_arena_array(&arena, metrics, sizeof *fight.bouts[i].logs);
        for (int side = 0; side < 2; side++)
            fight.bouts[i].runs[side] = tare_arena_array(&arena, metrics, sizeof *fight.a);
    }
    fight.results = tare_arena_array(&arena, metrics, sizeof *fight.results);
    int rc = tare_arena_check(&arena, err);
    if (rc == 0)
        rc = fight_all(&fight, err);
    tare_arena_finish(&arena);
    return rc;
}
