/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench(plan, worker): tare_bench for Python. The plan is a dictionary whose keys are the fields of struct
 * tare_bench_plan; what is absent or None is the default. The GIL is released while it runs. A signal that
 * Python would answer with an exception ends it as Ctrl-C does, and then raises.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core_measure.h"
#include "flow/bench.h"
#include "tensor_view.h"

/* A plan while it is read. Everything that Python objects back lives in the arena or in views. */
struct reading {
    PyObject *dict;
    struct tare_arena arena;
    struct tare_bench_plan plan;
    struct tensor_view *views;
    size_t views_count;
};

/* Borrowed; NULL when absent or None. */
static PyObject *field(const struct reading *reading, const char *key)
{
    PyObject *value = PyDict_GetItemString(reading->dict, key);
    return value == Py_None ? NULL : value;
}

static const char *text_of(struct reading *reading, PyObject *value)
{
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(value, &bytes))
        return NULL;
    const char *text = tare_arena_copy(&reading->arena, PyBytes_AS_STRING(bytes));
    Py_DECREF(bytes);
    if (!text)
        PyErr_NoMemory();
    return text;
}

static int read_text(struct reading *reading, const char *key, const char **into)
{
    PyObject *value = field(reading, key);
    if (!value)
        return 0;
    *into = text_of(reading, value);
    return *into ? 0 : -1;
}

static int read_int(struct reading *reading, const char *key, int64_t *into)
{
    PyObject *value = field(reading, key);
    if (!value)
        return 0;
    *into = PyLong_AsLongLong(value);
    return *into == -1 && PyErr_Occurred() ? -1 : 0;
}

static int read_flag(struct reading *reading, const char *key, bool *into)
{
    PyObject *value = field(reading, key);
    int truth = value ? PyObject_IsTrue(value) : 0;
    *into = truth > 0;
    return truth < 0 ? -1 : 0;
}

/* A sequence's length and memory for as many things; NULL with an exception set. */
static void *list_of(struct reading *reading, PyObject *list, size_t size, size_t *ret_count)
{
    Py_ssize_t count = PySequence_Size(list);
    void *items = count < 0 ? NULL : tare_arena_array(&reading->arena, (size_t)count + 1, size);
    if (!items) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return NULL;
    }
    *ret_count = (size_t)count;
    return items;
}

static int ints_of(struct reading *reading, PyObject *list, const int64_t **into, size_t *ret_count)
{
    int64_t *items = list_of(reading, list, sizeof *items, ret_count);
    for (size_t i = 0; items && i < *ret_count; i++) {
        PyObject *item = PySequence_GetItem(list, (Py_ssize_t)i);
        items[i] = item ? PyLong_AsLongLong(item) : -1;
        Py_XDECREF(item);
        if (PyErr_Occurred())
            return -1;
    }
    *into = items;
    return items ? 0 : -1;
}

static int read_ints(struct reading *reading, const char *key, const int64_t **into, size_t *ret_count)
{
    PyObject *list = field(reading, key);
    return list ? ints_of(reading, list, into, ret_count) : 0;
}

static int read_texts(struct reading *reading, const char *key, const char *const **into, size_t *ret_count)
{
    PyObject *list = field(reading, key);
    if (!list)
        return 0;
    const char **items = list_of(reading, list, sizeof *items, ret_count);
    for (size_t i = 0; items && i < *ret_count; i++) {
        PyObject *item = PySequence_GetItem(list, (Py_ssize_t)i);
        items[i] = item ? text_of(reading, item) : NULL;
        Py_XDECREF(item);
        if (!items[i])
            return -1;
    }
    *into = items;
    return items ? 0 : -1;
}

/* [(name, [values])] */
static int read_dims(struct reading *reading)
{
    PyObject *list = field(reading, "dims");
    if (!list)
        return 0;
    struct tare_bench_dim *dims = list_of(reading, list, sizeof *dims, &reading->plan.dims_count);
    for (size_t i = 0; dims && i < reading->plan.dims_count; i++) {
        PyObject *item = PySequence_GetItem(list, (Py_ssize_t)i), *values;
        const char *name;
        bool good = item && PyArg_ParseTuple(item, "sO", &name, &values) &&
                    ints_of(reading, values, &dims[i].values, &dims[i].count) == 0;
        if (good)
            dims[i].name = tare_arena_copy(&reading->arena, name);
        Py_XDECREF(item);
        if (!good)
            return -1;
    }
    reading->plan.dims = dims;
    return dims ? 0 : -1;
}

