/* SPDX-License-Identifier: Apache-2.0 */
/* pb: the wire format, written, read back, and malformed in every way that the format allows. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/pb.h"
#include "check.h"

/* The bytes of a literal, without its NUL. */
#define BYTES(text) (text), sizeof(text) - 1

static void varints_round_trip(void)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 1 << 20);
    for (unsigned bit = 0; bit < 64; bit++) {
        tare_pb_put_varint(&buf, UINT64_C(1) << bit);
        tare_pb_put_varint(&buf, (UINT64_C(1) << bit) - 1);
        tare_pb_put_varint(&buf, tare_hash_mix(bit) >> bit);
    }
    tare_pb_put_varint(&buf, UINT64_MAX);
    struct tare_pb pb = tare_pb_reader(buf.data, buf.length);
    uint64_t value = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        CHECK_INT(tare_pb_varint(&pb, &value, NULL), 1);
        CHECK_INT(value, UINT64_C(1) << bit);
        CHECK_INT(tare_pb_varint(&pb, &value, NULL), 1);
        CHECK_INT(value, (UINT64_C(1) << bit) - 1);
        CHECK_INT(tare_pb_varint(&pb, &value, NULL), 1);
        CHECK_INT(value, tare_hash_mix(bit) >> bit);
    }
    CHECK_INT(tare_pb_varint(&pb, &value, NULL), 1);
    CHECK_INT(value, UINT64_MAX);
    CHECK_INT(tare_pb_varint(&pb, &value, NULL), 0);
    tare_buf_finish(&buf);
}

/* The example of protobuf's own documentation, and one field of each wire type. */
static void known_bytes(void)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 100);
    tare_pb_put_uint(&buf, 1, 150);
    tare_pb_put_uint(&buf, 7, 0);
    tare_pb_put_bytes(&buf, 2, "testing", 7);
    tare_pb_put_int(&buf, 3, -2);
    tare_pb_put_header(&buf, 0x1fffffff, 0);
    static const char want[] = "\x08\x96\x01\x12\x07testing\x18\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                               "\xfa\xff\xff\xff\x0f\x00";
    CHECK_INT(buf.length, sizeof want - 1);
    CHECK_INT(memcmp(buf.data, want, sizeof want - 1), 0);
    tare_buf_finish(&buf);
}

static const char every_wire[] = "\x08\x96\x01"                         /* 1: varint 150 */
                                 "\x11\x01\x02\x03\x04\x05\x06\x07\x88" /* 2: 64 bits */
                                 "\x1a\x02hi"                           /* 3: bytes */
                                 "\x25\xff\x00\x00\x80"                 /* 4: 32 bits */
                                 "\x2a\x00";                            /* 5: no bytes */

static void fields_in_memory(void)
{
    struct tare_pb pb = tare_pb_reader(BYTES(every_wire));
    struct tare_pb_field field;
    CHECK_INT(tare_pb_next(&pb, &field, NULL), 1);
    CHECK(field.number == 1 && field.wire == TARE_PB_VARINT && field.value == 150);
    CHECK_INT(tare_pb_next(&pb, &field, NULL), 1);
    CHECK(field.number == 2 && field.wire == TARE_PB_I64 && field.value == UINT64_C(0x8807060504030201));
    CHECK_INT(tare_pb_next(&pb, &field, NULL), 1);
    CHECK(field.number == 3 && field.wire == TARE_PB_BYTES && field.length == 2);
    CHECK_INT(memcmp(field.data, "hi", 2), 0);
    CHECK_INT(tare_pb_next(&pb, &field, NULL), 1);
    CHECK(field.number == 4 && field.wire == TARE_PB_I32 && field.value == 0x800000ff);
    CHECK_INT(tare_pb_next(&pb, &field, NULL), 1);
    CHECK(field.number == 5 && field.wire == TARE_PB_BYTES && field.length == 0);
    CHECK_INT(tare_pb_next(&pb, &field, NULL), 0);
    pb = tare_pb_reader(NULL, 0);
    CHECK_INT(tare_pb_next(&pb, &field, NULL), 0);
}

