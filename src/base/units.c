/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* What is being parsed: its noun and units for messages, and whether case matters. */
struct measure {
    const char *noun, *example, *accepted;
    const struct unit *units;
    bool any_case;
    bool whole; /* parts of the smallest unit are refused instead of rounded */
};

static const struct unit duration_units[] = {
    {"", 1000000000},      {"ns", 1},         {"us", 1000},       {"\xc2\xb5s", 1000}, /* the micro sign */
    {"\xce\xbcs", 1000},                                                               /* the Greek letter */
    {"ms", 1000000},       {"s", 1000000000}, {"m", 60000000000}, {"min", 60000000000}, {"h", 3600000000000},
    {"d", 86400000000000}, {NULL, 0},
};

static const struct unit size_units[] = {
    {"", 1},
    {"b", 1},
    {"k", 1000},
    {"kb", 1000},
    {"m", 1000000},
    {"mb", 1000000},
    {"g", 1000000000},
    {"gb", 1000000000},
    {"t", 1000000000000},
    {"tb", 1000000000000},
    {"p", 1000000000000000},
    {"pb", 1000000000000000},
    {"ki", UINT64_C(1) << 10},
    {"kib", UINT64_C(1) << 10},
    {"mi", UINT64_C(1) << 20},
    {"mib", UINT64_C(1) << 20},
    {"gi", UINT64_C(1) << 30},
    {"gib", UINT64_C(1) << 30},
    {"ti", UINT64_C(1) << 40},
    {"tib", UINT64_C(1) << 40},
    {"pi", UINT64_C(1) << 50},
    {"pib", UINT64_C(1) << 50},
    {NULL, 0},
};

static const struct unit count_units[] = {
    {"", 1}, {"k", 1000}, {"K", 1000}, {"M", 1000000}, {"G", 1000000000}, {"T", 1000000000000}, {NULL, 0},
};

static const struct measure duration = {
    .noun = "duration",
    .example = "10s or 250ms",
    .accepted = "ns, us, ms, s, min, h or d; a bare number is seconds",
    .units = duration_units,
};

static const struct measure size_measure = {
    .noun = "size",
    .example = "512MiB or 2GB",
    .accepted = "B, kB, MB, GB, TB, PB or KiB, MiB, GiB, TiB, PiB; a bare number is bytes",
    .units = size_units,
    .any_case = true,
};

static const struct measure count_measure = {
    .noun = "count",
    .example = "1000 or 25M",
    .accepted = "k, M, G or T",
    .units = count_units,
    .whole = true,
};

static const struct measure rate_measure = {
    .noun = "rate",
    .example = "1000samples/s",
    .accepted = "k, M, G or T before a space or /",
    .units = count_units,
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A number as typed: an integer part, and a fraction below 1 in exact tenths of tenths. */
struct number {
    uint64_t whole;
    uint64_t fraction, fraction_of; /* fraction / fraction_of */
};

static int refuse(const struct measure *measure, const char *text, const char *why, struct tare_error *err)
{
    return tare_fail(err, TARE_E_USAGE, 0, "'%.60s' is not a %s: %s", text, measure->noun, why);
}

/* Digits with _ between them; returns what follows. Digits of a fraction that no unit can show are read and
 * forgotten; an integer that is too large is an error. */
static const char *digits(const char *at, bool fraction, uint64_t *value, uint64_t *scale, bool *overflow)
{
    for (; is_digit(*at) || (*at == '_' && is_digit(at[-1]) && is_digit(at[1])); at++) {
        if (*at == '_')
            continue;
        unsigned digit = (unsigned)(*at - '0');
        if (fraction && *scale > UINT64_MAX / 100)
            continue;
        *scale *= 10;
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, digit, value))
            *overflow = true;
    }
    return at;
}

/* The number at the start of text; *ret_rest is what follows it and any space. */
static int number_parse(const struct measure *measure, const char *text, struct number *ret_number,
                        const char **ret_rest, struct tare_error *err)
{
    struct number number = {.fraction_of = 1};
    uint64_t scale = 1;
    bool overflow = false;
    const char *at = text;
    char why[96];
    snprintf(why, sizeof why, "give a number such as %s", measure->example);
    while (*at == ' ')
        at++;
    if (*at == '-' && (is_digit(at[1]) || at[1] == '.'))
        return refuse(measure, text, "it is negative", err);
    if (*at == '+')
        at++;
    if (!is_digit(*at) && !(*at == '.' && is_digit(at[1])))
        return refuse(measure, text, why, err);
    if (*at != '.')
        at = digits(at, false, &number.whole, &scale, &overflow);
    if (*at == '.' && is_digit(at[1]))
        at = digits(at + 1, true, &number.fraction, &number.fraction_of, &overflow);
    else if (*at == '.')
        return refuse(measure, text, "digits are missing after the point", err);
    if (overflow)
        return refuse(measure, text, "it is too large", err);
    while (*at == ' ')
        at++;
    *ret_number = number;
    *ret_rest = at;
    return 0;
}

