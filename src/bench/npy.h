/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a .npy array, and its data put into C order. Private to npz.c and npy.c. */
#ifndef TARE_BENCH_NPY_H
#define TARE_BENCH_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bench/tensor.h"

/* The longest header that is read: numpy itself refuses longer ones. */
enum { TARE_NPY_HEADER_MAX = 10000 };

struct tare_npy {
    enum tare_element element;
    int64_t dims[TARE_TENSOR_RANK_MAX];
    size_t rank;
    bool swapped, fortran;
    size_t header; /* bytes before the data */
    size_t bytes;  /* of the data */
};

/** Read a header from the first bytes of an array. */
int tare_npy_header(const uint8_t *data, size_t length, struct tare_npy *ret_npy, struct tare_error *err);

/** Copy npy->bytes of data into out as little-endian C order. */
void tare_npy_copy(const struct tare_npy *npy, const uint8_t *data, void *out);

#endif
