/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that looks at the resident size of this process again and again. Its own memory is there before
 * it starts to look. When its table is full every other entry is dropped and it looks half as often, so that
 * hours fit too. Start and stop belong to one thread.
 */
#ifndef TARE_BENCH_WORKER_RESIDENT_H
#define TARE_BENCH_WORKER_RESIDENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct tare_resident;

/** Start to look. */
int tare_resident_start(struct tare_resident **ret_resident, struct tare_error *err);

/** Look once more and stop looking. */
void tare_resident_stop(struct tare_resident *resident);

/** After stop: nanoseconds since the start, bytes, and how many of both. */
size_t tare_resident_table(const struct tare_resident *resident, const int64_t **ret_ns,
                           const int64_t **ret_bytes);

/** Free it; NULL is allowed. Stops first if it has to. */
void tare_resident_destroy(struct tare_resident *resident);

#endif
