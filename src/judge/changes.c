/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/changes.h"

#include <math.h>
#include <string.h>

#include "core/stats.h"

struct finder {
    const double *values;
    size_t count;
    struct tare_changes_rule rule;
    struct tare_arena *scratch;
    size_t *points; /* first points of new levels, ascending */
    size_t points_count;
    struct tare_error *err;
};

/* What the noise of the whole counts against that of one side, in points: the machine is the same on both,
 * and ten points of a new level know its noise badly. */
static const double prior = 4;

static double moderated_p(const struct finder *finder, size_t from, size_t at, size_t to, double weight)
{
    struct tare_test test;
    struct tare_error ignored;
    if (tare_stats_welch_moderated(finder->values + from, at - from, finder->values + at, to - at, weight,
                                   &test, &ignored))
        return 1;
    return test.p;
}

static double welch_p(const struct finder *finder, size_t from, size_t at, size_t to)
{
    return moderated_p(finder, from, at, to, prior);
}

static double mean(const struct finder *finder, size_t from, size_t to)
{
    return tare_stats_mean(finder->values + from, to - from);
}

/* ---- proposals ---- */

/* Sum of distances from one point to those in [from, to). */
static double distances(const double *values, size_t point, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += fabs(values[point] - values[i]);
    return sum;
}

/*
 * The split of [from, to) with the largest energy distance between its sides, leaving at least `after` points
 * on each. The three sums of distances (inside left, inside right, across) are carried from split to split.
 */
static size_t best_split(const struct finder *finder, size_t from, size_t to)
{
    const double *values = finder->values;
    size_t after = finder->rule.after, best = 0;
    double left = 0, right = 0, across = 0, most = -1;
    for (size_t i = from; i < to; i++)
        right += distances(values, i, i + 1, to);
    for (size_t at = from + 1; at < to; at++) {
        double before = distances(values, at - 1, from, at - 1);
        double behind = distances(values, at - 1, at, to);
        left += before;
        right -= behind;
        across += behind - before;
        size_t m = at - from, n = to - at;
        if (m < after || n < after)
            continue;
        double energy = 2 * across / ((double)m * (double)n);
        energy -= m > 1 ? 2 * left / ((double)m * (double)(m - 1)) : 0;
        energy -= n > 1 ? 2 * right / ((double)n * (double)(n - 1)) : 0;
        energy *= (double)m * (double)n / (double)(m + n);
        if (energy > most) {
            most = energy;
            best = at;
        }
    }
    return best;
}

static void propose(struct finder *finder, bool *weak, size_t from, size_t to)
{
    if (to - from < 2 * finder->rule.after)
        return;
    size_t at = best_split(finder, from, to);
    /* A side may hold several levels yet: it has no noise that could be shared. */
    if (at == 0 || moderated_p(finder, from, at, to, 0) >= 10 * finder->rule.p)
        return;
    weak[at] = true;
    propose(finder, weak, from, at);
    propose(finder, weak, at, to);
}

static void propose_in(struct finder *finder, bool *weak, size_t window, size_t step)
{
    for (size_t from = 0;; from += step) {
        size_t to = from + window < finder->count ? from + window : finder->count;
        propose(finder, weak, from, to);
        if (to == finder->count)
            return;
    }
}

/* Windows overlap by half, so that a change near the edge of one is in the middle of another; and half as
 * wide ones are tried too, because a level that comes and goes hides in a window that holds it twice. */
static int propose_all(struct finder *finder)
{
    bool *weak = tare_arena_array(finder->scratch, finder->count + 1, sizeof *weak);
    finder->points = tare_arena_array(finder->scratch, finder->count + 1, sizeof *finder->points);
    if (!weak || !finder->points)
        return tare_arena_check(finder->scratch, finder->err);
    size_t wide = finder->rule.window, narrow = wide * 2 / 5;
    propose_in(finder, weak, wide, wide / 2);
    propose_in(finder, weak, narrow, narrow / 6 + 1);
    for (size_t i = 0; i < finder->count; i++)
        if (weak[i])
            finder->points[finder->points_count++] = i;
    return 0;
}