static const struct unit *unit_find(const struct measure *measure, const char *name, size_t length)
{
    for (const struct unit *unit = measure->units; unit->name; unit++) {
        if (strlen(unit->name) != length)
            continue;
        if (measure->any_case ? strncasecmp(unit->name, name, length) == 0
                              : strncmp(unit->name, name, length) == 0)
            return unit;
    }
    return NULL;
}

static int unit_unknown(const struct measure *measure, const char *text, const char *name, size_t length,
                        struct tare_error *err)
{
    return tare_fail(err, TARE_E_USAGE, 0, "'%.60s' is not a %s: unknown unit '%.*s' (use %s)", text,
                     measure->noun, length < 20 ? (int)length : 20, name, measure->accepted);
}

/* A number and its unit, in the smallest unit, at most limit. */
static int whole_parse(const struct measure *measure, const char *text, uint64_t limit, uint64_t *ret_value,
                       struct tare_error *err)
{
    struct number number;
    const char *rest;
    if (number_parse(measure, text, &number, &rest, err) < 0)
        return -1;
    size_t length = strlen(rest);
    while (length > 0 && rest[length - 1] == ' ')
        length--;
    const struct unit *unit = unit_find(measure, rest, length);
    if (!unit)
        return unit_unknown(measure, text, rest, length, err);
    double part = (double)number.fraction / (double)number.fraction_of * (double)unit->factor;
    if (measure->whole && part != floor(part))
        return refuse(measure, text, "it must be a whole number", err);
    uint64_t value;
    if (__builtin_mul_overflow(number.whole, unit->factor, &value) ||
        __builtin_add_overflow(value, (uint64_t)llround(part), &value) || value > limit)
        return refuse(measure, text, "it is too large", err);
    *ret_value = value;
    return 0;
}

int tare_duration_parse(const char *text, int64_t *ret_ns, struct tare_error *err)
{
    uint64_t ns;
    if (whole_parse(&duration, text, INT64_MAX, &ns, err) < 0)
        return -1;
    *ret_ns = (int64_t)ns;
    return 0;
}

int tare_size_parse(const char *text, uint64_t *ret_bytes, struct tare_error *err)
{
    return whole_parse(&size_measure, text, UINT64_MAX, ret_bytes, err);
}

int tare_count_parse(const char *text, uint64_t *ret_count, struct tare_error *err)
{
    return whole_parse(&count_measure, text, UINT64_MAX, ret_count, err);
}

/* What a rate is per: the unit of time after the slash, in nanoseconds. */
static const struct unit *per_find(const char *name)
{
    return *name ? unit_find(&duration, name, strlen(name)) : NULL;
}

int tare_rate_parse(const char *text, double *ret_per_second, char *ret_unit, size_t unit_size,
                    struct tare_error *err)
{
    struct number number;
    const char *rest;
    if (number_parse(&rate_measure, text, &number, &rest, err) < 0)
        return -1;
    const char *slash = strchr(rest, '/');
    const struct unit *per = slash ? per_find(slash + 1) : NULL;
    if (!per)
        return refuse(&rate_measure, text, "end it with /s, /min or /h, such as 1000samples/s", err);
    /* "25M/s" and "25 M texts/s" scale; in "25Mtexts/s" the M belongs to the name. */
    double factor = 1;
    if (strchr("kKMGT", *rest) && (rest[1] == '/' || rest[1] == ' ')) {
        factor = (double)unit_find(&rate_measure, rest, 1)->factor;
        rest++;
        while (*rest == ' ')
            rest++;
    }
    size_t length = (size_t)(slash - rest);
    for (size_t i = 0; i < length; i++)
        if (!is_letter(rest[i]) && rest[i] != '_' && (i == 0 || (!is_digit(rest[i]) && rest[i] != '-')))
            return unit_unknown(&rate_measure, text, rest, length, err);
    if (length >= unit_size || length > 32)
        return refuse(&rate_measure, text, "the unit's name is too long", err);
    memcpy(ret_unit, rest, length);
    ret_unit[length] = '\0';
    double value = (double)number.whole + (double)number.fraction / (double)number.fraction_of;
    *ret_per_second = value * factor * (1e9 / (double)per->factor);
    return 0;
}

int tare_real_parse(const char *text, double *ret_value, struct tare_error *err)
{
    /* strtod alone would take hexadecimal, "nan" and the locale's decimal point. */
    size_t length = strlen(text);
    double value = 0;
    char *end = NULL;
    if (length > 0 && strspn(text, "+-.0123456789eE") == length) {
        locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (!plain)
            return tare_fail_memory(err);
        value = strtod_l(text, &end, plain);
        freelocale(plain);
    }
    if (!end || *end != '\0' || end == text)
        return tare_fail(err, TARE_E_USAGE, 0, "'%.60s' is not a number", text);
    if (!isfinite(value))
        return tare_fail(err, TARE_E_USAGE, 0, "'%.60s' is too large a number", text);
    *ret_value = value;
    return 0;
}

/* The format functions write numbers by integers only, since printf's decimal point follows the locale. */

