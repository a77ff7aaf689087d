/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats_random.h"

#include <math.h>

static uint64_t split_mix(uint64_t *at)
{
    uint64_t z = *at += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void tare_random_init(struct tare_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        random->state[i] = split_mix(&seed);
}

static uint64_t rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

uint64_t tare_random_next(struct tare_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

/* Lemire's method: the high half of a product is uniform once the few uneven low halves are thrown away. */
uint32_t tare_random_below(struct tare_random *random, uint32_t bound)
{
    uint32_t uneven = (uint32_t)(-bound) % bound;
    uint64_t product;
    do {
        product = (tare_random_next(random) >> 32) * bound;
    } while ((uint32_t)product < uneven);
    return (uint32_t)(product >> 32);
}

double tare_random_unit(struct tare_random *random)
{
    return (double)(tare_random_next(random) >> 11) * 0x1p-53;
}

double tare_random_normal(struct tare_random *random)
{
    double radius = sqrt(-2 * log(1 - tare_random_unit(random)));
    return radius * cos(6.283185307179586 * tare_random_unit(random));
}
