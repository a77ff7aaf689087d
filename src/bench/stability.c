/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two modes: the samples' logarithms are split in two where that explains most of their spread (Otsu), the
 * middle of each part is its mode, and there are two modes if both hold their share of the samples, lie apart
 * by more than a user would call noise, and few samples lie between them. One hump, however wide or skewed,
 * has its middle full.
 *
 * Drift: medians of ten stretches of time, one after the other. The level drifts if these rise or fall as one
 * (Mann and Kendall) and end far from where they began, compared with how they scatter about the line. A
 * correlated series wanders too, but it comes back: that is what the scatter tells.
 */
#include "bench/stability.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "core/stats.h"

enum { FEWEST = 60, STRETCHES = 10 };

/* What both modes must hold at least, how far apart they are, and how empty the middle is against them. */
#define MODE_SHARE 0.20
#define MODE_APART 0.10
#define VALLEY     0.25

/* How far the level must have moved, relative, and in standard errors of the stretches about the line. */
#define DRIFT_APART  0.10
#define DRIFT_ERRORS 4.0
/* Pairs of the ten stretches' 45 that must go the same way, net. */
enum { DRIFT_PAIRS = 35 };

/* Shares of the time that the machine may take away unnoticed. */
#define TAKEN_SHARE 0.05

/* Where a split into two leaves the least spread within the parts: an index into sorted values. */
static size_t best_split(const double *sorted, size_t count)
{
    double total = 0, left = 0, best = -1;
    size_t split = count / 2;
    for (size_t i = 0; i < count; i++)
        total += sorted[i];
    for (size_t i = 1; i < count; i++) {
        left += sorted[i - 1];
        double nleft = (double)i, nright = (double)(count - i);
        double apart = left / nleft - (total - left) / nright, between = nleft * nright * apart * apart;
        if (between > best) {
            best = between;
            split = i;
        }
    }
    return split;
}

static size_t count_within(const double *sorted, size_t count, double low, double high)
{
    size_t inside = 0;
    for (size_t i = 0; i < count; i++)
        inside += sorted[i] >= low && sorted[i] <= high;
    return inside;
}

static bool has_two_modes(const double *sorted, size_t count, struct tare_stability_verdict *verdict)
{
    /* Far outliers would be a part of their own. */
    size_t cut = count / 50;
    const double *values = sorted + cut;
    size_t kept = count - 2 * cut, split = best_split(values, kept);
    double low = tare_stats_median(values, split), high = tare_stats_median(values + split, kept - split);
    double share = (double)(kept - split) / (double)kept, apart = high - low;
    if (share < MODE_SHARE || share > 1 - MODE_SHARE || apart < log1p(MODE_APART))
        return false;
    double reach = 0.15 * apart, middle = 0.5 * (low + high);
    size_t at_low = count_within(values, kept, low - reach, low + reach);
    size_t at_high = count_within(values, kept, high - reach, high + reach);
    size_t between = count_within(values, kept, middle - reach, middle + reach);
    size_t lesser = at_low < at_high ? at_low : at_high;
    if ((double)between > VALLEY * (double)lesser)
        return false;
    char low_text[TARE_UNITS_TEXT], high_text[TARE_UNITS_TEXT];
    verdict->kind = TARE_UNSTABLE_MODES;
    snprintf(verdict->reason, sizeof verdict->reason,
             "two modes: %.0f %% of the calls take about %s, the rest %s", 100 * (1 - share),
             tare_duration_format(low_text, sizeof low_text, exp(low)),
             tare_duration_format(high_text, sizeof high_text, exp(high)));
    return true;
}

static int take_medians(const double *logs, size_t count, struct tare_arena *scratch, double *medians,
                        struct tare_error *err)
{
    for (size_t s = 0; s < STRETCHES; s++) {
        const double *sorted;
        size_t from = s * count / STRETCHES, to = (s + 1) * count / STRETCHES;
        if (tare_stats_sorted(logs + from, to - from, scratch, &sorted, err))
            return -1;
        medians[s] = tare_stats_median(sorted, to - from);
    }
    return 0;
}

static bool drifts(const double *medians, struct tare_stability_verdict *verdict)
{
    double slopes[STRETCHES * STRETCHES], temp[STRETCHES * STRETCHES], residual[STRETCHES];
    size_t count = 0;
    int net = 0;
    for (int i = 0; i < STRETCHES; i++) {
        for (int j = i + 1; j < STRETCHES; j++) {
            slopes[count++] = (medians[j] - medians[i]) / (double)(j - i);
            net += (medians[j] > medians[i]) - (medians[j] < medians[i]);
        }
    }
    tare_stats_sort(slopes, count, temp);
    double slope = tare_stats_median(slopes, count), moved = slope * (STRETCHES - 1);
    for (int i = 0; i < STRETCHES; i++)
        residual[i] = medians[i] - slope * (double)i;
    double scatter = sqrt(tare_stats_variance(residual, STRETCHES));
    if (abs(net) < DRIFT_PAIRS || fabs(moved) < log1p(DRIFT_APART) || fabs(moved) < DRIFT_ERRORS * scatter)
        return false;
    verdict->kind = TARE_UNSTABLE_DRIFT;
    snprintf(verdict->reason, sizeof verdict->reason,
             "drift: calls became %.0f %% %s from the first to the last", 100 * fabs(expm1(moved)),
             moved > 0 ? "slower" : "faster");
    return true;
}

static bool was_taken_away(const struct tare_stability_facts *facts, struct tare_stability_verdict *verdict)
{
    double wall = (double)facts->wall_ns;
    if (facts->wall_ns <= 0)
        return false;
    double throttled = (double)facts->throttled_ns / wall;
    double steal = facts->cores ? (double)facts->steal_ns / wall / (double)facts->cores : 0;
    if (throttled > TAKEN_SHARE) {
        verdict->kind = TARE_UNSTABLE_THROTTLED;
        snprintf(verdict->reason, sizeof verdict->reason,
                 "throttled: the control group's quota stopped it %.0f %% of the time", 100 * throttled);
    } else if (steal > TAKEN_SHARE) {
        verdict->kind = TARE_UNSTABLE_STEAL;
        snprintf(verdict->reason, sizeof verdict->reason,
                 "steal: the hypervisor took %.0f %% of the processors' time", 100 * steal);
    }
    return verdict->kind != TARE_STABLE;
}

int tare_stability_judge(const struct tare_stability_facts *facts, struct tare_arena *scratch,
                         struct tare_stability_verdict *ret_verdict, struct tare_error *err)
{
    struct tare_stability_verdict verdict = {.kind = TARE_STABLE};
    const double *sorted;
    double medians[STRETCHES];
    if (was_taken_away(facts, &verdict) || facts->count < FEWEST) {
        *ret_verdict = verdict;
        return 0;
    }
    double *logs = tare_arena_array(scratch, facts->count, sizeof *logs);
    if (!logs)
        return tare_fail_memory(err);
    for (size_t i = 0; i < facts->count; i++)
        logs[i] = log(fmax((double)facts->ns[i], 1));
    if (take_medians(logs, facts->count, scratch, medians, err) ||
        tare_stats_sorted(logs, facts->count, scratch, &sorted, err))
        return -1;
    if (!drifts(medians, &verdict))
        has_two_modes(sorted, facts->count, &verdict);
    *ret_verdict = verdict;
    return 0;
}
