/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* How much room is made at a time for a message that says it is long. */
#define STEP ((size_t)16 << 20)

enum { MOST_TENSORS = 4096 };

void tare_wire_put_bytes(struct tare_buf *buf, const void *data, size_t size)
{
    tare_buf_add(buf, data, size);
}

void tare_wire_put_int(struct tare_buf *buf, int64_t value)
{
    tare_buf_add(buf, &value, sizeof value);
}

void tare_wire_put_real(struct tare_buf *buf, double value)
{
    tare_buf_add(buf, &value, sizeof value);
}

void tare_wire_put_text(struct tare_buf *buf, const char *text)
{
    tare_wire_put_int(buf, text ? (int64_t)strlen(text) : -1);
    if (text)
        tare_buf_add(buf, text, strlen(text));
}

void tare_wire_put_tensors(struct tare_buf *buf, const struct tare_tensor *tensors, size_t count)
{
    tare_wire_put_int(buf, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        const struct tare_tensor *tensor = &tensors[i];
        tare_wire_put_text(buf, tensor->name);
        tare_wire_put_int(buf, (int64_t)tensor->element);
        tare_wire_put_int(buf, (int64_t)tensor->rank);
        for (size_t d = 0; d < tensor->rank; d++)
            tare_wire_put_int(buf, tensor->dims[d]);
        tare_wire_put_int(buf, (int64_t)tensor->bytes);
        tare_buf_add(buf, tensor->data, tensor->bytes);
    }
}

const void *tare_wire_bytes(struct tare_wire_reader *reader, size_t size)
{
    if (reader->bad || size > reader->left) {
        reader->bad = true;
        return NULL;
    }
    const void *data = reader->data;
    reader->data += size;
    reader->left -= size;
    return data;
}

int64_t tare_wire_int(struct tare_wire_reader *reader)
{
    int64_t value = 0;
    const void *data = tare_wire_bytes(reader, sizeof value);
    if (data)
        memcpy(&value, data, sizeof value);
    return value;
}

int64_t tare_wire_int_in(struct tare_wire_reader *reader, int64_t least, int64_t most)
{
    int64_t value = tare_wire_int(reader);
    if (reader->bad || value < least || value > most) {
        reader->bad = true;
        return least;
    }
    return value;
}

double tare_wire_real(struct tare_wire_reader *reader)
{
    double value = 0;
    const void *data = tare_wire_bytes(reader, sizeof value);
    if (data)
        memcpy(&value, data, sizeof value);
    return value;
}

const char *tare_wire_text(struct tare_wire_reader *reader, struct tare_arena *arena)
{
    int64_t length = tare_wire_int_in(reader, -1, INT32_MAX);
    const char *text = length < 0 ? NULL : tare_wire_bytes(reader, (size_t)length);
    return text ? tare_arena_text(arena, text, (size_t)length) : NULL;
}

static bool read_tensor(struct tare_wire_reader *reader, struct tare_arena *arena, struct tare_tensor *tensor)
{
    size_t bytes;
    tensor->name = tare_wire_text(reader, arena);
    tensor->element = (enum tare_element)tare_wire_int_in(reader, 0, INT32_MAX);
    tensor->rank = (size_t)tare_wire_int_in(reader, 0, TARE_TENSOR_RANK_MAX);
    for (size_t d = 0; d < tensor->rank; d++)
        tensor->dims[d] = tare_wire_int_in(reader, 0, INT64_MAX);
    tensor->bytes = (size_t)tare_wire_int_in(reader, 0, INT64_MAX);
    const void *data = tare_wire_bytes(reader, tensor->bytes);
    if (!data || tare_shape_bytes(tensor->element, tensor->dims, tensor->rank, &bytes, NULL) ||
        bytes != tensor->bytes)
        return false;
    tensor->data = tare_arena_alloc(arena, bytes ? bytes : 1);
    if (tensor->data && bytes)
        memcpy(tensor->data, data, bytes);
    return tensor->data != NULL;
}

struct tare_tensor *tare_wire_tensors(struct tare_wire_reader *reader, struct tare_arena *arena,
                                      size_t *ret_count)
{
    size_t count = (size_t)tare_wire_int_in(reader, 0, MOST_TENSORS);
    struct tare_tensor *tensors = count ? tare_arena_array(arena, count, sizeof *tensors) : NULL;
    *ret_count = 0;
    if (count && !tensors)
        reader->bad = true;
    for (size_t i = 0; tensors && i < count; i++) {
        if (!read_tensor(reader, arena, &tensors[i])) {
            reader->bad = true;
            return NULL;
        }
    }
    *ret_count = tensors ? count : 0;
    return tensors;
}

static int send_all(int socket, const char *data, size_t length, struct tare_error *err)
{
    while (length > 0) {
        ssize_t sent = send(socket, data, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return tare_fail(err, TARE_E_IO, errno, "cannot talk to a worker");
        data += sent;
        length -= (size_t)sent;
    }
    return 0;
}

int tare_wire_send(int socket, uint32_t kind, const struct tare_buf *buf, struct tare_error *err)
{
    struct tare_wire_head head = {.kind = kind, .magic = TARE_WIRE_MAGIC, .length = buf->length};
    if (tare_buf_check(buf, err))
        return -1;
    return send_all(socket, (const char *)&head, sizeof head, err) ||
                   send_all(socket, buf->data, buf->length, err)
               ? -1
               : 0;
}

struct end {
    int socket;
    int (*wait)(void *data, struct tare_error *err);
    void *data;
};

static int receive_all(const struct end *end, char *data, size_t length, struct tare_error *err)
{
    while (length > 0) {
        if (end->wait && end->wait(end->data, err))
            return -1;
        ssize_t got = recv(end->socket, data, length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0 || (got < 0 && errno == ECONNRESET))
            return 1;
        if (got < 0)
            return tare_fail(err, TARE_E_IO, errno, "cannot hear a worker");
        data += got;
        length -= (size_t)got;
    }
    return 0;
}

int tare_wire_receive(int socket, int (*wait)(void *data, struct tare_error *err), void *data,
                      uint32_t *ret_kind, struct tare_buf *buf, struct tare_error *err)
{
    struct end end = {.socket = socket, .wait = wait, .data = data};
    struct tare_wire_head head;
    int status = receive_all(&end, (char *)&head, sizeof head, err);
    if (status)
        return status;
    if (head.magic != TARE_WIRE_MAGIC || head.length > buf->cap)
        return tare_fail(err, TARE_E_INPUT, 0, "a worker sent something that is no message");
    tare_buf_clear(buf);
    while (buf->length < head.length) {
        size_t left = (size_t)head.length - buf->length, piece = left < STEP ? left : STEP;
        char *room = tare_buf_reserve(buf, piece);
        if (!room)
            return tare_buf_check(buf, err);
        status = receive_all(&end, room, piece, err);
        if (status)
            return status;
        buf->length += piece;
    }
    *ret_kind = head.kind;
    return 0;
}

int tare_wire_done(const struct tare_wire_reader *reader, struct tare_error *err)
{
    if (reader->bad || reader->left)
        return tare_fail(err, TARE_E_INPUT, 0,
                         "a worker and tare do not understand each other: is it the same "
                         "version?");
    return 0;
}
