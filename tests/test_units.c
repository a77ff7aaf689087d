/* SPDX-License-Identifier: Apache-2.0 */
/* units: what people type, what they are told when it makes no sense, and what they read. */
#include "base/units.h"
#include "check.h"

static void duration_is(const char *text, int64_t want)
{
    struct tare_error err = {0};
    int64_t ns = -1;
    CHECK_INT(tare_duration_parse(text, &ns, &err), 0);
    CHECK_TEXT(err.msg, "");
    if (ns != want)
        fprintf(stderr, "  for '%s'\n", text);
    CHECK_INT(ns, want);
}

static void durations(void)
{
    duration_is("10s", 10000000000);
    duration_is("250ms", 250000000);
    duration_is("1.5h", 5400000000000);
    duration_is("100us", 100000);
    duration_is("100\xc2\xb5s", 100000);
    duration_is("100\xce\xbcs", 100000);
    duration_is("7ns", 7);
    duration_is("2min", 120000000000);
    duration_is("2m", 120000000000);
    duration_is("1d", 86400000000000);
    duration_is("3", 3000000000);
    duration_is("0", 0);
    duration_is(" 0.1 s ", 100000000);
    duration_is(".5", 500000000);
    duration_is("+1_000.000_000_001s", 1000000000001);
    duration_is("0.0000000015s", 2);
    duration_is("9223372036.854775807", INT64_MAX);
    duration_is("9223372036854775807ns", INT64_MAX);
    duration_is("0.99999999999999999999999999", 1000000000);
}

static void duration_refused(const char *text, const char *want)
{
    struct tare_error err = {0};
    int64_t ns = -7;
    CHECK_INT(tare_duration_parse(text, &ns, &err), -1);
    CHECK_INT(ns, -7);
    CHECK_INT(err.code, TARE_E_USAGE);
    CHECK_TEXT(err.msg, want);
}

static void durations_refused(void)
{
    duration_refused("", "'' is not a duration: give a number such as 10s or 250ms");
    duration_refused("fast", "'fast' is not a duration: give a number such as 10s or 250ms");
    duration_refused("nan", "'nan' is not a duration: give a number such as 10s or 250ms");
    duration_refused("inf", "'inf' is not a duration: give a number such as 10s or 250ms");
    duration_refused("-1s", "'-1s' is not a duration: it is negative");
    duration_refused("-", "'-' is not a duration: give a number such as 10s or 250ms");
    duration_refused("1.s", "'1.s' is not a duration: digits are missing after the point");
    duration_refused("1,5s",
                     "'1,5s' is not a duration: unknown unit ',5s' (use ns, us, ms, s, min, h or d; a bare "
                     "number is seconds)");
    duration_refused("5parsecs",
                     "'5parsecs' is not a duration: unknown unit 'parsecs' (use ns, us, ms, s, min, h or "
                     "d; a bare number is seconds)");
    duration_refused("1__0s",
                     "'1__0s' is not a duration: unknown unit '__0s' (use ns, us, ms, s, min, h or d; a bare "
                     "number is seconds)");
    duration_refused("9223372036.854775808", "'9223372036.854775808' is not a duration: it is too large");
    duration_refused("99999999999999999999", "'99999999999999999999' is not a duration: it is too large");
    duration_refused("300000d", "'300000d' is not a duration: it is too large");
    duration_refused("0x10",
                     "'0x10' is not a duration: unknown unit 'x10' (use ns, us, ms, s, min, h or d; a bare "
                     "number is seconds)");
}

static void size_is(const char *text, uint64_t want)
{
    struct tare_error err = {0};
    uint64_t bytes = 1;
    CHECK_INT(tare_size_parse(text, &bytes, &err), 0);
    CHECK_TEXT(err.msg, "");
    CHECK(bytes == want);
}

