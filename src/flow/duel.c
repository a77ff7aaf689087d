/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two configurations against each other, for a proof. A bout is one observation, because what differs from
 * process to process does not shrink by measuring one of them for longer. The answer is the median of the
 * bouts' ratios, with bounds by resampling bouts; of few, their mean with Student's.
 */
#include <math.h>

#include "core/stats.h"
#include "flow/bench_part.h"

/* More than the most make the bounds narrower than needed. */
enum { BOUTS_RESAMPLE = 6, BOUTS_AIM = 8, BOUTS_MOST = 24 };

#define RUN_LEAST_NS INT64_C(40000000)

int tare_bench_duel(struct tare_bench *bench, const struct tare_worker_spec *a, double a_items,
                    const struct tare_worker_spec *b, double b_items, int64_t budget_ns,
                    struct tare_bench_duel *ret_duel, struct tare_error *err)
{
    struct tare_bout_side sides[2] = {{bench, a, a_items, 0}, {bench, b, b_items, 0}};
    struct tare_bootstrap options = {.seed = 1};
    struct tare_interval interval;
    struct tare_arena arena;
    struct tare_bout bout;
    double logs[BOUTS_MOST];
    size_t bouts = 0;
    bool apart = false;
    int64_t start = tare_clock_ns(), run_ns = budget_ns / (BOUTS_AIM * 4), bout_ns = 0;
    int rc = -1;
    tare_arena_init(&arena, 0);
    run_ns = run_ns > RUN_LEAST_NS ? run_ns : RUN_LEAST_NS;
    while (bouts < BOUTS_MOST) {
        int64_t before = tare_clock_ns();
        if (bouts >= TARE_DUEL_BOUTS_LEAST && before - start + bout_ns > budget_ns)
            break;
        if (tare_bench_stopped(bench)) {
            tare_fail(err, TARE_E_LIMIT, 0, "interrupted");
            goto out;
        }
        if (tare_bench_bout(sides, bouts % 2 == 1, run_ns, &bout, err))
            goto out;
        logs[bouts++] = -bout.log;
        apart = apart || bout.apart;
        bout_ns = tare_clock_ns() - before;
        if (bouts == 1 && bout_ns * TARE_DUEL_BOUTS_LEAST > 2 * budget_ns) {
            tare_fail(err, TARE_E_LIMIT, 0, "there is no time to try it: raise --time");
            goto out;
        }
    }
    /* Of fewer not even the smallest and the largest enclose the median 95 times in 100. */
    struct tare_series series = {.values = logs, .count = bouts};
    if (bouts < BOUTS_RESAMPLE
            ? tare_stats_mean_bounds(&series, 0.95, &arena, &interval, err)
            : tare_stats_bootstrap(logs, bouts, tare_stats_median, &options, &arena, &interval, err))
        goto out;
    *ret_duel = (struct tare_bench_duel){
        .ratio = {.value = tare_run_real(exp(interval.estimate)),
                  .lower = tare_run_real(exp(interval.low)),
                  .upper = tare_run_real(exp(interval.high)),
                  .effective = tare_run_real((double)bouts)},
        .apart = apart,
    };
    rc = 0;
out:
    tare_arena_finish(&arena);
    return rc;
}
