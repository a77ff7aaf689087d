/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, unsigned bits)
{
    return x >> bits | x << (32 - bits);
}

/* One round; d and h are the two that change. */
static inline void take_round(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f,
                              uint32_t g, uint32_t *h, uint32_t word)
{
    uint32_t s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    uint32_t s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
    uint32_t t1 = *h + s1 + ((e & f) ^ (~e & g)) + word;
    *d += t1;
    *h = t1 + s0 + ((a & b) ^ (a & c) ^ (b & c));
}

static void take_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], v[8];
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, state, sizeof v);
    /* The eight words move up by one each round; here the names move instead, eight rounds at a time. */
    for (size_t i = 0; i < 64; i += 8) {
        take_round(v[0], v[1], v[2], &v[3], v[4], v[5], v[6], &v[7], constants[i] + w[i]);
        take_round(v[7], v[0], v[1], &v[2], v[3], v[4], v[5], &v[6], constants[i + 1] + w[i + 1]);
        take_round(v[6], v[7], v[0], &v[1], v[2], v[3], v[4], &v[5], constants[i + 2] + w[i + 2]);
        take_round(v[5], v[6], v[7], &v[0], v[1], v[2], v[3], &v[4], constants[i + 3] + w[i + 3]);
        take_round(v[4], v[5], v[6], &v[7], v[0], v[1], v[2], &v[3], constants[i + 4] + w[i + 4]);
        take_round(v[3], v[4], v[5], &v[6], v[7], v[0], v[1], &v[2], constants[i + 5] + w[i + 5]);
        take_round(v[2], v[3], v[4], &v[5], v[6], v[7], v[0], &v[1], constants[i + 6] + w[i + 6]);
        take_round(v[1], v[2], v[3], &v[4], v[5], v[6], v[7], &v[0], constants[i + 7] + w[i + 7]);
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += v[i];
}

void tare_sha256_init(struct tare_sha256 *sha)
{
    *sha = (struct tare_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                          0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void tare_sha256_add(struct tare_sha256 *sha, const void *data, size_t length)
{
    const uint8_t *bytes = data;
    size_t held = sha->length % 64;
    sha->length += length;
    if (held) {
        size_t part = length < 64 - held ? length : 64 - held;
        memcpy(sha->block + held, bytes, part);
        bytes += part;
        length -= part;
        if (held + part < 64)
            return;
        take_block(sha->state, sha->block);
    }
    for (; length >= 64; bytes += 64, length -= 64)
        take_block(sha->state, bytes);
    if (length)
        memcpy(sha->block, bytes, length);
}

void tare_sha256_end(struct tare_sha256 *sha, char text[TARE_SHA256_TEXT])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = sha->length * 8;
    uint8_t tail[8];
    size_t held = sha->length % 64;
    for (size_t i = 0; i < 8; i++)
        tail[i] = (uint8_t)(bits >> (56 - 8 * i));
    tare_sha256_add(sha, padding, held < 56 ? 56 - held : 120 - held);
    tare_sha256_add(sha, tail, sizeof tail);
    for (size_t i = 0; i < 8; i++)
        snprintf(text + 8 * i, 9, "%08x", sha->state[i]);
}
