/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_callable.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock_now.h"

struct callable_engine {
    struct tare_engine base;
    struct callable_parts parts;
    PyObject **argv; /* argv[0] is room that vectorcall may use; then positional, then keyword values */
    size_t positional;
    PyObject *names;                 /* of the keyword values; NULL: none */
    int64_t *noted[CALLABLE_STAGES]; /* NULL while nothing is noted */
    size_t noted_count, noted_room;
};

static struct callable_engine *callable_of(struct tare_engine *engine)
{
    return (struct callable_engine *)(void *)engine;
}

static void callable_about(const struct tare_engine *engine, struct tare_engine_about *ret_about)
{
    (void)engine;
    *ret_about = (struct tare_engine_about){.name = "python", .version = PY_VERSION, .path = ""};
}

static int callable_bind(struct tare_engine *engine, const struct tare_tensor *inputs, size_t count,
                         struct tare_error *err)
{
    (void)engine, (void)inputs, (void)count;
    return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                     "a Python callable keeps the arguments that it was made with");
}

/* What preprocessing returned is handed on as people write it: a tuple as arguments, a dict by name. */
static PyObject *call_with(PyObject *model, PyObject *data)
{
    if (PyTuple_Check(data))
        return PyObject_Call(model, data, NULL);
    if (PyDict_Check(data)) {
        PyObject *none = PyTuple_New(0);
        PyObject *result = none ? PyObject_Call(model, none, data) : NULL;
        Py_XDECREF(none);
        return result;
    }
    return PyObject_CallOneArg(model, data);
}

static PyObject *call_model(const struct callable_engine *self, PyObject *data)
{
    PyObject *result =
        data ? call_with(self->parts.model, data)
             : PyObject_Vectorcall(self->parts.model, self->argv + 1,
                                   self->positional | PY_VECTORCALL_ARGUMENTS_OFFSET, self->names);
    if (result && self->parts.synchronize) {
        PyObject *done = PyObject_CallNoArgs(self->parts.synchronize);
        if (!done)
            Py_CLEAR(result);
        Py_XDECREF(done);
    }
    return result;
}

static int failed(struct tare_error *err)
{
    return tare_fail(err, TARE_E_INPUT, 0, "the call raised an exception");
}

static int callable_run(struct tare_engine *engine, struct tare_error *err)
{
    const struct callable_engine *self = callable_of(engine);
    PyObject *result = call_model(self, NULL);
    if (!result || PyErr_CheckSignals() < 0) {
        Py_XDECREF(result);
        return failed(err);
    }
    Py_DECREF(result);
    return 0;
}

static void note(struct callable_engine *self, const uint64_t *ticks)
{
    const struct tare_clock *clock = self->parts.clock;
    if (self->noted_count >= self->noted_room)
        return;
    for (int i = 0; i < CALLABLE_STAGES; i++) {
        double ns = (double)tare_clock_span_ns(clock, ticks[i + 1] - ticks[i]) - clock->read_ns;
        self->noted[i][self->noted_count] = llround(fmax(0, ns));
    }
    self->noted_count++;
}

static int pipeline_run(struct tare_engine *engine, struct tare_error *err)
{
    struct callable_engine *self = callable_of(engine);
    const struct tare_clock *clock = self->parts.clock;
    PyObject *data = NULL, *result = NULL, *answer = NULL;
    uint64_t ticks[CALLABLE_STAGES + 1];
    int status = -1;
    ticks[0] = tare_clock_now(clock);
    if (self->parts.preprocess) {
        data = PyObject_CallOneArg(self->parts.preprocess, self->argv[1]);
        if (!data)
            goto out;
    }
    ticks[1] = tare_clock_now(clock);
    result = call_model(self, data);
    if (!result)
        goto out;
    ticks[2] = tare_clock_now(clock);
    if (self->parts.postprocess) {
        answer = PyObject_CallOneArg(self->parts.postprocess, result);
        if (!answer)
            goto out;
    }
    ticks[3] = tare_clock_now(clock);
    if (PyErr_CheckSignals() < 0)
        goto out;
    note(self, ticks);
    status = 0;
out:
    Py_XDECREF(data);
    Py_XDECREF(result);
    Py_XDECREF(answer);
    return status < 0 ? failed(err) : 0;
}

