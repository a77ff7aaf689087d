/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a cap. data[length] is always NUL, so that text can be used as a string. The
 * first failure (no memory, cap reached) is remembered and later additions do nothing: check once, at the
 * end. Not thread-safe.
 */
#ifndef TARE_BASE_BUF_H
#define TARE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct tare_buf {
    char *data; /* never NULL after init */
    size_t length;
    size_t size; /* bytes allocated, 0 while empty */
    size_t cap;  /* most bytes of content */
    bool failed;
};

/** Ready for use; nothing is allocated yet. */
void tare_buf_init(struct tare_buf *buf, size_t cap);

/** Free it; it may be used again. */
void tare_buf_finish(struct tare_buf *buf);

/** Empty it and keep its memory and its cap. A remembered failure is forgotten. */
void tare_buf_clear(struct tare_buf *buf);

/** Append bytes. */
void tare_buf_add(struct tare_buf *buf, const void *data, size_t length);

/** Append one byte. */
void tare_buf_add_byte(struct tare_buf *buf, uint8_t byte);

/** Append a string. */
void tare_buf_add_text(struct tare_buf *buf, const char *text);

/** Append formatted text. */
void tare_buf_printf(struct tare_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Make room for length more bytes and return where to write them; the caller then raises buf->length. NULL
 * on failure. */
char *tare_buf_reserve(struct tare_buf *buf, size_t length);

/** 0 if nothing failed so far, else an error. */
int tare_buf_check(const struct tare_buf *buf, struct tare_error *err);

#endif
