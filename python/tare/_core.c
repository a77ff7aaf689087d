/* SPDX-License-Identifier: Apache-2.0 */
/* The extension module: multi-phase, state per interpreter, usable without the GIL. */
#include "core_module.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "core_judge.h"
#include "core_measure.h"
#include "hook.h"
#include "span.h"

struct core_state *core_state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

PyObject *core_raise(const struct core_state *state, const struct tare_error *err, const char *path)
{
    if (err->code == TARE_E_MEMORY)
        return PyErr_NoMemory();
    if (err->code == TARE_E_IO && err->sys != 0) {
        PyObject *args =
            path ? Py_BuildValue("(isN)", err->sys, strerror(err->sys), PyUnicode_DecodeFSDefault(path))
                 : Py_BuildValue("(is)", err->sys, err->msg);
        if (args)
            PyErr_SetObject(PyExc_OSError, args);
        Py_XDECREF(args);
        return NULL;
    }
    PyErr_SetString(state->error, err->msg);
    return NULL;
}

/* The arguments of main() as C wants them; free() the array and each string. */
static char **argv_of(PyObject *list, Py_ssize_t *ret_count)
{
    Py_ssize_t count = PyList_Size(list);
    char **argv = count < 0 ? NULL : calloc((size_t)count + 1, sizeof *argv);
    if (!argv)
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *bytes = NULL;
        if (!PyUnicode_FSConverter(PyList_GET_ITEM(list, i), &bytes))
            break;
        argv[i] = strdup(PyBytes_AS_STRING(bytes));
        Py_DECREF(bytes);
        if (!argv[i]) {
            PyErr_NoMemory();
            break;
        }
    }
    *ret_count = count;
    return argv;
}

static PyObject *core_main(PyObject *module, PyObject *list)
{
    (void)module;
    if (!PyList_Check(list))
        return PyErr_Format(PyExc_TypeError, "main() takes a list of arguments");
    Py_ssize_t count = 0;
    char **argv = argv_of(list, &count);
    int status = 0;
    if (argv && !PyErr_Occurred()) {
        Py_BEGIN_ALLOW_THREADS
            status = tare_main((int)count, argv);
        Py_END_ALLOW_THREADS
    }
    for (Py_ssize_t i = 0; argv && i < count; i++)
        free(argv[i]);
    free(argv);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(status);
}

static PyMethodDef core_methods[] = {
    {"bench", core_bench, METH_VARARGS,
     "bench(plan, worker)\n--\n\nMeasure an ONNX model as the plan says; returns the run."},
    {"judge", core_judge, METH_VARARGS,
     "judge(run, base, thresholds, change, run_name, base_name)\n--\n\nHold a run against its base, or None, "
     "and thresholds; returns the verdicts as JSON, and each in words."},
    {"load", core_load, METH_O, "load(path)\n--\n\nRead a saved profile or run."},
    {"loads", core_loads, METH_VARARGS,
     "loads(data, name)\n--\n\nThe same from bytes; name is for messages."},
    {"main", core_main, METH_O,
     "main(argv)\n--\n\nRun the command tare in this process; returns its exit status."},
    {"measure", (PyCFunction)(void (*)(void))core_measure, METH_VARARGS | METH_KEYWORDS,
     "measure(cases, model, ...)\n--\n\nTime a Python callable on each case in turn; returns the run."},
    {"start", hook_start, METH_VARARGS,
     "start(folder, cap=0, c_functions=True, spans=False, starting=False)\n--\n\nRecord all calls of this "
     "process, or those inside spans; returns the capture's path. starting: leave out what the interpreter "
     "does before the program begins."},
    {"stop", hook_stop, METH_NOARGS, "stop()\n--\n\nEnd the recording; returns the capture's path."},
    {"status", hook_status, METH_NOARGS, "status()\n--\n\nWhat the recording counted beside calls."},
    {NULL, NULL, 0, NULL},
};

static int core_exec(PyObject *module)
{
    struct core_state *state = core_state_of(module);
    state->error =
        PyErr_NewExceptionWithDoc("tare.TareError", "What tare could not do, and why.", NULL, NULL);
    if (!state->error || PyModule_AddObjectRef(module, "TareError", state->error) < 0)
        return -1;
    if (core_result_init(module, state) < 0 || span_init(module, state) < 0 || hook_events_init(state) < 0 ||
        core_session_init(module) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "__version__", TARE_VERSION);
}

static int core_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct core_state *state = core_state_of(module);
    Py_VISIT(state->error);
    Py_VISIT(state->result_type);
    Py_VISIT(state->span_type);
    Py_VISIT(state->ready_type);
    Py_VISIT(state->callback_type);
    return 0;
}

static int core_clear(PyObject *module)
{
    struct core_state *state = core_state_of(module);
    Py_CLEAR(state->error);
    Py_CLEAR(state->result_type);
    Py_CLEAR(state->span_type);
    Py_CLEAR(state->ready_type);
    Py_CLEAR(state->callback_type);
    return 0;
}

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)core_exec},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT,           .m_name = "tare._core",
    .m_doc = "What tare does in C.", .m_size = sizeof(struct core_state),
    .m_methods = core_methods,       .m_slots = core_slots,
    .m_traverse = core_traverse,     .m_clear = core_clear,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&core_module);
}
