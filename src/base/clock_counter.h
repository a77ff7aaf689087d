/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor's counter, for clock.c alone: clock_x86.c, clock_arm64.c or clock_fallback.c, picked by the
 * build.
 */
#ifndef TARE_BASE_CLOCK_COUNTER_H
#define TARE_BASE_CLOCK_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const char *const tare_counter_name;

/** May it be read, and does it run at one rate on all processors? If not, why goes to the buffer. */
bool tare_counter_usable(char *ret_why, size_t size);

/** Read it. */
uint64_t tare_counter_read(void);

#endif
