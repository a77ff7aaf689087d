/* SPDX-License-Identifier: Apache-2.0 */
/* Holm's step-down adjustment: the i-th smallest of m is multiplied by m - i + 1, and is never below the one
 * before it. Equal p values get equal results, so ranks by binary search do. */
#include <math.h>

#include "core/stats.h"
#include "core/stats_detail.h"

int tare_stats_holm(const double *p, size_t count, struct tare_arena *scratch, double *ret_adjusted,
                    struct tare_error *err)
{
    const double *sorted;
    for (size_t i = 0; i < count; i++) {
        if (!(p[i] >= 0 && p[i] <= 1))
            return tare_fail(err, TARE_E_INPUT, 0, "p value %zu is %g: it must lie between 0 and 1", i + 1,
                             p[i]);
    }
    if (count == 0)
        return 0;
    double *adjusted = tare_arena_array(scratch, count, sizeof *adjusted);
    if (!adjusted)
        return tare_fail_memory(err);
    if (tare_stats_sorted(p, count, scratch, &sorted, err))
        return -1;
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fmin(1, sorted[i] * (double)(count - i)));
        adjusted[i] = largest;
    }
    for (size_t i = 0; i < count; i++)
        ret_adjusted[i] = adjusted[tare_stats_below(sorted, count, p[i], false)];
    return 0;
}
