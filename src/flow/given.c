/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that the caller has in memory: completed to what the model takes, and, when asked for, timed in this
 * process on the caller's own arrays.
 */
#include "base/clock.h"
#include "bench/inputs.h"
#include "flow/bench_part.h"
#include "flow/inplace.h"

/* Runs that are taken when nobody says how many, and how long warming up may take. */
enum { USUAL_RUNS = 100 };
#define WARM_NS INT64_C(2000000000)

struct tare_inputs_ask tare_bench_ask(const struct tare_bench *bench, const struct tare_worker_spec *spec)
{
    return (struct tare_inputs_ask){.batch = spec->batch,
                                    .dims = spec->dims,
                                    .dims_count = spec->dims_count,
                                    .path = spec->inputs_path,
                                    .given = bench->plan->given,
                                    .given_count = bench->plan->given_count};
}

int tare_bench_inputs(const struct tare_bench *bench, const struct tare_worker_spec *spec,
                      struct tare_arena *arena, struct tare_tensor **ret_inputs, size_t *ret_count,
                      struct tare_error *err)
{
    struct tare_inputs_ask ask = tare_bench_ask(bench, spec);
    struct tare_model *model = NULL;
    struct tare_inputs inputs;
    if (tare_model_open(spec->model_path, &model, err))
        return -1;
    int rc = tare_inputs_make(model, &ask, arena, &inputs, err);
    tare_model_close(model);
    if (rc)
        return -1;
    *ret_inputs = inputs.tensors;
    *ret_count = inputs.count;
    return 0;
}

static int time_here(struct tare_bench *bench, size_t config, const struct tare_clock *clock,
                     struct tare_error *err)
{
    const struct tare_bench_plan *plan = bench->plan;
    const struct tare_worker_spec *spec = &bench->specs[config];
    const struct tare_engine_kind *kind = tare_engine_find(spec->engine);
    struct tare_inplace_warming warming = {.warmup_runs = plan->warmup_runs, .warm_ns = WARM_NS};
    struct tare_run *run = bench->run;
    struct tare_engine *engine = NULL;
    struct tare_engine_about about;
    struct tare_tensor *inputs;
    struct tare_arena arena;
    size_t count;
    int rc = -1;
    tare_arena_init(&arena, 0);
    int64_t before = tare_clock_ns();
    if (kind->open(spec->model_path, &spec->options, &engine, err))
        goto out;
    int64_t loaded = tare_clock_ns() - before;
    kind->about(engine, &about);
    run->engine.version = tare_arena_copy(&run->arena, about.version);
    run->engine.path = tare_arena_copy(&run->arena, about.path);
    if (tare_bench_inputs(bench, spec, &arena, &inputs, &count, err) ||
        kind->bind(engine, inputs, count, err) ||
        tare_inplace_warm(run, config, engine, clock, &warming, err) ||
        tare_inplace_sample(run, config, engine, clock, plan->runs > 0 ? plan->runs : USUAL_RUNS,
                            plan->duration_ns, err))
        goto out;
    run->configs[config].samples[0].load_ns = tare_run_int(loaded);
    run->configs[config].stop = plan->duration_ns > 0 ? TARE_RUN_STOP_DURATION : TARE_RUN_STOP_RUNS;
    rc = tare_run_config_derive(&run->configs[config], err);
out:
    if (engine)
        kind->close(engine);
    tare_arena_finish(&arena);
    return rc;
}

int tare_bench_here(struct tare_bench *bench, struct tare_error *err)
{
    struct tare_clock clock;
    tare_clock_init(&clock);
    for (size_t i = 0; i < bench->specs_count && !tare_bench_stopped(bench); i++) {
        tare_bench_say(bench, TARE_BENCH_MEASURING, "%zu of %zu", i + 1, bench->specs_count);
        if (time_here(bench, i, &clock, err))
            return -1;
    }
    bench->run->procedure.order = "sequential";
    bench->run->procedure.rounds = tare_run_int(1);
    bench->run->procedure.processes = tare_run_int(1);
    bench->run->procedure.processes_at_once = tare_run_int(1);
    /* The runs that were asked for are all taken; the time is for what follows. */
    int64_t late = tare_clock_ns() - bench->deadline_ns;
    if (late > 0) {
        bench->start_ns += late;
        bench->end_ns += late;
    }
    return 0;
}
