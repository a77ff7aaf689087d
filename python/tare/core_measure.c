/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure(): Python callables, timed in rounds so that whatever changes on the machine hits all alike, into a
 * run. The loop is the harness's; the GIL is held, because what is called is Python.
 */
#include "core_measure.h"

#include <string.h>
#include <time.h>

#include "core/machine.h"
#include "engine_callable.h"
#include "flow/inplace.h"

/* Rounds in which cases take turns; a single case needs one. */
enum { ROUNDS = 5 };

/* What is measured, as Python gave it. */
struct request {
    PyObject *cases; /* a list of (args, kwargs, items, batch) */
    PyObject *model, *preprocess, *postprocess, *synchronize;
    const char *name, *unit, *device, *precision;
    long long runs, warmup_runs, duration_ns, memory_calls;
};

static PyObject *or_null(PyObject *object)
{
    return object == Py_None ? NULL : object;
}

static int describe(struct tare_run *run, const struct request *request, struct tare_error *err)
{
    run->unit = tare_arena_copy(&run->arena, request->unit);
    run->benchmark = run->model.name = tare_arena_copy(&run->arena, request->name);
    run->model.format = "python";
    run->engine.name = "python";
    const char *version = Py_GetVersion();
    run->engine.version = tare_arena_text(&run->arena, version, strcspn(version, " "));
    run->engine.device = tare_arena_copy(&run->arena, request->device);
    run->procedure.order = "interleaved";
    run->procedure.processes = tare_run_int(1);
    run->procedure.processes_at_once = tare_run_int(1);
    tare_run_stamp(run, time(NULL));
    run->machine = tare_arena_alloc(&run->arena, sizeof *run->machine);
    if (!run->machine)
        return tare_fail_memory(err);
    return tare_machine_collect("", &run->arena, run->machine, err);
}

static int add_case(struct tare_run *run, const struct request *request, PyObject *item,
                    const struct tare_clock *clock, struct tare_engine **ret_engine)
{
    PyObject *args, *kwargs;
    double items;
    long long batch;
    if (!PyArg_ParseTuple(item, "O!OdL", &PyTuple_Type, &args, &kwargs, &items, &batch))
        return -1;
    struct callable_parts parts = {
        .preprocess = or_null(request->preprocess),
        .model = request->model,
        .synchronize = or_null(request->synchronize),
        .postprocess = or_null(request->postprocess),
        .args = args,
        .kwargs = or_null(kwargs),
        .clock = clock,
    };
    struct tare_run_config *config = tare_run_append(run, &run->configs, &run->configs_count, sizeof *config);
    if (!config) {
        PyErr_NoMemory();
        return -1;
    }
    config->items_per_call = tare_run_real(items);
    if (batch > 0)
        config->keys.batch = tare_run_int(batch);
    config->keys.precision = tare_arena_copy(&run->arena, request->precision);
    *ret_engine = engine_callable_create(&parts);
    return *ret_engine ? 0 : -1;
}

static int keep_stage(struct tare_run *run, struct tare_run_config *config, const struct tare_engine *engine,
                      enum callable_stage which)
{
    static const char *const names[] = {"preprocess", "inference", "postprocess"};
    size_t count;
    const int64_t *noted = engine_callable_noted(engine, which, &count);
    struct tare_run_stage *stage =
        tare_run_append(run, &config->stages, &config->stages_count, sizeof *stage);
    struct tare_run_process *process =
        stage ? tare_run_append(run, &stage->samples, &stage->samples_count, sizeof *process) : NULL;
    int64_t *ns = process ? tare_arena_array(&run->arena, count + 1, sizeof *ns) : NULL;
    if (!ns)
        return -1;
    if (count > 0)
        memcpy(ns, noted, count * sizeof *ns);
    stage->name = names[which];
    process->process = tare_run_int(0);
    process->ns = ns;
    process->ns_count = count;
    return 0;
}

/* Of the whole pipeline, as means; the order of stages is that of the work. */
static void share_out(struct tare_run_config *config)
{
    double whole = 0;
    for (size_t i = 0; i < config->stages_count; i++)
        whole += config->stages[i].latency.mean_ns.value.value;
    for (size_t i = 0; i < config->stages_count; i++)
        config->stages[i].share = tare_run_real(config->stages[i].latency.mean_ns.value.value / whole);
}

