/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics by values known beforehand: worked by hand, or from scipy 1.17.1 where the comment says so. The
 * comparison with scipy over random inputs is tests/py/test_stats_scipy.py.
 */
#include "core/stats.h"

#include "base/arena.h"
#include "check.h"
#include "core/stats_random.h"
#include "core/stats_special.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const double x7[] = {12.1, 11.8, 12.6, 13.0, 11.9, 12.2, 12.4};
static const double y8[] = {12.9, 13.4, 12.7, 13.8, 13.1, 12.8, 13.3, 14.0};

static void sorts_every_length(void)
{
    double values[200], temp[200];
    struct tare_random random;
    tare_random_init(&random, 1);
    for (size_t count = 0; count < COUNT(values); count++) {
        double sum = 0, after = 0;
        for (size_t i = 0; i < count; i++) {
            values[i] = tare_random_below(&random, 50);
            sum += values[i];
        }
        tare_stats_sort(values, count, temp);
        for (size_t i = 0; i < count; i++) {
            after += values[i];
            CHECK(i == 0 || values[i - 1] <= values[i]);
        }
        CHECK_REAL(after, sum, 0);
    }
}

static void summary_by_hand(void)
{
    /* mean 5, squared distances 9+1+1+1+0+0+4+16 = 32 over 7; distances from 4.5: 0.5 x4, 2.5, 2.5, .5, 4.5
     */
    const double sorted[] = {2, 4, 4, 4, 5, 5, 7, 9};
    struct tare_arena arena;
    struct tare_error err;
    struct tare_summary summary;
    tare_arena_init(&arena, 0);
    CHECK_INT(tare_stats_summary(sorted, COUNT(sorted), &arena, &summary, &err), 0);
    CHECK_REAL(summary.mean, 5, 0);
    CHECK_REAL(summary.variance, 32.0 / 7, 1e-15);
    CHECK_REAL(summary.median, 4.5, 0);
    CHECK_REAL(summary.mad, 0.5, 0);
    CHECK_REAL(summary.min, 2, 0);
    CHECK_REAL(summary.max, 9, 0);
    tare_arena_finish(&arena);
}

static void sums_keep_small_parts(void)
{
    const double values[] = {1, 1e100, 1, -1e100};
    CHECK_REAL(tare_stats_mean(values, 4), 0.5, 0);
    const double near[] = {1e9 + 1, 1e9 + 2, 1e9 + 3};
    CHECK_REAL(tare_stats_variance(near, 3), 1, 0);
    const double huge[] = {1.5e308, 1.7e308};
    CHECK_REAL(tare_stats_median(huge, 2), 1.6e308, 1e-15);
}

static void ranks_are_nearest(void)
{
    CHECK_INT(tare_stats_rank(50, 10), 5);
    CHECK_INT(tare_stats_rank(50, 11), 6);
    CHECK_INT(tare_stats_rank(7, 100), 7); /* 0.07 * 100 is above 7 in doubles */
    CHECK_INT(tare_stats_rank(99.9, 1000), 999);
    CHECK_INT(tare_stats_rank(99.9, 1001), 1000);
    CHECK_INT(tare_stats_rank(99, 1), 1);
    CHECK_INT(tare_stats_rank(0.001, 10), 1);
}

/* Watched while it grows, looked at each time it is half as long again: a fixed 95 % bound misses the median
 * at some look far more often than one time in twenty, the spending one does not. */