static int callable_outputs(struct tare_engine *engine, struct tare_arena *arena,
                            struct tare_tensor **ret_outputs, size_t *ret_count, struct tare_error *err)
{
    (void)engine, (void)arena, (void)ret_outputs, (void)ret_count;
    return tare_fail(err, TARE_E_UNSUPPORTED, 0, "what a Python callable returns is not kept");
}

static void callable_memory(struct tare_engine *engine, struct tare_engine_memory *ret_memory)
{
    (void)engine;
    *ret_memory = (struct tare_engine_memory){-1, -1, -1, -1, -1, -1, -1, -1};
}

static int callable_profile_end(struct tare_engine *engine, struct tare_arena *arena, const char **ret_path,
                                struct tare_error *err)
{
    (void)engine, (void)arena, (void)ret_path;
    return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                     "a Python callable has no profiler of its own: use tare run");
}

static void callable_close(struct tare_engine *engine)
{
    struct callable_engine *self = callable_of(engine);
    for (int i = 0; i < CALLABLE_STAGES; i++)
        free(self->noted[i]);
    Py_XDECREF(self->names);
    free(self->argv);
    free(self);
}

static const struct tare_engine_kind callable_kind = {
    .name = "python",
    .about = callable_about,
    .bind = callable_bind,
    .run = callable_run,
    .outputs = callable_outputs,
    .memory = callable_memory,
    .profile_end = callable_profile_end,
    .close = callable_close,
};

static const struct tare_engine_kind pipeline_kind = {
    .name = "python",
    .about = callable_about,
    .bind = callable_bind,
    .run = pipeline_run,
    .outputs = callable_outputs,
    .memory = callable_memory,
    .profile_end = callable_profile_end,
    .close = callable_close,
};

/* Positional arguments, then the values of keywords, whose names go into a tuple. */
static int lay_out(struct callable_engine *self)
{
    PyObject *args = self->parts.args, *kwargs = self->parts.kwargs;
    Py_ssize_t positional = PyTuple_GET_SIZE(args), named = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
    self->argv = calloc((size_t)(positional + named) + 2, sizeof *self->argv);
    self->names = named ? PyTuple_New(named) : NULL;
    if (!self->argv || (named && !self->names)) {
        PyErr_NoMemory();
        return -1;
    }
    self->positional = (size_t)positional;
    for (Py_ssize_t i = 0; i < positional; i++)
        self->argv[1 + i] = PyTuple_GET_ITEM(args, i);
    Py_ssize_t place = 0;
    PyObject *key, *value;
    for (Py_ssize_t i = 0; named && i < named && PyDict_Next(kwargs, &place, &key, &value); i++) {
        self->argv[1 + positional + i] = value;
        PyTuple_SET_ITEM(self->names, i, Py_NewRef(key));
    }
    return 0;
}

struct tare_engine *engine_callable_create(const struct callable_parts *parts)
{
    struct callable_engine *self = calloc(1, sizeof *self);
    if (!self) {
        PyErr_NoMemory();
        return NULL;
    }
    self->base.kind = parts->preprocess || parts->postprocess ? &pipeline_kind : &callable_kind;
    self->parts = *parts;
    if (lay_out(self) < 0) {
        callable_close(&self->base);
        return NULL;
    }
    if (parts->preprocess && self->positional + (size_t)(self->names != NULL) != 1) {
        PyErr_SetString(PyExc_TypeError, "preprocess takes one thing: the input data");
        callable_close(&self->base);
        return NULL;
    }
    return &self->base;
}

int engine_callable_note(struct tare_engine *engine, size_t calls)
{
    struct callable_engine *self = callable_of(engine);
    self->noted_count = self->noted_room = 0;
    for (int i = 0; i < CALLABLE_STAGES; i++) {
        free(self->noted[i]);
        self->noted[i] = calloc(calls ? calls : 1, sizeof **self->noted);
        if (!self->noted[i]) {
            PyErr_NoMemory();
            return -1;
        }
    }
    self->noted_room = calls;
    return 0;
}

const int64_t *engine_callable_noted(const struct tare_engine *engine, enum callable_stage stage,
                                     size_t *ret_count)
{
    const struct callable_engine *self = (const struct callable_engine *)(const void *)engine;
    *ret_count = self->noted_count;
    return self->noted[stage];
}
