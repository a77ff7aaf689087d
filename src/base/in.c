/* SPDX-License-Identifier: Apache-2.0 */
#include "base/in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { WINDOW_BYTES = 32 * 1024, PEEK_BYTES = 4096 };

/* A pipe is kept in memory, because readers look at their input twice. */
#define PIPE_CAP ((size_t)1 << 30)

struct tare_in {
    char *name;
    int fd;         /* -1 for memory */
    bool owned;     /* fd is ours to close */
    off_t fd_start; /* standard input may have been read from before */
    struct tare_buf spool;
    const uint8_t *memory; /* all raw bytes, when fd is -1 */
    size_t memory_size, memory_at;
    bool compressed;
    bool stream_open; /* between inflateInit and inflateEnd */
    bool padded;      /* zeros were seen after the last gzip member */
    bool ended;       /* no more raw bytes will be decompressed */
    z_stream z;
    uint8_t raw[WINDOW_BYTES]; /* compressed bytes on their way into z */
    uint8_t window[WINDOW_BYTES];
    size_t window_at, window_end; /* decompressed, unread */
    uint64_t position;
    uint64_t raw_position;
};

static int raw_read(struct tare_in *in, uint8_t *data, size_t length, size_t *ret_length,
                    struct tare_error *err)
{
    if (in->fd < 0) {
        size_t left = in->memory_size - in->memory_at;
        size_t n = length < left ? length : left;
        if (n)
            memcpy(data, in->memory + in->memory_at, n);
        in->memory_at += n;
        in->raw_position += n;
        *ret_length = n;
        return 0;
    }
    for (;;) {
        ssize_t n = read(in->fd, data, length);
        if (n >= 0) {
            in->raw_position += (uint64_t)n;
            *ret_length = (size_t)n;
            return 0;
        }
        if (errno != EINTR)
            return tare_fail(err, TARE_E_IO, errno, "cannot read '%s'", in->name);
    }
}

/* Raw bytes for z, unless it has some; none means the end. */
static int raw_more(struct tare_in *in, struct tare_error *err)
{
    size_t n = 0;
    if (in->z.avail_in > 0)
        return 0;
    if (raw_read(in, in->raw, sizeof in->raw, &n, err) < 0)
        return -1;
    in->z.next_in = in->raw;
    in->z.avail_in = (uInt)n;
    return 0;
}

static int damaged(struct tare_in *in, struct tare_error *err)
{
    return tare_fail(err, TARE_E_INPUT, 0, "'%s' is damaged: its gzip data cannot be read", in->name);
}

/* After a member's end: another one (gzip files may be concatenated), padding with zeros, or the end. */
static int next_member(struct tare_in *in, struct tare_error *err)
{
    for (;;) {
        if (raw_more(in, err) < 0)
            return -1;
        if (in->z.avail_in == 0) {
            in->ended = true;
            return 0;
        }
        if (*in->z.next_in != 0)
            break;
        in->z.next_in++;
        in->z.avail_in--;
        in->padded = true;
    }
    if (in->padded || *in->z.next_in != 0x1f)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' is damaged: something follows its gzip data", in->name);
    return inflateReset(&in->z) == Z_OK ? 0 : damaged(in, err);
}

/* Decompress at least one byte behind window_end, unless the stream ends. */
static int inflate_more(struct tare_in *in, struct tare_error *err)
{
    uInt room = (uInt)(sizeof in->window - in->window_end);
    in->z.next_out = in->window + in->window_end;
    in->z.avail_out = room;
    while (in->z.avail_out == room) {
        if (raw_more(in, err) < 0)
            return -1;
        if (in->z.avail_in == 0)
            return tare_fail(err, TARE_E_INPUT, 0, "'%s' is cut short: its gzip data ends early", in->name);
        int rc = inflate(&in->z, Z_NO_FLUSH);
        if (rc == Z_STREAM_END) {
            if (next_member(in, err) < 0)
                return -1;
            if (in->ended)
                break;
            continue;
        }
        if (rc == Z_MEM_ERROR)
            return tare_fail_memory(err);
        if (rc != Z_OK && rc != Z_BUF_ERROR)
            return damaged(in, err);
    }
    in->window_end += room - in->z.avail_out;
    return 0;
}

