/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peaks_kernel.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* 64 bytes, whatever the registers' size: the compiler takes as many as it needs. */
typedef uint64_t block __attribute__((vector_size(64), aligned(64)));

static inline __attribute__((always_inline)) uint64_t read_blocks(const void *data, size_t bytes)
{
    const block *at = data;
    block a = {0}, b = {0}, c = {0}, d = {0};
    for (size_t i = 0; i < bytes / sizeof(block); i += 4) {
        a |= at[i];
        b |= at[i + 1];
        c |= at[i + 2];
        d |= at[i + 3];
    }
    a |= b | c | d;
    return a[0] | a[1] | a[2] | a[3] | a[4] | a[5] | a[6] | a[7];
}

static bool always(void)
{
    return true;
}

/* Twelve chains, more than any processor's latency times its units, each of them MULTIPLY_ADD on registers of
 * type V. A macro, because the function's target decides what the registers are. */
#define CHAINS(V, SET, MULTIPLY_ADD, rounds, result)                                                         \
    V m = SET(0.999F), n = SET(0.001F);                                                                      \
    V a = SET(1), b = SET(2), c = SET(3), d = SET(4), e = SET(5), f = SET(6);                                \
    V g = SET(7), h = SET(8), i = SET(9), j = SET(10), k = SET(11), l = SET(12);                             \
    for (uint64_t round = 0; round < (rounds); round++) {                                                    \
        a = MULTIPLY_ADD(a, m, n);                                                                           \
        b = MULTIPLY_ADD(b, m, n);                                                                           \
        c = MULTIPLY_ADD(c, m, n);                                                                           \
        d = MULTIPLY_ADD(d, m, n);                                                                           \
        e = MULTIPLY_ADD(e, m, n);                                                                           \
        f = MULTIPLY_ADD(f, m, n);                                                                           \
        g = MULTIPLY_ADD(g, m, n);                                                                           \
        h = MULTIPLY_ADD(h, m, n);                                                                           \
        i = MULTIPLY_ADD(i, m, n);                                                                           \
        j = MULTIPLY_ADD(j, m, n);                                                                           \
        k = MULTIPLY_ADD(k, m, n);                                                                           \
        l = MULTIPLY_ADD(l, m, n);                                                                           \
    }                                                                                                        \
    V all[12] = {a, b, c, d, e, f, g, h, i, j, k, l};                                                        \
    float values[12 * (sizeof(V) / sizeof(float))];                                                          \
    memcpy(values, all, sizeof all);                                                                         \
    for (size_t at = 0; at < sizeof values / sizeof *values; at++)                                           \
    (result) += values[at]

static float flops_portable(uint64_t rounds)
{
    float result = 0;
#if defined(__aarch64__)
#define MULTIPLY_ADD_NEON(x, y, z) vfmaq_f32(z, x, y)
    CHAINS(float32x4_t, vdupq_n_f32, MULTIPLY_ADD_NEON, rounds, result);
#else
    typedef float quad __attribute__((vector_size(16)));
#define SET_QUAD(x)                ((quad){(x), (x), (x), (x)})
#define MULTIPLY_ADD_QUAD(x, y, z) ((x) * (y) + (z))
    CHAINS(quad, SET_QUAD, MULTIPLY_ADD_QUAD, rounds, result);
#endif
    return result;
}

static uint64_t read_portable(const void *data, size_t bytes)
{
    return read_blocks(data, bytes);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static float flops_avx2(uint64_t rounds)
{
    float result = 0;
    CHAINS(__m256, _mm256_set1_ps, _mm256_fmadd_ps, rounds, result);
    return result;
}

__attribute__((target("avx2,fma"))) static uint64_t read_avx2(const void *data, size_t bytes)
{
    return read_blocks(data, bytes);
}

__attribute__((target("avx512f"))) static float flops_avx512(uint64_t rounds)
{
    float result = 0;
    CHAINS(__m512, _mm512_set1_ps, _mm512_fmadd_ps, rounds, result);
    return result;
}

__attribute__((target("avx512f"))) static uint64_t read_avx512(const void *data, size_t bytes)
{
    return read_blocks(data, bytes);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}
#endif

const struct tare_peaks_kernel tare_peaks_kernels[] = {
#if defined(__x86_64__)
    {"avx512f", has_avx512, flops_avx512, 12 * 16 * 2, read_avx512},
    {"avx2 and fma", has_avx2, flops_avx2, 12 * 8 * 2, read_avx2},
    {"sse2", always, flops_portable, 12 * 4 * 2, read_portable},
#elif defined(__aarch64__)
    {"neon", always, flops_portable, 12 * 4 * 2, read_portable},
#else
    {"plain C", always, flops_portable, 12 * 4 * 2, read_portable},
#endif
    {NULL, NULL, NULL, 0, NULL},
};
