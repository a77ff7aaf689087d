/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pb.h"

struct tare_pb tare_pb_reader(const void *data, size_t length)
{
    const uint8_t *at = data;
    return (struct tare_pb){.at = at, .end = length ? at + length : at};
}

static int malformed(struct tare_error *err, const char *what)
{
    return tare_fail(err, TARE_E_INPUT, 0, "damaged protobuf: %s", what);
}

int tare_pb_varint(struct tare_pb *pb, uint64_t *ret_value, struct tare_error *err)
{
    if (pb->at == pb->end)
        return 0;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (pb->at == pb->end)
            return malformed(err, "a number runs past the end");
        uint8_t byte = *pb->at++;
        if (shift == 63 && byte > 1)
            return malformed(err, "a number is longer than 64 bits");
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return 1;
        }
    }
    return malformed(err, "a number is longer than 64 bits");
}

static int fixed(struct tare_pb *pb, unsigned bytes, uint64_t *ret_value, struct tare_error *err)
{
    if ((size_t)(pb->end - pb->at) < bytes)
        return malformed(err, "a number runs past the end");
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)pb->at[i] << (8 * i);
    pb->at += bytes;
    *ret_value = value;
    return 1;
}

/* Split a tag; the field number must be 1 to 2^29-1 and the wire type one that we read. */
static int tag_of(uint64_t tag, struct tare_pb_field *field, struct tare_error *err)
{
    uint64_t number = tag >> 3;
    unsigned wire = (unsigned)(tag & 7);
    if (number == 0 || number > 0x1fffffff)
        return malformed(err, "a field number is out of range");
    if (wire != TARE_PB_VARINT && wire != TARE_PB_I64 && wire != TARE_PB_BYTES && wire != TARE_PB_I32)
        return malformed(err, "a field has an unknown wire type");
    *field = (struct tare_pb_field){.number = (uint32_t)number, .wire = (enum tare_pb_wire)wire};
    return 0;
}

int tare_pb_next(struct tare_pb *pb, struct tare_pb_field *ret_field, struct tare_error *err)
{
    uint64_t tag;
    int rc = tare_pb_varint(pb, &tag, err);
    if (rc <= 0)
        return rc;
    struct tare_pb_field field;
    if (tag_of(tag, &field, err) < 0)
        return -1;
    switch (field.wire) {
    case TARE_PB_VARINT:
        rc = tare_pb_varint(pb, &field.value, err);
        break;
    case TARE_PB_I64:
        rc = fixed(pb, 8, &field.value, err);
        break;
    case TARE_PB_I32:
        rc = fixed(pb, 4, &field.value, err);
        break;
    case TARE_PB_BYTES: {
        uint64_t length;
        rc = tare_pb_varint(pb, &length, err);
        if (rc <= 0)
            break;
        if (length > (size_t)(pb->end - pb->at))
            return malformed(err, "a field runs past the end");
        field.data = pb->at;
        field.length = (size_t)length;
        pb->at += length;
        break;
    }
    }
    if (rc < 0)
        return -1;
    if (rc == 0)
        return malformed(err, "a field has no value");
    *ret_field = field;
    return 1;
}

/* A varint from a stream: 1, 0 at the end before its first byte, -1. */
static int stream_varint(struct tare_in *in, uint64_t *ret_value, struct tare_error *err)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        int byte;
        if (tare_in_byte(in, &byte, err) < 0)
            return -1;
        if (byte < 0)
            return shift == 0 ? 0 : malformed(err, "the file ends inside a number");
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return 1;
        }
    }
    return malformed(err, "a number is longer than 64 bits");
}

/* Exactly length bytes into buf, without believing length before the bytes are there. */
static int stream_bytes(struct tare_in *in, struct tare_buf *buf, size_t length, struct tare_error *err)
{
    while (length) {
        size_t piece = length < 64 * 1024 ? length : 64 * 1024;
        char *where = tare_buf_reserve(buf, piece);
        if (!where)
            return tare_buf_check(buf, err);
        size_t got;
        if (tare_in_read(in, where, piece, &got, err) < 0)
            return -1;
        if (got == 0)
            return malformed(err, "the file ends inside a field");
        buf->length += got;
        buf->data[buf->length] = '\0';
        length -= got;
    }
    return 0;
}

int tare_pb_stream_next(struct tare_in *in, struct tare_buf *buf, size_t cap, struct tare_pb_field *ret_field,
                        struct tare_error *err)
{
    uint64_t tag;
    int rc = stream_varint(in, &tag, err);
    if (rc <= 0)
        return rc;
    struct tare_pb_field field;
    if (tag_of(tag, &field, err) < 0)
        return -1;
    tare_buf_clear(buf);
    if (field.wire == TARE_PB_VARINT) {
        rc = stream_varint(in, &field.value, err);
        if (rc == 0)
            rc = malformed(err, "the file ends inside a field");
    } else if (field.wire == TARE_PB_BYTES) {
        uint64_t length;
        rc = stream_varint(in, &length, err);
        if (rc == 0)
            return malformed(err, "the file ends inside a field");
        if (rc < 0)
            return -1;
        if (length > cap)
            return malformed(err, "a field claims more bytes than any real one has");
        if (stream_bytes(in, buf, (size_t)length, err) < 0)
            return -1;
        field.data = (const uint8_t *)buf->data;
        field.length = (size_t)length;
    } else {
        unsigned bytes = field.wire == TARE_PB_I64 ? 8 : 4;
        if (stream_bytes(in, buf, bytes, err) < 0)
            return -1;
        struct tare_pb pb = tare_pb_reader(buf->data, bytes);
        rc = fixed(&pb, bytes, &field.value, err);
    }
    if (rc < 0)
        return -1;
    *ret_field = field;
    return 1;
}

void tare_pb_put_varint(struct tare_buf *buf, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    while (value >= 0x80) {
        bytes[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (uint8_t)value;
    tare_buf_add(buf, bytes, n);
}

static void put_tag(struct tare_buf *buf, uint32_t number, enum tare_pb_wire wire)
{
    tare_pb_put_varint(buf, (uint64_t)number << 3 | (uint64_t)wire);
}

void tare_pb_put_uint(struct tare_buf *buf, uint32_t number, uint64_t value)
{
    if (value == 0)
        return;
    put_tag(buf, number, TARE_PB_VARINT);
    tare_pb_put_varint(buf, value);
}

void tare_pb_put_int(struct tare_buf *buf, uint32_t number, int64_t value)
{
    tare_pb_put_uint(buf, number, (uint64_t)value);
}

void tare_pb_put_header(struct tare_buf *buf, uint32_t number, size_t length)
{
    put_tag(buf, number, TARE_PB_BYTES);
    tare_pb_put_varint(buf, length);
}

void tare_pb_put_bytes(struct tare_buf *buf, uint32_t number, const void *data, size_t length)
{
    tare_pb_put_header(buf, number, length);
    tare_buf_add(buf, data, length);
}
