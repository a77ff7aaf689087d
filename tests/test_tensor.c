/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/tensor.h"

#include <stdlib.h>

#include "check.h"

static void types_have_names_and_sizes(void)
{
    CHECK_TEXT(tare_element_name(TARE_ELEMENT_F32), "float32");
    CHECK_TEXT(tare_element_name((enum tare_element)99), "unknown");
    CHECK_TEXT(tare_element_name(TARE_ELEMENT_NONE), "unknown");
    CHECK_INT(tare_element_by_name("int64"), TARE_ELEMENT_I64);
    CHECK_INT(tare_element_by_name("float"), TARE_ELEMENT_F32);
    CHECK_INT(tare_element_by_name("floaty"), TARE_ELEMENT_NONE);
    CHECK_INT(tare_element_bits(TARE_ELEMENT_I4), 4);
    CHECK_INT(tare_element_bits(TARE_ELEMENT_STRING), 0);
    CHECK(tare_element_is_float(TARE_ELEMENT_BF16) && !tare_element_is_float(TARE_ELEMENT_I8));
    CHECK(tare_element_is_integer(TARE_ELEMENT_I64) && !tare_element_is_integer(TARE_ELEMENT_BOOL));
}

static void sizes_do_not_overflow(void)
{
    size_t bytes = 0;
    struct tare_error err = {0};
    CHECK_INT(tare_shape_bytes(TARE_ELEMENT_F32, (int64_t[]){2, 3}, 2, &bytes, &err), 0);
    CHECK_INT(bytes, 24);
    CHECK_INT(tare_shape_bytes(TARE_ELEMENT_I4, (int64_t[]){5}, 1, &bytes, &err), 0);
    CHECK_INT(bytes, 3);
    CHECK_INT(tare_shape_bytes(TARE_ELEMENT_F32, NULL, 0, &bytes, &err), 0);
    CHECK_INT(bytes, 4);
    CHECK_INT(tare_shape_bytes(TARE_ELEMENT_F32, (int64_t[]){INT64_MAX, INT64_MAX, 0}, 3, &bytes, &err), -1);
    CHECK_INT(tare_shape_bytes(TARE_ELEMENT_F32, (int64_t[]){INT64_MAX, 0}, 2, &bytes, &err), 0);
    CHECK_INT(bytes, 0);
    CHECK_INT(tare_shape_bytes(TARE_ELEMENT_F32, (int64_t[]){INT64_MAX}, 1, &bytes, &err), -1);
    CHECK_INT(tare_shape_bytes(TARE_ELEMENT_F32, (int64_t[]){-1}, 1, &bytes, &err), -1);
    CHECK_INT(tare_shape_bytes(TARE_ELEMENT_STRING, (int64_t[]){1}, 1, &bytes, &err), -1);
    CHECK_INT(err.code, TARE_E_UNSUPPORTED);
}

static void halves_round_like_ieee(void)
{
    /* Every half survives the way to float and back. */
    for (unsigned i = 0; i < 0x10000; i++) {
        float value = tare_f16_to_float((uint16_t)i);
        if (isnan(value))
            CHECK(isnan(tare_f16_to_float(tare_f16_from_float(value))));
        else if (tare_f16_from_float(value) != i)
            CHECK_INT(tare_f16_from_float(value), i);
    }
    CHECK_INT(tare_f16_from_float(1.0f), 0x3c00);
    CHECK_INT(tare_f16_from_float(1.0f + 0x1p-11f), 0x3c00); /* a tie, to even */
    CHECK_INT(tare_f16_from_float(1.0f + 0x3p-11f), 0x3c02);
    CHECK_INT(tare_f16_from_float(65519.0f), 0x7bff);
    CHECK_INT(tare_f16_from_float(65520.0f), 0x7c00);
    CHECK_INT(tare_f16_from_float(-0x1p-25f), 0x8000);
    CHECK_INT(tare_f16_from_float(0x1.8p-25f), 1);
    CHECK_INT(tare_bf16_from_float(1.0f), 0x3f80);
    CHECK_INT(tare_bf16_from_float(1.0f + 0x1p-8f), 0x3f80);
    CHECK_INT(tare_bf16_from_float(1.0f + 0x3p-8f), 0x3f82);
    CHECK(tare_bf16_to_float(0xc040) == -3.0f);
}

static void elements_are_read_and_written(void)
{
    static const struct {
        enum tare_element element;
        double in, out;
    } cases[] = {
        {TARE_ELEMENT_F32, 0.5, 0.5},   {TARE_ELEMENT_F64, -0.1, -0.1},
        {TARE_ELEMENT_F16, 0.25, 0.25}, {TARE_ELEMENT_BF16, 3, 3},
        {TARE_ELEMENT_BOOL, 7, 1},      {TARE_ELEMENT_U8, 300, 255},
        {TARE_ELEMENT_I8, -200, -128},  {TARE_ELEMENT_U16, -1, 0},
        {TARE_ELEMENT_I16, -5.9, -5},   {TARE_ELEMENT_I32, 1e12, 2147483647},
        {TARE_ELEMENT_U32, 4e9, 4e9},   {TARE_ELEMENT_I64, 30521, 30521},
        {TARE_ELEMENT_U64, NAN, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[24] = {0};
        struct tare_tensor tensor = {.element = cases[i].element, .dims = {3}, .rank = 1, .data = bytes};
        tare_tensor_set(&tensor, 1, cases[i].in);
        CHECK_REAL(tare_tensor_get(&tensor, 1), cases[i].out, 0);
        CHECK_REAL(tare_tensor_get(&tensor, 0), 0, 0);
        CHECK_REAL(tare_tensor_get(&tensor, 2), 0, 0);
    }
}

int main(void)
{
    RUN(types_have_names_and_sizes);
    RUN(sizes_do_not_overflow);
    RUN(halves_round_like_ieee);
    RUN(elements_are_read_and_written);
    return check_done();
}
