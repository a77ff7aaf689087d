/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the extension share. The module's state is per interpreter; nothing is global. Errors of
 * tare become tare.TareError, except those that Python has a name for: OSError and MemoryError.
 */
#ifndef TARE_PYTHON_CORE_MODULE_H
#define TARE_PYTHON_CORE_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/error.h"
#include "flow/result.h"

struct core_state {
    PyObject *error;         /* tare.TareError */
    PyObject *result_type;   /* tare._core.Result */
    PyObject *span_type;     /* tare._core.Span */
    PyObject *ready_type;    /* what `async with` of a span awaits */
    PyObject *callback_type; /* what is registered with sys.monitoring; NULL before 3.12 */
};

/** The state of the module. */
struct core_state *core_state_of(PyObject *module);

/** Set the Python exception that says what err says; path, if not NULL, is the file it is about. Returns
 * NULL. */
PyObject *core_raise(const struct core_state *state, const struct tare_error *err, const char *path);

/** Make the type Result and put it into the module. */
int core_result_init(PyObject *module, struct core_state *state);

/** A Result that owns what was loaded; on failure that is freed. */
PyObject *core_result_wrap(const struct core_state *state, struct tare_result *loaded);

/** What a Result holds. */
struct tare_result *core_result_of(PyObject *self);

/** loads(data, name) -> Result */
PyObject *core_loads(PyObject *module, PyObject *args);

/** load(path) -> Result */
PyObject *core_load(PyObject *module, PyObject *path);

#endif
