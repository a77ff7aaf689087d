/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "flow/bench_part.h"
#include "flow/recording.h"

/* What one command may take when nobody says. */
#define USUAL_TIME_NS INT64_C(60000000000)
#define GRACE_NS      INT64_C(1000000000)

/* When each part has to be done, as a share of the time. A part that is left out leaves its time to those
 * before it. */
struct part {
    int (*run)(struct tare_bench *bench, struct tare_error *err);
    size_t off; /* the plan's flag that leaves it out; none for 0 */
    enum tare_bench_stage stage;
    double share;
    const char *name;
};

static int measure(struct tare_bench *bench, struct tare_error *err)
{
    return bench->plan->in_process ? tare_bench_here(bench, err) : tare_bench_measure(bench, err);
}

static const struct part parts[] = {
    {measure, 0, TARE_BENCH_MEASURING, 0.6, "times"},
    {tare_bench_weigh, offsetof(struct tare_bench_plan, no_memory), TARE_BENCH_WEIGHING, 0.15, "memory"},
    {tare_bench_layers, offsetof(struct tare_bench_plan, no_layers), TARE_BENCH_LAYERS, 0.2, "layers"},
    {tare_bench_answers, offsetof(struct tare_bench_plan, no_answers), TARE_BENCH_ANSWERS, 0.1, "answers"},
    {tare_bench_advise, offsetof(struct tare_bench_plan, no_advice), TARE_BENCH_ADVICE, 0.3, "advice"},
};

enum { PARTS = sizeof parts / sizeof parts[0] };

int64_t tare_bench_left_ns(const struct tare_bench *bench)
{
    int64_t left = bench->deadline_ns - tare_clock_ns();
    return left > 0 && !tare_bench_stopped(bench) ? left : 0;
}

bool tare_bench_stopped(const struct tare_bench *bench)
{
    return bench->watch && bench->watch->stop && *bench->watch->stop;
}

void tare_bench_say(const struct tare_bench *bench, enum tare_bench_stage stage, const char *fmt, ...)
{
    char text[256];
    va_list args;
    if (!bench->watch || !bench->watch->progress)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    int64_t left = bench->end_ns - tare_clock_ns();
    bench->watch->progress(bench->watch->data, stage, text, left > 0 ? left : 0);
}

void tare_bench_note(struct tare_bench *bench, const char *fmt, ...)
{
    struct tare_run *run = bench->run;
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (size_t i = 0; i < run->notes_count; i++)
        if (strcmp(run->notes[i], text) == 0)
            return;
    const char **note = tare_run_append(run, &run->notes, &run->notes_count, sizeof *run->notes);
    if (note)
        *note = tare_arena_copy(&run->arena, text);
}

int tare_bench_worker(const struct tare_bench *bench, const struct tare_worker_spec *spec,
                      struct tare_worker **ret_worker, struct tare_worker_ready *ret_ready,
                      struct tare_error *err)
{
    static const char *const usual[] = {"/proc/self/exe", ".worker", NULL};
    /* A call under way may end a little late, not hours. */
    int64_t grace = (bench->end_ns - bench->start_ns) / 10;
    struct tare_worker_start start = {.argv = usual,
                                      .deadline_ns = bench->end_ns + (grace > GRACE_NS ? grace : GRACE_NS)};
    if (bench->watch && bench->watch->worker_argv)
        start.argv = bench->watch->worker_argv;
    if (bench->watch)
        start.stop = bench->watch->stop;
    if (tare_worker_open(&start, spec, ret_worker, ret_ready, err))
        return -1;
    if (bench->plan->given_count == 0)
        return 0;
    struct tare_arena arena;
    struct tare_tensor *inputs;
    size_t count;
    tare_arena_init(&arena, 0);
    int rc = tare_bench_inputs(bench, spec, &arena, &inputs, &count, err) ||
                     tare_worker_feed(*ret_worker, inputs, count, err)
                 ? -1
                 : 0;
    tare_arena_finish(&arena);
    if (rc) {
        tare_worker_close(*ret_worker);
        *ret_worker = NULL;
    }
    return rc;
}

static bool left_out(const struct tare_bench_plan *plan, const struct part *part)
{
    return part->off && *((const bool *)plan + part->off);
}

/* Shares of what is not left out fill the whole time; 3 % are kept for what no part foresees. */
static int64_t part_end(const struct tare_bench *bench, size_t part)
{
    double all = 0, so_far = 0;
    for (size_t i = 0; i < PARTS; i++) {
        double share = left_out(bench->plan, &parts[i]) ? 0 : parts[i].share;
        all += share;
        so_far += i <= part ? share : 0;
    }
    double whole = 0.97 * (double)(bench->end_ns - bench->start_ns);
    return bench->start_ns + (int64_t)(whole * (so_far / all));
}

