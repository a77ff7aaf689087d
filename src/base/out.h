/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where results go: a descriptor, a file, or memory. Writers call tare_out_* and never check; the first
 * failure is kept and later writes do nothing. tare_out_commit tells how it went. A file appears under its
 * name whole, at commit, or not at all, also when the process is killed: it is written without a name where
 * the file system can (else beside its place), then renamed. What is not a regular file (a pipe, /dev/null)
 * is written directly. Not thread-safe.
 */
#ifndef TARE_BASE_OUT_H
#define TARE_BASE_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct tare_out {
    struct tare_buf buf; /* what is not written yet; for memory, all of it */
    int fd;              /* -1 for memory */
    bool owned;          /* fd is ours to close */
    bool failed;
    bool unnamed; /* temp is not in the folder yet */
    struct tare_error error;
    char *path; /* where it will appear, or a name for messages */
    char *temp; /* where it is until then; NULL if written directly */
};

/** Write to a descriptor that stays the caller's. name is for messages ("standard output"). */
void tare_out_init_fd(struct tare_out *out, int fd, const char *name);

/** Keep everything in memory, at most cap bytes; the result is out->buf. */
void tare_out_init_memory(struct tare_out *out, size_t cap);

/** Write to a file that appears at commit; an existing one is replaced and keeps its permissions. A symbolic
 * link stays, and what it points to is replaced. */
int tare_out_open(struct tare_out *out, const char *path, struct tare_error *err);

/** Append bytes. */
void tare_out_add(struct tare_out *out, const void *data, size_t length);

/** Append a string. */
void tare_out_text(struct tare_out *out, const char *text);

/** Append formatted text. */
void tare_out_printf(struct tare_out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Let a writer report a failure of its own; the first one is kept. */
void tare_out_fail(struct tare_out *out, const struct tare_error *err);

/** Write what is buffered and make the file appear. On failure nothing is left behind. */
int tare_out_commit(struct tare_out *out, struct tare_error *err);

/** Free it. A file that was not committed disappears. */
void tare_out_finish(struct tare_out *out);

#endif