static int measure_all(struct tare_run *run, const struct request *request, const struct tare_clock *clock,
                       struct tare_engine **engines, struct tare_error *err)
{
    bool staged = request->preprocess != Py_None || request->postprocess != Py_None;
    struct tare_inplace_warming warming = {.warmup_runs = request->warmup_runs, .warm_ns = 2000000000};
    int64_t rounds = run->configs_count > 1 && request->runs >= ROUNDS ? ROUNDS : 1;
    for (size_t i = 0; i < run->configs_count; i++) {
        if (tare_inplace_warm(run, i, engines[i], clock, &warming, err) < 0)
            return -1;
        if (staged)
            run->configs[i].calls_per_sample = tare_run_int(1);
        if (staged && engine_callable_note(engines[i], (size_t)request->runs) < 0)
            return -1;
    }
    for (int64_t round = 0; round < rounds; round++) {
        int64_t samples = request->runs * (round + 1) / rounds - request->runs * round / rounds;
        for (size_t i = 0; i < run->configs_count; i++)
            if (tare_inplace_sample(run, i, engines[i], clock, samples, request->duration_ns / rounds, err) <
                0)
                return -1;
    }
    run->procedure.rounds = tare_run_int(rounds);
    for (size_t i = 0; i < run->configs_count; i++) {
        struct tare_run_config *config = &run->configs[i];
        for (int stage = 0; staged && stage < CALLABLE_STAGES; stage++)
            if ((stage != CALLABLE_PREPROCESS || request->preprocess != Py_None) &&
                (stage != CALLABLE_POSTPROCESS || request->postprocess != Py_None) &&
                keep_stage(run, config, engines[i], (enum callable_stage)stage) < 0)
                return tare_fail_memory(err);
        config->stop = request->duration_ns > 0 ? TARE_RUN_STOP_DURATION : TARE_RUN_STOP_RUNS;
        if (tare_run_config_derive(config, err) < 0)
            return -1;
        share_out(config);
        if (request->memory_calls > 0 &&
            tare_inplace_remember(run, i, engines[i], request->memory_calls, err) < 0)
            return -1;
    }
    return 0;
}

static int parse(PyObject *args, PyObject *kwargs, struct request *ret_request)
{
    static char *names[] = {"cases",       "model",       "preprocess",   "postprocess", "synchronize",
                            "name",        "unit",        "device",       "precision",   "runs",
                            "warmup_runs", "duration_ns", "memory_calls", NULL};
    struct request request = {.preprocess = Py_None, .postprocess = Py_None, .synchronize = Py_None};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOOOsssz|LLLL", names, &PyList_Type, &request.cases,
                                     &request.model, &request.preprocess, &request.postprocess,
                                     &request.synchronize, &request.name, &request.unit, &request.device,
                                     &request.precision, &request.runs, &request.warmup_runs,
                                     &request.duration_ns, &request.memory_calls))
        return -1;
    if (request.runs < 1 || request.runs > 100000000 || PyList_GET_SIZE(request.cases) < 1) {
        PyErr_SetString(PyExc_ValueError, "num_runs must be at least 1, and at most 100 million");
        return -1;
    }
    *ret_request = request;
    return 0;
}

PyObject *core_measure(PyObject *module, PyObject *args, PyObject *kwargs)
{
    const struct core_state *state = core_state_of(module);
    struct tare_result result = {0};
    struct tare_error err = {0};
    struct tare_clock clock;
    struct request request;
    PyObject *answer = NULL;
    size_t made = 0, count;
    if (parse(args, kwargs, &request) < 0)
        return NULL;
    count = (size_t)PyList_GET_SIZE(request.cases);
    struct tare_engine **engines = PyMem_Calloc(count, sizeof(struct tare_engine *));
    if (!engines)
        return PyErr_NoMemory();
    tare_clock_init(&clock);
    if (tare_run_create(0, &result.run, &err) < 0 || describe(result.run, &request, &err) < 0)
        goto out;
    for (; made < count; made++)
        if (add_case(result.run, &request, PyList_GET_ITEM(request.cases, (Py_ssize_t)made), &clock,
                     &engines[made]) < 0)
            goto out;
    if (measure_all(result.run, &request, &clock, engines, &err) < 0 ||
        tare_run_check(result.run, "the run", &err) < 0)
        goto out;
    answer = core_result_wrap(state, &result);
out:
    for (size_t i = 0; i < made; i++)
        engines[i]->kind->close(engines[i]);
    PyMem_Free(engines);
    if (!answer) {
        tare_result_finish(&result);
        if (!PyErr_Occurred())
            core_raise(state, &err, NULL);
    }
    return answer;
}