static bool any_measured(const struct tare_run *run)
{
    for (size_t i = 0; i < run->configs_count; i++)
        if (run->configs[i].status != TARE_RUN_NOT_MEASURED)
            return true;
    return false;
}

/* The time of a run does not tell whether its model can run at all: then the reason is the answer. */
static int refuse_nothing(const struct tare_bench *bench, struct tare_error *err)
{
    const struct tare_run *run = bench->run;
    if (any_measured(run) || tare_bench_stopped(bench))
        return 0;
    const char *why = run->configs_count ? run->configs[0].reason : NULL;
    return tare_fail(err, TARE_E_INPUT, 0, "%s", why ? why : "nothing could be measured");
}

static int do_parts(struct tare_bench *bench, struct tare_error *err)
{
    for (size_t i = 0; i < PARTS; i++) {
        struct tare_error why;
        if (left_out(bench->plan, &parts[i]) || (i > 0 && tare_bench_stopped(bench)))
            continue;
        bench->deadline_ns = part_end(bench, i);
        if (parts[i].run(bench, &why)) {
            /* Without times there is no result; without the rest there is less of one. */
            if (i == 0 || why.code == TARE_E_MEMORY) {
                *err = why;
                return -1;
            }
            if (!tare_bench_stopped(bench))
                tare_bench_note(bench, "%s: not known: %s", parts[i].name, why.msg);
        }
        if (i == 0 && refuse_nothing(bench, err))
            return -1;
    }
    return 0;
}

static int describe(struct tare_bench *bench, struct tare_error *err)
{
    struct tare_run *run = bench->run;
    struct tare_clock clock;
    tare_run_stamp(run, (int64_t)time(NULL));
    tare_clock_init(&clock);
    run->procedure.clock_cost_ns = tare_run_real(clock.read_ns);
    run->procedure.time_limit_ns = tare_run_int(bench->end_ns - bench->start_ns);
    run->engine.name = bench->plan->engine ? bench->plan->engine : "onnxruntime";
    run->machine = tare_arena_alloc(&run->arena, sizeof *run->machine);
    if (!run->machine)
        return tare_fail_memory(err);
    return tare_machine_collect("", &run->arena, run->machine, err);
}

int tare_bench_open(struct tare_bench *bench, const struct tare_bench_plan *plan,
                    const struct tare_bench_watch *watch, struct tare_error *err)
{
    const char *note = NULL;
    *bench = (struct tare_bench){.plan = plan, .watch = watch, .start_ns = tare_clock_ns()};
    bench->end_ns = bench->start_ns + (plan->time_ns > 0 ? plan->time_ns : USUAL_TIME_NS);
    bench->deadline_ns = bench->end_ns;
    tare_arena_init(&bench->arena, 0);
    if (tare_run_create(0, &bench->run, err) ||
        tare_recording_make("/tmp/", &bench->arena, &bench->folder, &note, err) || describe(bench, err) ||
        tare_bench_expand(bench, err)) {
        tare_bench_close(bench);
        return -1;
    }
    return 0;
}

void tare_bench_close(struct tare_bench *bench)
{
    if (bench->folder)
        tare_recording_remove(bench->folder);
    tare_run_destroy(bench->run);
    tare_arena_finish(&bench->arena);
}

int tare_bench(const struct tare_bench_plan *plan, const struct tare_bench_watch *watch,
               struct tare_run **ret_run, struct tare_error *err)
{
    struct tare_bench bench;
    int rc = -1;
    if (tare_bench_open(&bench, plan, watch, err))
        return -1;
    if (tare_threshold_check(plan->thresholds, plan->thresholds_count, bench.run, err) ||
        do_parts(&bench, err))
        goto out;
    bench.run->procedure.time_spent_ns = tare_run_int(tare_clock_ns() - bench.start_ns);
    bench.run->procedure.interrupted = tare_run_flag(tare_bench_stopped(&bench));
    if (tare_threshold_judge(plan->thresholds, plan->thresholds_count, bench.run, err) ||
        tare_arena_check(&bench.run->arena, err) || tare_run_check(bench.run, "the run", err))
        goto out;
    *ret_run = bench.run;
    bench.run = NULL;
    rc = 0;
out:
    tare_bench_close(&bench);
    return rc;
}
