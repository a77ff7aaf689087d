/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/tensor.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned bits;
} elements[] = {
    [TARE_ELEMENT_F32] = {"float32", 32},
    [TARE_ELEMENT_U8] = {"uint8", 8},
    [TARE_ELEMENT_I8] = {"int8", 8},
    [TARE_ELEMENT_U16] = {"uint16", 16},
    [TARE_ELEMENT_I16] = {"int16", 16},
    [TARE_ELEMENT_I32] = {"int32", 32},
    [TARE_ELEMENT_I64] = {"int64", 64},
    [TARE_ELEMENT_STRING] = {"string", 0},
    [TARE_ELEMENT_BOOL] = {"bool", 8},
    [TARE_ELEMENT_F16] = {"float16", 16},
    [TARE_ELEMENT_F64] = {"float64", 64},
    [TARE_ELEMENT_U32] = {"uint32", 32},
    [TARE_ELEMENT_U64] = {"uint64", 64},
    [TARE_ELEMENT_C64] = {"complex64", 64},
    [TARE_ELEMENT_C128] = {"complex128", 128},
    [TARE_ELEMENT_BF16] = {"bfloat16", 16},
    [TARE_ELEMENT_F8E4M3FN] = {"float8_e4m3fn", 8},
    [TARE_ELEMENT_F8E4M3FNUZ] = {"float8_e4m3fnuz", 8},
    [TARE_ELEMENT_F8E5M2] = {"float8_e5m2", 8},
    [TARE_ELEMENT_F8E5M2FNUZ] = {"float8_e5m2fnuz", 8},
    [TARE_ELEMENT_U4] = {"uint4", 4},
    [TARE_ELEMENT_I4] = {"int4", 4},
    [TARE_ELEMENT_F4E2M1] = {"float4_e2m1", 4},
};

/* How the runtime's profile and people write some of them. */
static const struct {
    const char *name;
    enum tare_element element;
} others[] = {
    {"float", TARE_ELEMENT_F32},         {"f32", TARE_ELEMENT_F32},
    {"fp32", TARE_ELEMENT_F32},          {"double", TARE_ELEMENT_F64},
    {"f64", TARE_ELEMENT_F64},           {"f16", TARE_ELEMENT_F16},
    {"fp16", TARE_ELEMENT_F16},          {"half", TARE_ELEMENT_F16},
    {"bf16", TARE_ELEMENT_BF16},         {"float8e4m3fn", TARE_ELEMENT_F8E4M3FN},
    {"float8e5m2", TARE_ELEMENT_F8E5M2},
};

static bool known(enum tare_element element)
{
    return (size_t)element < sizeof elements / sizeof *elements && elements[element].name;
}

const char *tare_element_name(enum tare_element element)
{
    return known(element) ? elements[element].name : "unknown";
}

enum tare_element tare_element_by_name(const char *name)
{
    for (size_t i = 1; i < sizeof elements / sizeof *elements; i++)
        if (strcmp(elements[i].name, name) == 0)
            return (enum tare_element)i;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].name, name) == 0)
            return others[i].element;
    return TARE_ELEMENT_NONE;
}

unsigned tare_element_bits(enum tare_element element)
{
    return known(element) ? elements[element].bits : 0;
}

bool tare_element_is_float(enum tare_element element)
{
    return element == TARE_ELEMENT_F32 || element == TARE_ELEMENT_F16 || element == TARE_ELEMENT_BF16 ||
           element == TARE_ELEMENT_F64;
}

bool tare_element_is_integer(enum tare_element element)
{
    switch (element) {
    case TARE_ELEMENT_U8:
    case TARE_ELEMENT_I8:
    case TARE_ELEMENT_U16:
    case TARE_ELEMENT_I16:
    case TARE_ELEMENT_I32:
    case TARE_ELEMENT_I64:
    case TARE_ELEMENT_U32:
    case TARE_ELEMENT_U64:
    case TARE_ELEMENT_U4:
    case TARE_ELEMENT_I4:
        return true;
    default:
        return false;
    }
}

int tare_shape_count(const int64_t *dims, size_t rank, int64_t *ret_count)
{
    int64_t count = 1;
    bool empty = false;
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return -1;
        /* A zero makes the tensor empty, whatever the others say. */
        if (dims[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(count, dims[i], &count))
            return -1;
    }
    *ret_count = empty ? 0 : count;
    return 0;
}

int tare_shape_bytes(enum tare_element element, const int64_t *dims, size_t rank, size_t *ret_bytes,
                     struct tare_error *err)
{
    unsigned bits = tare_element_bits(element);
    if (bits == 0)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "tensors of type %s have no size in bytes",
                         tare_element_name(element));
    int64_t count;
    if (tare_shape_count(dims, rank, &count) < 0 || count > INT64_MAX / (int64_t)bits - 7)
        return tare_fail(err, TARE_E_INPUT, 0, "a tensor's dimensions are negative or too large");
    *ret_bytes = ((size_t)count * bits + 7) / 8;
    return 0;
}

