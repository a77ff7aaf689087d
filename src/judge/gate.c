/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/gate.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/stats.h"
#include "core/stats_random.h"

const size_t tare_gate_looks[TARE_GATE_LOOKS] = {10, 20, 40};

/* Any fixed number: bounds of the same data are the same every time. */
static const uint64_t seed = 20;

static struct tare_gate_rule filled(const struct tare_gate_rule *rule)
{
    struct tare_gate_rule made = rule ? *rule : (struct tare_gate_rule){0, 0, 0};
    if (made.threshold <= 0)
        made.threshold = 0.05;
    if (made.p <= 0)
        made.p = 0.01;
    if (made.allowance <= 0)
        made.allowance = TARE_GATE_ALLOWANCE;
    return made;
}

static enum tare_gate_verdict decide(const struct tare_gate_result *result, double threshold, double p)
{
    if (result->p < p && result->ratio >= 1 + threshold && result->low > 1)
        return TARE_GATE_REGRESSED;
    if (result->p < p && result->ratio <= 1 / (1 + threshold) && result->high < 1)
        return TARE_GATE_IMPROVED;
    if (result->high <= 1 + threshold && result->low >= 1 / (1 + threshold))
        return TARE_GATE_SAME;
    return TARE_GATE_INCONCLUSIVE;
}

/* ---- the smallest effect that would be called ---- */

enum { TRIALS = 400 };

/* Values drawn again from those seen, around a centre of 0. */
struct draw {
    const double *centred;
    size_t count;
    double *values, *temp;
};

static double drawn_median(const struct draw *draw, struct tare_random *random)
{
    for (size_t i = 0; i < draw->count; i++)
        draw->values[i] = draw->centred[tare_random_below(random, (uint32_t)draw->count)];
    tare_stats_sort(draw->values, draw->count, draw->temp);
    return tare_stats_median(draw->values, draw->count);
}

/*
 * Medians of what such a comparison would see if there were no effect, ascending. A true effect shifts all of
 * them alike, and a shift is called when the median passes the threshold and the rank test agrees; the rank
 * test is met, to a good approximation, when the median is about 2.6 of its own standard deviations from 0.
 * So the shift that 80 % of them need is that limit less the 20th percentile of the medians.
 */
static double detectable(const double *medians, size_t count, double threshold)
{
    double sd = sqrt(tare_stats_variance(medians, count));
    double limit = fmax(log1p(threshold), 2.6 * sd);
    return expm1(limit - medians[count / 5]);
}

static double *centre(const double *logs, size_t count, struct tare_arena *scratch, struct tare_error *err)
{
    const double *sorted;
    double *centred = tare_arena_array(scratch, count, sizeof *centred);
    if (!centred) {
        tare_arena_check(scratch, err);
        return NULL;
    }
    if (tare_stats_sorted(logs, count, scratch, &sorted, err))
        return NULL;
    double middle = tare_stats_median(sorted, count);
    /* Resampling n values shows (n - 1) / n of their variance: put it back. */
    double widen = count > 1 ? sqrt((double)count / (double)(count - 1)) : 1;
    for (size_t i = 0; i < count; i++)
        centred[i] = (logs[i] - middle) * widen;
    return centred;
}

static int prepare(struct draw *draw, const double *logs, size_t count, struct tare_arena *scratch,
                   struct tare_error *err)
{
    *draw = (struct draw){.count = count};
    if (!logs)
        return tare_fail_memory(err);
    draw->centred = centre(logs, count, scratch, err);
    if (!draw->centred)
        return -1;
    draw->values = tare_arena_array(scratch, count, sizeof *draw->values);
    draw->temp = tare_arena_array(scratch, count, sizeof *draw->temp);
    return draw->values && draw->temp ? 0 : tare_arena_check(scratch, err);
}

/* b is NULL for blocks, whose logs are differences already. */
static int find_detectable(const double *a, size_t a_count, const double *b, size_t b_count, double threshold,
                           struct tare_arena *scratch, double *ret_effect, struct tare_error *err)
{
    struct draw first, second = {.count = 0};
    struct tare_random random;
    double *medians = tare_arena_array(scratch, TRIALS, sizeof *medians);
    double *temp = tare_arena_array(scratch, TRIALS, sizeof *temp);
    if (!medians || !temp)
        return tare_arena_check(scratch, err);
    if (prepare(&first, a, a_count, scratch, err) || (b && prepare(&second, b, b_count, scratch, err)))
        return -1;
    tare_random_init(&random, seed);
    for (size_t i = 0; i < TRIALS; i++)
        medians[i] = drawn_median(&first, &random) - (b ? drawn_median(&second, &random) : 0);
    tare_stats_sort(medians, TRIALS, temp);
    *ret_effect = detectable(medians, TRIALS, threshold);
    return 0;
}

/* ---- comparisons ---- */

int tare_gate_blocks(const double *logs, size_t count, const struct tare_gate_rule *rule,
                     struct tare_arena *scratch, struct tare_gate_result *ret_result, struct tare_error *err)
{
    struct tare_gate_rule use = filled(rule);
    struct tare_bootstrap options = {.seed = seed};
    struct tare_interval bounds;
    struct tare_test test;
    struct tare_gate_result made = {.a = 2 * count, .b = 2 * count, .blocks = count};
    if (tare_stats_bootstrap(logs, count, tare_stats_median, &options, scratch, &bounds, err) ||
        tare_stats_signed_rank(logs, count, TARE_ZEROS_PRATT, scratch, &test, err) ||
        find_detectable(logs, count, NULL, 0, use.threshold, scratch, &made.detectable, err))
        return -1;
    made.ratio = exp(bounds.estimate);
    made.low = exp(bounds.low);
    made.high = exp(bounds.high);
    made.p = test.p;
    made.verdict = decide(&made, use.threshold, use.p);
    *ret_result = made;
    return 0;
}

