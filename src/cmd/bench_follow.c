/* SPDX-License-Identifier: Apache-2.0 */
/* Running a plan while somebody watches. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "cmd/bench_options.h"
#include "cmd/follow.h"

static void progress(void *data, enum tare_bench_stage stage, const char *text, int64_t left_ns)
{
    static const char *const stages[] = {"loading", "measuring", "weighing", "layers", "answers", "advice"};
    tare_follow_show(data, stages[stage], text, left_ns);
}

static void row(void *data, const struct tare_run *run, size_t configuration)
{
    struct tare_follow *follow = data;
    const struct tare_run_config *config = &run->configs[configuration];
    struct tare_buf name;
    char rate[TARE_UNITS_TEXT], time[TARE_UNITS_TEXT];
    if (!config->throughput_per_sec.value.known)
        return;
    tare_buf_init(&name, 4096);
    tare_run_config_name(config, &name);
    tare_follow_wipe(follow);
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

int tare_bench_follow(const struct tare_bench_plan *plan, struct tare_run **ret_run, int *ret_signal,
                      struct tare_error *err)
{
    struct tare_follow follow;
    tare_follow_begin(&follow);
    struct tare_bench_watch watch = {.data = &follow, .stop = follow.stop, .worker_argv = follow.worker_argv};
    if (follow.terminal) {
        watch.progress = progress;
        watch.row = row;
    }
    int rc = tare_bench(plan, &watch, ret_run, err);
    *ret_signal = tare_follow_end(&follow);
    if (rc == 0)
        keep_command(*ret_run);
    return rc;
}
