/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4): what a model is, whatever its file is called. Pure; one state per user.
 */
#ifndef TARE_BASE_SHA256_H
#define TARE_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct tare_sha256 {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[64];
};

/* 64 hexadecimal digits and the NUL. */
enum { TARE_SHA256_TEXT = 65 };

void tare_sha256_init(struct tare_sha256 *sha);

void tare_sha256_add(struct tare_sha256 *sha, const void *data, size_t length);

/** End it, in lower-case hexadecimal. */
void tare_sha256_end(struct tare_sha256 *sha, char text[TARE_SHA256_TEXT]);

#endif
