/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/drift.h"
#include "check.h"

static struct tare_tensor floats(float *data, size_t rank, int64_t first, int64_t last)
{
    struct tare_tensor tensor = {.name = "logits", .element = TARE_ELEMENT_F32, .rank = rank, .data = data};
    struct tare_error err;
    tensor.dims[0] = first;
    if (rank > 1)
        tensor.dims[1] = last;
    CHECK_INT(tare_shape_bytes(tensor.element, tensor.dims, rank, &tensor.bytes, &err), 0);
    return tensor;
}

static struct tare_drift compare(float *a, float *b, int64_t rows, int64_t width)
{
    struct tare_tensor x = floats(a, 2, rows, width), y = floats(b, 2, rows, width);
    struct tare_drift drift;
    struct tare_error err;
    tare_drift_init(&drift);
    CHECK_INT(tare_drift_add(&drift, &x, &y, rows, &err), 0);
    return drift;
}

static void equal_answers(void)
{
    float a[] = {1, -2, 3, 0, 5, -6};
    struct tare_drift drift = compare(a, a, 2, 3);
    CHECK_INT(drift.values, 6);
    CHECK_REAL(drift.max_abs, 0, 0);
    CHECK_INT(drift.max_ulp, 0);
    CHECK_REAL(drift.cosine, 1, 1e-15);
    CHECK_REAL(drift.largest, 6, 0);
    CHECK_INT(drift.rows, 2);
    CHECK_INT(drift.flips, 0);
}

static void distances(void)
{
    float a[] = {1, 0, 0, 1}, b[] = {1, 0, 1, 1};
    struct tare_drift drift = compare(a, b, 2, 2);
    CHECK_REAL(drift.max_abs, 1, 0);
    /* The first sample is equal: the smallest cosine is the second's, 45 degrees. */
    CHECK_REAL(drift.cosine, sqrt(0.5), 1e-12);
    /* The largest of (0, 1) stands among the largest of (1, 1): no flip. */
    CHECK_INT(drift.flips, 0);
    float c[] = {1, 0, 2, 1};
    CHECK_INT(compare(a, c, 2, 2).flips, 1);
    float zero[] = {0, 0}, one[] = {0, 1};
    CHECK_REAL(compare(zero, zero, 1, 2).cosine, 1, 0);
    CHECK_REAL(compare(zero, one, 1, 2).cosine, 0, 0);
    CHECK(isnan(compare(a, b, 4, 1).cosine));
}

static void last_places(void)
{
    CHECK_INT(tare_drift_ulp32(1, 1), 0);
    CHECK_INT(tare_drift_ulp32(1, nextafterf(1, 2)), 1);
    CHECK_INT(tare_drift_ulp32(-1, nextafterf(-1, 0)), 1);
    CHECK_INT(tare_drift_ulp32(0.0F, -0.0F), 0);
    CHECK_INT(tare_drift_ulp32(nextafterf(0, 1), nextafterf(0, -1)), 2);
    CHECK_INT(tare_drift_ulp32(1, 2), 1 << 23);
    CHECK(tare_drift_ulp32(NAN, 1) == INT64_MAX);
    CHECK_INT(tare_drift_ulp32(-INFINITY, INFINITY), 2 * (int64_t)0x7f800000);
    CHECK_INT(tare_drift_ulp16(tare_f16_from_float(1), tare_f16_from_float(2)), 1 << 10);
    CHECK_INT(tare_drift_ulp16(0x8000, 0), 0);
    CHECK(tare_drift_ulp16(0x7e00, 0) == INT64_MAX);
}

static void coarser_type_counts(void)
{
    float a[] = {1, 1};
    uint16_t b[] = {0x3c00, 0x3c01}; /* 1, and the half after it */
    struct tare_tensor x = floats(a, 2, 1, 2), y = x;
    struct tare_drift drift;
    struct tare_error err;
    y.element = TARE_ELEMENT_F16;
    y.data = b;
    y.bytes = sizeof b;
    tare_drift_init(&drift);
    CHECK_INT(tare_drift_add(&drift, &x, &y, 1, &err), 0);
    CHECK_INT(drift.max_ulp, 1);
    CHECK_REAL(drift.max_abs, 0.0009765625, 0);
}

static void not_numbers(void)
{
    float a[] = {NAN, INFINITY, 1, 2}, b[] = {NAN, INFINITY, 1, 2};
    struct tare_drift drift = compare(a, b, 2, 2);
    CHECK_INT(drift.unlike, 0);
    CHECK_REAL(drift.max_abs, 0, 0);
    CHECK_INT(drift.rows, 1);
    CHECK_REAL(drift.cosine, 1, 1e-15);
    b[3] = NAN;
    drift = compare(a, b, 2, 2);
    CHECK_INT(drift.unlike, 1);
    CHECK(isinf(drift.max_abs));
    CHECK_INT(drift.flips, 1);
    b[3] = 2;
    b[1] = -INFINITY;
    drift = compare(a, b, 2, 2);
    CHECK_INT(drift.unlike, 1);
    /* A finite difference seen later does not hide it. */
    CHECK(isinf(drift.max_abs));
}

