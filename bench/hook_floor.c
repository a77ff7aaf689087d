/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor under any recorder: hooks that record nothing, for bench/cost.py, which compiles this for the
 * interpreter it runs on. start(clock, c_functions): with or without a reading of the clock per event.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static int with_clock;
static volatile unsigned long long last;

static inline void event(void)
{
    if (!with_clock)
        return;
#if defined(__x86_64__)
    last = __rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    last = (unsigned long long)now.tv_nsec;
#endif
}

#if PY_VERSION_HEX >= 0x030c0000
enum { TOOL = 4 };

static PyObject *on_event(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    (void)args;
    (void)count;
    event();
    Py_RETURN_NONE;
}

static PyMethodDef callback = {"event", (PyCFunction)(void (*)(void))on_event, METH_FASTCALL, NULL};

static PyObject *monitoring(void)
{
    return PySys_GetObject("monitoring");
}

/* Register (or take away) the callback for an event; returns its number. */
static long use(const char *name, PyObject *function)
{
    PyObject *events = PyObject_GetAttrString(monitoring(), "events");
    PyObject *number = events ? PyObject_GetAttrString(events, name) : NULL;
    long value = number ? PyLong_AsLong(number) : 0;
    Py_XDECREF(PyObject_CallMethod(monitoring(), "register_callback", "ilO", TOOL, value, function));
    Py_XDECREF(events);
    Py_XDECREF(number);
    return value;
}

static long use_all(PyObject *function, int c_functions)
{
    static const char *const python[] = {"PY_START",  "PY_RESUME", "PY_THROW",
                                         "PY_RETURN", "PY_YIELD",  "PY_UNWIND"};
    long set = 0;
    for (size_t i = 0; i < sizeof python / sizeof python[0]; i++)
        set |= use(python[i], function);
    if (c_functions) {
        set |= use("CALL", function);
        use("C_RETURN", function);
        use("C_RAISE", function);
    }
    return set;
}

static PyObject *start(PyObject *self, PyObject *args)
{
    int c_functions;
    if (!PyArg_ParseTuple(args, "pp", &with_clock, &c_functions))
        return NULL;
    Py_XDECREF(PyObject_CallMethod(monitoring(), "use_tool_id", "is", TOOL, "floor"));
    PyObject *function = PyCFunction_New(&callback, self);
    long set = function ? use_all(function, c_functions) : 0;
    Py_XDECREF(function);
    return PyObject_CallMethod(monitoring(), "set_events", "il", TOOL, set);
}

static PyObject *stop(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    Py_XDECREF(PyObject_CallMethod(monitoring(), "set_events", "il", TOOL, 0L));
    use_all(Py_None, 1);
    return PyObject_CallMethod(monitoring(), "free_tool_id", "i", TOOL);
}
#else
static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)self;
    (void)frame;
    (void)what;
    (void)arg;
    event();
    return 0;
}

static PyObject *start(PyObject *self, PyObject *args)
{
    (void)self;
    int c_functions;
    if (!PyArg_ParseTuple(args, "pp", &with_clock, &c_functions))
        return NULL;
    PyEval_SetProfile(on_event, NULL);
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    PyEval_SetProfile(NULL, NULL);
    Py_RETURN_NONE;
}
#endif

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, NULL},
    {"stop", stop, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "hook_floor", .m_methods = methods};

PyMODINIT_FUNC PyInit_hook_floor(void)
{
    return PyModule_Create(&module);
}
