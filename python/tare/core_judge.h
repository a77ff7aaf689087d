/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts for Python: a run against its base and against thresholds. Called with the GIL held. */
#ifndef TARE_PYTHON_CORE_JUDGE_H
#define TARE_PYTHON_CORE_JUDGE_H

#include "core_module.h"

/** judge(run, base or None, thresholds, change, run_name, base_name) -> (JSON, [sentence of each row]) */
PyObject *core_judge(PyObject *module, PyObject *args);

#endif