static void whole_numbers(void)
{
    int64_t a[] = {3, 1, 2}, b[] = {3, 4, 2};
    struct tare_tensor x = {
        .element = TARE_ELEMENT_I64, .dims = {3}, .rank = 1, .data = a, .bytes = sizeof a};
    struct tare_tensor y = x;
    struct tare_drift drift;
    struct tare_error err;
    y.data = b;
    tare_drift_init(&drift);
    CHECK_INT(tare_drift_add(&drift, &x, &y, 3, &err), 0);
    CHECK_INT(drift.rows, 3);
    CHECK_INT(drift.flips, 1);
    CHECK_INT(drift.max_ulp, -1);
    CHECK_REAL(drift.max_abs, 3, 0);
    /* Several outputs add up. */
    float f[] = {1, 2};
    struct tare_tensor z = floats(f, 2, 1, 2);
    CHECK_INT(tare_drift_add(&drift, &z, &z, 1, &err), 0);
    CHECK_INT(drift.rows, 4);
    CHECK_INT(drift.values, 5);
    CHECK_REAL(drift.max_abs, 3, 0);
}

static void refusals(void)
{
    float a[6] = {0};
    struct tare_tensor x = floats(a, 2, 2, 3), y = floats(a, 2, 3, 2);
    struct tare_drift drift;
    struct tare_error err;
    tare_drift_init(&drift);
    CHECK_INT(tare_drift_add(&drift, &x, &y, 2, &err), -1);
    CHECK_TEXT(err.msg, "'logits' has another shape than the reference's");
    CHECK_INT(tare_drift_add(&drift, &x, &x, 3, &err), -1);
    CHECK_TEXT(err.msg, "'logits' does not have 3 samples along its first dimension");
    x.element = TARE_ELEMENT_STRING;
    CHECK_INT(tare_drift_add(&drift, &x, &x, 0, &err), -1);
    CHECK_INT(err.code, TARE_E_UNSUPPORTED);
    CHECK_INT(drift.values, 0);
}

static void parts(void)
{
    float a[] = {0, 1, 2, 3, 4, 5};
    struct tare_tensor x = floats(a, 2, 3, 2), part;
    struct tare_arena arena;
    struct tare_error err;
    tare_arena_init(&arena, 0);
    CHECK_INT(tare_drift_take(&x, 0, 1, 2, &arena, &part, &err), 0);
    CHECK_INT(part.dims[0], 2);
    CHECK_INT(part.bytes, 4 * sizeof *a);
    CHECK_REAL(tare_tensor_get(&part, 0), 2, 0);
    CHECK_REAL(tare_tensor_get(&part, 3), 5, 0);
    /* Of a recurrent state the second axis is the batch. */
    CHECK_INT(tare_drift_take(&x, 1, 1, 1, &arena, &part, &err), 0);
    CHECK_INT(part.dims[0], 3);
    CHECK_INT(part.dims[1], 1);
    CHECK_REAL(tare_tensor_get(&part, 0), 1, 0);
    CHECK_REAL(tare_tensor_get(&part, 2), 5, 0);
    CHECK_INT(tare_drift_take(&x, 0, 2, 2, &arena, &part, &err), -1);
    CHECK_INT(tare_drift_take(&x, 0, -1, 1, &arena, &part, &err), -1);
    CHECK_INT(tare_drift_take(&x, 0, 1, INT64_MAX, &arena, &part, &err), -1);
    CHECK_INT(tare_drift_take(&x, 2, 0, 1, &arena, &part, &err), -1);
    CHECK_INT(tare_drift_top1(&x, 0, 6), 5);
    CHECK_INT(tare_drift_top1(&x, 0, 0), -1);
    tare_arena_finish(&arena);
}

static void batch_axes(void)
{
    struct tare_tensor one = {.rank = 3, .dims = {2, 1, 64}}, many = {.rank = 3, .dims = {2, 8, 64}};
    CHECK_INT(tare_drift_batch_axis(&one, &many, 8), 1);
    CHECK_INT(tare_drift_batch_axis(&one, &many, 4), -1);
    CHECK_INT(tare_drift_batch_axis(&many, &many, 8), -1);
    many.dims[2] = 65;
    CHECK_INT(tare_drift_batch_axis(&one, &many, 8), -1);
    many.rank = 2;
    CHECK_INT(tare_drift_batch_axis(&one, &many, 8), -1);
}

int main(void)
{
    RUN(equal_answers);
    RUN(distances);
    RUN(last_places);
    RUN(coarser_type_counts);
    RUN(not_numbers);
    RUN(whole_numbers);
    RUN(refusals);
    RUN(parts);
    RUN(batch_axes);
    return check_done();
}
