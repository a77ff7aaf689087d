/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics: what one series of samples says, and whether two of them differ. Pure functions of const
 * data: no global state, no randomness but a seed that the caller gives, no hidden allocation (scratch comes
 * from the caller's arena and lives as long as it). The same input gives the same answer in every thread.
 * NaN is refused everywhere, with an error; infinities only where arithmetic is done on the values.
 *
 * Two-sided p values are twice the smaller one-sided one, at most 1. Where the null distribution is symmetric
 * (always for signed rank; for Mann-Whitney without ties or with equal sides) this is also the probability of
 * a statistic at least as far from its mean.
 */
#ifndef TARE_CORE_STATS_H
#define TARE_CORE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* ---- one series ---- */

/** Sort ascending, without allocating: temp has room for count values. */
void tare_stats_sort(double *values, size_t count, double *temp);

/** Which of two doubles comes first, for qsort, which has no temp and will do for a short series. */
int tare_stats_by_value(const void *a, const void *b);

/** A sorted copy of values in scratch. Fails on NaN and on no values. */
int tare_stats_sorted(const double *values, size_t count, struct tare_arena *scratch,
                      const double **ret_sorted, struct tare_error *err);

/** The mean, by compensated summation. The order of the values matters only in the last bit. */
double tare_stats_mean(const double *values, size_t count);

/** The sample variance (divisor count - 1), in two passes; 0 for fewer than two values. */
double tare_stats_variance(const double *values, size_t count);

/** The middle of sorted values; of an even number, the mean of the two in the middle. */
double tare_stats_median(const double *sorted, size_t count);

struct tare_summary {
    size_t count;
    double min, max;
    double mean, variance;
    double median;
    double mad; /* median distance from the median; 1.4826 of it estimates sigma if the values are normal */
};

/** All of it at once, from sorted finite values. */
int tare_stats_summary(const double *sorted, size_t count, struct tare_arena *scratch,
                       struct tare_summary *ret_summary, struct tare_error *err);

/* ---- percentiles of one run ---- */

/* Samples in the order in which each process made them. process says which process made each; NULL if one
 * made all. The samples of a process need not be adjacent. */
struct tare_series {
    const double *values;
    const uint32_t *process;
    size_t count;
};

/*
 * A percentile by nearest rank, its 95 % bounds, and whether there is enough data to speak of it at all.
 * Supported means that the second-largest of so many independent samples lies above the true percentile with
 * 99 % confidence (for percentiles below 50, the second-smallest below it): MLPerf's rule, which needs 64
 * samples for p90, 130 for p95, 662 for p99 and 6,636 for p99.9. A bound can exist before that (an upper
 * bound of p99 from 368), and a bound that does not exist is NaN: the truth may lie beyond every sample.
 */
struct tare_percentile {
    double percent;
    double value;     /* an actual sample, never an interpolation */
    double low, high; /* actual samples too; NaN where there is none */
    size_t count;
    double effective; /* how many independent samples these are worth, at this percentile */
    uint64_t more;    /* how many more such samples it needs to be supported; 0 if it is */
    bool has_low, has_high, supported;
};

/** Rank (from 1) of a percentile in so many sorted values: the smallest with at least percent at or below. */
size_t tare_stats_rank(double percent, size_t count);

/** How many independent samples a percentile needs to be supported. 0 < percent < 100. */
uint64_t tare_stats_needed(double percent);

/** A percentile of sorted values and its bounds, given how many independent samples they are worth. Pass
 * count if they are independent, and tare_stats_effective's answer otherwise. */
int tare_stats_percentile(const double *sorted, size_t count, double percent, double effective,
                          struct tare_percentile *ret_percentile, struct tare_error *err);

/**
 * How many independent samples a series is worth when asked for one percentile. Latencies come in bursts and
 * differ between processes, so n of them tell less than n independent ones. See stats_effective.c for how it
 * is estimated. It cannot know of a kind of burst that the series does not show.
 */
int tare_stats_effective(const struct tare_series *series, double percent, struct tare_arena *scratch,
                         double *ret_effective, struct tare_error *err);

/** Several percentiles of a series at once: sort, estimate, bound. */
int tare_stats_percentiles(const struct tare_series *series, const double *percents, size_t percent_count,
                           struct tare_arena *scratch, struct tare_percentile *ret_percentiles,
                           struct tare_error *err);

/**
 * The level to ask at look number look, from 1, of a series that is watched while it grows: all the looks
 * together, however many, miss the truth with a probability of at most 1 - level. Look k spends 1 / (k (k +
 * 1)) of what may be missed, so looks should be few: at sample counts that grow by a factor.
 */
double tare_stats_look_level(double level, size_t look);

/** One percentile of a series, with bounds at a level of the caller's. */
int tare_stats_percentile_at(const struct tare_series *series, double percent, double level,
                             struct tare_arena *scratch, struct tare_percentile *ret_percentile,
                             struct tare_error *err);

/* An estimate and its 95 % bounds (or those of the level asked for). */
struct tare_interval {
    double estimate;
    double low, high;
    double effective; /* independent samples behind it */
};

/** The mean with bounds from Student's t on the effective number of samples. At least two finite values. */
int tare_stats_mean_bounds(const struct tare_series *series, double level, struct tare_arena *scratch,
                           struct tare_interval *ret_interval, struct tare_error *err);

/* Fewer processes do not bound a median. */
enum { TARE_MEDIAN_PROCESSES = 3 };

/** The median (nearest rank) with bounds from Student's t on the medians of the processes, each of at least 5
 * samples; effective is their number. With fewer than TARE_MEDIAN_PROCESSES of them the bounds are NaN. */
int tare_stats_median_bounds(const struct tare_series *series, double level, struct tare_arena *scratch,
                             struct tare_interval *ret_interval, struct tare_error *err);

/* ---- two series ---- */

struct tare_test {
    double statistic;
    double p;              /* two-sided */
    double p_less;         /* one-sided: the first sample tends to be smaller (differences below 0) */
    double p_greater;      /* one-sided: the first sample tends to be larger (differences above 0) */
    double freedom;        /* degrees of freedom; Welch only, else 0 */
    bool exact;            /* p is exact, not an approximation for large samples */
    bool ties;             /* some values were equal */
    size_t used_x, used_y; /* values that entered: without zeros, for signed rank */
};

/* Larger samples get an approximation, and exact says so. */
enum { TARE_RANK_SUM_EXACT = 100, TARE_SIGNED_RANK_EXACT = 500 };
enum { TARE_KS_EXACT_PRODUCT = 10000000 };

/**
 * Mann-Whitney. The statistic is U of x: pairs with x > y, ties counting half. With both sides at most
 * TARE_RANK_SUM_EXACT, p is exact given the ties (the distribution of midrank sums over all ways to deal the
 * pooled values into two sides); beyond, it is the normal approximation with correction for ties and
 * continuity.
 */
int tare_stats_rank_sum(const double *x, size_t x_count, const double *y, size_t y_count,
                        struct tare_arena *scratch, struct tare_test *ret_test, struct tare_error *err);

/* What a difference of exactly zero does. Pratt's way is the one to use: dropping zeros before ranking can
 * make evidence stronger by adding pairs that do not differ. Wilcoxon's is what scipy does unless told. */
enum tare_zeros {
    TARE_ZEROS_PRATT,    /* ranked with the others, then left out */
    TARE_ZEROS_WILCOXON, /* left out before ranking */
};

/**
 * Wilcoxon's signed rank of paired differences. The statistic is the rank sum of the positive ones. Up to
 * TARE_SIGNED_RANK_EXACT non-zero differences p is exact given the ties and zeros (every sign pattern equally
 * likely); beyond, the normal approximation with correction for ties and continuity. All zero gives p = 1.
 */
int tare_stats_signed_rank(const double *differences, size_t count, enum tare_zeros zeros,
                           struct tare_arena *scratch, struct tare_test *ret_test, struct tare_error *err);

/**
 * Kolmogorov-Smirnov, two samples, two-sided (p_less and p_greater are NaN). The statistic is the largest
 * distance of the two distribution functions. Exact while x_count * y_count is at most TARE_KS_EXACT_PRODUCT,
 * for samples without ties; with ties that p is an upper bound. Beyond, Kolmogorov's limit with Stephens'
 * correction for size.
 */
int tare_stats_ks(const double *x, size_t x_count, const double *y, size_t y_count,
                  struct tare_arena *scratch, struct tare_test *ret_test, struct tare_error *err);

/**
 * Welch's t test of the means, unequal variances. At least two finite values a side. If neither side varies
 * there is no t distribution: equal means give t = 0 and p = 1, others t = +-infinity and p = 0.
 */
int tare_stats_welch(const double *x, size_t x_count, const double *y, size_t y_count,
                     struct tare_test *ret_test, struct tare_error *err);

/**
 * The same with moderated variances: each side's is mixed with that of both, which counts as if it came from
 * `prior` degrees of freedom more. 0 is Welch's test, infinity would be Student's. A short side then need not
 * tell its variance all alone, and one that differs much still does.
 */
int tare_stats_welch_moderated(const double *x, size_t x_count, const double *y, size_t y_count, double prior,
                               struct tare_test *ret_test, struct tare_error *err);

/** Holm's adjustment of count p values for having looked at all of them; adjusted has room for count. */
int tare_stats_holm(const double *p, size_t count, struct tare_arena *scratch, double *ret_adjusted,
                    struct tare_error *err);

/* ---- bootstrap ---- */

struct tare_bootstrap {
    uint64_t seed;
    size_t resamples; /* 0 for 10,000 */
    double level;     /* 0 for 0.95 */
};

/**
 * Bounds of a statistic by resampling values with replacement. statistic is given each resample in ascending
 * order: tare_stats_median and tare_stats_mean serve (a median of log ratios is the median of values that
 * are log ratios). The bounds are percentiles of the resampled statistics, at a level widened for small
 * counts (stats_bootstrap.c says how and why); they are results of the statistic, not interpolated, and
 * bit-equal for a seed on every platform. At least two finite values.
 */
int tare_stats_bootstrap(const double *values, size_t count,
                         double (*statistic)(const double *sorted, size_t count),
                         const struct tare_bootstrap *options, struct tare_arena *scratch,
                         struct tare_interval *ret_interval, struct tare_error *err);

/** The same for the ratio statistic(y) / statistic(x) of two independent samples, both resampled. Values must
 * be above 0. */
int tare_stats_bootstrap_ratio(const double *x, size_t x_count, const double *y, size_t y_count,
                               double (*statistic)(const double *sorted, size_t count),
                               const struct tare_bootstrap *options, struct tare_arena *scratch,
                               struct tare_interval *ret_interval, struct tare_error *err);

#endif
