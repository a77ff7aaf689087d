/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations, sizes, rates and counts, as people type and read them. A bare duration is in seconds, a bare
 * size in bytes. Parsing refuses what is negative, not finite, too large or of an unknown unit, and says
 * which units there are; digits may be grouped with _ and a space may stand before the unit. k, M, G and T
 * are powers of 1000; KiB, MiB and so on are powers of 1024. Nothing depends on the locale. Formatting writes
 * three digits or so into the caller's buffer and returns it. Pure functions.
 */
#ifndef TARE_BASE_UNITS_H
#define TARE_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Enough for whatever a format function writes, a rate's unit of 32 characters included. */
enum { TARE_UNITS_TEXT = 64 };

/** "10s", "250ms", "1.5h", "100us"; ns, us (or µs), ms, s, min (or m), h, d; bare means seconds. */
int tare_duration_parse(const char *text, int64_t *ret_ns, struct tare_error *err);

/** "512MiB", "2GB", "64k"; in upper or lower case; bare means bytes. */
int tare_size_parse(const char *text, uint64_t *ret_bytes, struct tare_error *err);

/** "25M", "1_000", "1.5k": a whole number of things. */
int tare_count_parse(const char *text, uint64_t *ret_count, struct tare_error *err);

/** "1000samples/s", "1.5k texts/min", "20/s": the rate per second, and the unit's name ("samples", or "") in
 * the caller's buffer. */
int tare_rate_parse(const char *text, double *ret_per_second, char *ret_unit, size_t unit_size,
                    struct tare_error *err);

/** "5%", "0.5 %", "0.05": a share above 0 and below 1. option is for the message: what --option takes. */
int tare_share_parse(const char *option, const char *text, double *ret_share, struct tare_error *err);

/** "-1.5", "2e-3": a finite number. */
int tare_real_parse(const char *text, double *ret_value, struct tare_error *err);

/** "12.3 ms", "2 min 05 s". NaN gives "n/a". */
const char *tare_duration_format(char *text, size_t size, double ns);

/** "1.49 GiB", "512 B". */
const char *tare_size_format(char *text, size_t size, double bytes);

/** "1,493". */
const char *tare_count_format(char *text, size_t size, uint64_t count);

/** "1,493 texts/s"; "20.0/s" without a unit. */
const char *tare_rate_format(char *text, size_t size, double per_second, const char *unit);

#endif
