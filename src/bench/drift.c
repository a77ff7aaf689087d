/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/drift.h"

#include <math.h>
#include <string.h>

void tare_drift_init(struct tare_drift *drift)
{
    *drift = (struct tare_drift){.max_ulp = -1, .cosine = NAN};
}

/* Floats in the order of their values, as whole numbers: neighbours differ by one, and both zeros are 0. */
static int64_t rank32(float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? -(int64_t)(bits & INT32_MAX) : bits;
}

static int64_t rank16(uint16_t half)
{
    return half & 0x8000 ? -(int64_t)(half & 0x7fff) : half;
}

int64_t tare_drift_ulp32(float a, float b)
{
    if (isnan(a) || isnan(b))
        return INT64_MAX;
    int64_t distance = rank32(a) - rank32(b);
    return distance < 0 ? -distance : distance;
}

int64_t tare_drift_ulp16(uint16_t a, uint16_t b)
{
    if (isnan(tare_f16_to_float(a)) || isnan(tare_f16_to_float(b)))
        return INT64_MAX;
    int64_t distance = rank16(a) - rank16(b);
    return distance < 0 ? -distance : distance;
}

int64_t tare_drift_top1(const struct tare_tensor *tensor, size_t first, size_t count)
{
    int64_t best = -1;
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        double value = tare_tensor_get(tensor, first + i);
        if (isnan(value))
            return -1;
        if (best < 0 || value > most) {
            best = (int64_t)i;
            most = value;
        }
    }
    return best;
}

/* Bits of the type in which units in the last place are counted; 0: in none. */
static unsigned ulp_bits(enum tare_element a, enum tare_element b)
{
    unsigned bits_a = a == TARE_ELEMENT_F16 ? 16 : a == TARE_ELEMENT_F32 ? 32 : 0;
    unsigned bits_b = b == TARE_ELEMENT_F16 ? 16 : b == TARE_ELEMENT_F32 ? 32 : 0;
    if (bits_a == 0 || bits_b == 0)
        return 0;
    return bits_a < bits_b ? bits_a : bits_b;
}

static int64_t ulp_of(double a, double b, unsigned bits)
{
    return bits == 16 ? tare_drift_ulp16(tare_f16_from_float((float)a), tare_f16_from_float((float)b))
                      : tare_drift_ulp32((float)a, (float)b);
}

/* Values first to first + count of both: differences, and the cosine of the two as vectors. */
static void add_sample(struct tare_drift *drift, const struct tare_tensor *reference,
                       const struct tare_tensor *tensor, size_t first, size_t count, unsigned bits)
{
    double dot = 0, a2 = 0, b2 = 0;
    bool usable = count > 1;
    for (size_t i = first; i < first + count; i++) {
        double a = tare_tensor_get(reference, i), b = tare_tensor_get(tensor, i);
        bool same = a == b || (isnan(a) && isnan(b));
        drift->values++;
        if (!isfinite(a) || !isfinite(b)) {
            usable = false;
            if (same)
                continue;
            drift->unlike++;
            drift->max_abs = INFINITY;
            continue;
        }
        drift->max_abs = fmax(drift->max_abs, fabs(a - b));
        drift->largest = fmax(drift->largest, fabs(a));
        if (bits) {
            int64_t ulp = ulp_of(a, b, bits);
            drift->max_ulp = ulp > drift->max_ulp ? ulp : drift->max_ulp;
        }
        dot += a * b;
        a2 += a * a;
        b2 += b * b;
    }
    if (!usable)
        return;
    /* Two vectors of zeros point the same way; one alone has no direction to compare. */
    double cosine = a2 == 0 && b2 == 0 ? 1 : a2 == 0 || b2 == 0 ? 0 : dot / sqrt(a2) / sqrt(b2);
    cosine = cosine > 1 ? 1 : cosine;
    drift->cosine = isnan(drift->cosine) || cosine < drift->cosine ? cosine : drift->cosine;
}

/* Rows of the last dimension: does the largest value stand elsewhere? Equal values at both places are no
 * flip. */
static void add_rows(struct tare_drift *drift, const struct tare_tensor *reference,
                     const struct tare_tensor *tensor, size_t count, size_t width)
{
    for (size_t first = 0; first + width <= count; first += width) {
        int64_t a = tare_drift_top1(reference, first, width), b = tare_drift_top1(tensor, first, width);
        if (a < 0 && b < 0)
            continue;
        drift->rows++;
        if (a < 0 || b < 0 ||
            (a != b &&
             tare_tensor_get(tensor, first + (size_t)a) < tare_tensor_get(tensor, first + (size_t)b)))
            drift->flips++;
    }
}