static int to_logs(const double *values, size_t count, struct tare_arena *scratch, double **ret_logs,
                   struct tare_error *err)
{
    double *logs = tare_arena_array(scratch, count, sizeof *logs);
    if (!logs)
        return tare_arena_check(scratch, err);
    for (size_t i = 0; i < count; i++) {
        if (!(values[i] > 0) || !isfinite(values[i]))
            return tare_fail(err, TARE_E_INPUT, 0, "a figure of %g cannot be compared", values[i]);
        logs[i] = log(values[i]);
    }
    *ret_logs = logs;
    return 0;
}

/* One or two processes have no spread of their own: their ratio is all there is. */
static int few(const double *a, size_t a_count, const double *b, size_t b_count, double allowance,
               struct tare_arena *scratch, struct tare_gate_result *made, struct tare_error *err)
{
    const double *sorted_a, *sorted_b;
    if (tare_stats_sorted(a, a_count, scratch, &sorted_a, err) ||
        tare_stats_sorted(b, b_count, scratch, &sorted_b, err))
        return -1;
    made->ratio = exp(tare_stats_median(sorted_b, b_count) - tare_stats_median(sorted_a, a_count));
    made->low = made->ratio / (1 + allowance);
    made->high = made->ratio * (1 + allowance);
    made->p = NAN;
    made->detectable = allowance;
    made->allowance = allowance;
    made->verdict = made->low > 1    ? TARE_GATE_REGRESSED
                    : made->high < 1 ? TARE_GATE_IMPROVED
                                     : TARE_GATE_INCONCLUSIVE;
    return 0;
}

int tare_gate_sides(const double *a, size_t a_count, const double *b, size_t b_count,
                    const struct tare_gate_rule *rule, struct tare_arena *scratch,
                    struct tare_gate_result *ret_result, struct tare_error *err)
{
    struct tare_gate_rule use = filled(rule);
    struct tare_bootstrap options = {.seed = seed};
    struct tare_interval bounds;
    struct tare_test test;
    struct tare_gate_result made = {.a = a_count, .b = b_count};
    double *log_a = NULL, *log_b = NULL;
    if (a_count == 0 || b_count == 0)
        return tare_fail(err, TARE_E_INPUT, 0, "one side has no figures: nothing to compare");
    if (to_logs(a, a_count, scratch, &log_a, err) || to_logs(b, b_count, scratch, &log_b, err))
        return -1;
    if (a_count < TARE_GATE_PROCESSES || b_count < TARE_GATE_PROCESSES) {
        if (few(log_a, a_count, log_b, b_count, use.allowance, scratch, &made, err))
            return -1;
        if (made.ratio < 1 + use.threshold && made.verdict == TARE_GATE_REGRESSED)
            made.verdict = TARE_GATE_INCONCLUSIVE;
        *ret_result = made;
        return 0;
    }
    if (tare_stats_bootstrap_ratio(a, a_count, b, b_count, tare_stats_median, &options, scratch, &bounds,
                                   err) ||
        tare_stats_rank_sum(log_b, b_count, log_a, a_count, scratch, &test, err) ||
        find_detectable(log_b, b_count, log_a, a_count, use.threshold, scratch, &made.detectable, err))
        return -1;
    made.ratio = bounds.estimate;
    made.low = bounds.low;
    made.high = bounds.high;
    made.p = test.p;
    made.verdict = decide(&made, use.threshold, use.p);
    *ret_result = made;
    return 0;
}

void tare_gate_exact(double a, double b, struct tare_gate_result *ret_result)
{
    double ratio = a == b ? 1 : a == 0 ? INFINITY : b / a;
    *ret_result = (struct tare_gate_result){
        .verdict = b > a   ? TARE_GATE_REGRESSED
                   : b < a ? TARE_GATE_IMPROVED
                           : TARE_GATE_SAME,
        .ratio = ratio,
        .low = ratio,
        .high = ratio,
        .p = NAN,
        .exact = true,
    };
}

int tare_gate_holm(struct tare_gate_result *results, size_t count, const struct tare_gate_rule *rule,
                   struct tare_arena *scratch, struct tare_error *err)
{
    struct tare_gate_rule use = filled(rule);
    size_t used = 0;
    double *p = tare_arena_array(scratch, count, sizeof *p);
    double *adjusted = tare_arena_array(scratch, count, sizeof *adjusted);
    if (!p || !adjusted)
        return tare_arena_check(scratch, err);
    for (size_t i = 0; i < count; i++)
        if (!isnan(results[i].p))
            p[used++] = results[i].p;
    if (used == 0)
        return 0;
    if (tare_stats_holm(p, used, scratch, adjusted, err))
        return -1;
    used = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(results[i].p))
            continue;
        results[i].p = adjusted[used++];
        results[i].verdict = decide(&results[i], use.threshold, use.p);
    }
    return 0;
}

const char *tare_gate_word(enum tare_gate_verdict verdict)
{
    static const char *const words[] = {"inconclusive", "same", "improved", "regressed"};
    return words[verdict];
}
