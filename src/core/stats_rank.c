/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank tests, exact given the ties. Midranks are doubled, so that they are whole; the distribution of a rank
 * sum is then counted by dynamic programming over the ranks. Counts are doubles: they only ever grow by
 * adding positive numbers, so their relative error stays near 1e-14 at sizes where integers would overflow.
 * Both tails are added up from their own end, never taken as 1 minus the other.
 */
#include <math.h>

#include "core/stats.h"
#include "core/stats_detail.h"
#include "core/stats_special.h"

/* Twice the midrank of value among the sorted values. */
static size_t doubled_rank(const double *sorted, size_t count, double value)
{
    return tare_stats_below(sorted, count, value, false) + tare_stats_below(sorted, count, value, true) + 1;
}

static bool has_ties(const double *sorted, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (sorted[i] == sorted[i - 1])
            return true;
    }
    return false;
}

static size_t common_divisor(size_t a, size_t b)
{
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static double sum_of(const double *ways, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += ways[i];
    return sum;
}

static double sum_down(const double *ways, size_t from, size_t last)
{
    double sum = 0;
    for (size_t i = last + 1; i > from; i--)
        sum += ways[i - 1];
    return sum;
}

static void set_two_sided(struct tare_test *test)
{
    test->p_less = fmin(1, test->p_less);
    test->p_greater = fmin(1, test->p_greater);
    test->p = fmin(1, 2 * fmin(test->p_less, test->p_greater));
}

/* statistic is approximately normal and moves in steps of 1; half a step is the continuity correction. */
static void set_normal(struct tare_test *test, double mean, double variance)
{
    double sigma = sqrt(variance);
    if (variance > 0) {
        test->p_less = tare_special_normal_above((mean - test->statistic - 0.5) / sigma);
        test->p_greater = tare_special_normal_above((test->statistic - mean - 0.5) / sigma);
    } else {
        test->p_less = test->p_greater = 1;
    }
    set_two_sided(test);
}

/*
 * ways[j][s]: how many sets of j of the scores so far sum to s. Scores come ascending, so that the sums of j
 * of them lie between the first j and the last j, and rows that cannot reach `taken` any more are left out.
 */
static void count_sets(const size_t *scores, size_t count, size_t taken, double *ways, size_t width)
{
    ways[0] = 1;
    for (size_t i = 1; i <= count; i++) {
        size_t score = scores[i - 1];
        size_t most = i < taken ? i : taken;
        size_t least = taken > count - i ? taken - (count - i) : 1;
        for (size_t j = most; j >= least; j--) {
            size_t from = 0, to = 0;
            for (size_t k = 0; k < j - 1; k++) {
                from += scores[k];
                to += scores[i - 2 - k];
            }
            double *into = ways + j * width + score;
            const double *with = ways + (j - 1) * width;
            for (size_t s = from; s <= to; s++)
                into[s] += with[s];
        }
    }
}

/* Exact tails of the sum of `taken` scores, `sum` having been seen; both are taken from all the scores. */
static int set_exact_sum(struct tare_test *test, size_t *scores, size_t count, size_t taken, size_t sum,
                         struct tare_arena *scratch, struct tare_error *err)
{
    size_t first = scores[0], divisor = 0, largest = 0;
    for (size_t i = 0; i < count; i++)
        divisor = common_divisor(divisor, scores[i] - first);
    divisor = divisor ? divisor : 1;
    for (size_t i = 0; i < count; i++) {
        scores[i] = (scores[i] - first) / divisor;
        largest += i >= count - taken ? scores[i] : 0;
    }
    sum = (sum - taken * first) / divisor;

    size_t width = largest + 1;
    double *ways = tare_arena_array(scratch, (taken + 1) * width, sizeof *ways);
    if (!ways)
        return tare_fail_memory(err);
    count_sets(scores, count, taken, ways, width);
    const double *row = ways + taken * width;
    double all = sum_of(row, width);
    test->p_less = sum_of(row, sum + 1) / all;
    test->p_greater = sum_down(row, sum, largest) / all;
    test->exact = true;
    set_two_sided(test);
    return 0;
}

int tare_stats_rank_sum(const double *x, size_t x_count, const double *y, size_t y_count,
                        struct tare_arena *scratch, struct tare_test *ret_test, struct tare_error *err)
{
    if (tare_stats_check(x, x_count, 1, false, err) || tare_stats_check(y, y_count, 1, false, err))
        return -1;
    size_t count = x_count + y_count;
    double *pooled = tare_arena_array(scratch, count, sizeof *pooled);
    double *temp = tare_arena_array(scratch, count, sizeof *temp);
    size_t *scores = tare_arena_array(scratch, count, sizeof *scores);
    if (!pooled || !temp || !scores)
        return tare_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        pooled[i] = i < x_count ? x[i] : y[i - x_count];
    tare_stats_sort(pooled, count, temp);
    for (size_t i = 0; i < count; i++)
        scores[i] = doubled_rank(pooled, count, pooled[i]);
    size_t sum = 0;
    for (size_t i = 0; i < x_count; i++)
        sum += doubled_rank(pooled, count, x[i]);

    struct tare_test test = {
        .statistic = 0.5 * (double)(sum - x_count * (x_count + 1)),
        .ties = has_ties(pooled, count),
        .used_x = x_count,
        .used_y = y_count,
    };
    if (x_count <= TARE_RANK_SUM_EXACT && y_count <= TARE_RANK_SUM_EXACT) {
        /* dealing out the smaller side is less work; its tails are the other's, swapped */
        bool swap = y_count < x_count;
        size_t all = count * (count + 1);
        if (set_exact_sum(&test, scores, count, swap ? y_count : x_count, swap ? all - sum : sum, scratch,
                          err))
            return -1;
        if (swap) {
            double less = test.p_less;
            test.p_less = test.p_greater;
            test.p_greater = less;
        }
    } else {
        double middle = 0.5 * (double)(count + 1), squares = 0;
        for (size_t i = 0; i < count; i++) {
            double distance = 0.5 * (double)scores[i] - middle;
            squares += distance * distance;
        }
        double pairs = (double)x_count * (double)y_count;
        set_normal(&test, 0.5 * pairs, pairs * squares / (double)count / (double)(count - 1));
    }
    *ret_test = test;
    return 0;
}

/* Exact tails of the sum of the scores that a fair coin picks. */
static int set_exact_signs(struct tare_test *test, const size_t *scores, size_t count, size_t sum,
                           struct tare_arena *scratch, struct tare_error *err)
{
    size_t divisor = 0, largest = 0;
    for (size_t i = 0; i < count; i++)
        divisor = common_divisor(divisor, scores[i]);
    divisor = divisor ? divisor : 1;
    for (size_t i = 0; i < count; i++)
        largest += scores[i] / divisor;
    double *ways = tare_arena_array(scratch, largest + 1, sizeof *ways);
    double *next = tare_arena_array(scratch, largest + 1, sizeof *next);
    if (!ways || !next)
        return tare_fail_memory(err);
    /* weights are halved at each step, so that they are probabilities and cannot overflow */
    ways[0] = 1;
    size_t reach = 0;
    for (size_t i = 0; i < count; i++) {
        size_t score = scores[i] / divisor;
        reach += score;
        for (size_t s = 0; s < score; s++)
            next[s] = 0.5 * ways[s];
        for (size_t s = score; s <= reach; s++)
            next[s] = 0.5 * ways[s] + 0.5 * ways[s - score];
        double *swap = ways;
        ways = next;
        next = swap;
    }
    test->p_less = sum_of(ways, sum / divisor + 1);
    test->p_greater = sum_down(ways, sum / divisor, largest);
    test->exact = true;
    set_two_sided(test);
    return 0;
}

int tare_stats_signed_rank(const double *differences, size_t count, enum tare_zeros zeros,
                           struct tare_arena *scratch, struct tare_test *ret_test, struct tare_error *err)
{
    if (tare_stats_check(differences, count, 1, false, err))
        return -1;
    double *sizes = tare_arena_array(scratch, count, sizeof *sizes);
    double *temp = tare_arena_array(scratch, count, sizeof *temp);
    size_t *scores = tare_arena_array(scratch, count, sizeof *scores);
    if (!sizes || !temp || !scores)
        return tare_fail_memory(err);
    size_t ranked = 0, used = 0, sum = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        if (zeros == TARE_ZEROS_PRATT || differences[i] != 0)
            sizes[ranked++] = fabs(differences[i]);
    }
    tare_stats_sort(sizes, ranked, temp);
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        if (differences[i] == 0)
            continue;
        size_t score = doubled_rank(sizes, ranked, fabs(differences[i]));
        scores[used++] = score;
        sum += differences[i] > 0 ? score : 0;
        all += score;
        squares += 0.25 * (double)score * (double)score;
    }
    size_t first = ranked - used; /* zeros are equal, but they are left out */
    struct tare_test test = {
        .statistic = 0.5 * (double)sum,
        .ties = has_ties(sizes + first, used),
        .used_x = used,
    };
    if (used <= TARE_SIGNED_RANK_EXACT) {
        if (set_exact_signs(&test, scores, used, sum, scratch, err))
            return -1;
    } else {
        set_normal(&test, 0.25 * (double)all, 0.25 * squares);
    }
    *ret_test = test;
    return 0;
}
