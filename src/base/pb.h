/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf's wire format, by hand: the four rules are smaller than a code generator, and nothing here
 * allocates beyond the caller's buffer. The reader walks a message in memory field by field, and never reads
 * past its end; the stream reader does the same for the top-level fields of a file of any size. Groups (wire
 * types 3 and 4) are refused.
 */
#ifndef TARE_BASE_PB_H
#define TARE_BASE_PB_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/in.h"

enum tare_pb_wire { TARE_PB_VARINT = 0, TARE_PB_I64 = 1, TARE_PB_BYTES = 2, TARE_PB_I32 = 5 };

/* One field. For VARINT, I64 and I32 the value; for BYTES the span. */
struct tare_pb_field {
    uint32_t number;
    enum tare_pb_wire wire;
    uint64_t value;
    const uint8_t *data;
    size_t length;
};

/* A message, or a packed run of varints, being read. */
struct tare_pb {
    const uint8_t *at, *end;
};

/** Start reading a message. */
struct tare_pb tare_pb_reader(const void *data, size_t length);

/** The next field: 1 with *ret_field filled, 0 at the end, -1 if the bytes are not protobuf. */
int tare_pb_next(struct tare_pb *pb, struct tare_pb_field *ret_field, struct tare_error *err);

/** The next bare varint (packed fields): 1, 0 at the end, -1 if malformed. */
int tare_pb_varint(struct tare_pb *pb, uint64_t *ret_value, struct tare_error *err);

/**
 * The next top-level field of a file. BYTES payloads of at most cap bytes are read into buf (field->data
 * points there); a longer one is an error. 1, 0 at a clean end, -1 on error.
 */
int tare_pb_stream_next(struct tare_in *in, struct tare_buf *buf, size_t cap, struct tare_pb_field *ret_field,
                        struct tare_error *err);

/** Append a bare varint. */
void tare_pb_put_varint(struct tare_buf *buf, uint64_t value);

/** Append an integer field; zero is left out, as proto3 does. */
void tare_pb_put_uint(struct tare_buf *buf, uint32_t number, uint64_t value);

/** Append an int64 field (negative numbers take ten bytes); zero is left out. */
void tare_pb_put_int(struct tare_buf *buf, uint32_t number, int64_t value);

/** Append a bytes or string field, empty ones included. */
void tare_pb_put_bytes(struct tare_buf *buf, uint32_t number, const void *data, size_t length);

/** Append the tag and length of a bytes field whose payload of length bytes the caller appends next. */
void tare_pb_put_header(struct tare_buf *buf, uint32_t number, size_t length);

#endif
