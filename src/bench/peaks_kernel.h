/* SPDX-License-Identifier: Apache-2.0 */
/* The loops behind peaks.c, one set per instruction set. Private to peaks*.c. */
#ifndef TARE_BENCH_PEAKS_KERNEL_H
#define TARE_BENCH_PEAKS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tare_peaks_kernel {
    const char *name;
    bool (*available)(void);
    /** rounds times what flops_per_round says, on registers only. The result keeps compilers honest. */
    float (*flops)(uint64_t rounds);
    double flops_per_round;
    /** Read bytes (a multiple of 1024, aligned to 64) once. */
    uint64_t (*read)(const void *data, size_t bytes);
};

/* Ended by one without a name. */
extern const struct tare_peaks_kernel tare_peaks_kernels[];

#endif
