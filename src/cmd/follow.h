/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long work that somebody watches: one line of progress on a terminal and none in a pipe, and Ctrl-C or
 * SIGTERM that end it with what there is; a second one ends it at once. One at a time in a process.
 */
#ifndef TARE_CMD_FOLLOW_H
#define TARE_CMD_FOLLOW_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/cmd.h"

struct tare_follow {
    const volatile sig_atomic_t *stop; /* non-zero once a signal came: which one */
    bool terminal;                     /* standard error is one */
    bool shown;
    int64_t last_ns;
    struct sigaction interrupt, terminate; /* as they were */
    const char *python_argv[5];
    const char *const *worker_argv; /* how workers are started; NULL: as usual */
};

void tare_follow_begin(struct tare_follow *follow);

/** Show what is being done, and how long it may still take at most; nothing in a pipe. */
void tare_follow_show(struct tare_follow *follow, const char *what, const char *text, int64_t left_ns);

/** Take the line of progress away, so that other words can be written. */
void tare_follow_wipe(struct tare_follow *follow);

/** Put signals back; the one that came, or 0. */
int tare_follow_end(struct tare_follow *follow);

#endif
