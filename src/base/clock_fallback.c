/* SPDX-License-Identifier: Apache-2.0 */
/* No counter that we know on this kind of processor. */
#include <stdio.h>

#include "base/clock_counter.h"

const char *const tare_counter_name = "none";

bool tare_counter_usable(char *ret_why, size_t size)
{
    snprintf(ret_why, size, "tare knows no counter of this kind of processor");
    return false;
}

uint64_t tare_counter_read(void)
{
    return 0;
}
