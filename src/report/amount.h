/* SPDX-License-Identifier: Apache-2.0 */
/* A column's value as people read it, by the column's unit: "12.3 ms", "1.49 GiB", "1,493". Pure functions.
 */
#ifndef TARE_REPORT_AMOUNT_H
#define TARE_REPORT_AMOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

/* Enough for whatever these write; a longer unit is cut. */
enum { TARE_AMOUNT_TEXT = TARE_UNITS_TEXT + 40 };

/** The value with its unit. */
const char *tare_amount_format(char *text, size_t size, int64_t value, const char *unit);

/** The same with a sign in front, for a change; "0" for none. */
const char *tare_change_format(char *text, size_t size, int64_t change, const char *unit);

/** A share: "12.3 %", "<0.1 %". A whole of 0 gives "n/a". */
const char *tare_share_format(char *text, size_t size, int64_t part, int64_t whole);

#endif
