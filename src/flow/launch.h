/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a program and waiting for it so that nobody notices the parent. The program has our descriptors,
 * our process group and our terminal, and every signal's disposition and the mask as we got them. What the
 * terminal sends to the group it has received itself; what somebody sends to us is handed on. When it stops
 * we stop too, so that the shell sees it, and when we are continued so is it. As the first process of a
 * container it takes in orphans. Signals are waited for, not handled: no state beside the caller's stack.
 * Call it from one thread, with no other children under way.
 */
#ifndef TARE_FLOW_LAUNCH_H
#define TARE_FLOW_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct tare_launch {
    const char *path;               /* of the program, with a slash */
    const char *const *argv;        /* ended by NULL */
    const char *const *environment; /* "NAME=value" to set, and "NAME" to unset; ended by NULL */
    bool pipe_ignored;              /* the program is to ignore SIGPIPE, whatever we do */
};

struct tare_launch_end {
    pid_t pid;
    int status;     /* as waitpid gives it */
    int refused;    /* errno when it could not be executed; 0 when it ran */
    uint64_t ticks; /* of base/clock's counter: when it ended */
};

/** Run it to its end. Fails when there can be no process; a program that cannot be executed is no failure
 * here. */
int tare_launch(const struct tare_launch *launch, struct tare_launch_end *ret_end, struct tare_error *err);

/** The exit status that tells how it ended: its own, 128 + the signal, 126 or 127 if it could not run. */
int tare_launch_status(const struct tare_launch_end *end);

#endif