static void sizes(void)
{
    struct tare_error err = {0};
    uint64_t bytes = 7;
    size_is("512MiB", UINT64_C(512) << 20);
    size_is("2GB", 2000000000);
    size_is("64k", 64000);
    size_is("64Ki", 65536);
    size_is("1.5 gib", UINT64_C(3) << 29);
    size_is("4096", 4096);
    size_is("4096B", 4096);
    size_is("16PiB", UINT64_C(16) << 50);
    size_is("18446744073709551615", UINT64_MAX);
    CHECK_INT(tare_size_parse("18446744073709551616", &bytes, &err), -1);
    CHECK_TEXT(err.msg, "'18446744073709551616' is not a size: it is too large");
    CHECK_INT(tare_size_parse("16384PiB", &bytes, &err), -1);
    CHECK_INT(tare_size_parse("-1", &bytes, &err), -1);
    CHECK_INT(tare_size_parse("1GBB", &bytes, &err), -1);
    CHECK_TEXT(err.msg,
               "'1GBB' is not a size: unknown unit 'GBB' (use B, kB, MB, GB, TB, PB or KiB, MiB, GiB, TiB, "
               "PiB; a bare number is bytes)");
    CHECK_INT(bytes, 7);
}

static void counts(void)
{
    struct tare_error err = {0};
    uint64_t count = 0;
    CHECK_INT(tare_count_parse("25M", &count, &err), 0);
    CHECK_INT(count, 25000000);
    CHECK_INT(tare_count_parse("1_000", &count, &err), 0);
    CHECK_INT(count, 1000);
    CHECK_INT(tare_count_parse("1.5k", &count, &err), 0);
    CHECK_INT(count, 1500);
    CHECK_INT(tare_count_parse("1.5", &count, &err), -1);
    CHECK_TEXT(err.msg, "'1.5' is not a count: it must be a whole number");
    CHECK_INT(tare_count_parse("10m", &count, &err), -1);
    CHECK_TEXT(err.msg, "'10m' is not a count: unknown unit 'm' (use k, M, G or T)");
    CHECK_INT(tare_count_parse("20000000T", &count, &err), -1);
    CHECK_INT(count, 1500);
}

static void rate_is(const char *text, double want, const char *want_unit)
{
    struct tare_error err = {0};
    char unit[40] = "x";
    double rate = 0;
    CHECK_INT(tare_rate_parse(text, &rate, unit, sizeof unit, &err), 0);
    CHECK_TEXT(err.msg, "");
    CHECK_REAL(rate, want, 1e-15);
    CHECK_TEXT(unit, want_unit);
}

static void rate_refused(const char *text)
{
    struct tare_error err = {0};
    char unit[8];
    double rate = 7;
    CHECK_INT(tare_rate_parse(text, &rate, unit, sizeof unit, &err), -1);
    CHECK_INT(err.code, TARE_E_USAGE);
    CHECK_REAL(rate, 7, 0);
}

static void rates(void)
{
    rate_is("1000samples/s", 1000, "samples");
    rate_is("500 texts/s", 500, "texts");
    rate_is("1.5k texts/min", 25, "texts");
    rate_is("20/s", 20, "");
    rate_is("25M/s", 25e6, "");
    rate_is("2 MB/s", 2, "MB");
    rate_is("7200 x/h", 2, "x");
    rate_refused("1000samples");
    rate_refused("1000");
    rate_refused("1000samples/");
    rate_refused("1000samples/y");
    rate_refused("-5x/s");
    rate_refused("5 a b/s");
    rate_refused("5 toolongname/s");
}