/* [(name, path or None)] */
static int read_precisions(struct reading *reading)
{
    PyObject *list = field(reading, "precisions");
    if (!list)
        return 0;
    struct tare_bench_precision *items =
        list_of(reading, list, sizeof *items, &reading->plan.precisions_count);
    for (size_t i = 0; items && i < reading->plan.precisions_count; i++) {
        PyObject *item = PySequence_GetItem(list, (Py_ssize_t)i);
        const char *name, *path;
        bool good = item && PyArg_ParseTuple(item, "sz", &name, &path);
        if (good)
            items[i] = (struct tare_bench_precision){tare_arena_copy(&reading->arena, name),
                                                     tare_arena_copy(&reading->arena, path)};
        Py_XDECREF(item);
        if (!good)
            return -1;
    }
    reading->plan.precisions = items;
    return items ? 0 : -1;
}

/* {"batch", "threads", "precision", "provider", "dims": [(name, value)]} */
static int read_choice(struct reading *reading, PyObject *dict, struct tare_bench_choice *choice)
{
    struct reading inner = {.dict = dict, .arena = reading->arena};
    PyObject *list;
    int rc = -1;
    struct tare_run_dim *dims = NULL;
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "a configuration is a dictionary");
        return -1;
    }
    if (read_int(&inner, "batch", &choice->batch) || read_int(&inner, "threads", &choice->threads) ||
        read_text(&inner, "precision", &choice->precision) ||
        read_text(&inner, "provider", &choice->provider))
        goto out;
    list = field(&inner, "dims");
    if (list)
        dims = list_of(&inner, list, sizeof *dims, &choice->dims_count);
    for (size_t i = 0; dims && i < choice->dims_count; i++) {
        PyObject *item = PySequence_GetItem(list, (Py_ssize_t)i);
        const char *name;
        long long value;
        bool good = item && PyArg_ParseTuple(item, "sL", &name, &value);
        if (good)
            dims[i] = (struct tare_run_dim){tare_arena_copy(&inner.arena, name), value};
        Py_XDECREF(item);
        if (!good)
            goto out;
    }
    choice->dims = dims;
    rc = list && !dims ? -1 : 0;
out:
    reading->arena = inner.arena;
    return rc;
}

static int read_choices(struct reading *reading)
{
    PyObject *list = field(reading, "choices");
    if (!list)
        return 0;
    struct tare_bench_choice *items = list_of(reading, list, sizeof *items, &reading->plan.choices_count);
    for (size_t i = 0; items && i < reading->plan.choices_count; i++) {
        PyObject *item = PySequence_GetItem(list, (Py_ssize_t)i);
        int rc = item ? read_choice(reading, item, &items[i]) : -1;
        Py_XDECREF(item);
        if (rc)
            return -1;
    }
    reading->plan.choices = items;
    return items ? 0 : -1;
}

/* [(name or None, array)] */
static int read_given(struct reading *reading)
{
    PyObject *list = field(reading, "given");
    size_t count = 0;
    if (!list)
        return 0;
    struct tare_tensor *tensors = list_of(reading, list, sizeof *tensors, &count);
    reading->views = tensors ? tare_arena_array(&reading->arena, count + 1, sizeof *reading->views) : NULL;
    if (!reading->views)
        return -1;
    for (size_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, (Py_ssize_t)i), *array;
        const char *name;
        bool good = item && PyArg_ParseTuple(item, "zO", &name, &array);
        const char *shown = good && name ? tare_arena_copy(&reading->arena, name) : "input_data";
        if (good)
            good = tensor_view_open(array, shown, &reading->views[i]) == 0;
        Py_XDECREF(item);
        if (!good)
            return -1;
        reading->views_count = i + 1;
        tensors[i] = reading->views[i].tensor;
        if (!name)
            tensors[i].name = NULL;
    }
    reading->plan.given = tensors;
    reading->plan.given_count = count;
    return 0;
}

