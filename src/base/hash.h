/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashing for tables in memory. Not for security, and not the same on every machine: never stored where
 * another machine would read it as a key.
 */
#ifndef TARE_BASE_HASH_H
#define TARE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/** Mix 64 bits so that every input bit reaches every output bit. */
static inline uint64_t tare_hash_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    return x;
}

/** A hash of bytes. */
uint64_t tare_hash_bytes(const void *data, size_t length);

#endif
