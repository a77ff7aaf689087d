/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/versus.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "core/stats.h"
#include "judge/compare_runs.h"

struct fight {
    const struct tare_versus *versus;
    struct tare_verdicts *verdicts;
    size_t most, blocks;
    double *logs;  /* metrics times most: log ratios of blocks */
    double *a, *b; /* metrics times 2 * most: costs of single processes */
    double *costs; /* of one block: 4 times metrics */
    struct tare_gate_result *results;
    int64_t deadline_ns, block_ns;
};

static bool stopped(const struct fight *fight)
{
    return fight->versus->stop && *fight->versus->stop;
}

static int block(struct fight *fight, struct tare_error *err)
{
    static const bool is_b[] = {false, true, true, false};
    const struct tare_versus *versus = fight->versus;
    size_t metrics = versus->metrics_count;
    /* Every other block begins with B: being first must not be an advantage of one side. */
    bool turned = fight->blocks % 2 == 1;
    for (size_t i = 0; i < 4; i++) {
        if (versus->progress)
            versus->progress(versus->data, fight->blocks, fight->most);
        if (versus->process(versus->data, is_b[i] != turned, fight->costs + i * metrics, err))
            return -1;
    }
    for (size_t m = 0; m < metrics; m++) {
        double first[] = {fight->costs[m], fight->costs[3 * metrics + m]};
        double second[] = {fight->costs[metrics + m], fight->costs[2 * metrics + m]};
        const double *a = turned ? second : first, *b = turned ? first : second;
        fight->logs[m * fight->most + fight->blocks] = tare_gate_block(a[0], b[0], b[1], a[1]);
        memcpy(fight->a + 2 * (m * fight->most + fight->blocks), a, sizeof first);
        memcpy(fight->b + 2 * (m * fight->most + fight->blocks), b, sizeof first);
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
        if (tare_gate_blocks(fight->logs + m * fight->most, fight->blocks, &versus->rule, &scratch,
                             &fight->results[m], err))
            goto out;
    if (tare_gate_holm(fight->results, versus->metrics_count, &versus->rule, &scratch, err))
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
static int side(const double *costs, size_t count, double scale, struct tare_arena *arena,
                struct tare_run_estimate *ret_estimate, struct tare_error *err)
{
    struct tare_bootstrap options = {.seed = 1};
    struct tare_interval interval;
    if (tare_stats_bootstrap(costs, count, tare_stats_median, &options, arena, &interval, err))
        return -1;
    *ret_estimate = (struct tare_run_estimate){.value = tare_run_real(interval.estimate / scale),
                                               .lower = tare_run_real(interval.low / scale),
                                               .upper = tare_run_real(interval.high / scale)};
    return 0;
}

/* Every process, for those who want to judge by another rule. NULL when memory ran out. */
static const double *keep(const double *costs, size_t count, double scale, struct tare_arena *arena)
{
    double *kept = tare_arena_array(arena, count, sizeof *kept);
    for (size_t i = 0; kept && i < count; i++)
        kept[i] = costs[i] / scale;
    return kept;
}

static int tell(struct fight *fight, struct tare_error *err)
{
    const struct tare_versus *versus = fight->versus;
    double threshold = versus->rule.threshold > 0 ? versus->rule.threshold : 0.05;
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
        row->costs_a = keep(fight->a + 2 * m * fight->most, 2 * fight->blocks, metric->scale, arena);
        row->costs_b = keep(fight->b + 2 * m * fight->most, 2 * fight->blocks, metric->scale, arena);
        tare_compare_fill(row, &fight->results[m], threshold, arena);
        if (row->kind == TARE_VERDICT_INCONCLUSIVE && fight->blocks < tare_gate_looks[0])
            row->note = tare_arena_printf(
                arena, "only %zu blocks in the time there was, and %zu are needed: raise --time",
                fight->blocks, tare_gate_looks[0]);
    }
    return 0;
}

static int fight_all(struct fight *fight, struct tare_error *err)
{
    bool settled = false;
    while (fight->blocks < fight->most && !settled) {
        int64_t before = tare_clock_ns();
        if (fight->blocks >= 2 && (stopped(fight) || before + fight->block_ns > fight->deadline_ns))
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
    fight.most = versus->blocks ? versus->blocks : tare_gate_looks[TARE_GATE_LOOKS - 1];
    if (fight.most < 2)
        fight.most = 2;
    fight.deadline_ns = tare_clock_ns() + versus->time_ns;
    tare_arena_init(&arena, 0);
    fight.logs = tare_arena_array(&arena, metrics * fight.most, sizeof *fight.logs);
    fight.a = tare_arena_array(&arena, 2 * metrics * fight.most, sizeof *fight.a);
    fight.b = tare_arena_array(&arena, 2 * metrics * fight.most, sizeof *fight.b);
    fight.costs = tare_arena_array(&arena, 4 * metrics, sizeof *fight.costs);
    fight.results = tare_arena_array(&arena, metrics, sizeof *fight.results);
    int rc = tare_arena_check(&arena, err);
    if (rc == 0)
        rc = fight_all(&fight, err);
    tare_arena_finish(&arena);
    return rc;
}