/* ---- what holds ---- */

static size_t level_start(const struct finder *finder, size_t i)
{
    return i == 0 ? 0 : finder->points[i - 1];
}

static size_t level_end(const struct finder *finder, size_t i)
{
    return i + 1 < finder->points_count ? finder->points[i + 1] : finder->count;
}

static void remove_point(struct finder *finder, size_t i)
{
    memmove(finder->points + i, finder->points + i + 1,
            (finder->points_count - i - 1) * sizeof *finder->points);
    finder->points_count--;
}

/* How bad a point is: 0 holds; else larger is worse, a step too small being worse than one too doubtful. */
static double badness(const struct finder *finder, size_t i)
{
    size_t from = level_start(finder, i), at = finder->points[i], to = level_end(finder, i);
    if (at - from < finder->rule.after || to - at < finder->rule.after) {
        /* Of two that are too close, the one that holds less well without the other goes. */
        if (at - from < finder->rule.after && i > 0)
            from = level_start(finder, i - 1);
        if (to - at < finder->rule.after && i + 1 < finder->points_count)
            to = level_end(finder, i + 1);
        return 3 + welch_p(finder, from, at, to);
    }
    double step = fabs(mean(finder, at, to) / mean(finder, from, at) - 1);
    if (step < finder->rule.magnitude)
        return 2 + (finder->rule.magnitude - step);
    double p = welch_p(finder, from, at, to);
    return p < finder->rule.p ? 0 : 1 + p;
}

/* How far apart two sides are by ranks, and by their distribution functions. */
static void rank_distance(const double *values, size_t from, size_t at, size_t to, double *ret_rank,
                          double *ret_ks)
{
    double m = (double)(at - from), n = (double)(to - at), above = 0, apart = 0;
    for (size_t x = from; x < at; x++) {
        double below_x = 0, below_y = 0;
        for (size_t y = at; y < to; y++) {
            above += values[x] > values[y] ? 1 : values[x] < values[y] ? 0 : 0.5;
            below_y += values[y] <= values[x];
        }
        for (size_t o = from; o < at; o++)
            below_x += values[o] <= values[x];
        apart = fmax(apart, fabs(below_x / m - below_y / n));
    }
    *ret_rank = fabs(above - m * n / 2) / sqrt(m * n * (m + n + 1) / 12);
    *ret_ks = apart * sqrt(m * n / (m + n));
}

/* Ranks are coarse in short series: several splits are nearly as good as the best. One of these must lie
 * within one of the point. */
static bool ranks_agree(const struct finder *finder, size_t i)
{
    static const double nearly = 0.95;
    size_t half = finder->rule.window / 2, at = finder->points[i];
    size_t from = level_start(finder, i), to = level_end(finder, i);
    double most_rank = 0, most_ks = 0, near_rank = 0, near_ks = 0;
    from = at - from > half ? at - half : from;
    to = to - at > half ? at + half : to;
    for (size_t s = from + 2; s + 2 <= to; s++) {
        double rank, ks;
        rank_distance(finder->values, from, s, to, &rank, &ks);
        most_rank = fmax(most_rank, rank);
        most_ks = fmax(most_ks, ks);
        if (s + 1 >= at && s <= at + 1) {
            near_rank = fmax(near_rank, rank);
            near_ks = fmax(near_ks, ks);
        }
    }
    return near_rank >= nearly * most_rank || near_ks >= nearly * most_ks;
}

/* Neighbours of a removed point have longer sides, and may hold now: the worst goes first, then all are asked
 * again. Only the neighbours' answers change. */
