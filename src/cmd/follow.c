/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

/* Ctrl-C arrives in a handler, and a handler reaches nothing but this. */
static volatile sig_atomic_t caught;

static void catch_signal(int number)
{
    caught = number;
}

void tare_follow_begin(struct tare_follow *follow)
{
    /* The second Ctrl-C finds the system's own handling again. */
    struct sigaction handler = {.sa_handler = catch_signal, .sa_flags = (int)SA_RESETHAND};
    const char *python = getenv("TARE_PYTHON");
    *follow = (struct tare_follow){.stop = &caught, .terminal = isatty(STDERR_FILENO)};
    if (python && *python) {
        follow->python_argv[0] = python;
        follow->python_argv[1] = "-m";
        follow->python_argv[2] = "tare";
        follow->python_argv[3] = ".worker";
        follow->worker_argv = follow->python_argv;
    }
    caught = 0;
    sigaction(SIGINT, NULL, &follow->interrupt);
    sigaction(SIGTERM, NULL, &follow->terminate);
    if (follow->interrupt.sa_handler != SIG_IGN)
        sigaction(SIGINT, &handler, NULL);
    sigaction(SIGTERM, &handler, NULL);
}

void tare_follow_show(struct tare_follow *follow, const char *what, const char *text, int64_t left_ns)
{
    int64_t now = tare_clock_ns();
    if (!follow->terminal || (follow->shown && now - follow->last_ns < 100000000))
        return;
    follow->last_ns = now;
    fprintf(stderr, "\r\033[K%s: %.60s (at most %lld s left)", what, text,
            (long long)((left_ns + 999999999) / 1000000000));
    fflush(stderr);
    follow->shown = true;
}

void tare_follow_wipe(struct tare_follow *follow)
{
    if (follow->shown)
        fprintf(stderr, "\r\033[K");
    follow->shown = false;
}

int tare_follow_end(struct tare_follow *follow)
{
    sigaction(SIGINT, &follow->interrupt, NULL);
    sigaction(SIGTERM, &follow->terminate, NULL);
    tare_follow_wipe(follow);
    return (int)caught;
}