float tare_f16_to_float(uint16_t half)
{
    int exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    float value;
    if (exponent == 0)
        value = ldexpf((float)fraction, -24);
    else if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    else
        value = ldexpf((float)(fraction | 0x400), exponent - 25);
    return half & 0x8000 ? -value : value;
}

uint16_t tare_f16_from_float(float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    float size = fabsf(value);
    if (isnan(value))
        return sign | 0x7e00;
    /* 65520 lies midway between the largest half and the next power: ties go to the even one, infinity. */
    if (size >= 65520.0f)
        return sign | 0x7c00;
    int exponent;
    frexpf(size, &exponent);
    if (size == 0 || exponent < -13)
        exponent = -13;
    /* The spacing of halves there is 2^(exponent - 11); rintf rounds ties to even. */
    unsigned units = (unsigned)rintf(ldexpf(size, 11 - exponent));
    /* Subnormals carry no leading 1; a carry out of the fraction moves into the exponent by itself. */
    unsigned bits = exponent == -13 ? units : ((unsigned)(exponent + 13) << 10) + units;
    return sign | (uint16_t)bits;
}

float tare_bf16_to_float(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t tare_bf16_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* One element, whatever its type. */
union element {
    float f32;
    double f64;
    uint8_t u8;
    int8_t i8;
    uint16_t u16;
    int16_t i16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
};

double tare_tensor_get(const struct tare_tensor *tensor, size_t i)
{
    size_t size = tare_element_bits(tensor->element) / 8;
    const char *at = (const char *)tensor->data + i * size;
    union element value;
    if (size == 0 || size > sizeof value)
        return NAN;
    memcpy(&value, at, size);
    switch (tensor->element) {
    case TARE_ELEMENT_F32:
        return (double)value.f32;
    case TARE_ELEMENT_F64:
        return value.f64;
    case TARE_ELEMENT_F16:
        return (double)tare_f16_to_float(value.u16);
    case TARE_ELEMENT_BF16:
        return (double)tare_bf16_to_float(value.u16);
    case TARE_ELEMENT_BOOL:
        return value.u8 ? 1 : 0;
    case TARE_ELEMENT_U8:
        return value.u8;
    case TARE_ELEMENT_I8:
        return value.i8;
    case TARE_ELEMENT_U16:
        return value.u16;
    case TARE_ELEMENT_I16:
        return value.i16;
    case TARE_ELEMENT_I32:
        return value.i32;
    case TARE_ELEMENT_U32:
        return value.u32;
    case TARE_ELEMENT_I64:
        return (double)value.i64;
    case TARE_ELEMENT_U64:
        return (double)value.u64;
    default:
        return NAN;
    }
}

/* A double inside [low, high], NaN as 0; the bounds are exact doubles. */
static double clamp(double value, double low, double high)
{
    return isnan(value) ? 0 : value < low ? low : value > high ? high : trunc(value);
}

void tare_tensor_set(const struct tare_tensor *tensor, size_t i, double value)
{
    size_t size = tare_element_bits(tensor->element) / 8;
    char *at = (char *)tensor->data + i * size;
    union element out;
    switch (tensor->element) {
    case TARE_ELEMENT_F32:
        out.f32 = (float)value;
        break;
    case TARE_ELEMENT_F64:
        out.f64 = value;
        break;
    case TARE_ELEMENT_F16:
        out.u16 = tare_f16_from_float((float)value);
        break;
    case TARE_ELEMENT_BF16:
        out.u16 = tare_bf16_from_float((float)value);
        break;
    case TARE_ELEMENT_BOOL:
        out.u8 = value != 0;
        break;
    case TARE_ELEMENT_U8:
        out.u8 = (uint8_t)clamp(value, 0, UINT8_MAX);
        break;
    case TARE_ELEMENT_I8:
        out.i8 = (int8_t)clamp(value, INT8_MIN, INT8_MAX);
        break;
    case TARE_ELEMENT_U16:
        out.u16 = (uint16_t)clamp(value, 0, UINT16_MAX);
        break;
    case TARE_ELEMENT_I16:
        out.i16 = (int16_t)clamp(value, INT16_MIN, INT16_MAX);
        break;
    case TARE_ELEMENT_I32:
        out.i32 = (int32_t)clamp(value, INT32_MIN, INT32_MAX);
        break;
    case TARE_ELEMENT_U32:
        out.u32 = (uint32_t)clamp(value, 0, UINT32_MAX);
        break;
    case TARE_ELEMENT_I64:
        out.i64 = (int64_t)clamp(value, -0x1p63, 0x1.fffffffffffffp62);
        break;
    case TARE_ELEMENT_U64:
        out.u64 = (uint64_t)clamp(value, 0, 0x1.fffffffffffffp63);
        break;
    default:
        return;
    }
    memcpy(at, &out, size);
}