static int merge(struct finder *finder)
{
    double *bad = tare_arena_array(finder->scratch, finder->points_count + 1, sizeof *bad);
    if (!bad)
        return tare_arena_check(finder->scratch, finder->err);
    for (size_t i = 0; i < finder->points_count; i++)
        bad[i] = badness(finder, i);
    for (;;) {
        size_t worst = 0;
        for (size_t i = 1; i < finder->points_count; i++)
            if (bad[i] > bad[worst])
                worst = i;
        if (finder->points_count == 0 || bad[worst] <= 0)
            return 0;
        remove_point(finder, worst);
        memmove(bad + worst, bad + worst + 1, (finder->points_count - worst) * sizeof *bad);
        for (size_t i = worst > 2 ? worst - 2 : 0; i < worst + 2 && i < finder->points_count; i++)
            bad[i] = badness(finder, i);
    }
}

static double spread(const struct finder *finder, size_t from, size_t to)
{
    return tare_stats_variance(finder->values + from, to - from) * (double)(to - from - 1);
}

/* Now that the sides are known, the place is where two levels explain most: least squares locates a step
 * better than the distance that found it. */
static void settle(struct finder *finder)
{
    for (size_t i = 0; i < finder->points_count; i++) {
        size_t after = finder->rule.after, best = finder->points[i];
        size_t from = level_start(finder, i), to = level_end(finder, i);
        double least = INFINITY;
        from = best - from > finder->rule.window ? best - finder->rule.window : from;
        to = to - best > finder->rule.window ? best + finder->rule.window : to;
        for (size_t at = from + after; at + after <= to; at++) {
            double rest = spread(finder, from, at) + spread(finder, at, to);
            if (rest < least) {
                least = rest;
                best = at;
            }
        }
        finder->points[i] = best;
    }
}

/* ---- steps or a slope ---- */

struct line {
    double start, slope, rss;
};

/* Of a difference in the Bayesian criterion: evidence that leaves no doubt. */
static const double very_strong = 10;

static struct line fit(const struct finder *finder, size_t from, size_t to)
{
    double n = (double)(to - from), middle = (n - 1) / 2, sum = mean(finder, from, to), xy = 0;
    struct line line = {0, 0, 0};
    for (size_t i = from; i < to; i++)
        xy += ((double)(i - from) - middle) * (finder->values[i] - sum);
    line.slope = xy / (n * (n * n - 1) / 12);
    line.start = sum - line.slope * middle;
    for (size_t i = from; i < to; i++) {
        double off = finder->values[i] - line.start - line.slope * (double)(i - from);
        line.rss += off * off;
    }
    return line;
}

static bool same_direction(const struct finder *finder, size_t a, size_t b)
{
    bool up_a = mean(finder, finder->points[a], level_end(finder, a)) >
                mean(finder, level_start(finder, a), finder->points[a]);
    bool up_b = mean(finder, finder->points[b], level_end(finder, b)) >
                mean(finder, level_start(finder, b), finder->points[b]);
    return up_a == up_b;
}

/* A level that comes at once and goes at once: one of its ends may look like a slope by chance, and must do
 * so beyond doubt before it is called one. */
static bool comes_and_goes(const struct finder *finder, size_t first, size_t last)
{
    return first == last && ((first > 0 && !same_direction(finder, first - 1, first)) ||
                             (last + 1 < finder->points_count && !same_direction(finder, last, last + 1)));
}

/* Is one line better than the levels of points first..last, by what each costs in parameters? */
static bool is_line(const struct finder *finder, size_t first, size_t last, struct line *ret_line)
{
    size_t from = level_start(finder, first), to = level_end(finder, last), n = to - from;
    double levels = 0, steps = (double)(last - first + 1);
    for (size_t i = first; i <= last; i++)
        levels += spread(finder, level_start(finder, i), finder->points[i]);
    levels += spread(finder, finder->points[last], to);
    *ret_line = fit(finder, from, to);
    double tiny = 1e-18 * mean(finder, from, to) * mean(finder, from, to);
    double size = (double)n, price = log(size);
    double of_levels = size * log((levels + tiny) / size) + (2 * steps + 1) * price;
    double of_line = size * log((ret_line->rss + tiny) / size) + 2 * price;
    return of_line + (comes_and_goes(finder, first, last) ? very_strong : 0) < of_levels;
}

