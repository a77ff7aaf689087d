/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats_special.h"

#include <float.h>
#include <math.h>

static const double half_log_two_pi = 0.91893853320467274178;

/* log gamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2), for x >= 10: Stirling's series, DLMF 5.11.1. */
static double stirling_rest(double x)
{
    double r = 1 / x, r2 = r * r;
    return r * (1.0 / 12 -
                r2 * (1.0 / 360 -
                      r2 * (1.0 / 1260 -
                            r2 * (1.0 / 1680 - r2 * (1.0 / 1188 - r2 * (691.0 / 360360 - r2 / 156))))));
}

double tare_special_log_gamma(double x)
{
    double product = 1;
    while (x < 10) {
        product *= x;
        x += 1;
    }
    return (x - 0.5) * log(x) - x + half_log_two_pi + stirling_rest(x) - log(product);
}

double tare_special_log_beta(double a, double b)
{
    if (a < b) {
        double swap = a;
        a = b;
        b = swap;
    }
    if (a < 10)
        return tare_special_log_gamma(a) + tare_special_log_gamma(b) - tare_special_log_gamma(a + b);
    double rest = stirling_rest(a) - stirling_rest(a + b);
    if (b < 10)
        return tare_special_log_gamma(b) + rest - (a - 0.5) * log1p(b / a) - b * log(a + b) + b;
    return half_log_two_pi - 0.5 * log(b) + rest + stirling_rest(b) - (a - 0.5) * log1p(b / a) -
           b * log1p(a / b);
}

/*
 * I_x(a, b) B(a, b) / (x^a y^b) as a continued fraction (Didonato and Morris 1992, the even part of DLMF
 * 8.17.22), from the front by Lentz's method. lead = a - (a + b) x must be at least 0 and exact: for large a
 * or b everything hangs on it.
 */
static double beta_fraction(double a, double b, double x, double y, double lead)
{
    const double tiny = DBL_MIN / DBL_EPSILON;
    double value = a / (a + 1) * (lead + 1);
    double front = value, back = 0;
    for (double n = 1; n < 1e6; n++) {
        double odd = a + 2 * n - 1;
        double above = (a + n - 1) * (a + b + n - 1) / odd / odd * n * (b - n) * x * x;
        double below = n + n * (b - n) * x / odd + (a + n) / (odd + 2) * (lead + 1 + n * (1 + y));
        back = below + above * back;
        back = 1 / (fabs(back) < tiny ? tiny : back);
        front = below + above / front;
        front = fabs(front) < tiny ? tiny : front;
        double step = front * back;
        value *= step;
        if (fabs(step - 1) < DBL_EPSILON)
            break;
    }
    return 1 / value;
}

static double log_of(double x, double y)
{
    return x > 0.5 ? log1p(-y) : log(x);
}

double tare_special_beta(double a, double b, double x, double y)
{
    if (x <= 0)
        return 0;
    if (y <= 0)
        return 1;
    double front = exp(a * log_of(x, y) + b * log_of(y, x) - tare_special_log_beta(a, b));
    double lead = a > b ? (a + b) * y - b : a - (a + b) * x;
    if (lead >= 0)
        return front * beta_fraction(a, b, x, y, lead);
    return 1 - front * beta_fraction(b, a, y, x, -lead);
}

double tare_special_t_above(double t, double freedom)
{
    if (isinf(t))
        return t > 0 ? 0 : 1;
    double t2 = t * t;
    double both;
    if (isinf(t2)) /* t is so large that its square is not a number; x = freedom / t2 to first order */
        both = exp(0.5 * freedom * (log(freedom) - 2 * log(fabs(t))) -
                   tare_special_log_beta(0.5 * freedom, 0.5)) /
               (0.5 * freedom);
    else
        both = tare_special_beta(0.5 * freedom, 0.5, freedom / (freedom + t2), t2 / (freedom + t2));
    return t > 0 ? 0.5 * both : 1 - 0.5 * both;
}

double tare_special_t_quantile(double p, double freedom)
{
    double low = 0, high = 1;
    while (tare_special_t_above(high, freedom) > p && high < 1e300)
        high *= 2;
    for (int i = 0; i < 200 && high - low > DBL_EPSILON * high; i++) {
        double middle = 0.5 * (low + high);
        if (tare_special_t_above(middle, freedom) > p)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

double tare_special_normal_above(double z)
{
    return 0.5 * erfc(z * 0.70710678118654752440);
}

double tare_special_binomial_below(uint64_t k, uint64_t n, double p)
{
    if (k >= n)
        return 1;
    return tare_special_beta((double)(n - k), (double)k + 1, 1 - p, p);
}

double tare_special_binomial_above(uint64_t k, uint64_t n, double p)
{
    if (k == 0)
        return 1;
    if (k > n)
        return 0;
    return tare_special_beta((double)k, (double)(n - k) + 1, p, 1 - p);
}