static void looks_are_paid_for(void)
{
    enum { SERIES = 400, MOST = 2000 };
    static double values[MOST];
    struct tare_random random;
    struct tare_error err;
    int missed = 0, missed_fixed = 0;
    double spent = 0;
    tare_random_init(&random, 7);
    for (int s = 0; s < SERIES; s++) {
        bool miss = false, miss_fixed = false;
        size_t look = 0;
        for (size_t i = 0; i < MOST; i++)
            values[i] = tare_random_unit(&random);
        for (size_t n = 20; n <= MOST; n += n / 2) {
            struct tare_arena arena;
            struct tare_percentile wide, fixed;
            struct tare_series series = {.values = values, .count = n};
            tare_arena_init(&arena, 0);
            double level = tare_stats_look_level(0.95, ++look);
            CHECK_INT(tare_stats_percentile_at(&series, 50, level, &arena, &wide, &err), 0);
            CHECK_INT(tare_stats_percentile_at(&series, 50, 0.95, &arena, &fixed, &err), 0);
            miss = miss || (wide.has_low && wide.low > 0.5) || (wide.has_high && wide.high < 0.5);
            miss_fixed =
                miss_fixed || (fixed.has_low && fixed.low > 0.5) || (fixed.has_high && fixed.high < 0.5);
            tare_arena_finish(&arena);
        }
        missed += miss;
        missed_fixed += miss_fixed;
    }
    CHECK(missed <= SERIES / 20);
    CHECK(missed_fixed > SERIES / 10);
    for (size_t look = 1; look < 1000; look++)
        spent += 1 - tare_stats_look_level(0.95, look);
    CHECK(spent > 0.0499 && spent <= 0.05);
}

/* Processes whose levels differ by 3 %, and 40 samples of each: the bounds must hold the median of all
 * processes that there could be. */
static void medians_of_processes_bound_the_median(void)
{
    enum { SERIES = 400, EACH = 40 };
    static const size_t processes[] = {3, 5, 12};
    static double values[12 * EACH];
    static uint32_t process[12 * EACH];
    struct tare_random random;
    struct tare_error err;
    tare_random_init(&random, 11);
    for (size_t p = 0; p < COUNT(processes); p++) {
        int held = 0;
        for (int s = 0; s < SERIES; s++) {
            struct tare_arena arena;
            struct tare_interval interval;
            double level = 0;
            for (size_t i = 0; i < processes[p] * EACH; i++) {
                process[i] = (uint32_t)(i / EACH);
                if (i % EACH == 0) { /* twelve uniforms are nearly normal */
                    level = -6;
                    for (int u = 0; u < 12; u++)
                        level += tare_random_unit(&random);
                }
                values[i] = 1 + 0.03 * level + 0.02 * (tare_random_unit(&random) - 0.5);
            }
            struct tare_series series = {.values = values, .process = process, .count = processes[p] * EACH};
            tare_arena_init(&arena, 0);
            CHECK_INT(tare_stats_median_bounds(&series, 0.95, &arena, &interval, &err), 0);
            CHECK_REAL(interval.effective, (double)processes[p], 0);
            held += interval.low <= 1 && interval.high >= 1;
            tare_arena_finish(&arena);
        }
        CHECK(held >= SERIES * 93 / 100);
        CHECK(held < SERIES);
    }
}

static void percentiles_say_what_they_need(void)
{
    static double sorted[6636];
    struct tare_percentile p;
    struct tare_error err;
    for (size_t i = 0; i < COUNT(sorted); i++)
        sorted[i] = (double)(i + 1);
    CHECK_INT(tare_stats_needed(90), 64);
    CHECK_INT(tare_stats_needed(95), 130);
    CHECK_INT(tare_stats_needed(99), 662);
    CHECK_INT(tare_stats_needed(99.9), 6636);
    CHECK_INT(tare_stats_percentile(sorted, 661, 99, 661, &p, &err), 0);
    CHECK(!p.supported);
    CHECK_INT(p.more, 1);
    CHECK_INT(tare_stats_percentile(sorted, 662, 99, 662, &p, &err), 0);
    CHECK(p.supported);
    CHECK_INT(p.more, 0);
    CHECK_INT(tare_stats_percentile(sorted, 6636, 99.9, 6636, &p, &err), 0);
    CHECK(p.supported);
    /* 0.99^367 = 0.02501, 0.99^368 = 0.02476: the first upper bound of p99 is the largest of 368 */
    CHECK_INT(tare_stats_percentile(sorted, 367, 99, 367, &p, &err), 0);
    CHECK(!p.has_high && isnan(p.high) && p.has_low);
    CHECK_INT(tare_stats_percentile(sorted, 368, 99, 368, &p, &err), 0);
    CHECK(p.has_high && !p.supported);
    CHECK_REAL(p.high, 368, 0);
    /* 2^-5 = 0.031, 2^-6 = 0.016: the range of 6 bounds a median, that of 5 does not */
    CHECK_INT(tare_stats_percentile(sorted, 5, 50, 5, &p, &err), 0);
    CHECK(!p.has_low && !p.has_high && isnan(p.low));
    CHECK_INT(tare_stats_percentile(sorted, 6, 50, 6, &p, &err), 0);
    CHECK_REAL(p.low, 1, 0);
    CHECK_REAL(p.high, 6, 0);
    CHECK_REAL(p.value, 3, 0);
}

