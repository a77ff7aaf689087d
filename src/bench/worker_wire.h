/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of bench/worker.h: what is asked and answered, in the order of their values. Private to
 * worker.c and worker_main.c. */
#ifndef TARE_BENCH_WORKER_WIRE_H
#define TARE_BENCH_WORKER_WIRE_H

#include "bench/wire.h"
#include "bench/worker.h"

/* Raised when a message changes, for a worker of another version. */
enum { TARE_WORKER_PROTOCOL = 1 };

/* The most dimensions that can be named. */
enum { TARE_WORKER_DIMS = 64 };

/* Asked by the parent; each is answered by DONE or FAILED. */
enum tare_worker_message {
    TARE_WORKER_OPEN = 1,
    TARE_WORKER_SHAPE,
    TARE_WORKER_FEED,
    TARE_WORKER_WARM,
    TARE_WORKER_MEASURE,
    TARE_WORKER_REMEMBER,
    TARE_WORKER_ANSWER,
    TARE_WORKER_PROFILE,
    TARE_WORKER_DONE = 100,
    TARE_WORKER_FAILED,
};

void tare_worker_put_spec(struct tare_buf *buf, const struct tare_worker_spec *spec);
/** Texts and dimensions are in the arena. */
void tare_worker_get_spec(struct tare_wire_reader *reader, struct tare_arena *arena,
                          struct tare_worker_spec *ret_spec);

void tare_worker_put_dims(struct tare_buf *buf, const struct tare_run_dim *dims, size_t count);
const struct tare_run_dim *tare_worker_get_dims(struct tare_wire_reader *reader, struct tare_arena *arena,
                                                size_t *ret_count);

void tare_worker_put_use(struct tare_buf *buf, const struct tare_worker_use *use);
void tare_worker_get_use(struct tare_wire_reader *reader, struct tare_worker_use *ret_use);

void tare_worker_put_memory(struct tare_buf *buf, const struct tare_worker_memory *memory);
void tare_worker_get_memory(struct tare_wire_reader *reader, struct tare_arena *arena,
                            struct tare_worker_memory *ret_memory);

#endif
