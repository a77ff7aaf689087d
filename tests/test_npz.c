/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/npz.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/buf.h"
#include "check.h"

static void put(struct tare_buf *buf, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        tare_buf_add_byte(buf, (uint8_t)(value >> (8 * i)));
}

/* A .npy array with this header text. */
static struct tare_buf npy(unsigned version, const char *header, const void *data, size_t length)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 1 << 20);
    tare_buf_add(&buf, "\x93NUMPY", 6);
    put(&buf, version, 1);
    put(&buf, 0, 1);
    put(&buf, strlen(header), version == 1 ? 2 : 4);
    tare_buf_add_text(&buf, header);
    tare_buf_add(&buf, data, length);
    return buf;
}

/* A zip of one entry. */
static struct tare_buf zip(const char *name, const struct tare_buf *content, bool deflated)
{
    struct tare_buf buf;
    unsigned char packed[4096];
    const void *data = content->data;
    size_t length = content->length;
    tare_buf_init(&buf, 1 << 20);
    if (deflated) {
        z_stream stream = {0};
        deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
        stream.next_in = (Bytef *)content->data;
        stream.avail_in = (uInt)content->length;
        stream.next_out = packed;
        stream.avail_out = sizeof packed;
        CHECK_INT(deflate(&stream, Z_FINISH), Z_STREAM_END);
        length = sizeof packed - stream.avail_out;
        deflateEnd(&stream);
        data = packed;
    }
    uint32_t sum = (uint32_t)crc32(0, (const Bytef *)content->data, (uInt)content->length);
    for (int central = 0; central < 2; central++) {
        size_t at = buf.length;
        put(&buf, central ? 0x02014b50 : 0x04034b50, 4);
        if (central)
            put(&buf, 20, 2);
        put(&buf, 20, 2);
        put(&buf, 0, 2);
        put(&buf, deflated ? 8 : 0, 2);
        put(&buf, 0, 4);
        put(&buf, sum, 4);
        put(&buf, length, 4);
        put(&buf, content->length, 4);
        put(&buf, strlen(name), 2);
        put(&buf, 0, 2);
        if (central) {
            put(&buf, 0, 8);
            put(&buf, 0, 6);
        }
        tare_buf_add_text(&buf, name);
        if (!central) {
            tare_buf_add(&buf, data, length);
            continue;
        }
        size_t size = buf.length - at;
        put(&buf, 0x06054b50, 4);
        put(&buf, 0, 4);
        put(&buf, 1, 2);
        put(&buf, 1, 2);
        put(&buf, size, 4);
        put(&buf, at, 4);
        put(&buf, 0, 2);
    }
    return buf;
}

static void check_array(struct tare_buf *bytes, const char *name, enum tare_element element,
                        const double *values, size_t count)
{
    struct tare_npz *npz = NULL;
    struct tare_error err = {0};
    struct tare_arena arena;
    struct tare_tensor tensor;
    tare_arena_init(&arena, 0);
    if (tare_npz_open_memory(bytes->data, bytes->length, "t", &npz, &err) < 0 ||
        tare_npz_read(npz, 0, &arena, &tensor, &err) < 0) {
        CHECK_TEXT(err.msg, "");
    } else {
        CHECK_INT(tare_npz_count(npz), 1);
        CHECK_TEXT(tare_npz_name(npz, 0), name);
        CHECK_INT(tensor.element, element);
        CHECK_INT(tensor.bytes, count * tare_element_bits(element) / 8);
        for (size_t i = 0; i < count; i++)
            CHECK_REAL(tare_tensor_get(&tensor, i), values[i], 0);
    }
    tare_npz_close(npz);
    tare_arena_finish(&arena);
    tare_buf_finish(bytes);
}

static void arrays_are_read(void)
{
    static const float floats[] = {1, 2, 3, 4, 5, 6};
    static const double values[] = {1, 2, 3, 4, 5, 6};
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
    for (unsigned version = 1; version <= 3; version++) {
        struct tare_buf array = npy(version, header, floats, sizeof floats);
        check_array(&array, "", TARE_ELEMENT_F32, values, 6);
    }
    for (int deflated = 0; deflated < 2; deflated++) {
        struct tare_buf array = npy(1, header, floats, sizeof floats);
        struct tare_buf file = zip("x.npy", &array, deflated);
        check_array(&file, "x", TARE_ELEMENT_F32, values, 6);
        tare_buf_finish(&array);
    }
}

