/* SPDX-License-Identifier: Apache-2.0 */
#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 64 * 1024 };

void tare_out_init_fd(struct tare_out *out, int fd, const char *name)
{
    *out = (struct tare_out){.fd = fd};
    tare_buf_init(&out->buf, SIZE_MAX);
    out->path = strdup(name);
}

void tare_out_init_memory(struct tare_out *out, size_t cap)
{
    *out = (struct tare_out){.fd = -1};
    tare_buf_init(&out->buf, cap);
}

/* The file that a path means: a symbolic link is followed, so that the link survives and its target is
 * replaced. */
static char *target_of(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : strdup(path);
}

static char *temp_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    char *temp = NULL;
    if (asprintf(&temp, "%.*s.%s.XXXXXX", folder, path, path + folder) < 0)
        return NULL;
    return temp;
}

int tare_out_open(struct tare_out *out, const char *path, struct tare_error *err)
{
    struct tare_out made = {.fd = -1, .owned = true};
    tare_buf_init(&made.buf, SIZE_MAX);
    struct stat st;
    bool exists = stat(path, &st) == 0;
    int rc = -1;

    made.path = target_of(path);
    if (!made.path) {
        rc = tare_fail_memory(err);
        goto out;
    }
    if (exists && S_ISDIR(st.st_mode)) {
        rc = tare_fail(err, TARE_E_USAGE, 0, "cannot write '%s': it is a folder; name a file in it", path);
        goto out;
    }
    if (exists && !S_ISREG(st.st_mode)) {
        made.fd = open(made.path, O_WRONLY | O_CLOEXEC);
        if (made.fd < 0) {
            rc = tare_fail(err, TARE_E_IO, errno, "cannot write '%s'", path);
            goto out;
        }
    } else {
        made.temp = temp_beside(made.path);
        if (!made.temp) {
            rc = tare_fail_memory(err);
            goto out;
        }
        made.fd = mkostemp(made.temp, O_CLOEXEC);
        if (made.fd < 0) {
            rc = tare_fail(err, TARE_E_IO, errno, "cannot write '%s'", path);
            free(made.temp);
            made.temp = NULL;
            goto out;
        }
        mode_t mask = umask(0);
        umask(mask);
        mode_t mode = exists ? st.st_mode & 07777 : 0666 & ~mask;
        if (fchmod(made.fd, mode) < 0) {
            rc = tare_fail(err, TARE_E_IO, errno, "cannot set the permissions of '%s'", path);
            goto out;
        }
    }
    *out = made;
    return 0;
out:
    tare_out_finish(&made);
    return rc;
}

static void fail_with(struct tare_out *out, enum tare_code code, int sys, const char *what)
{
    if (out->failed)
        return;
    out->failed = true;
    tare_fail(&out->error, code, sys, "cannot write '%s'%s", out->path ? out->path : "memory", what);
}

static void flush(struct tare_out *out)
{
    const char *data = out->buf.data;
    size_t left = out->buf.length;
    while (left && !out->failed) {
        ssize_t n = write(out->fd, data, left);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            fail_with(out, TARE_E_IO, errno, "");
            break;
        }
        data += n;
        left -= (size_t)n;
    }
    tare_buf_clear(&out->buf);
}

static void after_add(struct tare_out *out)
{
    if (out->buf.failed)
        fail_with(out, TARE_E_MEMORY, 0, ": out of memory");
    else if (out->fd >= 0 && out->buf.length >= BUFFER_BYTES)
        flush(out);
}

void tare_out_add(struct tare_out *out, const void *data, size_t length)
{
    if (out->failed)
        return;
    tare_buf_add(&out->buf, data, length);
    after_add(out);
}

void tare_out_text(struct tare_out *out, const char *text)
{
    tare_out_add(out, text, strlen(text));
}

void tare_out_printf(struct tare_out *out, const char *fmt, ...)
{
    if (out->failed)
        return;
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *where = length < 0 ? NULL : tare_buf_reserve(&out->buf, (size_t)length);
    if (where) {
        vsnprintf(where, (size_t)length + 1, fmt, again);
        out->buf.length += (size_t)length;
    } else {
        out->buf.failed = true;
    }
    va_end(again);
    after_add(out);
}

void tare_out_fail(struct tare_out *out, const struct tare_error *err)
{
    if (out->failed)
        return;
    out->failed = true;
    out->error = *err;
}

int tare_out_commit(struct tare_out *out, struct tare_error *err)
{
    if (out->fd >= 0) {
        flush(out);
        /* A file system may report a lost write only here. */
        if (out->temp && !out->failed && fsync(out->fd) < 0)
            fail_with(out, TARE_E_IO, errno, "");
        if (out->owned && close(out->fd) < 0 && !out->failed)
            fail_with(out, TARE_E_IO, errno, "");
        if (out->owned)
            out->fd = -1;
        if (out->temp && !out->failed) {
            if (rename(out->temp, out->path) < 0) {
                fail_with(out, TARE_E_IO, errno, "");
            } else {
                free(out->temp);
                out->temp = NULL;
            }
        }
    }
    if (out->failed) {
        if (err)
            *err = out->error;
        return -1;
    }
    return 0;
}

void tare_out_finish(struct tare_out *out)
{
    if (out->owned && out->fd >= 0)
        close(out->fd);
    if (out->temp) {
        unlink(out->temp);
        free(out->temp);
    }
    free(out->path);
    tare_buf_finish(&out->buf);
    *out = (struct tare_out){.fd = -1};
    tare_buf_init(&out->buf, 0);
}
