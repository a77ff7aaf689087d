/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024 };

struct tare_arena_chunk {
    struct tare_arena_chunk *next;
    size_t size, used;
    max_align_t data[];
};

void tare_arena_init(struct tare_arena *arena, size_t cap)
{
    *arena = (struct tare_arena){.cap = cap ? cap : SIZE_MAX};
}

void tare_arena_finish(struct tare_arena *arena)
{
    struct tare_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct tare_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    tare_arena_init(arena, arena->cap);
}

static struct tare_arena_chunk *chunk_add(struct tare_arena *arena, size_t size)
{
    size_t bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    if (bytes > arena->cap - arena->held)
        return NULL;
    struct tare_arena_chunk *chunk = calloc(1, sizeof *chunk + bytes);
    if (!chunk)
        return NULL;
    chunk->size = bytes;
    arena->held += bytes;
    /* A large allocation gets a chunk of its own behind the current one, whose rest stays in use. */
    if (size > CHUNK_BYTES && arena->chunks) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

void *tare_arena_alloc(struct tare_arena *arena, size_t size)
{
    const size_t align = _Alignof(max_align_t);
    if (size > SIZE_MAX / 2) {
        arena->failed = true;
        return NULL;
    }
    size = (size + align - 1) / align * align;
    struct tare_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < size)
        chunk = chunk_add(arena, size);
    if (!chunk) {
        arena->failed = true;
        return NULL;
    }
    void *memory = (char *)chunk->data + chunk->used;
    chunk->used += size;
    return memory;
}

void *tare_arena_array(struct tare_arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) {
        arena->failed = true;
        return NULL;
    }
    return tare_arena_alloc(arena, count * size);
}

const char *tare_arena_text(struct tare_arena *arena, const char *text, size_t length)
{
    char *copy = tare_arena_alloc(arena, length + 1);
    if (!copy)
        return "";
    memcpy(copy, text, length);
    return copy;
}

const char *tare_arena_copy(struct tare_arena *arena, const char *text)
{
    return text ? tare_arena_text(arena, text, strlen(text)) : NULL;
}

const char *tare_arena_printf(struct tare_arena *arena, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = length < 0 ? NULL : tare_arena_alloc(arena, (size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, fmt, again);
    va_end(again);
    return text ? text : "";
}

int tare_arena_check(const struct tare_arena *arena, struct tare_error *err)
{
    if (!arena->failed)
        return 0;
    if (arena->cap != SIZE_MAX)
        return tare_fail(err, TARE_E_LIMIT, 0, "the result needs more than %zu bytes of memory", arena->cap);
    return tare_fail_memory(err);
}