static void fewer_effective_samples_widen(void)
{
    static double sorted[6000];
    struct tare_percentile all, part;
    struct tare_error err;
    for (size_t i = 0; i < COUNT(sorted); i++)
        sorted[i] = (double)(i + 1);
    /* binomial ranks of 600 at one half are 276 and 325 (scipy: binom.cdf(275, 600, .5) = 0.0227,
     * binom.sf(324, 600, .5) = 0.0227); ten times the samples, ten times the rank */
    CHECK_INT(tare_stats_percentile(sorted, 600, 50, 600, &all, &err), 0);
    CHECK_REAL(all.low, 276, 0);
    CHECK_REAL(all.high, 325, 0);
    CHECK_INT(tare_stats_percentile(sorted, 6000, 50, 600, &part, &err), 0);
    CHECK_REAL(part.low, 2760, 0);
    CHECK_REAL(part.high, 3250, 0);
    /* 331 of 662 needed: as many again of the raw samples */
    CHECK_INT(tare_stats_percentile(sorted, 6000, 99, 331, &part, &err), 0);
    CHECK_INT(part.more, 6000);
}

static void fill_walk(double *values, size_t count, double keep, uint64_t seed)
{
    struct tare_random random;
    tare_random_init(&random, seed);
    double at = 0;
    for (size_t i = 0; i < count; i++) {
        double kick = 0;
        for (int k = 0; k < 12; k++)
            kick += tare_random_unit(&random) - 0.5;
        at = keep * at + sqrt(1 - keep * keep) * kick;
        values[i] = exp(0.3 * at);
    }
}

static double effective_of(const struct tare_series *series, double percent)
{
    struct tare_arena arena;
    struct tare_error err;
    double effective = NAN;
    tare_arena_init(&arena, 0);
    CHECK_INT(tare_stats_effective(series, percent, &arena, &effective, &err), 0);
    tare_arena_finish(&arena);
    return effective;
}

static void effective_number_sees_dependence(void)
{
    enum { N = 20000 };
    static double values[N];
    static uint32_t process[N];
    struct tare_series series = {.values = values, .count = N};

    fill_walk(values, N, 0, 1);
    CHECK(effective_of(&series, 50) > 0.9 * N);
    CHECK(effective_of(&series, 99) > 0.9 * N);

    /* The sign of a normal with lag-1 correlation 0.9 has an inflation of 1 + 4/pi * sum asin(0.9^k) = 13.0,
     * so about 1,500 of 20,000. */
    fill_walk(values, N, 0.9, 2);
    CHECK(effective_of(&series, 50) > 1000 && effective_of(&series, 50) < 2000);
    CHECK(effective_of(&series, 99) < N / 4);

    /* every sample 20 times over: 1,000 different ones */
    fill_walk(values, N / 20, 0, 3);
    for (size_t i = N; i-- > 0;)
        values[i] = values[i / 20];
    CHECK(effective_of(&series, 50) > 700 && effective_of(&series, 50) < 1100);

    /* ten processes, each with a level of its own: not many more than ten */
    fill_walk(values, N, 0, 4);
    series.process = process;
    for (size_t i = 0; i < N; i++)
        process[i] = (uint32_t)(i % 10);
    CHECK(effective_of(&series, 50) > 0.9 * N); /* equal processes cost nothing */
    for (size_t i = 0; i < N; i++)
        values[i] *= 1 + 0.2 * (double)((process[i] * 7) % 10);
    CHECK(effective_of(&series, 50) < 30);

    for (size_t i = 0; i < N; i++)
        values[i] = 5;
    CHECK_REAL(effective_of(&series, 99), N, 0);
}

