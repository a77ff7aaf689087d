/* SPDX-License-Identifier: Apache-2.0 */
/* The generic timer: by the architecture it has one rate, is shared by all cores and readable by programs. */
#include "base/clock_counter.h"

const char *const tare_counter_name = "cntvct_el0";

bool tare_counter_usable(char *ret_why, size_t size)
{
    (void)ret_why;
    (void)size;
    return true;
}

uint64_t tare_counter_read(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
