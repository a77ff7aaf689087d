/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics as a filter, so that a test in another language can compare them with its own. Each line of
 * standard input is a question of words; each answer is one line of numbers that read back equal, or "error"
 * and its message. A list of numbers is written as its length and its values.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "core/stats_special.h"

enum { WORDS = 400000, LINE = 1 << 24 };

struct words {
    char **word;
    size_t count, at;
    bool bad;
};

static const char *next_word(struct words *words)
{
    if (words->at < words->count)
        return words->word[words->at++];
    words->bad = true;
    return "0";
}

static double next_real(struct words *words)
{
    char *end;
    const char *word = next_word(words);
    double value = strtod(word, &end);
    words->bad = words->bad || *end;
    return value;
}

static uint64_t next_whole(struct words *words)
{
    char *end;
    const char *word = next_word(words);
    uint64_t value = strtoull(word, &end, 10);
    words->bad = words->bad || *end;
    return value;
}

static const double *next_list(struct words *words, struct tare_arena *arena, size_t *ret_count)
{
    size_t count = (size_t)next_whole(words);
    if (count > words->count)
        words->bad = true;
    if (words->bad)
        return NULL;
    double *values = tare_arena_array(arena, count + 1, sizeof *values);
    for (size_t i = 0; values && i < count; i++)
        values[i] = next_real(words);
    *ret_count = count;
    return values;
}

static void print_test(const struct tare_test *test)
{
    printf("%.17g %.17g %.17g %.17g %.17g %d %d %zu %zu\n", test->statistic, test->p, test->p_less,
           test->p_greater, test->freedom, test->exact, test->ties, test->used_x, test->used_y);
}

static int two_samples(const char *name, struct words *words, struct tare_arena *arena,
                       struct tare_error *err)
{
    size_t m = 0, n = 0;
    const double *x = next_list(words, arena, &m);
    const double *y = next_list(words, arena, &n);
    struct tare_test test;
    if (words->bad)
        return tare_fail(err, TARE_E_USAGE, 0, "malformed question");
    int status = strcmp(name, "rank_sum") == 0 ? tare_stats_rank_sum(x, m, y, n, arena, &test, err)
                 : strcmp(name, "ks") == 0     ? tare_stats_ks(x, m, y, n, arena, &test, err)
                                               : tare_stats_welch(x, m, y, n, &test, err);
    if (status == 0)
        print_test(&test);
    return status;
}

static int one_sample(const char *name, struct words *words, struct tare_arena *arena, struct tare_error *err)
{
    const char *how = next_word(words);
    size_t n = 0;
    const double *values = next_list(words, arena, &n);
    const double *sorted;
    if (words->bad)
        return tare_fail(err, TARE_E_USAGE, 0, "malformed question");
    if (strcmp(name, "signed_rank") == 0) {
        struct tare_test test;
        enum tare_zeros zeros = strcmp(how, "pratt") == 0 ? TARE_ZEROS_PRATT : TARE_ZEROS_WILCOXON;
        if (tare_stats_signed_rank(values, n, zeros, arena, &test, err))
            return -1;
        print_test(&test);
    } else if (strcmp(name, "holm") == 0) {
        double *adjusted = tare_arena_array(arena, n + 1, sizeof *adjusted);
        if (tare_stats_holm(values, n, arena, adjusted, err))
            return -1;
        for (size_t i = 0; i < n; i++)
            printf("%.17g ", adjusted[i]);
        printf("\n");
    } else if (strcmp(name, "summary") == 0) {
        struct tare_summary summary;
        if (tare_stats_sorted(values, n, arena, &sorted, err) ||
            tare_stats_summary(sorted, n, arena, &summary, err))
            return -1;
        printf("%.17g %.17g %.17g %.17g %.17g %.17g\n", summary.min, summary.max, summary.mean,
               summary.variance, summary.median, summary.mad);
    } else {
        struct tare_percentile percentile;
        double percent = strtod(how, NULL);
        struct tare_series series = {.values = values, .count = n};
        int status;
        if (strcmp(name, "independent") == 0)
            status = tare_stats_sorted(values, n, arena, &sorted, err) ||
                     tare_stats_percentile(sorted, n, percent, (double)n, &percentile, err);
        else
            status = tare_stats_percentiles(&series, &percent, 1, arena, &percentile, err);
        if (status)
            return -1;
        printf("%.17g %.17g %.17g %.17g %d %llu\n", percentile.value, percentile.low, percentile.high,
               percentile.effective, percentile.supported, (unsigned long long)percentile.more);
    }
    return 0;
}

