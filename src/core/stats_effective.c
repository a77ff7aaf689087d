/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many independent samples a series is worth.
 *
 * The bounds of a percentile depend on how many samples exceed a level near it. If exceeding it comes in
 * runs, the variance of that number is larger than the binomial one by 1 + 2 * (sum of the autocorrelations
 * of "this sample exceeds it"); the effective number of samples is the number divided by that inflation. It
 * is estimated as follows, each choice erring towards fewer samples:
 *
 * - The autocorrelations are summed by Geyer's initial monotone sequence: in pairs, each at most the one
 * before, until a pair is not positive. Long series are first averaged into blocks, which leaves the sum as
 * it is.
 * - The true percentile may lie elsewhere than the estimate, and at a level that is seldom exceeded the sum
 * is cut short by noise. So levels with a half, once, twice and three times the tail are asked, and the worst
 *   counts. With ties a level is asked twice, its own value counting as above and as below.
 * - Where several processes made the samples, each has its own level: the variance of the processes' shares
 *   gives an inflation too, widened as Student's t is for so few of them.
 * - An inflation that independent samples may well show by chance (two standard errors) counts as none.
 * Otherwise nobody could ever be told that independent samples suffice.
 *
 * bench/stats_coverage.c shows what this gives.
 */
#include <math.h>
#include <string.h>

#include "core/stats.h"
#include "core/stats_detail.h"
#include "core/stats_special.h"

/* Lags cost blocks x lags; this many blocks estimate an inflation to 2 %. */
enum { MOST_BLOCKS = 8192 };

/* What is asked of each sample: itself, or whether it lies above a level. */
struct question {
    bool value;
    bool inclusive; /* at the level counts as above it */
    double level;
    double mean, variance; /* of the answers */
};

/* The sum of the answers' distances from their mean. */
static double sum_of(const struct question *question, const double *values, size_t count)
{
    if (question->value) {
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += values[i] - question->mean;
        return sum;
    }
    size_t above = 0;
    for (size_t i = 0; i < count; i++)
        above += question->inclusive ? values[i] >= question->level : values[i] > question->level;
    return (double)above - question->mean * (double)count;
}

static int group(const struct tare_series *series, struct tare_arena *scratch, struct tare_ordered *ordered,
                 struct tare_error *err)
{
    size_t count = series->count;
    double *ids = tare_arena_array(scratch, count, sizeof *ids);
    double *temp = tare_arena_array(scratch, count, sizeof *temp);
    double *values = tare_arena_array(scratch, count, sizeof *values);
    if (!ids || !temp || !values)
        return tare_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        ids[i] = series->process[i];
    tare_stats_sort(ids, count, temp);
    size_t groups = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || ids[i] != ids[groups - 1])
            ids[groups++] = ids[i];
    }
    size_t *starts = tare_arena_array(scratch, groups + 2, sizeof *starts);
    if (!starts)
        return tare_fail_memory(err);
    /* starts[g + 2] counts group g; summed, starts[g + 1] is where its next sample goes */
    for (size_t i = 0; i < count; i++)
        starts[tare_stats_below(ids, groups, series->process[i], false) + 2]++;
    for (size_t g = 2; g < groups + 2; g++)
        starts[g] += starts[g - 1];
    for (size_t i = 0; i < count; i++)
        values[starts[tare_stats_below(ids, groups, series->process[i], false) + 1]++] = series->values[i];
    ordered->values = values;
    ordered->starts = starts;
    ordered->group_count = groups;
    return 0;
}

int tare_stats_order(const struct tare_series *series, struct tare_arena *scratch,
                     struct tare_ordered *ret_ordered, struct tare_error *err)
{
    struct tare_ordered ordered = {.values = series->values, .count = series->count, .group_count = 1};
    if (tare_stats_sorted(series->values, series->count, scratch, &ordered.sorted, err))
        return -1;
    if (series->process) {
        if (group(series, scratch, &ordered, err))
            return -1;
    } else {
        size_t *starts = tare_arena_array(scratch, 2, sizeof *starts);
        if (!starts)
            return tare_fail_memory(err);
        starts[1] = series->count;
        ordered.starts = starts;
    }
    ordered.blocks = tare_arena_array(scratch, MOST_BLOCKS, sizeof *ordered.blocks);
    if (!ordered.blocks)
        return tare_fail_memory(err);
    *ret_ordered = ordered;
    return 0;
}

/* The sum of products of block deviations that are lag apart within a process. */
static double lagged(const struct tare_ordered *ordered, size_t length, size_t lag)
{
    const double *blocks = ordered->blocks;
    double sum = 0;
    for (size_t g = 0; g < ordered->group_count; g++) {
        size_t here = (ordered->starts[g + 1] - ordered->starts[g]) / length;
        for (size_t i = lag; i < here; i++)
            sum += blocks[i] * blocks[i - lag];
        blocks += here;
    }
    return sum;
}