/* Put more bytes behind the unread ones, which move to the window's start; none more means the end. */
static int fill(struct tare_in *in, struct tare_error *err)
{
    size_t unread = in->window_end - in->window_at;
    memmove(in->window, in->window + in->window_at, unread);
    in->window_at = 0;
    in->window_end = unread;
    if (in->ended)
        return 0;
    if (in->compressed)
        return inflate_more(in, err);
    size_t n;
    if (raw_read(in, in->window + unread, sizeof in->window - unread, &n, err) < 0)
        return -1;
    in->ended = n == 0;
    in->window_end += n;
    return 0;
}

/* From the first raw byte: is it gzip? Readies the first window either way. */
static int start(struct tare_in *in, struct tare_error *err)
{
    in->window_at = in->window_end = 0;
    in->position = in->raw_position = 0;
    in->ended = false;
    in->padded = false;
    in->compressed = false;
    if (in->stream_open)
        inflateEnd(&in->z);
    in->stream_open = false;
    while (in->window_end < 2) {
        size_t n;
        if (raw_read(in, in->window + in->window_end, sizeof in->window - in->window_end, &n, err) < 0)
            return -1;
        if (n == 0)
            break;
        in->window_end += n;
    }
    if (in->window_end < 2 || in->window[0] != 0x1f || in->window[1] != 0x8b)
        return 0;
    in->compressed = true;
    in->z = (z_stream){0};
    if (inflateInit2(&in->z, 15 + 16) != Z_OK)
        return tare_fail_memory(err);
    in->stream_open = true;
    memcpy(in->raw, in->window, in->window_end);
    in->z.next_in = in->raw;
    in->z.avail_in = (uInt)in->window_end;
    in->window_end = 0;
    return inflate_more(in, err);
}

static int spool_pipe(struct tare_in *in, struct tare_error *err)
{
    for (;;) {
        char *where = tare_buf_reserve(&in->spool, WINDOW_BYTES);
        if (!where && in->spool.length + WINDOW_BYTES <= PIPE_CAP)
            return tare_fail_memory(err);
        if (!where)
            return tare_fail(err, TARE_E_LIMIT, 0,
                             "'%s' is a pipe with more than %zu bytes; save it to a file first", in->name,
                             PIPE_CAP);
        size_t n;
        if (raw_read(in, (uint8_t *)where, WINDOW_BYTES, &n, err) < 0)
            return -1;
        if (n == 0)
            break;
        in->spool.length += n;
    }
    if (in->owned)
        close(in->fd);
    in->fd = -1;
    in->memory = (const uint8_t *)in->spool.data;
    in->memory_size = in->spool.length;
    return 0;
}

static struct tare_in *create(const char *name)
{
    struct tare_in *in = calloc(1, sizeof *in);
    if (!in)
        return NULL;
    in->fd = -1;
    tare_buf_init(&in->spool, PIPE_CAP);
    in->name = strdup(name);
    if (!in->name) {
        free(in);
        return NULL;
    }
    return in;
}

int tare_in_open(const char *path, struct tare_in **ret_in, struct tare_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    struct tare_in *in = create(standard ? "standard input" : path);
    if (!in)
        return tare_fail_memory(err);
    int rc = -1;
    struct stat st;
    in->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    in->owned = !standard;
    if (in->fd < 0) {
        rc = tare_fail(err, TARE_E_IO, errno, "cannot open '%s'", path);
        goto out;
    }
    if (fstat(in->fd, &st) < 0) {
        rc = tare_fail(err, TARE_E_IO, errno, "cannot look at '%s'", path);
        goto out;
    }
    if (S_ISDIR(st.st_mode)) {
        rc = tare_fail(err, TARE_E_INPUT, 0, "'%s' is a folder; name a file in it", path);
        goto out;
    }
    in->fd_start = S_ISREG(st.st_mode) ? lseek(in->fd, 0, SEEK_CUR) : -1;
    if (in->fd_start < 0 && spool_pipe(in, err) < 0)
        goto out;
    if (start(in, err) < 0)
        goto out;
    *ret_in = in;
    return 0;
out:
    tare_in_close(in);
    return rc;
}