static void reals(void)
{
    struct tare_error err = {0};
    double value = 0;
    CHECK_INT(tare_real_parse("-1.5", &value, &err), 0);
    CHECK_REAL(value, -1.5, 0);
    CHECK_INT(tare_real_parse("2e-3", &value, &err), 0);
    CHECK_REAL(value, 2e-3, 0);
    static const char *const bad[] = {"", "nan", "inf", "0x1p3", "1.5x", "1,5", "1e999", "e", " 1", "-"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(tare_real_parse(bad[i], &value, &err), -1);
    CHECK_REAL(value, 2e-3, 0);
}

static void duration_shown(double ns, const char *want)
{
    char text[TARE_UNITS_TEXT];
    CHECK_TEXT(tare_duration_format(text, sizeof text, ns), want);
}

static void durations_shown(void)
{
    duration_shown(0, "0 s");
    duration_shown(0.25, "0.25 ns");
    duration_shown(0.004, "0.0040 ns");
    duration_shown(7, "7.00 ns");
    duration_shown(999.4, "999 ns");
    duration_shown(999.6, "1.00 us");
    duration_shown(12345678, "12.3 ms");
    duration_shown(9.9951e6, "10.0 ms");
    duration_shown(99.951e6, "100 ms");
    duration_shown(1.5e9, "1.50 s");
    duration_shown(99.94e9, "99.9 s");
    duration_shown(99.96e9, "1 min 40 s");
    duration_shown(125e9, "2 min 05 s");
    duration_shown(3599.7e9, "1 h 00 min");
    duration_shown(7260e9, "2 h 01 min");
    duration_shown(90000e9, "1 d 01 h");
    duration_shown(-12345678, "-12.3 ms");
    duration_shown(NAN, "n/a");
    duration_shown(INFINITY, "infinite");
    duration_shown(1e300, "more than 30 million years");
}

static void size_shown(double bytes, const char *want)
{
    char text[TARE_UNITS_TEXT];
    CHECK_TEXT(tare_size_format(text, sizeof text, bytes), want);
}

static void sizes_shown(void)
{
    size_shown(0, "0 B");
    size_shown(1023, "1023 B");
    size_shown(1024, "1.00 KiB");
    size_shown(1600000000, "1.49 GiB");
    size_shown(1023.9 * 1024, "1.00 MiB");
    size_shown(-2048, "-2.00 KiB");
    size_shown(18446744073709551615.0, "16.0 EiB");
    size_shown(NAN, "n/a");
}

static void others_shown(void)
{
    char text[TARE_UNITS_TEXT];
    CHECK_TEXT(tare_count_format(text, sizeof text, 0), "0");
    CHECK_TEXT(tare_count_format(text, sizeof text, 999), "999");
    CHECK_TEXT(tare_count_format(text, sizeof text, 1493), "1,493");
    CHECK_TEXT(tare_count_format(text, sizeof text, UINT64_MAX), "18,446,744,073,709,551,615");
    CHECK_TEXT(tare_rate_format(text, sizeof text, 1493.2, "texts"), "1,493 texts/s");
    CHECK_TEXT(tare_rate_format(text, sizeof text, 37.04, "texts"), "37.0 texts/s");
    CHECK_TEXT(tare_rate_format(text, sizeof text, 0.5, ""), "0.50/s");
    CHECK_TEXT(tare_rate_format(text, sizeof text, 1e30, "x"), "more than 10^18 x/s");
    /* A buffer that is too small is filled and ended, not overrun. */
    char small[6];
    CHECK_TEXT(tare_rate_format(small, sizeof small, 1493, "texts"), "1,493");
    CHECK_TEXT(tare_count_format(small, sizeof small, 1234567), "1,234");
}

static void locale_changes_nothing(void)
{
    if (!check_comma_locale(__func__))
        return;
    durations();
    sizes();
    rates();
    reals();
    durations_shown();
    sizes_shown();
    others_shown();
    setlocale(LC_ALL, "C");
}

int main(void)
{
    RUN(durations);
    RUN(durations_refused);
    RUN(sizes);
    RUN(counts);
    RUN(rates);
    RUN(reals);
    RUN(durations_shown);
    RUN(sizes_shown);
    RUN(others_shown);
    RUN(locale_changes_nothing);
    return check_done();
}