static void mean_bounds_by_hand(void)
{
    /* 1..5: mean 3, sd sqrt(2.5), t(0.025, 4) = 2.7764451051977987 (scipy) */
    const double values[] = {4, 1, 5, 2, 3};
    struct tare_series series = {.values = values, .count = 5};
    struct tare_arena arena;
    struct tare_error err;
    struct tare_interval interval;
    tare_arena_init(&arena, 0);
    CHECK_INT(tare_stats_mean_bounds(&series, 0.95, &arena, &interval, &err), 0);
    CHECK_REAL(interval.estimate, 3, 0);
    CHECK_REAL(interval.high - 3, 2.7764451051977987 * sqrt(0.5), 1e-12);
    CHECK_REAL(3 - interval.low, 2.7764451051977987 * sqrt(0.5), 1e-12);
    tare_arena_finish(&arena);
}

static void rank_sum_known(void)
{
    struct tare_arena arena;
    struct tare_error err;
    struct tare_test test;
    tare_arena_init(&arena, 0);
    /* scipy.stats.mannwhitneyu(x7, y8, method='exact') */
    CHECK_INT(tare_stats_rank_sum(x7, 7, y8, 8, &arena, &test, &err), 0);
    CHECK_REAL(test.statistic, 3, 0);
    CHECK_REAL(test.p, 0.0021756021756021756, 1e-14);
    CHECK_REAL(test.p_less, 0.0010878010878010878, 1e-14);
    CHECK_REAL(test.p_greater, 0.9993783993783995, 1e-14);
    CHECK(test.exact && !test.ties);
    CHECK_INT(tare_stats_rank_sum(y8, 8, x7, 7, &arena, &test, &err), 0);
    CHECK_REAL(test.statistic, 53, 0);
    CHECK_REAL(test.p_greater, 0.0010878010878010878, 1e-14);
    CHECK_REAL(test.p_less, 0.9993783993783995, 1e-14);

    /* By hand: ranks 1.5 1.5 | 3.5 3.5 5, of 10 ways to take two, one has a sum of 3. */
    const double low[] = {1, 1}, high[] = {2, 2, 3};
    CHECK_INT(tare_stats_rank_sum(low, 2, high, 3, &arena, &test, &err), 0);
    CHECK_REAL(test.p_less, 0.1, 1e-15);
    CHECK_REAL(test.p_greater, 1, 1e-15);
    CHECK_REAL(test.p, 0.2, 1e-15);
    CHECK(test.exact && test.ties);

    /* 13/33; scipy's 'exact' ignores the ties and says 16/33 */
    const double a[] = {0, 0, 3, 3, 3, 3}, b[] = {0, 1, 1, 2, 2, 3};
    CHECK_INT(tare_stats_rank_sum(a, 6, b, 6, &arena, &test, &err), 0);
    CHECK_REAL(test.p, 13.0 / 33, 1e-14);

    const double same[] = {7, 7, 7};
    CHECK_INT(tare_stats_rank_sum(same, 3, same, 3, &arena, &test, &err), 0);
    CHECK_REAL(test.p, 1, 0);
    CHECK_REAL(test.statistic, 4.5, 0);
    tare_arena_finish(&arena);
}

