/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine can do at most, measured: multiply-adds of 32-bit floats, and bytes from memory and from
 * each cache, with as many threads as the work that is compared with it. A layer that seems to do better than
 * this was measured wrongly. Every figure is what the best tenth of many short slices reaches, with its
 * bounds: what others take away meanwhile is not the machine's limit. Of the kernels that the processor has,
 * the best counts.
 */
#ifndef TARE_BENCH_PEAKS_H
#define TARE_BENCH_PEAKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/stats.h"

enum { TARE_PEAKS_LEVELS = 6 };

/* How fast so many bytes, together on all threads, can be gone through again and again. */
struct tare_peaks_level {
    int64_t bytes;
    struct tare_interval bytes_per_sec;
};

struct tare_peaks {
    int threads;
    const char *kernel;                                /* the instructions that were best: "avx512f" */
    struct tare_interval flops_per_sec;                /* a multiply-add is two */
    struct tare_peaks_level levels[TARE_PEAKS_LEVELS]; /* by size; the last is larger than caches are */
};

/** Measure them. Takes about budget_ns, at least some ten milliseconds. */
int tare_peaks_measure(int threads, int64_t budget_ns, struct tare_peaks *ret_peaks, struct tare_error *err);

/** The most bytes per second for a working set of that size, between the levels on a logarithmic scale. */
double tare_peaks_bandwidth(const struct tare_peaks *peaks, double bytes);

#endif
