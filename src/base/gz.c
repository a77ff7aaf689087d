/* SPDX-License-Identifier: Apache-2.0 */
#include "base/gz.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

enum { PIECE_BYTES = 32 * 1024, GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8, UNIX = 3 };

struct tare_gz {
    struct tare_out *out;
    z_stream z;
    gz_header header;
    uint8_t piece[PIECE_BYTES];
};

struct tare_gz *tare_gz_create(struct tare_out *out, int level)
{
    struct tare_gz *gz = calloc(1, sizeof *gz);
    if (!gz ||
        deflateInit2(&gz->z, level, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        struct tare_error err;
        tare_fail_memory(&err);
        tare_out_fail(out, &err);
        free(gz);
        return NULL;
    }
    gz->out = out;
    gz->header.os = UNIX;
    deflateSetHeader(&gz->z, &gz->header);
    return gz;
}

/* Run zlib until it has taken all input, or with Z_FINISH until it has said everything. */
static void deflate_all(struct tare_gz *gz, int flush)
{
    do {
        gz->z.next_out = gz->piece;
        gz->z.avail_out = sizeof gz->piece;
        deflate(&gz->z, flush);
        tare_out_add(gz->out, gz->piece, sizeof gz->piece - gz->z.avail_out);
    } while (gz->z.avail_out == 0);
}

void tare_gz_add(struct tare_gz *gz, const void *data, size_t length)
{
    const uint8_t *at = data;
    while (gz && length && !gz->out->failed) {
        uInt n = length < INT_MAX ? (uInt)length : INT_MAX;
        /* zlib takes a pointer without const and does not write through it. */
        gz->z.next_in = (z_const Bytef *)(uintptr_t)at;
        gz->z.avail_in = n;
        deflate_all(gz, Z_NO_FLUSH);
        at += n;
        length -= n;
    }
}

void tare_gz_finish(struct tare_gz *gz)
{
    if (!gz)
        return;
    gz->z.avail_in = 0;
    if (!gz->out->failed)
        deflate_all(gz, Z_FINISH);
    deflateEnd(&gz->z);
    free(gz);
}
