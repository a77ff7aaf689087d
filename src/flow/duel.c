/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two configurations against each other, for a proof. A block is a fresh process of each, measured in the
 * order A B B A, so that what drifts evenly hits both alike; its ratio is one observation, because what
 * differs from process to process does not shrink by measuring one of them for longer. The answer is the
 * median of the blocks' ratios, with bounds by resampling blocks; of few blocks, their mean with Student's.
 */
#include <math.h>
#include <string.h>

#include "core/stats.h"
#include "flow/bench_part.h"

/* More blocks than the most make the bounds narrower than needed. */
enum { BLOCKS_RESAMPLE = 6, BLOCKS_AIM = 8, BLOCKS_MOST = 24, SAMPLES_MOST = 2000 };

#define WARM_NS        INT64_C(200000000)
#define SLICE_LEAST_NS INT64_C(20000000)
#define PARK_NS        INT64_C(300000000)

struct side {
    const struct tare_worker_spec *spec;
    double items;
    struct tare_worker *worker;
    struct tare_harness_warmup warmup;
    double *values; /* samples of the block, per item */
    size_t count;
};

static int begin(const struct tare_bench *bench, struct side *side, struct tare_error *err)
{
    struct tare_worker_ready ready;
    side->count = 0;
    if (tare_bench_worker(bench, side->spec, &side->worker, &ready, err) ||
        tare_worker_warm(side->worker, WARM_NS, &side->warmup, err))
        return -1;
    tare_worker_idle(side->worker, PARK_NS);
    return 0;
}

static int slice(struct side *side, int64_t slice_ns, struct tare_arena *scratch, struct tare_error *err)
{
    struct tare_harness_limits limits = {
        .min_samples = 1, .max_samples = SAMPLES_MOST / 2, .budget_ns = slice_ns};
    int64_t *ns;
    size_t count;
    if (tare_worker_measure(side->worker, &limits, scratch, &ns, &count, NULL, err))
        return -1;
    double per_sample = (double)side->warmup.calls_per_sample * side->items;
    for (size_t i = 0; i < count && side->count < SAMPLES_MOST; i++)
        side->values[side->count++] = (double)ns[i] / per_sample;
    tare_worker_idle(side->worker, PARK_NS);
    return 0;
}

static int median(const struct side *side, struct tare_arena *scratch, double *ret_median,
                  struct tare_error *err)
{
    const double *sorted;
    if (tare_stats_sorted(side->values, side->count, scratch, &sorted, err))
        return -1;
    *ret_median = tare_stats_median(sorted, side->count);
    return *ret_median > 0 ? 0 : tare_fail(err, TARE_E_INPUT, 0, "a call took no time at all");
}

/* One block: the log of time a over time b. */
static int fight(const struct tare_bench *bench, struct side sides[2], bool b_first, int64_t slice_ns,
                 double *ret_log, struct tare_error *err)
{
    static const int abba[] = {0, 1, 1, 0};
    struct tare_arena scratch;
    double a, b;
    int rc = -1;
    tare_arena_init(&scratch, 0);
    for (int i = 0; i < 2; i++)
        if (begin(bench, &sides[b_first ? 1 - i : i], err))
            goto out;
    for (size_t i = 0; i < 4; i++)
        if (slice(&sides[b_first ? 1 - abba[i] : abba[i]], slice_ns, &scratch, err))
            goto out;
    if (median(&sides[0], &scratch, &a, err) || median(&sides[1], &scratch, &b, err))
        goto out;
    *ret_log = log(a / b);
    rc = 0;
out:
    for (int i = 0; i < 2; i++) {
        tare_worker_close(sides[i].worker);
        sides[i].worker = NULL;
    }
    tare_arena_finish(&scratch);
    return rc;
}

int tare_bench_duel(struct tare_bench *bench, const struct tare_worker_spec *a, double a_items,
                    const struct tare_worker_spec *b, double b_items, int64_t budget_ns,
                    struct tare_bench_duel *ret_duel, struct tare_error *err)
{
    struct side sides[2] = {{.spec = a, .items = a_items}, {.spec = b, .items = b_items}};
    struct tare_bootstrap options = {.seed = 1};
    struct tare_interval interval;
    struct tare_arena arena;
    double logs[BLOCKS_MOST];
    size_t blocks = 0;
    int64_t start = tare_clock_ns(), slice_ns = budget_ns / (BLOCKS_AIM * 8), block_ns = 0;
    int rc = -1;
    tare_arena_init(&arena, 0);
    for (int i = 0; i < 2; i++) {
        sides[i].values = tare_arena_array(&arena, SAMPLES_MOST, sizeof *sides[i].values);
        if (!sides[i].values) {
            tare_fail_memory(err);
            goto out;
        }
    }
    slice_ns = slice_ns > SLICE_LEAST_NS ? slice_ns : SLICE_LEAST_NS;
    while (blocks < BLOCKS_MOST) {
        int64_t before = tare_clock_ns();
        if (blocks >= TARE_DUEL_BLOCKS_LEAST && before - start + block_ns > budget_ns)
            break;
        if (tare_bench_stopped(bench)) {
            tare_fail(err, TARE_E_LIMIT, 0, "interrupted");
            goto out;
        }
        if (fight(bench, sides, blocks % 2 == 1, slice_ns, &logs[blocks], err))
            goto out;
        blocks++;
        block_ns = tare_clock_ns() - before;
        if (blocks == 1 && block_ns * TARE_DUEL_BLOCKS_LEAST > 2 * budget_ns) {
            tare_fail(err, TARE_E_LIMIT, 0, "there is no time to try it: raise --time");
            goto out;
        }
    }
    /* Of fewer blocks not even the smallest and the largest enclose the median 95 times in 100. */
    struct tare_series series = {.values = logs, .count = blocks};
    if (blocks < BLOCKS_RESAMPLE
            ? tare_stats_mean_bounds(&series, 0.95, &arena, &interval, err)
            : tare_stats_bootstrap(logs, blocks, tare_stats_median, &options, &arena, &interval, err))
        goto out;
    *ret_duel = (struct tare_bench_duel){
        .ratio = {.value = tare_run_real(exp(interval.estimate)),
                  .lower = tare_run_real(exp(interval.low)),
                  .upper = tare_run_real(exp(interval.high)),
                  .effective = tare_run_real((double)blocks)},
        .blocks = (int64_t)blocks,
    };
    rc = 0;
out:
    tare_arena_finish(&arena);
    return rc;
}