static int bootstrap(const char *name, struct words *words, struct tare_arena *arena, struct tare_error *err)
{
    const char *how = next_word(words);
    struct tare_bootstrap options = {.seed = next_whole(words), .resamples = (size_t)next_whole(words)};
    options.level = next_real(words);
    size_t m = 0, n = 0;
    const double *x = next_list(words, arena, &m);
    bool ratio = strcmp(name, "bootstrap_ratio") == 0;
    const double *y = ratio ? next_list(words, arena, &n) : NULL;
    struct tare_interval interval;
    double (*statistic)(const double *, size_t) =
        strcmp(how, "mean") == 0 ? tare_stats_mean : tare_stats_median;
    if (words->bad)
        return tare_fail(err, TARE_E_USAGE, 0, "malformed question");
    if (ratio ? tare_stats_bootstrap_ratio(x, m, y, n, statistic, &options, arena, &interval, err)
              : tare_stats_bootstrap(x, m, statistic, &options, arena, &interval, err))
        return -1;
    printf("%.17g %.17g %.17g\n", interval.estimate, interval.low, interval.high);
    return 0;
}

static int special(const char *name, struct words *words, struct tare_error *err)
{
    if (strcmp(name, "log_beta") == 0) {
        double a = next_real(words), b = next_real(words);
        printf("%.17g\n", tare_special_log_beta(a, b));
    } else if (strcmp(name, "log_gamma") == 0) {
        printf("%.17g\n", tare_special_log_gamma(next_real(words)));
    } else if (strcmp(name, "beta") == 0) {
        double a = next_real(words), b = next_real(words), x = next_real(words);
        printf("%.17g\n", tare_special_beta(a, b, x, 1 - x));
    } else if (strcmp(name, "t_above") == 0) {
        double t = next_real(words), freedom = next_real(words);
        printf("%.17g\n", tare_special_t_above(t, freedom));
    } else if (strcmp(name, "t_quantile") == 0) {
        double p = next_real(words), freedom = next_real(words);
        printf("%.17g\n", tare_special_t_quantile(p, freedom));
    } else if (strcmp(name, "binomial") == 0) {
        uint64_t k = next_whole(words), n = next_whole(words);
        double p = next_real(words);
        printf("%.17g %.17g\n", tare_special_binomial_below(k, n, p), tare_special_binomial_above(k, n, p));
    } else if (strcmp(name, "needed") == 0) {
        printf("%llu\n", (unsigned long long)tare_stats_needed(next_real(words)));
    } else {
        return tare_fail(err, TARE_E_USAGE, 0, "no question '%s'", name);
    }
    return words->bad ? tare_fail(err, TARE_E_USAGE, 0, "malformed question") : 0;
}

static int answer(struct words *words, struct tare_arena *arena, struct tare_error *err)
{
    static const char *const pairs[] = {"rank_sum", "ks", "welch"};
    static const char *const singles[] = {"signed_rank", "holm", "summary", "independent", "percentile"};
    const char *name = next_word(words);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (strcmp(name, pairs[i]) == 0)
            return two_samples(name, words, arena, err);
    }
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
        if (strcmp(name, singles[i]) == 0)
            return one_sample(name, words, arena, err);
    }
    if (strncmp(name, "bootstrap", 9) == 0)
        return bootstrap(name, words, arena, err);
    return special(name, words, err);
}

int main(void)
{
    static char line[LINE];
    static char *word[WORDS];
    while (fgets(line, sizeof line, stdin)) {
        struct words words = {.word = word};
        struct tare_error err;
        struct tare_arena arena;
        for (char *at = line; *at && words.count < WORDS;) {
            at += strspn(at, " \n");
            if (*at)
                word[words.count++] = at;
            at += strcspn(at, " \n");
            if (*at)
                *at++ = '\0';
        }
        tare_arena_init(&arena, 0);
        if (answer(&words, &arena, &err))
            printf("error %s\n", err.msg);
        tare_arena_finish(&arena);
    }
    return 0;
}
