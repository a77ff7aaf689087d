/* SPDX-License-Identifier: Apache-2.0 */
/* Weighing models from Python: callables in this process, and what tare_bench does in others. */
#ifndef TARE_PYTHON_CORE_MEASURE_H
#define TARE_PYTHON_CORE_MEASURE_H

#include "core_module.h"

/** measure(cases, model, preprocess, postprocess, synchronize, name, unit, device, precision, runs,
 * warmup_runs, duration_ns, memory_calls) -> Result */
PyObject *core_measure(PyObject *module, PyObject *args, PyObject *kwargs);

/** bench(plan, worker) -> Result */
PyObject *core_bench(PyObject *module, PyObject *args);

/** Make the type Session and put it into the module. */
int core_session_init(PyObject *module);

#endif
