/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kolmogorov-Smirnov for two samples. The order of the pooled values is a path on a lattice, x to the right
 * and y up, all paths being equally likely; the distance of the distribution functions reaches D iff the path
 * leaves the band |i/m - j/n| < D. The probability of leaving it is added up step by step where paths first
 * leave, so that a small p keeps its relative accuracy.
 */
#include <math.h>

#include "core/stats.h"
#include "core/stats_detail.h"

/* The largest |i n - j m| at any value. */
static int64_t largest_gap(const double *x, size_t m, const double *y, size_t n, bool *ret_ties)
{
    size_t i = 0, j = 0;
    int64_t largest = 0;
    bool ties = false;
    while (i < m && j < n) {
        double value = fmin(x[i], y[j]);
        size_t before = i + j;
        while (i < m && x[i] == value)
            i++;
        while (j < n && y[j] == value)
            j++;
        ties = ties || i + j > before + 1;
        int64_t gap = (int64_t)(i * n) - (int64_t)(j * m);
        gap = gap < 0 ? -gap : gap;
        largest = gap > largest ? gap : largest;
    }
    for (; i + 1 < m; i++)
        ties = ties || x[i] == x[i + 1];
    for (; j + 1 < n; j++)
        ties = ties || y[j] == y[j + 1];
    *ret_ties = ties;
    return largest;
}

/* inside[j]: the probability that the path is at (i, j) and has not left the band. */
static double leaving(size_t m, size_t n, int64_t gap, double *inside)
{
    if (gap == 0)
        return 1;
    double left = 0;
    for (size_t i = 0; i <= m; i++) {
        for (size_t j = 0; j <= n; j++) {
            if (i + j == 0) {
                inside[0] = 1;
                continue;
            }
            double choices = (double)(m + n - i - j + 1);
            double here = i ? inside[j] * (double)(m - i + 1) / choices : 0;
            here += j ? inside[j - 1] * (double)(n - j + 1) / choices : 0;
            int64_t distance = (int64_t)(i * n) - (int64_t)(j * m);
            if (distance >= gap || -distance >= gap) {
                left += here;
                here = 0;
            }
            inside[j] = here;
        }
    }
    return fmin(left, 1);
}

/* P(sup |Brownian bridge| > z); two series, each quick where the other is slow. */
static double kolmogorov_above(double z)
{
    const double pi = 3.14159265358979323846;
    double sum = 0;
    if (z < 0.04)
        return 1;
    if (z < 1) {
        for (int k = 1; k < 20; k += 2)
            sum += exp(-k * k * pi * pi / (8 * z * z));
        return 1 - sum * sqrt(2 * pi) / z;
    }
    for (int k = 1; k < 20; k++)
        sum += (k % 2 ? 2 : -2) * exp(-2.0 * k * k * z * z);
    return sum;
}

int tare_stats_ks(const double *x, size_t x_count, const double *y, size_t y_count,
                  struct tare_arena *scratch, struct tare_test *ret_test, struct tare_error *err)
{
    const double *x_sorted, *y_sorted;
    if (tare_stats_sorted(x, x_count, scratch, &x_sorted, err) ||
        tare_stats_sorted(y, y_count, scratch, &y_sorted, err))
        return -1;
    if (x_count > INT32_MAX || y_count > INT32_MAX)
        return tare_fail(err, TARE_E_LIMIT, 0, "Kolmogorov-Smirnov: more than %d values a side", INT32_MAX);
    struct tare_test test = {.p_less = NAN, .p_greater = NAN, .used_x = x_count, .used_y = y_count};
    int64_t gap = largest_gap(x_sorted, x_count, y_sorted, y_count, &test.ties);
    double m = (double)x_count, n = (double)y_count;
    test.statistic = (double)gap / (m * n);
    test.exact = m * n <= TARE_KS_EXACT_PRODUCT;
    if (test.exact) {
        double *inside = tare_arena_array(scratch, y_count + 1, sizeof *inside);
        if (!inside)
            return tare_fail_memory(err);
        test.p = leaving(x_count, y_count, gap, inside);
    } else {
        double root = sqrt(m * n / (m + n));
        test.p = kolmogorov_above((root + 0.12 + 0.11 / root) * test.statistic);
    }
    *ret_test = test;
    return 0;
}