static void large_samples_say_approximate(void)
{
    enum { N = 501 };
    double values[N];
    struct tare_arena arena;
    struct tare_error err;
    struct tare_test test;
    tare_arena_init(&arena, 0);
    for (size_t i = 0; i < N; i++)
        values[i] = (double)i + 1;
    CHECK_INT(tare_stats_rank_sum(values, 100, values + 100, 100, &arena, &test, &err), 0);
    CHECK(test.exact);
    CHECK_REAL(test.p_less, 1 / 9.0548514656103281e58, 1e-13); /* 1 / C(200, 100) */
    CHECK_INT(tare_stats_rank_sum(values, 101, values + 101, 100, &arena, &test, &err), 0);
    CHECK(!test.exact);
    CHECK_INT(tare_stats_signed_rank(values, 500, TARE_ZEROS_PRATT, &arena, &test, &err), 0);
    CHECK(test.exact);
    CHECK_REAL(test.p_greater, ldexp(1, -500), 1e-13);
    CHECK_INT(tare_stats_signed_rank(values, 501, TARE_ZEROS_PRATT, &arena, &test, &err), 0);
    CHECK(!test.exact);
    tare_arena_finish(&arena);
}

static void signed_rank_known(void)
{
    struct tare_arena arena;
    struct tare_error err;
    struct tare_test test;
    tare_arena_init(&arena, 0);
    /* scipy.stats.wilcoxon(d, method='exact') */
    const double d[] = {.3, -.1, .5, .7, .2, -.4, .9, 1.1, .6, .8};
    CHECK_INT(tare_stats_signed_rank(d, 10, TARE_ZEROS_WILCOXON, &arena, &test, &err), 0);
    CHECK_REAL(test.statistic, 50, 0);
    CHECK_REAL(test.p, 0.01953125, 1e-14);
    CHECK_REAL(test.p_greater, 0.009765625, 1e-14);
    CHECK_REAL(test.p_less, 0.9931640625, 1e-14);
    /* By hand, a zero: Pratt ranks 1 2 -3 as 2 3 4, of whose 8 sums four are at least 5. Wilcoxon ranks them
     * as 1 2 3: five of 0 1 2 3 3 4 5 6 are at least 3. */
    const double zero[] = {1, 2, -3, 0};
    CHECK_INT(tare_stats_signed_rank(zero, 4, TARE_ZEROS_PRATT, &arena, &test, &err), 0);
    CHECK_REAL(test.p_greater, 0.5, 1e-15);
    CHECK_INT(test.used_x, 3);
    CHECK_INT(tare_stats_signed_rank(zero, 4, TARE_ZEROS_WILCOXON, &arena, &test, &err), 0);
    CHECK_REAL(test.p_greater, 0.625, 1e-15);
    /* By hand, ties: 1 1 -1 have rank 2 each; sums 0 2 2 2 4 4 4 6, four of which are at least 4 */
    const double tie[] = {1, 1, -1};
    CHECK_INT(tare_stats_signed_rank(tie, 3, TARE_ZEROS_PRATT, &arena, &test, &err), 0);
    CHECK_REAL(test.p_greater, 0.5, 1e-15);
    CHECK_REAL(test.p_less, 0.875, 1e-15);
    CHECK(test.ties);
    const double nothing[] = {0, 0};
    CHECK_INT(tare_stats_signed_rank(nothing, 2, TARE_ZEROS_PRATT, &arena, &test, &err), 0);
    CHECK_REAL(test.p, 1, 0);
    CHECK_INT(test.used_x, 0);
    CHECK(!test.ties);
    tare_arena_finish(&arena);
}