static int read_plan(struct reading *reading)
{
    struct tare_bench_plan *plan = &reading->plan;
    const struct {
        const char *key;
        bool *into;
    } flags[] = {{"no_memory", &plan->no_memory},
                 {"no_layers", &plan->no_layers},
                 {"no_answers", &plan->no_answers},
                 {"no_advice", &plan->no_advice},
                 {"in_process", &plan->in_process}};
    const struct {
        const char *key;
        int64_t *into;
    } numbers[] = {{"items", &plan->items},
                   {"runs", &plan->runs},
                   {"warmup_runs", &plan->warmup_runs},
                   {"duration_ns", &plan->duration_ns},
                   {"time_ns", &plan->time_ns}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (read_flag(reading, flags[i].key, flags[i].into))
            return -1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (read_int(reading, numbers[i].key, numbers[i].into))
            return -1;
    if (read_text(reading, "engine", &plan->engine) || read_text(reading, "model_path", &plan->model_path) ||
        read_text(reading, "library", &plan->library) || read_text(reading, "python", &plan->python) ||
        read_text(reading, "unit", &plan->unit) ||
        read_ints(reading, "batches", &plan->batches, &plan->batches_count) ||
        read_ints(reading, "threads", &plan->threads, &plan->threads_count) ||
        read_texts(reading, "providers", &plan->providers, &plan->providers_count) ||
        read_texts(reading, "groups", &plan->groups, &plan->groups_count) || read_dims(reading) ||
        read_precisions(reading) || read_choices(reading) || read_given(reading))
        return -1;
    if (!plan->model_path)
        PyErr_SetString(PyExc_ValueError, "a plan needs a model_path");
    return plan->model_path ? 0 : -1;
}

/* Python's own handler runs only between its instructions, so whoever waits in C has to ask for it. */
struct interrupt {
    PyThreadState *thread; /* detached while tare works */
    volatile sig_atomic_t stop;
};

static void look_for_signals(void *data, enum tare_bench_stage stage, const char *text, int64_t left_ns)
{
    struct interrupt *interrupt = data;
    (void)stage, (void)text, (void)left_ns;
    if (interrupt->stop)
        return;
    PyEval_RestoreThread(interrupt->thread);
    if (PyErr_CheckSignals() < 0)
        interrupt->stop = 1;
    interrupt->thread = PyEval_SaveThread();
}

static const char **command_of(struct reading *reading, PyObject *list)
{
    size_t count = 0;
    const char **argv = list_of(reading, list, sizeof *argv, &count);
    for (size_t i = 0; argv && i < count; i++) {
        PyObject *item = PySequence_GetItem(list, (Py_ssize_t)i);
        argv[i] = item ? text_of(reading, item) : NULL;
        Py_XDECREF(item);
        if (!argv[i])
            return NULL;
    }
    return argv;
}

PyObject *core_bench(PyObject *module, PyObject *args)
{
    const struct core_state *state = core_state_of(module);
    struct reading reading = {0};
    struct tare_result result = {0};
    struct tare_error err = {0};
    struct interrupt interrupt = {0};
    PyObject *command, *answer = NULL;
    const char **argv;
    int rc;
    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &reading.dict, &command))
        return NULL;
    tare_arena_init(&reading.arena, 0);
    argv = command_of(&reading, command);
    if (!argv || read_plan(&reading) < 0)
        goto out;
    struct tare_bench_watch watch = {
        .data = &interrupt, .progress = look_for_signals, .stop = &interrupt.stop, .worker_argv = argv};
    interrupt.thread = PyEval_SaveThread();
    rc = tare_bench(&reading.plan, &watch, &result.run, &err);
    PyEval_RestoreThread(interrupt.thread);
    if (PyErr_Occurred())
        goto out;
    answer = rc < 0 ? core_raise(state, &err, NULL) : core_result_wrap(state, &result);
out:
    if (!answer)
        tare_result_finish(&result);
    for (size_t i = 0; i < reading.views_count; i++)
        tensor_view_close(&reading.views[i]);
    tare_arena_finish(&reading.arena);
    return answer;
}
