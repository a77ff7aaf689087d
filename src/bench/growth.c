/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/growth.h"

#include <math.h>

#include "core/stats_special.h"

/* Below this the kernel's own bookkeeping and a thread's first stack page are as large. */
static const double noise_bytes = 256 << 10;

/* Mean and reach of its 95 % bounds of the steps from point first on. */
static void steps(const struct tare_growth_point *points, size_t first, size_t count, double *ret_mean,
                  double *ret_reach)
{
    size_t n = count - 1 - first;
    double mean = (double)(points[count - 1].resident - points[first].resident) / (double)n, square = 0;
    for (size_t i = first; i + 1 < count; i++) {
        double off = (double)(points[i + 1].resident - points[i].resident) - mean;
        square += off * off;
    }
    *ret_mean = mean;
    *ret_reach = tare_special_t_quantile(0.025, (double)(n - 1)) * sqrt(square / (double)(n - 1) / (double)n);
}

void tare_growth_judge(const struct tare_growth_point *points, size_t count, int64_t calls, bool varied,
                       struct tare_growth *ret_growth)
{
    struct tare_growth growth = {.verdict = TARE_RUN_GROWTH_UNKNOWN};
    double mean, reach;
    *ret_growth = growth;
    if (count < TARE_GROWTH_LEAST + 1 || calls < 1)
        return;
    /* Arenas settle in the first third; the verdict is about what comes after. */
    size_t first = count / 3;
    steps(points, first, count, &mean, &reach);
    growth.bytes_per_call = mean / (double)calls;
    growth.lower = (mean - reach) / (double)calls;
    growth.upper = (mean + reach) / (double)calls;
    growth.settling = points[first].resident - points[0].resident;
    double late = (double)(points[count - 1].resident - points[first].resident);
    size_t last = count - 1 - (count - 1 - first) / 2;
    double latest = (double)(points[count - 1].resident - points[last].resident);
    bool goes_on = late > noise_bytes && latest > 0.2 * late;
    if (goes_on && growth.lower > 0) {
        bool used_known = points[first].in_use >= 0 && points[count - 1].in_use >= 0;
        double used = (double)(points[count - 1].in_use - points[first].in_use);
        growth.verdict =
            varied && used_known && used < 0.2 * late ? TARE_RUN_GROWTH_FRAGMENTATION : TARE_RUN_GROWTH_LEAK;
    } else if (goes_on) {
        growth.verdict = TARE_RUN_GROWTH_UNDECIDED;
    } else if ((double)growth.settling > noise_bytes || late > noise_bytes) {
        growth.verdict = TARE_RUN_GROWTH_PLATEAU;
    } else {
        growth.verdict = TARE_RUN_GROWTH_NONE;
    }
    *ret_growth = growth;
}