static void ks_and_welch_known(void)
{
    struct tare_arena arena;
    struct tare_error err;
    struct tare_test test;
    tare_arena_init(&arena, 0);
    /* scipy.stats.ks_2samp(x7, y8, method='exact'), scipy.stats.ttest_ind(x7, y8, equal_var=False) */
    CHECK_INT(tare_stats_ks(x7, 7, y8, 8, &arena, &test, &err), 0);
    CHECK_REAL(test.statistic, 0.8571428571428571, 1e-15);
    CHECK_REAL(test.p, 0.004662004662004661, 1e-13);
    CHECK(test.exact && !test.ties && isnan(test.p_less));
    CHECK_INT(tare_stats_ks(x7, 7, x7, 7, &arena, &test, &err), 0);
    CHECK_REAL(test.p, 1, 0);
    CHECK(test.ties);
    CHECK_INT(tare_stats_welch(x7, 7, y8, 8, &test, &err), 0);
    CHECK_REAL(test.statistic, -4.209851839691696, 1e-13);
    CHECK_REAL(test.freedom, 12.989293446637612, 1e-13);
    CHECK_REAL(test.p, 0.0010224342023287495, 1e-12);
    CHECK_REAL(test.p_less, 0.0005112171011643747, 1e-12);
    CHECK_REAL(test.p_greater, 0.9994887828988356, 1e-14);
    tare_arena_finish(&arena);
}

static void welch_moderated(void)
{
    struct tare_error err;
    struct tare_test test, plain;
    CHECK_INT(tare_stats_welch(x7, 7, y8, 8, &plain, &err), 0);
    CHECK_INT(tare_stats_welch_moderated(x7, 7, y8, 8, 0, &test, &err), 0);
    CHECK_REAL(test.p, plain.p, 0);
    /* By hand with numpy: the variances mixed, then Welch's formula and scipy.stats.t. */
    CHECK_INT(tare_stats_welch_moderated(x7, 7, y8, 8, 4, &test, &err), 0);
    CHECK_REAL(test.statistic, -4.192194864840003, 1e-13);
    CHECK_REAL(test.freedom, 13, 0);
    CHECK_REAL(test.p, 0.0010547938577680218, 1e-12);
    CHECK_INT(tare_stats_welch_moderated(x7, 3, y8, 8, 4, &test, &err), 0);
    CHECK_REAL(test.statistic, -3.5879382445035035, 1e-13);
    CHECK_REAL(test.p, 0.005857622022192082, 1e-12);
    /* Much of it is Student's test: scipy.stats.ttest_ind(x7, y8). */
    CHECK_INT(tare_stats_welch_moderated(x7, 7, y8, 8, 1e12, &test, &err), 0);
    CHECK_REAL(test.statistic, -4.1753772086408025, 1e-9);
    CHECK_REAL(test.p, 0.0010884047849654044, 1e-9);
}

static void welch_without_variation(void)
{
    const double ones[] = {1, 1, 1}, twos[] = {2, 2};
    struct tare_error err;
    struct tare_test test;
    CHECK_INT(tare_stats_welch(ones, 3, ones, 2, &test, &err), 0);
    CHECK_REAL(test.p, 1, 0);
    CHECK_INT(tare_stats_welch(ones, 3, twos, 2, &test, &err), 0);
    CHECK_REAL(test.p, 0, 0);
    CHECK_REAL(test.p_less, 0, 0);
    CHECK_REAL(test.p_greater, 1, 0);
    CHECK(isinf(test.statistic) && test.statistic < 0);
}

static void holm_by_hand(void)
{
    struct tare_arena arena;
    struct tare_error err;
    double adjusted[5];
    tare_arena_init(&arena, 0);
    /* 4 x 0.005, 3 x 0.01, 2 x 0.03, then 0.04 raised to the 0.06 before it */
    const double four[] = {0.01, 0.04, 0.03, 0.005};
    CHECK_INT(tare_stats_holm(four, 4, &arena, adjusted, &err), 0);
    CHECK_REAL(adjusted[0], 0.03, 1e-15);
    CHECK_REAL(adjusted[1], 0.06, 1e-15);
    CHECK_REAL(adjusted[2], 0.06, 1e-15);
    CHECK_REAL(adjusted[3], 0.02, 1e-15);
    /* equal ones stay equal: 3 x 0.02 for both, 0.5 x 1; and nothing passes 1 */
    const double equal[] = {0.02, 0.5, 0.02};
    CHECK_INT(tare_stats_holm(equal, 3, &arena, adjusted, &err), 0);
    CHECK_REAL(adjusted[0], 0.06, 1e-15);
    CHECK_REAL(adjusted[2], 0.06, 1e-15);
    CHECK_REAL(adjusted[1], 0.5, 0);
    const double large[] = {0.7, 0.9};
    CHECK_INT(tare_stats_holm(large, 2, &arena, adjusted, &err), 0);
    CHECK_REAL(adjusted[0], 1, 0);
    CHECK_REAL(adjusted[1], 1, 0);
    const double one[] = {0.013};
    CHECK_INT(tare_stats_holm(one, 1, &arena, adjusted, &err), 0);
    CHECK_REAL(adjusted[0], 0.013, 0);
    CHECK_INT(tare_stats_holm(NULL, 0, &arena, adjusted, &err), 0);
    tare_arena_finish(&arena);
}

