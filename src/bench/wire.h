/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between tare and its workers: a kind, a length, and values one after the other in this machine's
 * byte order (both ends are the same program). A reader trusts nothing: every length is checked against what
 * is left, and the first value that does not fit makes all later ones zero or empty and the message bad. Not
 * thread-safe.
 */
#ifndef TARE_BENCH_WIRE_H
#define TARE_BENCH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "bench/tensor.h"

/* The most bytes of one message: a batch of answers may be large. */
#define TARE_WIRE_CAP ((size_t)1 << 32)

struct tare_wire_head {
    uint32_t kind;
    uint32_t magic; /* TARE_WIRE_MAGIC */
    uint64_t length;
};

#define TARE_WIRE_MAGIC 0x54415257u

struct tare_wire_reader {
    const char *data;
    size_t left;
    bool bad;
};

/* ---- writing: into a buffer that is checked once, at the end ---- */

void tare_wire_put_int(struct tare_buf *buf, int64_t value);
void tare_wire_put_real(struct tare_buf *buf, double value);
/** NULL is allowed, and stays NULL. */
void tare_wire_put_text(struct tare_buf *buf, const char *text);
void tare_wire_put_bytes(struct tare_buf *buf, const void *data, size_t size);
void tare_wire_put_tensors(struct tare_buf *buf, const struct tare_tensor *tensors, size_t count);

/* ---- reading ---- */

int64_t tare_wire_int(struct tare_wire_reader *reader);
/** A whole number in a range; another makes the message bad. */
int64_t tare_wire_int_in(struct tare_wire_reader *reader, int64_t least, int64_t most);
double tare_wire_real(struct tare_wire_reader *reader);
/** In the arena; NULL if NULL was written. */
const char *tare_wire_text(struct tare_wire_reader *reader, struct tare_arena *arena);
/** Where so many bytes are, in the message itself; NULL when there are fewer. */
const void *tare_wire_bytes(struct tare_wire_reader *reader, size_t size);
/** Copies in the arena: the data is aligned, and the sizes fit the shapes. NULL when bad, or none. */
struct tare_tensor *tare_wire_tensors(struct tare_wire_reader *reader, struct tare_arena *arena,
                                      size_t *ret_count);

/* ---- sending ---- */

/** Send a message, waiting as long as it takes. */
int tare_wire_send(int socket, uint32_t kind, const struct tare_buf *buf, struct tare_error *err);

/** Receive a message into buf, whose cap bounds it. wait, unless NULL, is called before each read and fails
 * when it should not be waited any longer. Returns 1 if the other end is gone. */
int tare_wire_receive(int socket, int (*wait)(void *data, struct tare_error *err), void *data,
                      uint32_t *ret_kind, struct tare_buf *buf, struct tare_error *err);

/** 0 if all was read and fitted. */
int tare_wire_done(const struct tare_wire_reader *reader, struct tare_error *err);

#endif
