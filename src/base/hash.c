/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <string.h>

uint64_t tare_hash_bytes(const void *data, size_t length)
{
    const unsigned char *at = data;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ length;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        hash = tare_hash_mix(hash ^ word);
        at += 8;
        length -= 8;
    }
    if (length) {
        uint64_t word = 0;
        memcpy(&word, at, length);
        hash = tare_hash_mix(hash ^ word);
    }
    return hash;
}