static void random_numbers_are_the_published_ones(void)
{
    /* xoshiro256** from splitmix64 of 0, as other implementations have them too */
    struct tare_random random;
    tare_random_init(&random, 0);
    CHECK(tare_random_next(&random) == 0x99ec5f36cb75f2b4u);
    CHECK(tare_random_next(&random) == 0xbf6e1f784956452au);
    CHECK(tare_random_next(&random) == 0x1a5f849d4933e6e0u);
    CHECK(tare_random_next(&random) == 0x6aa594f1262d2d2cu);
    size_t seen[7] = {0};
    for (int i = 0; i < 70000; i++)
        seen[tare_random_below(&random, 7)]++;
    for (size_t i = 0; i < 7; i++)
        CHECK(seen[i] > 9600 && seen[i] < 10400);
    CHECK_INT(tare_random_below(&random, 1), 0);
}

static void bootstrap_repeats(void)
{
    struct tare_bootstrap options = {.seed = 42};
    struct tare_arena arena;
    struct tare_error err;
    struct tare_interval first, again, other;
    tare_arena_init(&arena, 0);
    CHECK_INT(tare_stats_bootstrap(y8, 8, tare_stats_median, &options, &arena, &first, &err), 0);
    CHECK_INT(tare_stats_bootstrap(y8, 8, tare_stats_median, &options, &arena, &again, &err), 0);
    CHECK(memcmp(&first, &again, sizeof first) == 0);
    CHECK_REAL(first.estimate, 13.2, 1e-15);
    /* bit-equal everywhere; the same numbers come from the Python implementation in test_stats_scipy.py */
    CHECK_REAL(first.low, 12.8, 0);
    CHECK_REAL(first.high, 13.9, 0);
    CHECK_INT(tare_stats_bootstrap(y8, 8, tare_stats_mean, &options, &arena, &other, &err), 0);
    CHECK_REAL(other.low, 12.9, 0);
    CHECK_REAL(other.high, 13.6625, 0);
    options.seed = 43;
    CHECK_INT(tare_stats_bootstrap(y8, 8, tare_stats_mean, &options, &arena, &other, &err), 0);
    CHECK_REAL(other.estimate, 13.25, 1e-15);
    CHECK_INT(tare_stats_bootstrap_ratio(x7, 7, y8, 8, tare_stats_median, &options, &arena, &other, &err), 0);
    CHECK_REAL(other.estimate, 13.2 / 12.2, 1e-15);
    CHECK(other.low > 1 && other.high < 1.2);
    tare_arena_finish(&arena);
}

