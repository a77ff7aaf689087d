/* SPDX-License-Identifier: Apache-2.0 */
/* Running a plan while somebody watches: progress on a terminal, and Ctrl-C. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cmd/bench_options.h"

/* Ctrl-C arrives in a handler, and a handler reaches nothing but this. */
static volatile sig_atomic_t caught;

static void catch_signal(int number)
{
    caught = number;
}

struct follow {
    const char *name; /* of the command */
    bool shown;
    int64_t last_ns;
};

static void wipe(struct follow *follow)
{
    if (follow->shown)
        fprintf(stderr, "\r\033[K");
    follow->shown = false;
}

static void progress(void *data, enum tare_bench_stage stage, const char *text, int64_t left_ns)
{
    static const char *const stages[] = {"loading", "measuring", "weighing", "layers", "answers", "advice"};
    struct follow *follow = data;
    int64_t now = tare_clock_ns();
    if (follow->shown && now - follow->last_ns < 100000000)
        return;
    follow->last_ns = now;
    fprintf(stderr, "\r\033[K%s: %.60s (at most %lld s left)", stages[stage], text,
            (long long)((left_ns + 999999999) / 1000000000));
    fflush(stderr);
    follow->shown = true;
}

static void row(void *data, const struct tare_run *run, size_t configuration)
{
    struct follow *follow = data;
    const struct tare_run_config *config = &run->configs[configuration];
    struct tare_buf name;
    char rate[TARE_UNITS_TEXT], time[TARE_UNITS_TEXT];
    if (!config->throughput_per_sec.value.known)
        return;
    tare_buf_init(&name, 4096);
    tare_run_config_name(config, &name);
    wipe(follow);
    fprintf(stderr, "%s: %s, %s a call, so far\n", name.data,
            tare_rate_format(rate, sizeof rate, config->throughput_per_sec.value.value, run->unit),
            tare_duration_format(time, sizeof time, config->latency.mean_ns.value.value));
    tare_buf_finish(&name);
}

/* What was typed, as the kernel remembers it. */
static void keep_command(struct tare_run *run)
{
    struct tare_buf buf;
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t got = 1;
    if (!file)
        return;
    tare_buf_init(&buf, 1 << 20);
    while (got) {
        char *room = tare_buf_reserve(&buf, 4096);
        got = room ? fread(room, 1, 4096, file) : 0;
        buf.length += got;
    }
    fclose(file);
    for (size_t at = 0; at < buf.length;) {
        size_t length = strnlen(buf.data + at, buf.length - at);
        const char **word = tare_run_append(run, &run->command, &run->command_count, sizeof *run->command);
        if (!word)
            break;
        *word = tare_arena_text(&run->arena, buf.data + at, length);
        at += length + 1;
    }
    tare_buf_finish(&buf);
}

int tare_bench_follow(const struct tare_cmd_call *call, const struct tare_bench_plan *plan,
                      struct tare_run **ret_run, int *ret_signal, struct tare_error *err)
{
    /* The second Ctrl-C finds the system's own handling again. */
    struct sigaction handler = {.sa_handler = catch_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction interrupt, terminate, current;
    struct follow follow = {.name = call->cmd->name};
    const char *python = getenv("TARE_WORKER_PYTHON");
    const char *const python_argv[] = {python, "-m", "tare", ".worker", NULL};
    struct tare_bench_watch watch = {.data = &follow, .stop = &caught};
    if (isatty(STDERR_FILENO)) {
        watch.progress = progress;
        watch.row = row;
    }
    if (python && *python)
        watch.worker_argv = python_argv;
    caught = 0;
    sigaction(SIGINT, NULL, &interrupt);
    sigaction(SIGTERM, NULL, &terminate);
    current = interrupt;
    if (current.sa_handler != SIG_IGN)
        sigaction(SIGINT, &handler, NULL);
    sigaction(SIGTERM, &handler, NULL);
    int rc = tare_bench(plan, &watch, ret_run, err);
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGTERM, &terminate, NULL);
    wipe(&follow);
    *ret_signal = caught;
    if (rc == 0)
        keep_command(*ret_run);
    return rc;
}
