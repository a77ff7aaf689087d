/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers from a seed: xoshiro256** (Blackman and Vigna, 2018), its state filled by splitmix64, as its
 * authors advise. The same seed gives the same numbers on every platform. Not for secrets. One state per
 * user; nothing is shared.
 */
#ifndef TARE_CORE_STATS_RANDOM_H
#define TARE_CORE_STATS_RANDOM_H

#include <stdint.h>

struct tare_random {
    uint64_t state[4];
};

/** Start from a seed; any seed is good. */
void tare_random_init(struct tare_random *random, uint64_t seed);

/** 64 random bits. */
uint64_t tare_random_next(struct tare_random *random);

/** A whole number below bound, all equally likely. bound > 0. */
uint32_t tare_random_below(struct tare_random *random, uint32_t bound);

/** A number in [0, 1), a multiple of 2^-53. */
double tare_random_unit(struct tare_random *random);

/** A number from the standard normal distribution (Box and Muller). */
double tare_random_normal(struct tare_random *random);

#endif
