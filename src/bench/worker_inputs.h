/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a worker: read from a file, generated from the model, or, for a fake, made up. Private to the
 * worker. */
#ifndef TARE_BENCH_WORKER_INPUTS_H
#define TARE_BENCH_WORKER_INPUTS_H

#include "bench/worker.h"

/** Tensors for what the spec says, in the arena. The same spec gives the same bytes, and sample i is the same
 * in every batch. */
int tare_worker_make_inputs(const struct tare_worker_spec *spec, struct tare_arena *arena,
                            struct tare_tensor **ret_inputs, size_t *ret_count, struct tare_error *err);

#endif
