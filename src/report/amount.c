/* SPDX-License-Identifier: Apache-2.0 */
#include "report/amount.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Nanoseconds in one of a unit of time; 0 if it is none. */
static double time_scale(const char *unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].ns;
    return 0;
}

/* Counts with decimals come in thousandths and so on: "count/1000". */
static int count_decimals(const char *unit)
{
    static const char *const units[] = {"count/1000", "count/1000000", "count/1000000000"};
    for (int i = 0; i < 3; i++)
        if (strcmp(unit, units[i]) == 0)
            return 3 * (i + 1);
    return 0;
}

const char *tare_amount_format(char *text, size_t size, int64_t value, const char *unit)
{
    double ns = time_scale(unit);
    int decimals = count_decimals(unit);
    if (ns > 0)
        return tare_duration_format(text, size, (double)value * ns);
    if (strcmp(unit, "bytes") == 0)
        return tare_size_format(text, size, (double)value);
    if (decimals) {
        snprintf(text, size, "%.*f", decimals, (double)value / pow(10, decimals));
        return text;
    }
    char digits[TARE_UNITS_TEXT];
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    bool counts = *unit == '\0' || strcmp(unit, "count") == 0;
    tare_count_format(digits, sizeof digits, magnitude);
    snprintf(text, size, "%s%s%s%.32s", value < 0 ? "-" : "", digits, counts ? "" : " ", counts ? "" : unit);
    return text;
}

const char *tare_change_format(char *text, size_t size, int64_t change, const char *unit)
{
    if (change == 0) {
        snprintf(text, size, "0");
        return text;
    }
    if (change > 0 && size > 1) {
        *text = '+';
        tare_amount_format(text + 1, size - 1, change, unit);
        return text;
    }
    return tare_amount_format(text, size, change, unit);
}

const char *tare_share_format(char *text, size_t size, int64_t part, int64_t whole)
{
    double share = 100 * (double)part / (double)whole;
    if (whole == 0)
        snprintf(text, size, "n/a");
    else if (part != 0 && fabs(share) < 0.05)
        snprintf(text, size, "<0.1 %%");
    else
        snprintf(text, size, "%.1f %%", share);
    return text;
}
