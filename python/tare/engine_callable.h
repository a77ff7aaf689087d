/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine that calls a Python object: a function, a torch module, a pipeline of preprocessing, model and
 * postprocessing whose parts are timed apart. A call is a vectorcall on arguments that were laid out before.
 * When the call raises, the exception stays set and run() fails. Its thread must hold the GIL (or be
 * attached) whenever the harness runs it.
 */
#ifndef TARE_PYTHON_ENGINE_CALLABLE_H
#define TARE_PYTHON_ENGINE_CALLABLE_H

#include "base/clock.h"
#include "bench/engine.h"
#include "core_module.h"

/* What is called. Borrowed: the caller keeps all of it alive. */
struct callable_parts {
    PyObject *preprocess; /* NULL: none. It is given args[0], and its result goes to the model */
    PyObject *model;
    PyObject *synchronize; /* NULL: none. Called after the model, before its time is taken */
    PyObject *postprocess; /* NULL: none. It is given what the model returned */
    PyObject *args;        /* a tuple */
    PyObject *kwargs;      /* a dict or NULL */
    const struct tare_clock *clock;
};

enum callable_stage { CALLABLE_PREPROCESS, CALLABLE_INFERENCE, CALLABLE_POSTPROCESS, CALLABLE_STAGES };

/** Make one; NULL with an exception set. */
struct tare_engine *engine_callable_create(const struct callable_parts *parts);

/** From now on note the time of each stage of the next so many calls; forgets those noted before. -1 with an
 * exception set. */
int engine_callable_note(struct tare_engine *engine, size_t calls);

/** The times noted of a stage, in nanoseconds, and how many. */
const int64_t *engine_callable_noted(const struct tare_engine *engine, enum callable_stage stage,
                                     size_t *ret_count);

#endif