/* value (not negative) with a number of decimals. */
static void fixed_format(char *text, size_t size, double value, unsigned decimals)
{
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    uint64_t power = powers[decimals];
    uint64_t scaled = (uint64_t)llround(value * (double)power);
    if (decimals)
        snprintf(text, size, "%" PRIu64 ".%0*" PRIu64, scaled / power, (int)decimals, scaled % power);
    else
        snprintf(text, size, "%" PRIu64, scaled);
}

/* How many decimals show three digits of a value below 1000. */
static unsigned decimals_for(double value)
{
    if (value >= 99.95)
        return 0;
    if (value >= 9.995)
        return 1;
    if (value >= 0.0995 || value == 0)
        return 2;
    return value >= 0.00095 ? 4 : 6;
}

const char *tare_count_format(char *text, size_t size, uint64_t count)
{
    char plain[24], grouped[32];
    int length = snprintf(plain, sizeof plain, "%" PRIu64, count);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            grouped[at++] = ',';
        grouped[at++] = plain[i];
    }
    grouped[at] = '\0';
    snprintf(text, size, "%s", grouped);
    return text;
}

/* NaN and the infinities have no digits. */
static bool special_format(char *text, size_t size, double value)
{
    if (isnan(value))
        snprintf(text, size, "n/a");
    else if (isinf(value))
        snprintf(text, size, value > 0 ? "infinite" : "-infinite");
    return !isfinite(value);
}

/* "2 min 05 s": a long time in its two largest units. */
static void long_format(char *text, size_t size, const char *sign, double seconds)
{
    if (seconds >= 1e15) {
        snprintf(text, size, "%smore than 30 million years", sign);
        return;
    }
    uint64_t s = (uint64_t)llround(seconds);
    if (s < 3600)
        snprintf(text, size, "%s%" PRIu64 " min %02" PRIu64 " s", sign, s / 60, s % 60);
    else if (s < 86400)
        snprintf(text, size, "%s%" PRIu64 " h %02" PRIu64 " min", sign, s / 3600, s % 3600 / 60);
    else
        snprintf(text, size, "%s%" PRIu64 " d %02" PRIu64 " h", sign, s / 86400, s % 86400 / 3600);
}

const char *tare_duration_format(char *text, size_t size, double ns)
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    if (special_format(text, size, ns))
        return text;
    const char *sign = ns < 0 ? "-" : "";
    double value = fabs(ns);
    size_t unit = 0;
    while (unit < 3 && value >= 999.5) {
        value /= 1000;
        unit++;
    }
    if (value == 0)
        unit = 3;
    if (unit == 3 && value >= 99.95) {
        long_format(text, size, sign, value);
        return text;
    }
    char digits_text[40];
    fixed_format(digits_text, sizeof digits_text, value, value == 0 ? 0 : decimals_for(value));
    snprintf(text, size, "%s%s %s", sign, digits_text, names[unit]);
    return text;
}

const char *tare_size_format(char *text, size_t size, double bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (special_format(text, size, bytes))
        return text;
    const char *sign = bytes < 0 ? "-" : "";
    double value = fabs(bytes);
    size_t unit = 0;
    while (unit < 6 && value >= (unit ? 999.5 : 1023.5)) {
        value /= 1024;
        unit++;
    }
    char digits_text[40];
    if (value >= 1e15)
        snprintf(digits_text, sizeof digits_text, "more than 10^15");
    else
        fixed_format(digits_text, sizeof digits_text, value, unit ? decimals_for(value) : 0);
    snprintf(text, size, "%s%s %s", sign, digits_text, names[unit]);
    return text;
}

const char *tare_rate_format(char *text, size_t size, double per_second, const char *unit)
{
    if (special_format(text, size, per_second))
        return text;
    const char *sign = per_second < 0 ? "-" : "";
    double value = fabs(per_second);
    char digits_text[40];
    if (value >= 1e18)
        snprintf(digits_text, sizeof digits_text, "more than 10^18");
    else if (value >= 99.95)
        tare_count_format(digits_text, sizeof digits_text, (uint64_t)llround(value));
    else
        fixed_format(digits_text, sizeof digits_text, value, value == 0 ? 0 : decimals_for(value));
    snprintf(text, size, "%s%s%s%.32s/s", sign, digits_text, *unit ? " " : "", unit);
    return text;
}

int tare_share_parse(const char *option, const char *text, double *ret_share, struct tare_error *err)
{
    char number[40];
    double value;
    size_t length = strcspn(text, " %");
    bool percent = strchr(text, '%') != NULL;
    bool fits = length < sizeof number && strspn(text + length, " %") == strlen(text + length);
    snprintf(number, sizeof number, "%.*s", (int)(fits ? length : 0), text);
    if (fits && tare_real_parse(number, &value, NULL) == 0) {
        double share = percent ? value / 100 : value;
        if (share >= 1e-5 && share < 1) {
            *ret_share = share;
            return 0;
        }
    }
    return tare_fail(err, TARE_E_USAGE, 0, "--%s %.40s: it takes a share such as 1%% or 0.01", option, text);
}