static void describe_step(const struct finder *finder, size_t i, struct tare_change *change)
{
    size_t from = level_start(finder, i), at = finder->points[i], to = level_end(finder, i);
    *change = (struct tare_change){
        .kind = TARE_CHANGE_STEP,
        .first = at,
        .last = to - 1,
        .before = mean(finder, from, at),
        .after = mean(finder, at, to),
        .p = welch_p(finder, from, at, to),
    };
    change->ratio = change->after / change->before;
}

static void describe_drift(const struct finder *finder, size_t first, size_t last, const struct line *line,
                           struct tare_change *change)
{
    size_t from = level_start(finder, first), to = level_end(finder, last);
    *change = (struct tare_change){
        .kind = TARE_CHANGE_DRIFT,
        .first = from,
        .last = to - 1,
        .before = line->start,
        .after = line->start + line->slope * (double)(to - 1 - from),
        .p = welch_p(finder, from, from + (to - from) / 2, to),
    };
    change->ratio = change->after / change->before;
    change->per_point = line->slope / change->before;
}

/* The old level is back when a later step ends within half of the step from where it began. */
static void mark_gone(struct tare_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count && !changes[i].gone; k++)
            changes[i].gone =
                changes[i].kind == TARE_CHANGE_STEP &&
                fabs(changes[k].after - changes[i].before) < fabs(changes[i].after - changes[i].before) / 2;
}

static int describe(struct finder *finder, struct tare_change **ret_changes, size_t *ret_count)
{
    struct tare_change *changes =
        tare_arena_array(finder->scratch, finder->points_count + 1, sizeof *changes);
    size_t count = 0;
    if (!changes)
        return tare_arena_check(finder->scratch, finder->err);
    for (size_t i = 0; i < finder->points_count;) {
        size_t last = i;
        struct line line;
        while (last + 1 < finder->points_count && same_direction(finder, i, last + 1))
            last++;
        /* The longest run of steps that is better told as a line. */
        while (last > i && !is_line(finder, i, last, &line))
            last--;
        if (is_line(finder, i, last, &line)) {
            describe_drift(finder, i, last, &line, &changes[count++]);
        } else {
            last = i;
            describe_step(finder, i, &changes[count++]);
        }
        i = last + 1;
    }
    mark_gone(changes, count);
    *ret_changes = changes;
    *ret_count = count;
    return 0;
}

int tare_changes_find(const double *values, size_t count, const struct tare_changes_rule *rule,
                      struct tare_arena *scratch, struct tare_change **ret_changes, size_t *ret_count,
                      struct tare_error *err)
{
    struct finder finder = {.values = values, .count = count, .scratch = scratch, .err = err};
    if (rule)
        finder.rule = *rule;
    finder.rule.window = finder.rule.window ? finder.rule.window : 50;
    finder.rule.p = finder.rule.p > 0 ? finder.rule.p : 0.001;
    finder.rule.magnitude = finder.rule.magnitude > 0 ? finder.rule.magnitude : 0.03;
    finder.rule.after = finder.rule.after ? finder.rule.after : 6;
    if (finder.rule.window < 5 * finder.rule.after)
        finder.rule.window = 5 * finder.rule.after;
    *ret_changes = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]) || values[i] <= 0)
            return tare_fail(err, TARE_E_INPUT, 0, "figure %zu of the series is %g: must be above 0", i + 1,
                             values[i]);
    if (count < 2 * finder.rule.after)
        return 0;
    if (propose_all(&finder) || merge(&finder))
        return -1;
    settle(&finder);
    for (size_t i = finder.points_count; i-- > 0;)
        if (!ranks_agree(&finder, i))
            remove_point(&finder, i);
    if (merge(&finder))
        return -1;
    return describe(&finder, ret_changes, ret_count);
}
