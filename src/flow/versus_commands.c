/* SPDX-License-Identifier: Apache-2.0 */
/* Two commands compared by running them: time, processor time and memory of each process. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "flow/versus.h"

static const struct tare_versus_metric metrics[] = {
    {"", "time", "ms", 1e6},
    {"", "cpu", "ms", 1e6},
    {"", "memory.peak", "MB", 1e6},
};

enum { METRICS = sizeof metrics / sizeof metrics[0] };

struct commands {
    const char *command[2];
};

static void begin(const char *command)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static double cpu_ns(const struct rusage *use)
{
    return 1e9 * (double)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) +
           1e3 * (double)(use->ru_utime.tv_usec + use->ru_stime.tv_usec);
}

static int process(const char *command, struct tare_verdict_process *ret_runs, struct tare_error *err)
{
    struct rusage use;
    int status;
    int64_t start = tare_clock_ns();
    pid_t child = fork();
    if (child < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot start '%.80s'", command);
    if (child == 0)
        begin(command);
    while (wait4(child, &status, 0, &use) < 0)
        if (errno != EINTR)
            return tare_fail(err, TARE_E_IO, errno, "cannot wait for '%.80s'", command);
    double time_ns = (double)(tare_clock_ns() - start);
    if (WIFSIGNALED(status))
        return tare_fail(err, TARE_E_INPUT, 0, "'%.80s' was ended by signal %d (%s)", command,
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status))
        return tare_fail(err, TARE_E_INPUT, 0,
                         "'%.80s' ended with status %d: run it by itself to see what is wrong", command,
                         WEXITSTATUS(status));
    /* The kernel counts processor time in ticks: a command of less than one has used some all the same. */
    double cpu = cpu_ns(&use) > 0 ? cpu_ns(&use) : 1e3;
    ret_runs[0] = (struct tare_verdict_process){.cost = time_ns};
    ret_runs[1] = (struct tare_verdict_process){.cost = cpu};
    ret_runs[2] =
        (struct tare_verdict_process){.cost = 1024.0 * (double)(use.ru_maxrss > 0 ? use.ru_maxrss : 1)};
    return 0;
}

static int bout(void *data, bool b_first, struct tare_versus_bout *ret_bout, struct tare_error *err)
{
    const struct commands *commands = data;
    if (process(commands->command[b_first], ret_bout->runs[b_first], err) ||
        process(commands->command[!b_first], ret_bout->runs[!b_first], err))
        return -1;
    for (size_t m = 0; m < METRICS; m++)
        ret_bout->logs[m] = log(ret_bout->runs[1][m].cost / ret_bout->runs[0][m].cost);
    return 0;
}

int tare_versus_commands(const char *a, const char *b, const struct tare_versus_options *options,
                         struct tare_arena *arena, struct tare_verdicts *ret_verdicts, struct tare_error *err)
{
    struct commands commands = {.command = {a, b}};
    struct tare_versus versus = {
        .metrics = metrics,
        .metrics_count = METRICS,
        .data = &commands,
        .bout = bout,
        .options = options,
        .end_ns = tare_clock_ns() + options->time_ns,
    };
    struct tare_verdict_process warm[METRICS];
    *ret_verdicts = (struct tare_verdicts){
        .arena = arena, .a = a, .b = b, .comparable = true, .threshold = options->rule.threshold};
    /* Once each, so that neither pays alone for what is read from disk for the first time. */
    if (process(a, warm, err) || process(b, warm, err) || tare_versus_run(&versus, ret_verdicts, err))
        return -1;
    tare_verdicts_label(ret_verdicts);
    tare_verdicts_sort(ret_verdicts);
    return tare_arena_check(arena, err);
}
