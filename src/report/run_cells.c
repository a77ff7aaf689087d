/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "report/run_rows.h"

const char *tare_run_number(struct tare_arena *arena, double value)
{
    double size = fabs(value);
    if (size != 0 && (size < 1e-3 || size >= 1e15))
        return tare_arena_printf(arena, "%.3e", value);
    /* Four digits, or all those before the point. */
    int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : size >= 0.1 ? 4 : 5;
    return tare_arena_printf(arena, "%.*f", size == 0 ? 0 : decimals, value);
}

const char *tare_run_real_cell(struct tare_arena *arena, struct tare_run_real real, double unit)
{
    return real.known ? tare_run_number(arena, real.value / unit) : "-";
}

const char *tare_run_int_cell(struct tare_arena *arena, struct tare_run_int number, double unit)
{
    return number.known ? tare_run_number(arena, (double)number.value / unit) : "-";
}

const char *tare_run_cell(struct tare_arena *arena, const struct tare_run_estimate *estimate, double unit,
                          const char *suffix)
{
    if (!estimate->value.known)
        return "-";
    const char *value = tare_run_number(arena, estimate->value.value / unit);
    bool unsupported = estimate->supported.known && !estimate->supported.value;
    if (unsupported && estimate->more_samples.known)
        return tare_arena_printf(arena, "%s%s (needs %" PRId64 " more samples)", value, suffix,
                                 estimate->more_samples.value);
    if (unsupported)
        return tare_arena_printf(arena, "%s%s (unsupported)", value, suffix);
    if (!estimate->lower.known && !estimate->upper.known)
        return tare_arena_printf(arena, "%s%s", value, suffix);
    return tare_arena_printf(arena, "%s%s [%s, %s]", value, suffix,
                             tare_run_real_cell(arena, estimate->lower, unit),
                             tare_run_real_cell(arena, estimate->upper, unit));
}

bool tare_run_make_column(const struct tare_run_column *column)
{
    return column->varies || column->key == TARE_RUN_KEY_BATCH;
}

const char *tare_run_make_key(struct tare_run_make *make, const struct tare_run_column *column, size_t config)
{
    struct tare_run_key_value value = tare_run_column_value(column, &make->run->configs[config]);
    if (value.number.known)
        return tare_arena_printf(make->arena, "%" PRId64, value.number.value);
    return value.text ? value.text : "-";
}

const char *tare_run_make_name(struct tare_run_make *make, size_t config)
{
    const char *name = "";
    for (size_t i = 0; i < make->columns.count; i++) {
        const struct tare_run_column *column = &make->columns.items[i];
        const char *value = tare_run_make_key(make, column, config);
        if (tare_run_make_column(column) && strcmp(value, "-") != 0)
            name = tare_arena_printf(make->arena, "%s%s%s=%s", name, *name ? " " : "", column->name, value);
    }
    return *name ? name : tare_arena_printf(make->arena, "configuration %zu", config);
}