static void add_whole_numbers(struct tare_drift *drift, const struct tare_tensor *reference,
                              const struct tare_tensor *tensor, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        drift->rows++;
        drift->flips += tare_tensor_get(reference, i) != tare_tensor_get(tensor, i);
    }
}

static bool comparable(enum tare_element element)
{
    return tare_element_is_float(element) || tare_element_is_integer(element) || element == TARE_ELEMENT_BOOL;
}

int tare_drift_add(struct tare_drift *drift, const struct tare_tensor *reference,
                   const struct tare_tensor *tensor, int64_t samples, struct tare_error *err)
{
    const char *name = tensor->name ? tensor->name : "an output";
    if (!comparable(reference->element) || !comparable(tensor->element) ||
        tare_element_bits(reference->element) < 8 || tare_element_bits(tensor->element) < 8)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "'%s' is of type %s, which cannot be compared", name,
                         tare_element_name(tensor->element));
    bool same = reference->rank == tensor->rank;
    for (size_t i = 0; same && i < tensor->rank; i++)
        same = reference->dims[i] == tensor->dims[i];
    if (!same)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' has another shape than the reference's", name);
    int64_t total = 0;
    if (tare_shape_count(tensor->dims, tensor->rank, &total) < 0)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' has a shape without a size", name);
    if (samples <= 0)
        samples = 1;
    else if (tensor->rank == 0 || tensor->dims[0] != samples)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' does not have %lld samples along its first dimension",
                         name, (long long)samples);
    size_t count = (size_t)total, each = count / (size_t)samples;
    if (count == 0)
        return 0;
    unsigned bits = ulp_bits(reference->element, tensor->element);
    for (int64_t i = 0; i < samples; i++)
        add_sample(drift, reference, tensor, (size_t)i * each, each, bits);
    size_t width = tensor->rank > 0 ? (size_t)tensor->dims[tensor->rank - 1] : 1;
    if (!tare_element_is_float(reference->element) && !tare_element_is_float(tensor->element))
        add_whole_numbers(drift, reference, tensor, count);
    else if (tensor->rank >= 2 && width > 1)
        add_rows(drift, reference, tensor, count, width);
    return 0;
}

int tare_drift_batch_axis(const struct tare_tensor *one, const struct tare_tensor *many, int64_t batch)
{
    int axis = -1;
    if (one->rank != many->rank)
        return -1;
    for (size_t i = 0; i < one->rank; i++) {
        if (one->dims[i] == many->dims[i])
            continue;
        if (axis >= 0 || one->dims[i] != 1 || many->dims[i] != batch)
            return -1;
        axis = (int)i;
    }
    return axis;
}

int tare_drift_take(const struct tare_tensor *tensor, size_t axis, int64_t first, int64_t count,
                    struct tare_arena *arena, struct tare_tensor *ret_part, struct tare_error *err)
{
    const char *name = tensor->name ? tensor->name : "a tensor";
    if (axis >= tensor->rank || first < 0 || count < 0 || first > tensor->dims[axis] ||
        count > tensor->dims[axis] - first)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' has no %lld samples from %lld on", name,
                         (long long)count, (long long)first);
    if (tare_element_bits(tensor->element) % 8 != 0 || tare_element_bits(tensor->element) == 0)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "'%s' is of type %s and cannot be cut into samples",
                         name, tare_element_name(tensor->element));
    struct tare_tensor part = *tensor;
    size_t bytes = 0, inner = tare_element_bits(tensor->element) / 8, outer = 1;
    part.dims[axis] = count;
    if (tare_shape_bytes(tensor->element, part.dims, part.rank, &bytes, err) < 0)
        return -1;
    for (size_t i = 0; i < axis; i++)
        outer *= (size_t)tensor->dims[i];
    for (size_t i = axis + 1; i < tensor->rank; i++)
        inner *= (size_t)tensor->dims[i];
    part.data = tare_arena_alloc(arena, bytes ? bytes : 1);
    part.bytes = bytes;
    if (!part.data)
        return tare_fail_memory(err);
    size_t row = inner * (size_t)tensor->dims[axis], taken = inner * (size_t)count;
    for (size_t i = 0; taken > 0 && i < outer; i++)
        memcpy((char *)part.data + i * taken, (const char *)tensor->data + i * row + inner * (size_t)first,
               taken);
    *ret_part = part;
    return 0;
}
