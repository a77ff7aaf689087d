/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an empty buffer points at: one NUL that nobody writes. */
static char nothing[1];

void tare_buf_init(struct tare_buf *buf, size_t cap)
{
    *buf = (struct tare_buf){.data = nothing, .cap = cap};
}

void tare_buf_finish(struct tare_buf *buf)
{
    if (buf->size)
        free(buf->data);
    tare_buf_init(buf, buf->cap);
}

void tare_buf_clear(struct tare_buf *buf)
{
    buf->length = 0;
    buf->failed = false;
    if (buf->size)
        buf->data[0] = '\0';
}

char *tare_buf_reserve(struct tare_buf *buf, size_t length)
{
    if (buf->failed)
        return NULL;
    if (length > buf->cap - buf->length || length > SIZE_MAX / 4) {
        buf->failed = true;
        return NULL;
    }
    size_t need = buf->length + length + 1;
    if (need > buf->size) {
        size_t size = buf->size ? buf->size : 64;
        while (size < need)
            size *= 2;
        char *data = realloc(buf->size ? buf->data : NULL, size);
        if (!data) {
            buf->failed = true;
            return NULL;
        }
        buf->data = data;
        buf->size = size;
        buf->data[buf->length] = '\0';
    }
    return buf->data + buf->length;
}

void tare_buf_add(struct tare_buf *buf, const void *data, size_t length)
{
    char *where = tare_buf_reserve(buf, length);
    if (!where)
        return;
    if (length)
        memcpy(where, data, length);
    buf->length += length;
    buf->data[buf->length] = '\0';
}

void tare_buf_add_byte(struct tare_buf *buf, uint8_t byte)
{
    tare_buf_add(buf, &byte, 1);
}

void tare_buf_add_text(struct tare_buf *buf, const char *text)
{
    tare_buf_add(buf, text, strlen(text));
}

void tare_buf_printf(struct tare_buf *buf, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *where = length < 0 ? NULL : tare_buf_reserve(buf, (size_t)length);
    if (where) {
        vsnprintf(where, (size_t)length + 1, fmt, again);
        buf->length += (size_t)length;
    } else {
        buf->failed = true;
    }
    va_end(again);
}

int tare_buf_check(const struct tare_buf *buf, struct tare_error *err)
{
    if (!buf->failed)
        return 0;
    if (buf->cap != SIZE_MAX)
        return tare_fail(err, TARE_E_LIMIT, 0, "more than %zu bytes in one piece", buf->cap);
    return tare_fail_memory(err);
}