int tare_in_open_memory(const void *data, size_t size, const char *name, struct tare_in **ret_in,
                        struct tare_error *err)
{
    struct tare_in *in = create(name);
    if (!in)
        return tare_fail_memory(err);
    in->memory = data;
    in->memory_size = size;
    if (start(in, err) < 0) {
        tare_in_close(in);
        return -1;
    }
    *ret_in = in;
    return 0;
}

void tare_in_close(struct tare_in *in)
{
    if (!in)
        return;
    if (in->owned && in->fd >= 0)
        close(in->fd);
    if (in->stream_open)
        inflateEnd(&in->z);
    tare_buf_finish(&in->spool);
    free(in->name);
    free(in);
}

const char *tare_in_name(const struct tare_in *in)
{
    return in->name;
}

bool tare_in_compressed(const struct tare_in *in)
{
    return in->compressed;
}

int tare_in_peek(struct tare_in *in, size_t length, const uint8_t **ret_data, size_t *ret_length,
                 struct tare_error *err)
{
    if (length > PEEK_BYTES)
        length = PEEK_BYTES;
    while (in->window_end - in->window_at < length && !in->ended)
        if (fill(in, err) < 0)
            return -1;
    size_t left = in->window_end - in->window_at;
    *ret_data = in->window + in->window_at;
    *ret_length = left < length ? left : length;
    return 0;
}

int tare_in_read(struct tare_in *in, void *data, size_t length, size_t *ret_length, struct tare_error *err)
{
    if (in->window_at == in->window_end && fill(in, err) < 0)
        return -1;
    size_t left = in->window_end - in->window_at;
    size_t n = length < left ? length : left;
    memcpy(data, in->window + in->window_at, n);
    in->window_at += n;
    in->position += n;
    *ret_length = n;
    return 0;
}

int tare_in_byte(struct tare_in *in, int *ret_byte, struct tare_error *err)
{
    if (in->window_at == in->window_end) {
        if (fill(in, err) < 0)
            return -1;
        if (in->window_at == in->window_end) {
            *ret_byte = -1;
            return 0;
        }
    }
    *ret_byte = in->window[in->window_at++];
    in->position++;
    return 0;
}

int tare_in_all(struct tare_in *in, struct tare_buf *buf, struct tare_error *err)
{
    for (;;) {
        if (in->window_at == in->window_end && fill(in, err) < 0)
            return -1;
        size_t left = in->window_end - in->window_at;
        if (left == 0)
            return 0;
        tare_buf_add(buf, in->window + in->window_at, left);
        if (buf->failed && left > buf->cap - buf->length)
            return tare_fail(err, TARE_E_LIMIT, 0, "'%s' holds more than %zu bytes", in->name, buf->cap);
        if (tare_buf_check(buf, err) < 0)
            return -1;
        in->window_at = in->window_end;
        in->position += left;
    }
}

int tare_in_skip(struct tare_in *in, uint64_t length, struct tare_error *err)
{
    while (length) {
        if (in->window_at == in->window_end && fill(in, err) < 0)
            return -1;
        size_t left = in->window_end - in->window_at;
        if (left == 0)
            return tare_fail(err, TARE_E_INPUT, 0, "'%s' is cut short", in->name);
        size_t n = length < left ? (size_t)length : left;
        in->window_at += n;
        in->position += n;
        length -= n;
    }
    return 0;
}

uint64_t tare_in_position(const struct tare_in *in)
{
    return in->position;
}

uint64_t tare_in_raw_position(const struct tare_in *in)
{
    return in->raw_position;
}

int tare_in_rewind(struct tare_in *in, struct tare_error *err)
{
    in->memory_at = 0;
    if (in->fd >= 0 && lseek(in->fd, in->fd_start, SEEK_SET) < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot read '%s' twice", in->name);
    return start(in, err);
}
