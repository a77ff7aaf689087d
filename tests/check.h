/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test program is a list of functions. Each check that fails prints where and what, marks its test as
 * failed and goes on; the closing line counts tests. Usage:
 *
 *     static void adds(void) { CHECK_INT(1 + 1, 2); }
 *     int main(void) { RUN(adds); return check_done(); }
 */
#ifndef TARE_TESTS_CHECK_H
#define TARE_TESTS_CHECK_H

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int check_passed, check_failed;
static bool check_bad;

static inline void check_report(const char *file, int line, const char *what)
{
    check_bad = true;
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
}

#define CHECK(cond)                                                                                          \
    do {                                                                                                     \
        if (!(cond))                                                                                         \
            check_report(__FILE__, __LINE__, "not true: " #cond);                                            \
    } while (0)

#define CHECK_INT(got, want)                                                                                 \
    do {                                                                                                     \
        long long check_got = (long long)(got), check_want = (long long)(want);                              \
        if (check_got != check_want) {                                                                       \
            check_report(__FILE__, __LINE__, #got);                                                          \
            fprintf(stderr, "    got %lld, want %lld\n", check_got, check_want);                             \
        }                                                                                                    \
    } while (0)

#define CHECK_TEXT(got, want)                                                                                \
    do {                                                                                                     \
        const char *check_got = (got), *check_want = (want);                                                 \
        if (!check_got || strcmp(check_got, check_want) != 0) {                                              \
            check_report(__FILE__, __LINE__, #got);                                                          \
            fprintf(stderr, "    got  \"%s\"\n    want \"%s\"\n", check_got ? check_got : "(null)",          \
                    check_want);                                                                             \
        }                                                                                                    \
    } while (0)

/* Equal to within a relative tolerance; 0 asks for bit equality. */
#define CHECK_REAL(got, want, tolerance)                                                                     \
    do {                                                                                                     \
        double check_got = (got), check_want = (want);                                                       \
        if (!(fabs(check_got - check_want) <= (tolerance)*fabs(check_want))) {                               \
            check_report(__FILE__, __LINE__, #got);                                                          \
            fprintf(stderr, "    got %.17g, want %.17g\n", check_got, check_want);                           \
        }                                                                                                    \
    } while (0)

#define RUN(test)                                                                                            \
    do {                                                                                                     \
        check_bad = false;                                                                                   \
        test();                                                                                              \
        if (check_bad) {                                                                                     \
            check_failed++;                                                                                  \
            fprintf(stderr, "FAILED %s\n", #test);                                                           \
        } else {                                                                                             \
            check_passed++;                                                                                  \
        }                                                                                                    \
    } while (0)

/* Switch to a locale whose decimal point is a comma; false, saying so, where none is installed. Back with
 * setlocale(LC_ALL, "C"). */
static inline bool check_comma_locale(const char *test)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "da_DK.UTF-8", "pt_BR.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i]))
            return true;
    fprintf(stderr, "skipped %s: no locale with a decimal comma is installed; install de_DE.UTF-8\n", test);
    return false;
}

static inline int check_done(void)
{
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed ? 1 : 0;
}

#endif