/* Inflation by what follows each other within a process; 1 if it could be noise. */
static double inflation_in_time(const struct tare_ordered *ordered, const struct question *question)
{
    size_t length = ordered->count / (MOST_BLOCKS + 1) + 1;
    size_t blocks = 0, longest = 0;
    for (size_t g = 0; g < ordered->group_count; g++) {
        size_t here = (ordered->starts[g + 1] - ordered->starts[g]) / length;
        const double *values = ordered->values + ordered->starts[g];
        for (size_t i = 0; i < here; i++)
            ordered->blocks[blocks++] = sum_of(question, values + i * length, length) / (double)length;
        longest = here > longest ? here : longest;
    }
    if (blocks < 4)
        return 1;

    double own = lagged(ordered, length, 0);
    double total = -own, smallest = INFINITY;
    for (size_t lag = 0; lag < longest; lag += 2) {
        double pair = (lag ? lagged(ordered, length, lag) : own) + lagged(ordered, length, lag + 1);
        if (pair <= 0)
            break;
        smallest = fmin(smallest, pair);
        total += 2 * smallest;
    }
    double inflation = (double)length * total / (double)blocks / question->variance;
    return inflation > 1 + 4 / sqrt((double)blocks) ? inflation : 1;
}

/* Inflation by what differs between processes; 1 if it could be noise. */
static double inflation_between(const struct tare_ordered *ordered, const struct question *question)
{
    if (ordered->group_count < 2)
        return 1;
    double freedom = (double)(ordered->group_count - 1);
    double between = 0;
    for (size_t g = 0; g < ordered->group_count; g++) {
        size_t size = ordered->starts[g + 1] - ordered->starts[g];
        double sum = sum_of(question, ordered->values + ordered->starts[g], size);
        between += sum * sum / (double)size;
    }
    double inflation = between / freedom / question->variance;
    if (inflation <= 1 + 2 * sqrt(2 / freedom))
        return 1;
    double widening = tare_special_t_quantile(0.025, freedom) / 1.959963984540054;
    return inflation * widening * widening;
}

static double inflation_of(const struct tare_ordered *ordered, const struct question *question)
{
    if (!(question->variance > 0))
        return 1;
    return fmax(inflation_in_time(ordered, question), inflation_between(ordered, question));
}

static double inflation_at(const struct tare_ordered *ordered, double level, bool inclusive)
{
    size_t below = tare_stats_below(ordered->sorted, ordered->count, level, !inclusive);
    double share = (double)(ordered->count - below) / (double)ordered->count;
    struct question question = {
        .inclusive = inclusive, .level = level, .mean = share, .variance = share * (1 - share)};
    return inflation_of(ordered, &question);
}

double tare_stats_effective_at(const struct tare_ordered *ordered, double percent)
{
    static const double tails[] = {1, 0.5, 2, 3};
    double count = (double)ordered->count;
    if (!(percent > 0 && percent < 100))
        return count;
    double tail = fmin(percent, 100 - percent), worst = 1;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        double asked = fmin(tails[i] * tail, 100 - 0.5 * tail);
        size_t rank = tare_stats_rank(percent < 50 ? asked : 100 - asked, ordered->count);
        double level = ordered->sorted[rank - 1];
        worst = fmax(worst, inflation_at(ordered, level, false));
        if ((rank > 1 && ordered->sorted[rank - 2] == level) ||
            (rank < ordered->count && ordered->sorted[rank] == level))
            worst = fmax(worst, inflation_at(ordered, level, true));
    }
    return fmax(count / worst, 1);
}

int tare_stats_effective(const struct tare_series *series, double percent, struct tare_arena *scratch,
                         double *ret_effective, struct tare_error *err)
{
    struct tare_ordered ordered;
    if (!(percent > 0 && percent < 100))
        return tare_fail(err, TARE_E_USAGE, 0, "percentile %g: it must lie between 0 and 100", percent);
    if (tare_stats_order(series, scratch, &ordered, err))
        return -1;
    *ret_effective = tare_stats_effective_at(&ordered, percent);
    return 0;
}

int tare_stats_mean_bounds(const struct tare_series *series, double level, struct tare_arena *scratch,
                           struct tare_interval *ret_interval, struct tare_error *err)
{
    struct tare_ordered ordered;
    if (!(level > 0 && level < 1))
        return tare_fail(err, TARE_E_USAGE, 0, "level %g: it must lie between 0 and 1", level);
    if (tare_stats_check(series->values, series->count, 2, true, err) ||
        tare_stats_order(series, scratch, &ordered, err))
        return -1;
    double mean = tare_stats_mean(series->values, series->count);
    double variance = tare_stats_variance(series->values, series->count);
    struct question question = {.value = true, .mean = mean, .variance = variance};
    double effective = fmax((double)series->count / inflation_of(&ordered, &question), 2);
    double error = sqrt(variance / effective);
    double reach = tare_special_t_quantile(0.5 * (1 - level), effective - 1) * error;
    *ret_interval = (struct tare_interval){
        .estimate = mean, .low = mean - reach, .high = mean + reach, .effective = effective};
    return 0;
}