static void bad_input_is_refused(void)
{
    const double bad[] = {1, NAN, 3}, endless[] = {1, INFINITY, 3}, fine[] = {1, 2, 3};
    const double p[] = {0.5, 1.5}, negative[] = {-1, 2, 3};
    struct tare_series series = {.values = bad, .count = 3};
    struct tare_bootstrap options = {.seed = 1}, few = {.resamples = 10}, level = {.level = 2};
    struct tare_arena arena;
    struct tare_error err;
    struct tare_test test;
    struct tare_interval interval;
    struct tare_percentile percentile;
    double adjusted[2], effective;
    const double *sorted, percent = 50, wrong = 100;
    tare_arena_init(&arena, 0);
    CHECK_INT(tare_stats_sorted(bad, 3, &arena, &sorted, &err), -1);
    CHECK_TEXT(err.msg, "value 2 of 3 is not a number: statistics need numbers");
    CHECK_INT(tare_stats_sorted(fine, 0, &arena, &sorted, &err), -1);
    CHECK_TEXT(err.msg, "0 values, but at least 1 are needed");
    CHECK_INT(tare_stats_rank_sum(bad, 3, fine, 3, &arena, &test, &err), -1);
    CHECK_INT(tare_stats_rank_sum(endless, 3, fine, 3, &arena, &test, &err), 0);
    CHECK_INT(tare_stats_signed_rank(bad, 3, TARE_ZEROS_PRATT, &arena, &test, &err), -1);
    CHECK_INT(tare_stats_ks(fine, 3, bad, 3, &arena, &test, &err), -1);
    CHECK_INT(tare_stats_welch(fine, 3, endless, 3, &test, &err), -1);
    CHECK_TEXT(err.msg, "value 2 of 3 is infinite: statistics need numbers");
    CHECK_INT(tare_stats_welch(fine, 1, fine, 3, &test, &err), -1);
    CHECK_INT(tare_stats_holm(p, 2, &arena, adjusted, &err), -1);
    CHECK_INT(tare_stats_percentiles(&series, &percent, 1, &arena, &percentile, &err), -1);
    CHECK_INT(tare_stats_effective(&series, 50, &arena, &effective, &err), -1);
    series.values = fine;
    CHECK_INT(tare_stats_percentiles(&series, &wrong, 1, &arena, &percentile, &err), -1);
    CHECK_INT(tare_stats_effective(&series, 0, &arena, &effective, &err), -1);
    CHECK_INT(tare_stats_mean_bounds(&series, 1, &arena, &interval, &err), -1);
    CHECK_INT(tare_stats_bootstrap(fine, 1, tare_stats_mean, &options, &arena, &interval, &err), -1);
    CHECK_INT(tare_stats_bootstrap(fine, 3, tare_stats_mean, &few, &arena, &interval, &err), -1);
    CHECK_INT(tare_stats_bootstrap(fine, 3, tare_stats_mean, &level, &arena, &interval, &err), -1);
    CHECK_INT(
        tare_stats_bootstrap_ratio(fine, 3, negative, 3, tare_stats_mean, &options, &arena, &interval, &err),
        -1);
    tare_arena_finish(&arena);
}

static void no_memory_is_an_error(void)
{
    struct tare_arena arena;
    struct tare_error err;
    struct tare_test test;
    tare_arena_init(&arena, 64);
    CHECK_INT(tare_stats_rank_sum(x7, 7, y8, 8, &arena, &test, &err), -1);
    CHECK_INT(err.code, TARE_E_MEMORY);
    tare_arena_finish(&arena);
}

int main(void)
{
    RUN(sorts_every_length);
    RUN(summary_by_hand);
    RUN(sums_keep_small_parts);
    RUN(ranks_are_nearest);
    RUN(looks_are_paid_for);
    RUN(medians_of_processes_bound_the_median);
    RUN(percentiles_say_what_they_need);
    RUN(fewer_effective_samples_widen);
    RUN(effective_number_sees_dependence);
    RUN(mean_bounds_by_hand);
    RUN(rank_sum_known);
    RUN(large_samples_say_approximate);
    RUN(signed_rank_known);
    RUN(ks_and_welch_known);
    RUN(welch_moderated);
    RUN(welch_without_variation);
    RUN(holm_by_hand);
    RUN(random_numbers_are_the_published_ones);
    RUN(bootstrap_repeats);
    RUN(bad_input_is_refused);
    RUN(no_memory_is_an_error);
    return check_done();
}
