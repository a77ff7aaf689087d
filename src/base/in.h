/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where files are read from: a path, a descriptor or memory, plain or gzip (found by its magic, not by a
 * name). Bytes come decompressed, in order, through one small buffer, so that a file of any size, or one that
 * claims to be of any size, is read in constant memory; tare_in_rewind starts again. What cannot be rewound
 * (a pipe) is read into memory, up to a cap. A source that ends early or whose gzip is damaged is an error,
 * never a silent end. Not thread-safe.
 */
#ifndef TARE_BASE_IN_H
#define TARE_BASE_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct tare_in;

/** Open a file; "-" is standard input. */
int tare_in_open(const char *path, struct tare_in **ret_in, struct tare_error *err);

/** Read from memory that stays the caller's; name is for messages. */
int tare_in_open_memory(const void *data, size_t size, const char *name, struct tare_in **ret_in,
                        struct tare_error *err);

/** Close it; NULL is allowed. */
void tare_in_close(struct tare_in *in);

/** What to call it in a message. */
const char *tare_in_name(const struct tare_in *in);

/** Was it compressed? */
bool tare_in_compressed(const struct tare_in *in);

/** Look at up to length (at most 4096) decompressed bytes at the start of what is unread, without consuming
 * them. */
int tare_in_peek(struct tare_in *in, size_t length, const uint8_t **ret_data, size_t *ret_length,
                 struct tare_error *err);

/** Read up to length bytes; 0 bytes means the end. */
int tare_in_read(struct tare_in *in, void *data, size_t length, size_t *ret_length, struct tare_error *err);

/** Read one byte; *ret_byte is -1 at the end. */
int tare_in_byte(struct tare_in *in, int *ret_byte, struct tare_error *err);

/** Read all that is left into buf, whose cap bounds it. */
int tare_in_all(struct tare_in *in, struct tare_buf *buf, struct tare_error *err);

/** Pass over length bytes; an error if fewer are left. */
int tare_in_skip(struct tare_in *in, uint64_t length, struct tare_error *err);

/** Decompressed bytes consumed so far. */
uint64_t tare_in_position(const struct tare_in *in);

/** Bytes of the source itself consumed so far, within one small buffer: fewer than the position if it is
 * compressed. */
uint64_t tare_in_raw_position(const struct tare_in *in);

/** Start again from the first byte. */
int tare_in_rewind(struct tare_in *in, struct tare_error *err);

#endif
