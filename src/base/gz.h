/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gzip stream onto a tare_out: bytes are compressed as they come, in constant memory. Equal input gives
 * equal output: the header holds no time and no name. As with tare_out, callers never check: the first
 * failure is kept by the output, and a NULL stream takes everything and does nothing. Not thread-safe.
 */
#ifndef TARE_BASE_GZ_H
#define TARE_BASE_GZ_H

#include <stddef.h>

#include "base/out.h"

struct tare_gz;

/** Begin a stream; level is 1 (fast) to 9 (small). NULL, and a failed output, if there is no memory. */
struct tare_gz *tare_gz_create(struct tare_out *out, int level);

/** Compress bytes. */
void tare_gz_add(struct tare_gz *gz, const void *data, size_t length);

/** Write what is left and the trailer, and free the stream. The output stays open. */
void tare_gz_finish(struct tare_gz *gz);

#endif
