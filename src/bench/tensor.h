/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor in memory: an element type, a shape and the bytes in C order, little-endian. The numbers of the
 * element types are ONNX's own (TensorProto.DataType, and the same as ONNX Runtime's), so they pass through
 * unchanged. A scalar has rank 0. Sizes are checked for overflow here, once, for all that read shapes from
 * files. A tensor never owns its bytes. Pure functions; any thread.
 */
#ifndef TARE_BENCH_TENSOR_H
#define TARE_BENCH_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { TARE_TENSOR_RANK_MAX = 8 };

enum tare_element {
    TARE_ELEMENT_NONE = 0,
    TARE_ELEMENT_F32 = 1,
    TARE_ELEMENT_U8 = 2,
    TARE_ELEMENT_I8 = 3,
    TARE_ELEMENT_U16 = 4,
    TARE_ELEMENT_I16 = 5,
    TARE_ELEMENT_I32 = 6,
    TARE_ELEMENT_I64 = 7,
    TARE_ELEMENT_STRING = 8,
    TARE_ELEMENT_BOOL = 9,
    TARE_ELEMENT_F16 = 10,
    TARE_ELEMENT_F64 = 11,
    TARE_ELEMENT_U32 = 12,
    TARE_ELEMENT_U64 = 13,
    TARE_ELEMENT_C64 = 14,
    TARE_ELEMENT_C128 = 15,
    TARE_ELEMENT_BF16 = 16,
    TARE_ELEMENT_F8E4M3FN = 17,
    TARE_ELEMENT_F8E4M3FNUZ = 18,
    TARE_ELEMENT_F8E5M2 = 19,
    TARE_ELEMENT_F8E5M2FNUZ = 20,
    TARE_ELEMENT_U4 = 21,
    TARE_ELEMENT_I4 = 22,
    TARE_ELEMENT_F4E2M1 = 23,
};

struct tare_tensor {
    const char *name;
    enum tare_element element;
    int64_t dims[TARE_TENSOR_RANK_MAX];
    size_t rank;
    void *data;
    size_t bytes;
};

/** Its name as numpy would say it: "float32"; "unknown" for a number that is no type. */
const char *tare_element_name(enum tare_element element);

/** The type of that name, as numpy or people write it ("float32", "f32", "float"); NONE if there is none. */
enum tare_element tare_element_by_name(const char *name);

/** Bits of one element; 0 for strings and for what is no type. */
unsigned tare_element_bits(enum tare_element element);

/** Is it one of the floating-point types that a computation runs in: f16, bf16, f32, f64? */
bool tare_element_is_float(enum tare_element element);

/** Is it a whole number (not bool)? */
bool tare_element_is_integer(enum tare_element element);

/** Product of the dimensions; -1, and no message, if one is negative or the product passes 2^63. */
int tare_shape_count(const int64_t *dims, size_t rank, int64_t *ret_count);

/** Bytes of a tensor of that type and shape, sub-byte types packed; an error if there is no such size. */
int tare_shape_bytes(enum tare_element element, const int64_t *dims, size_t rank, size_t *ret_bytes,
                     struct tare_error *err);

/** A half, as a float. */
float tare_f16_to_float(uint16_t half);

/** The nearest half, ties to even; too large gives infinity. */
uint16_t tare_f16_from_float(float value);

/** A bfloat16, as a float. */
float tare_bf16_to_float(uint16_t half);

/** The nearest bfloat16, ties to even. */
uint16_t tare_bf16_from_float(float value);

/** Element i of a tensor of any numeric type of at least 8 bits, as a double; NaN for other types. i must be
 * in range. */
double tare_tensor_get(const struct tare_tensor *tensor, size_t i);

/** Set element i of a tensor of any numeric type of at least 8 bits: whole numbers are cut and clamped.
 * Nothing for other types. i must be in range. */
void tare_tensor_set(const struct tare_tensor *tensor, size_t i, double value);

#endif
