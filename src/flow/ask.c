/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/words.h"

enum { MAX_ASKS = 64 };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void silence(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
}

bool tare_ask_start(struct tare_ask *ask, int (*answer)(void *context, int fd), void *context)
{
    int ends[2];
    *ask = (struct tare_ask){.fd = -1};
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127);
        setpgid(0, 0);
        /* The command ignores SIGPIPE; a program that it starts must not inherit that. */
        signal(SIGPIPE, SIG_DFL);
        silence();
        _exit(answer(context, ends[1]));
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    setpgid(pid, pid);
    ask->pid = pid;
    ask->fd = ends[0];
    return true;
}

static int run_program(void *context, int fd)
{
    const char *const *argv = context;
    if (chdir("/") < 0 || dup2(fd, STDOUT_FILENO) < 0)
        return 127;
    execv(argv[0], tare_words_argv(argv));
    return 127;
}

bool tare_ask_program(struct tare_ask *ask, const char *const *argv)
{
    union {
        const char *const *given;
        void *passed;
    } words = {.given = argv};
    return tare_ask_start(ask, run_program, words.passed);
}

static void take(struct tare_ask *ask)
{
    char spare[512];
    size_t room = sizeof ask->answer - 1 - ask->length;
    /* Beyond the bound it is still read, so that the child is not stuck, and forgotten. */
    ssize_t got = read(ask->fd, room ? ask->answer + ask->length : spare, room ? room : sizeof spare);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got > 0) {
        ask->length += room ? (size_t)got : 0;
        ask->answer[ask->length] = '\0';
        return;
    }
    close(ask->fd);
    ask->fd = -1;
}

/* Its answer has ended; most often it has too. */
static bool reap(struct tare_ask *ask)
{
    pid_t got = waitpid(ask->pid, &ask->status, WNOHANG);
    if (got == 0)
        return false;
    ask->finished = got == ask->pid;
    ask->pid = 0;
    return true;
}

static void stop(struct tare_ask *ask)
{
    if (ask->pid > 0) {
        kill(-ask->pid, SIGKILL);
        kill(ask->pid, SIGKILL);
        while (waitpid(ask->pid, &ask->status, 0) < 0 && errno == EINTR)
            ;
        ask->pid = 0;
    }
    if (ask->fd >= 0)
        close(ask->fd);
    ask->fd = -1;
}

void tare_ask_wait(struct tare_ask *asks, size_t count, int64_t timeout_ns)
{
    int64_t deadline = now_ns() + timeout_ns;
    for (;;) {
        struct pollfd polls[MAX_ASKS];
        struct tare_ask *polled[MAX_ASKS];
        nfds_t open = 0;
        bool ending = false;
        for (size_t i = 0; i < count; i++) {
            if (asks[i].fd >= 0 && open < MAX_ASKS) {
                polls[open] = (struct pollfd){.fd = asks[i].fd, .events = POLLIN};
                polled[open++] = &asks[i];
            } else if (asks[i].fd < 0 && asks[i].pid > 0 && !reap(&asks[i])) {
                ending = true;
            }
        }
        int64_t left_ms = (deadline - now_ns()) / 1000000;
        if ((open == 0 && !ending) || left_ms <= 0)
            break;
        int wait_ms = ending ? 1 : (int)(left_ms < 60000 ? left_ms : 60000);
        if (poll(polls, open, wait_ms) <= 0)
            continue;
        for (nfds_t i = 0; i < open; i++)
            if (polls[i].revents)
                take(polled[i]);
    }
    for (size_t i = 0; i < count; i++)
        stop(&asks[i]);
}

bool tare_ask_succeeded(const struct tare_ask *ask)
{
    return ask->finished && WIFEXITED(ask->status) && WEXITSTATUS(ask->status) == 0;
}
