/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking a question in a process of its own, because the answer may crash, hang or be forbidden: a function
 * of ours, or another program without a shell. Several may be under way at once; one deadline holds for all,
 * after which those still running are killed with their group. What they answer is bounded. Standard input,
 * output and error of the child are /dev/null; only its answer comes back. A child dies with the thread that
 * started it. Not thread-safe per ask; the caller must not reap children of others meanwhile.
 */
#ifndef TARE_FLOW_ASK_H
#define TARE_FLOW_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TARE_ASK_ANSWER = 8192 };

struct tare_ask {
    pid_t pid;                    /* 0 when there is none, or it has been reaped */
    int fd;                       /* where its answer comes from; -1 when that has ended */
    char answer[TARE_ASK_ANSWER]; /* NUL-terminated; binary answers go by length */
    size_t length;
    int status;    /* as waitpid gives it */
    bool finished; /* it ended by itself, in time */
};

/** Fork and call answer, which writes to fd; the child then exits with what it returns. False when there can
 * be no child: then the ask is finished in no way and has no answer. */
bool tare_ask_start(struct tare_ask *ask, int (*answer)(void *context, int fd), void *context);

/** Run a program, named by its path, and take its standard output as the answer. */
bool tare_ask_program(struct tare_ask *ask, const char *const *argv);

/** Wait for all of them, at most until so many nanoseconds from now; kill those that are late. */
void tare_ask_wait(struct tare_ask *asks, size_t count, int64_t timeout_ns);

/** It ended in time, by itself, with status 0. */
bool tare_ask_succeeded(const struct tare_ask *ask);

#endif
