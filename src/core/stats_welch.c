/* SPDX-License-Identifier: Apache-2.0 */
/* Welch's t test, with Satterthwaite's degrees of freedom. */
#include <math.h>

#include "core/stats.h"
#include "core/stats_detail.h"
#include "core/stats_special.h"

int tare_stats_welch(const double *x, size_t x_count, const double *y, size_t y_count,
                     struct tare_test *ret_test, struct tare_error *err)
{
    if (tare_stats_check(x, x_count, 2, true, err) || tare_stats_check(y, y_count, 2, true, err))
        return -1;
    double x_error = tare_stats_variance(x, x_count) / (double)x_count;
    double y_error = tare_stats_variance(y, y_count) / (double)y_count;
    double difference = tare_stats_mean(x, x_count) - tare_stats_mean(y, y_count);
    double error = x_error + y_error;
    struct tare_test test = {.freedom = (double)x_count + (double)y_count - 2,
                             .exact = true,
                             .used_x = x_count,
                             .used_y = y_count};
    if (error > 0) {
        double x_share = x_error / error, y_share = y_error / error;
        test.statistic = difference / sqrt(error);
        test.freedom =
            1 / (x_share * x_share / (double)(x_count - 1) + y_share * y_share / (double)(y_count - 1));
    } else if (difference != 0) {
        test.statistic = copysign(INFINITY, difference);
    }
    test.p_greater = tare_special_t_above(test.statistic, test.freedom);
    test.p_less = tare_special_t_above(-test.statistic, test.freedom);
    test.p = fmin(1, 2 * fmin(test.p_less, test.p_greater));
    *ret_test = test;
    return 0;
}
