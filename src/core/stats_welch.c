/* SPDX-License-Identifier: Apache-2.0 */
/* Welch's t test, with Satterthwaite's degrees of freedom, plain and with moderated variances. */
#include <math.h>

#include "core/stats.h"
#include "core/stats_detail.h"
#include "core/stats_special.h"

int tare_stats_welch(const double *x, size_t x_count, const double *y, size_t y_count,
                     struct tare_test *ret_test, struct tare_error *err)
{
    return tare_stats_welch_moderated(x, x_count, y, y_count, 0, ret_test, err);
}

int tare_stats_welch_moderated(const double *x, size_t x_count, const double *y, size_t y_count, double prior,
                               struct tare_test *ret_test, struct tare_error *err)
{
    if (tare_stats_check(x, x_count, 2, true, err) || tare_stats_check(y, y_count, 2, true, err))
        return -1;
    double x_free = (double)x_count - 1, y_free = (double)y_count - 1;
    double x_squares = x_free * tare_stats_variance(x, x_count);
    double y_squares = y_free * tare_stats_variance(y, y_count);
    double both = (x_squares + y_squares) / (x_free + y_free);
    double x_error = (x_squares + prior * both) / (x_free + prior) / (double)x_count;
    double y_error = (y_squares + prior * both) / (y_free + prior) / (double)y_count;
    double difference = tare_stats_mean(x, x_count) - tare_stats_mean(y, y_count);
    double error = x_error + y_error;
    struct tare_test test = {.freedom = x_free + y_free, .exact = true, .used_x = x_count, .used_y = y_count};
    if (error > 0) {
        double x_share = x_error / error, y_share = y_error / error;
        test.statistic = difference / sqrt(error);
        double freedom = 1 / (x_share * x_share / (x_free + prior) + y_share * y_share / (y_free + prior));
        test.freedom = fmin(freedom, x_free + y_free);
    } else if (difference != 0) {
        test.statistic = copysign(INFINITY, difference);
    }
    test.p_greater = tare_special_t_above(test.statistic, test.freedom);
    test.p_less = tare_special_t_above(-test.statistic, test.freedom);
    test.p = fmin(1, 2 * fmin(test.p_less, test.p_greater));
    *ret_test = test;
    return 0;
}
