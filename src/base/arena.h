/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena: memory for one result, freed at once. Allocations are zeroed, aligned for any type and never
 * move. A failed allocation returns NULL and is remembered, so that a caller which builds a large result may
 * check once, at the end, with tare_arena_check; string helpers return "" instead of NULL for the same
 * reason. Not thread-safe.
 */
#ifndef TARE_BASE_ARENA_H
#define TARE_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct tare_arena_chunk;

struct tare_arena {
    struct tare_arena_chunk *chunks; /* newest first */
    size_t cap;                      /* most bytes it may ever hold */
    size_t held;
    bool failed;
};

/** Ready for use; nothing is allocated yet. cap is the most bytes it may hold, 0 for no bound. */
void tare_arena_init(struct tare_arena *arena, size_t cap);

/** Free everything that came from it. */
void tare_arena_finish(struct tare_arena *arena);

/** Zeroed memory, or NULL. */
void *tare_arena_alloc(struct tare_arena *arena, size_t size);

/** Zeroed memory for count things of size bytes each, refusing overflow. */
void *tare_arena_array(struct tare_arena *arena, size_t count, size_t size);

/** A NUL-terminated copy of the first length bytes of text. */
const char *tare_arena_text(struct tare_arena *arena, const char *text, size_t length);

/** A copy of a string; NULL stays NULL. */
const char *tare_arena_copy(struct tare_arena *arena, const char *text);

/** A formatted string. */
const char *tare_arena_printf(struct tare_arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** 0 if every allocation so far succeeded, else an error. */
int tare_arena_check(const struct tare_arena *arena, struct tare_error *err);

#endif