/* Read a whole message from memory and again as a stream: how many fields, or -1; both must agree. */
static int both(const char *data, size_t length, struct tare_error *err)
{
    /* A copy of exactly this size, so that a sanitizer sees a read past it. */
    char *copy = malloc(length ? length : 1);
    CHECK(copy != NULL);
    if (!copy)
        return -2;
    if (length)
        memcpy(copy, data, length);
    struct tare_pb pb = tare_pb_reader(copy, length);
    struct tare_pb_field field;
    int rc, fields = 0, streamed = 0;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0)
        fields++;
    if (rc < 0)
        fields = -1;

    struct tare_in *in = NULL;
    struct tare_buf buf;
    tare_buf_init(&buf, 1 << 20);
    CHECK_INT(tare_in_open_memory(copy, length, "stream", &in, NULL), 0);
    while ((rc = tare_pb_stream_next(in, &buf, 1 << 20, &field, NULL)) > 0)
        streamed++;
    if (rc < 0)
        streamed = -1;
    CHECK_INT(streamed, fields);
    tare_in_close(in);
    tare_buf_finish(&buf);
    free(copy);
    return fields;
}

static void fields_in_a_stream(void)
{
    CHECK_INT(both(BYTES(every_wire), NULL), 5);
    CHECK_INT(both("", 0, NULL), 0);
    struct tare_in *in = NULL;
    struct tare_buf buf;
    struct tare_pb_field field;
    struct tare_error err = {0};
    tare_buf_init(&buf, 1 << 20);
    CHECK_INT(tare_in_open_memory(BYTES(every_wire), "stream", &in, NULL), 0);
    CHECK_INT(tare_pb_stream_next(in, &buf, 1, &field, NULL), 1);
    CHECK_INT(tare_pb_stream_next(in, &buf, 1, &field, NULL), 1);
    CHECK_INT(field.value == UINT64_C(0x8807060504030201), 1);
    /* The third is longer than this cap. */
    CHECK_INT(tare_pb_stream_next(in, &buf, 1, &field, &err), -1);
    CHECK_INT(err.code, TARE_E_INPUT);
    CHECK_INT(tare_in_rewind(in, NULL), 0);
    for (int i = 0; i < 3; i++)
        CHECK_INT(tare_pb_stream_next(in, &buf, 2, &field, NULL), 1);
    CHECK_INT(field.length, 2);
    CHECK_TEXT((const char *)field.data, "hi");
    tare_in_close(in);
    tare_buf_finish(&buf);
}

static void malformed(void)
{
    struct tare_error err = {0};
#define BAD(text) CHECK_INT(both(BYTES(text), &err), -1)
    BAD("\x08");                                             /* a tag alone */
    BAD("\x08\x80");                                         /* a varint that does not end */
    BAD("\x80");                                             /* a tag that does not end */
    BAD("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");     /* 65 bits */
    BAD("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"); /* eleven bytes */
    BAD("\x00\x01");                                         /* field number 0 */
    BAD("\x80\x80\x80\x80\x80\x01\x01");                     /* field number 2^32 */
    BAD("\x0b\x0c");                                         /* a group */
    BAD("\x0e\x01");                                         /* wire type 6 */
    BAD("\x0f\x01");                                         /* wire type 7 */
    BAD("\x09\x01\x02\x03");                                 /* 64 bits cut short */
    BAD("\x0d\x01\x02\x03");                                 /* 32 bits cut short */
    BAD("\x0a");                                             /* bytes without a length */
    BAD("\x0a\x05"
        "1234"); /* bytes cut short */
    BAD("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
        "1234"); /* 2^64-1 bytes claimed */
    BAD("\x0a\xff\xff\xff\xff\x07"
        "1234"); /* 2 GiB claimed */
#undef BAD
    CHECK_INT(err.code, TARE_E_INPUT);
    CHECK(strncmp(err.msg, "damaged protobuf: ", 18) == 0);
}

static void noise_is_survived(void)
{
    char noise[64];
    int whole = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        for (size_t j = 0; j < sizeof noise; j++)
            noise[j] = (char)tare_hash_mix(i * 64 + j);
        noise[0] &= 0x7f; /* never gzip */
        whole += both(noise, i % sizeof noise, NULL) >= 0;
    }
    CHECK(whole > 0);
}

int main(void)
{
    RUN(varints_round_trip);
    RUN(known_bytes);
    RUN(fields_in_memory);
    RUN(fields_in_a_stream);
    RUN(malformed);
    RUN(noise_is_survived);
    return check_done();
}
