/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that numpy saved: a .npz (a zip of .npy, stored or deflated, zip64 too) or a single .npy, whose name
 * is then "". Headers of version 1 to 3; big-endian data and Fortran order are turned into little-endian C
 * order. Sizes are checked before memory is taken: a file cannot ask for more than its bytes can unpack to.
 * Nothing is executed: arrays of Python objects are refused. Names and tensors are checked to be whole; the
 * data is unpacked only when asked for. Not thread-safe.
 */
#ifndef TARE_BENCH_NPZ_H
#define TARE_BENCH_NPZ_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "bench/tensor.h"

struct tare_npz;

/** Open a file and read what it holds. */
int tare_npz_open(const char *path, struct tare_npz **ret_npz, struct tare_error *err);

/** The same from memory, which must outlive it; name is for messages. */
int tare_npz_open_memory(const void *data, size_t length, const char *name, struct tare_npz **ret_npz,
                         struct tare_error *err);

/** Close it; NULL is allowed. */
void tare_npz_close(struct tare_npz *npz);

/** How many arrays it holds. */
size_t tare_npz_count(const struct tare_npz *npz);

/** The name of array i, without ".npy". */
const char *tare_npz_name(const struct tare_npz *npz, size_t i);

/** Array i, its bytes and name in the arena. */
int tare_npz_read(const struct tare_npz *npz, size_t i, struct tare_arena *arena,
                  struct tare_tensor *ret_tensor, struct tare_error *err);

#endif
