/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The special functions behind the tests: beta, Student's t, normal and binomial. Written for relative
 * accuracy in the tails (about 1e-12), because p values are compared with small numbers. Pure.
 */
#ifndef TARE_CORE_STATS_SPECIAL_H
#define TARE_CORE_STATS_SPECIAL_H

#include <stdint.h>

/** log of the gamma function, for x > 0. */
double tare_special_log_gamma(double x);

/** log of the beta function, without the cancellation of three log gammas. a, b > 0. */
double tare_special_log_beta(double a, double b);

/** The regularised incomplete beta I_x(a, b), where the caller gives y = 1 - x too, as exactly as it knows
 * it. */
double tare_special_beta(double a, double b, double x, double y);

/** P(T > t) of Student's t. */
double tare_special_t_above(double t, double freedom);

/** The t with P(T > t) = p, for 0 < p <= 0.5. */
double tare_special_t_quantile(double p, double freedom);

/** P(Z > z) of the standard normal. */
double tare_special_normal_above(double z);

/** P(X <= k) of a binomial with n trials. */
double tare_special_binomial_below(uint64_t k, uint64_t n, double p);

/** P(X >= k) of a binomial with n trials. */
double tare_special_binomial_above(uint64_t k, uint64_t n, double p);

#endif
