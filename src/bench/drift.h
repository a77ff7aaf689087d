/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far apart two answers of a model are: the largest difference, in units in the last place too, the
 * smallest cosine of a sample, and how often the largest value of a row is another one. A value that is NaN
 * or infinite on one side only is counted apart and makes the largest difference infinite; equal infinities
 * and NaN on both sides are no difference. Pure functions; any thread.
 */
#ifndef TARE_BENCH_DRIFT_H
#define TARE_BENCH_DRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "bench/tensor.h"

/* What comparing said, of one tensor or of several taken together. */
struct tare_drift {
    int64_t values;  /* numbers compared */
    int64_t unlike;  /* of them, NaN or infinite on one side only */
    double max_abs;  /* INFINITY when some are unlike */
    double largest;  /* finite value of the reference, without its sign: what max_abs is small against */
    int64_t max_ulp; /* in the coarser of the two types; -1: not floats of 16 or 32 bits */
    double cosine;   /* the smallest of a sample; NaN: no sample of more than one value */
    int64_t rows;    /* that have a largest value, or are a whole number: where an answer can flip; 0: none */
    int64_t flips;   /* rows whose answer is another one */
};

/** Nothing compared yet. */
void tare_drift_init(struct tare_drift *drift);

/**
 * Compare a tensor with the reference's and add what is seen. samples says how many samples lie along the
 * first dimension; 0 takes the whole as one. The shapes must be equal; the element types may differ. Strings
 * and packed types are refused.
 */
int tare_drift_add(struct tare_drift *drift, const struct tare_tensor *reference,
                   const struct tare_tensor *tensor, int64_t samples, struct tare_error *err);

/** The axis along which a tensor made for one sample and the same made for a batch differ: 1 there, batch
 * here, and equal elsewhere. -1: there is none, or more than one. */
int tare_drift_batch_axis(const struct tare_tensor *one, const struct tare_tensor *many, int64_t batch);

/** Samples first to first + count along an axis, copied into the arena. */
int tare_drift_take(const struct tare_tensor *tensor, size_t axis, int64_t first, int64_t count,
                    struct tare_arena *arena, struct tare_tensor *ret_part, struct tare_error *err);

/** Units in the last place between two floats; INT64_MAX when one is NaN. */
int64_t tare_drift_ulp32(float a, float b);

/** The same for halves. */
int64_t tare_drift_ulp16(uint16_t a, uint16_t b);

/** Place of the largest value in a row; -1 when it holds NaN or nothing. Of equal ones, the first. */
int64_t tare_drift_top1(const struct tare_tensor *tensor, size_t first, size_t count);

#endif
