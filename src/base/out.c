/* SPDX-License-Identifier: Apache-2.0 */
#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
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

/* The file that a path means: symbolic links are followed, also to where nothing is yet, so that the link
 * survives and what it points to is replaced. NULL with errno set. */
static char *target_of(const char *path)
{
    char *at = strdup(path);
    for (int links = 0; at && links < 40; links++) {
        char link[PATH_MAX];
        ssize_t length = readlink(at, link, sizeof link - 1);
        if (length < 0)
            return at;
        link[length] = '\0';
        const char *slash = strrchr(at, '/');
        int folder = link[0] != '/' && slash ? (int)(slash - at) + 1 : 0;
        char *next = NULL;
        if (asprintf(&next, "%.*s%s", folder, at, link) < 0)
            next = NULL;
        free(at);
        at = next;
    }
    errno = at ? ELOOP : ENOMEM;
    free(at);
    return NULL;
}

/* A descriptor by name: /dev/stdout and the like. Opening such a name anew would start again at the first
 * byte of a file that the shell appends to. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *digits = path + strlen(folders[i]);
        if (strncmp(path, folders[i], strlen(folders[i])) != 0 || *digits < '0' || *digits > '9')
            continue;
        char *end;
        unsigned long fd = strtoul(digits, &end, 10);
        if (*end == '\0' && fd <= INT_MAX)
            return (int)fd;
    }
    return -1;
}

/* A name beside path that nobody uses, for what is not whole yet. */
static char *temp_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = (uint32_t)getpid();
    char *temp = NULL;
    /* A file's name may have 255 bytes; what is added must fit behind a long one. */
    if (asprintf(&temp, "%.*s.%.200s.%08" PRIx32, folder, path, path + folder, number) < 0)
        return NULL;
    return temp;
}

/* The folder of path, to make a file in that has no name until it is whole: then even a kill leaves nothing
 * behind. -1 where the file system or a missing /proc does not allow that. */
static int open_unnamed(const char *path)
{
    if (access("/proc/self/fd", X_OK) < 0)
        return -1;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder)
        return -1;
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    free(folder);
    return fd;
}

/* Open a new file for out->path: unnamed if possible, else under a name of its own beside it. */
static int open_beside(struct tare_out *out, const char *shown, struct tare_error *err)
{
    out->fd = open_unnamed(out->path);
    out->unnamed = out->fd >= 0;
    for (int tries = 0; tries < 100; tries++) {
        free(out->temp);
        out->temp = temp_beside(out->path);
        if (!out->temp)
            return tare_fail_memory(err);
        if (out->unnamed)
            return 0;
        out->fd = open(out->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    int sys = errno;
    free(out->temp);
    out->temp = NULL;
    return tare_fail(err, TARE_E_IO, sys, "cannot write '%s'", shown);
}

/* The new file takes over what the old one allowed, and to whom. */
static int keep_permissions(const struct tare_out *out, const struct stat *old, const char *shown,
                            struct tare_error *err)
{
    struct stat now;
    if (fstat(out->fd, &now) < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot write '%s'", shown);
    /* Only root may give a file away; anybody else's new file is their own, as with an editor. */
    bool given = (now.st_uid == old->st_uid && now.st_gid == old->st_gid) ||
                 fchown(out->fd, old->st_uid, old->st_gid) == 0;
    mode_t mode = old->st_mode & (given ? 07777 : 0777);
    if (fchmod(out->fd, mode) < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot set the permissions of '%s'", shown);
    return 0;
}

static int open_into(struct tare_out *out, const char *path, struct tare_error *err)
{
    struct stat st;
    bool exists = stat(path, &st) == 0;
    int standard = descriptor_of(path);
    out->path = target_of(path);
    if (!out->path)
        return tare_fail(err, TARE_E_IO, errno, "cannot write '%s'", path);
    if (path[0] == '\0')
        return tare_fail(err, TARE_E_USAGE, 0, "cannot write to a file without a name");
    if (exists && S_ISDIR(st.st_mode))
        return tare_fail(err, TARE_E_USAGE, 0, "cannot write '%s': it is a folder; name a file in it", path);
    if (standard >= 0 || (exists && !S_ISREG(st.st_mode))) {
        out->fd = standard >= 0 ? fcntl(standard, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_CLOEXEC);
        if (out->fd < 0)
            return tare_fail(err, TARE_E_IO, errno, "cannot write '%s'", path);
        return 0;
    }
    /* Renaming would replace even a file that may not be written to. */
    if (exists && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot write '%s'", path);
    if (open_beside(out, path, err) < 0)
        return -1;
    return exists ? keep_permissions(out, &st, path, err) : 0;
}

int tare_out_open(struct tare_out *out, const char *path, struct tare_error *err)
{
    struct tare_out made = {.fd = -1, .owned = true};
    tare_buf_init(&made.buf, SIZE_MAX);
    if (open_into(&made, path, err) < 0) {
        tare_out_finish(&made);
        return -1;
    }
    *out = made;
    return 0;
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
            /* A pipe that its other users made non-blocking: wait until it has room. */
            struct pollfd room = {.fd = out->fd, .events = POLLOUT};
            if (errno == EAGAIN && (poll(&room, 1, -1) >= 0 || errno == EINTR))
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
    struct tare_error err;
    if (tare_buf_check(&out->buf, &err) < 0)
        tare_out_fail(out, &err);
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

/* Give the whole file its name. */
static void appear(struct tare_out *out)
{
    if (out->unnamed) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", out->fd);
        if (linkat(AT_FDCWD, link, AT_FDCWD, out->temp, AT_SYMLINK_FOLLOW) < 0) {
            fail_with(out, TARE_E_IO, errno, "");
            return;
        }
        out->unnamed = false;
    }
    if (rename(out->temp, out->path) < 0) {
        fail_with(out, TARE_E_IO, errno, "");
        return;
    }
    free(out->temp);
    out->temp = NULL;
}

/* Take away what did not become a result. */
static void disappear(struct tare_out *out)
{
    if (out->owned && out->fd >= 0)
        close(out->fd);
    if (out->owned)
        out->fd = -1;
    if (out->temp && !out->unnamed)
        unlink(out->temp);
    free(out->temp);
    out->temp = NULL;
}

int tare_out_commit(struct tare_out *out, struct tare_error *err)
{
    if (out->fd >= 0)
        flush(out);
    /* A file system may report a lost write only here. */
    if (out->temp && !out->failed && fsync(out->fd) < 0)
        fail_with(out, TARE_E_IO, errno, "");
    if (out->temp && !out->failed)
        appear(out);
    if (out->owned && out->fd >= 0 && !out->failed) {
        if (close(out->fd) < 0)
            fail_with(out, TARE_E_IO, errno, "");
        out->fd = -1;
    }
    if (out->failed) {
        disappear(out);
        if (err)
            *err = out->error;
        return -1;
    }
    return 0;
}

void tare_out_finish(struct tare_out *out)
{
    disappear(out);
    free(out->path);
    tare_buf_finish(&out->buf);
    *out = (struct tare_out){.fd = -1};
    tare_buf_init(&out->buf, 0);
}
