/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/words.h"

/* What we answer to while waiting. Everything else does to us what it always does. */
static const int watched[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,  SIGUSR2,
                              SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGWINCH, SIGCHLD};

struct waiting {
    pid_t pid;
    sigset_t set;
    int status;
    bool ended;
};

/* "NAME=value" sets, "NAME" unsets. */
static void set_environment(const char *const *environment)
{
    for (; *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        char *name = strndup(*environment, equals ? (size_t)(equals - *environment) : strlen(*environment));
        if (name && equals)
            setenv(name, equals + 1, 1);
        else if (name)
            unsetenv(name);
        free(name);
    }
}

/* In the child: be as we were when we were started, and become the program. Tells errno if that fails. */
static void become(const struct tare_launch *launch, const sigset_t *mask, const struct sigaction *child,
                   int told)
{
    struct sigaction pipe = {.sa_handler = launch->pipe_ignored ? SIG_IGN : SIG_DFL};
    sigaction(SIGPIPE, &pipe, NULL);
    sigaction(SIGCHLD, child, NULL);
    set_environment(launch->environment);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execv(launch->path, tare_words_argv(launch->argv));
    int why = errno;
    ssize_t written = write(told, &why, sizeof why);
    _exit(written == sizeof why ? 127 : 126);
}

/* Did the terminal or the kernel send it? Then it went to the whole group, and the program has it. */
static bool program_has(const struct waiting *waiting, const siginfo_t *info)
{
    bool from_process = info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
    /* What the program does to its own group it has done to itself. */
    return !from_process || info->si_pid == waiting->pid;
}

/* Stop as the program did. Our own disposition is still the one it inherited, so we stop if it could. */
static void stop_too(int number)
{
    sigset_t one;
    if (number == SIGSTOP) {
        raise(SIGSTOP);
        return;
    }
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    sigprocmask(SIG_BLOCK, &one, NULL);
}

/* Take in whoever changed; as the first process of a container those are not only ours. */
static void reap(struct waiting *waiting)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) != 0) {
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return;
        if (pid != waiting->pid)
            continue;
        if (WIFSTOPPED(status)) {
            stop_too(WSTOPSIG(status));
            continue;
        }
        waiting->status = status;
        waiting->ended = true;
        return;
    }
}

static void wait_for(struct waiting *waiting)
{
    siginfo_t info;
    struct timespec no_time = {0};
    while (!waiting->ended) {
        int number = sigwaitinfo(&waiting->set, &info);
        if (number == SIGCHLD)
            reap(waiting);
        else if (number > 0 && (number == SIGCONT || !program_has(waiting, &info)))
            kill(waiting->pid, number);
    }
    /* What came with its end is answered by its end. */
    while (sigtimedwait(&waiting->set, &info, &no_time) > 0)
        ;
}

int tare_launch(const struct tare_launch *launch, struct tare_launch_end *ret_end, struct tare_error *err)
{
    struct waiting waiting = {0};
    struct sigaction child_before, child_default = {.sa_handler = SIG_DFL};
    struct tare_clock clock;
    uint64_t ticks = 0;
    sigset_t before;
    int told[2];
    if (pipe2(told, O_CLOEXEC) < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot start '%s'", launch->path);
    sigemptyset(&waiting.set);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
        sigaddset(&waiting.set, watched[i]);
    /* Held back from here on, so that none is lost between the two processes. */
    sigprocmask(SIG_BLOCK, &waiting.set, &before);
    sigaction(SIGCHLD, &child_default, &child_before);
    waiting.pid = fork();
    if (waiting.pid == 0)
        become(launch, &before, &child_before, told[1]);
    int fork_errno = errno, why = 0;
    close(told[1]);
    if (waiting.pid > 0) {
        /* Measures for a moment, while the program starts. */
        tare_clock_init(&clock);
        if (read(told[0], &why, sizeof why) != sizeof why)
            why = 0;
        wait_for(&waiting);
        ticks = tare_clock_ticks(&clock);
    }
    close(told[0]);
    sigaction(SIGCHLD, &child_before, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (waiting.pid < 0)
        return tare_fail(err, TARE_E_IO, fork_errno, "cannot start '%s'", launch->path);
    *ret_end = (struct tare_launch_end){
        .pid = waiting.pid, .status = waiting.status, .refused = why, .ticks = ticks};
    return 0;
}

int tare_launch_status(const struct tare_launch_end *end)
{
    if (end->refused)
        return end->refused == ENOENT || end->refused == ENOTDIR ? 127 : 126;
    return WIFSIGNALED(end->status) ? 128 + WTERMSIG(end->status) : WEXITSTATUS(end->status);
}