static void order_and_endianness_are_turned(void)
{
    /* [[1, 2, 3], [4, 5, 6]] column by column. */
    static const int16_t columns[] = {1, 4, 2, 5, 3, 6};
    static const double values[] = {1, 2, 3, 4, 5, 6};
    struct tare_buf array = npy(1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3)}", columns, 12);
    check_array(&array, "", TARE_ELEMENT_I16, values, 6);
    array = npy(1, "{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}", "\0\1\0\2", 4);
    check_array(&array, "", TARE_ELEMENT_I16, values, 2);
    array = npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': ()}", "\1", 1);
    check_array(&array, "", TARE_ELEMENT_BOOL, values, 1);
    array = npy(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (0, 5)}", "", 0);
    check_array(&array, "", TARE_ELEMENT_I64, values, 0);
}

static void check_refused(struct tare_buf *bytes, const char *what)
{
    struct tare_npz *npz = NULL;
    struct tare_error err = {0};
    struct tare_arena arena;
    struct tare_tensor tensor;
    tare_arena_init(&arena, 0);
    if (tare_npz_open_memory(bytes->data, bytes->length, "t", &npz, &err) == 0)
        CHECK_INT(tare_npz_read(npz, 0, &arena, &tensor, &err), -1);
    if (!strstr(err.msg, what))
        CHECK_TEXT(err.msg, what);
    tare_npz_close(npz);
    tare_arena_finish(&arena);
    tare_buf_finish(bytes);
}

static void headers_that_lie_are_refused(void)
{
    static const struct {
        const char *header, *what;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", "ends before its data does"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}", "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "whole numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "whole numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", "more than 8 dimensions"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "Python objects"},
        {"{'descr': '<U4', 'fortran_order': False, 'shape': (1,)}", "texts"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "records"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "'<c8' is not one that models take"},
        {"{'descr': '<f4', 'shape': (1,)}", "lacks"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", "damaged"},
        {"__import__('os').system('true')", "not a dict"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tare_buf array = npy(1, cases[i].header, "1234", 4);
        check_refused(&array, cases[i].what);
    }
    struct tare_buf array = npy(4, "{}", "", 0);
    check_refused(&array, "version is 4");
}

static void damaged_files_are_refused(void)
{
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
    for (int deflated = 0; deflated < 2; deflated++) {
        struct tare_buf array = npy(1, header, "12345678", 8);
        struct tare_buf good = zip("x.npy", &array, deflated);
        /* Cut anywhere, it has no directory any more. */
        for (size_t cut = 0; cut < good.length; cut++) {
            struct tare_buf part;
            tare_buf_init(&part, 1 << 20);
            tare_buf_add(&part, good.data, cut);
            check_refused(&part, "'t' is not a sound .npz file");
        }
        struct tare_buf wrong;
        tare_buf_init(&wrong, 1 << 20);
        tare_buf_add(&wrong, good.data, good.length);
        /* In the array's data, whether packed or not. */
        wrong.data[30 + 5 + (deflated ? 40 : 70)] ^= 1;
        check_refused(&wrong, deflated ? "cannot be read" : "checksum is wrong");
        tare_buf_finish(&good);
        tare_buf_finish(&array);
    }
    struct tare_buf empty;
    tare_buf_init(&empty, 1);
    check_refused(&empty, "it is empty");
}

/* An entry that claims to unpack to more than deflate can. */
static void bombs_are_refused(void)
{
    struct tare_buf array = npy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}", "1234", 4);
    struct tare_buf file = zip("x.npy", &array, true);
    size_t central = file.length - 22 - 46 - 5;
    memcpy(file.data + central + 24, "\xff\xff\xff\x7f", 4);
    check_refused(&file, "claims a size that it cannot have");
    tare_buf_finish(&array);
}

int main(void)
{
    RUN(arrays_are_read);
    RUN(order_and_endianness_are_turned);
    RUN(headers_that_lie_are_refused);
    RUN(damaged_files_are_refused);
    RUN(bombs_are_refused);
    return check_done();
}
