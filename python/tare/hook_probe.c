/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe (see instrument/recorder.h): what the interpreter and the hooks do all day, without running
 * Python code. A processor that shares its core with another program runs different code slower by different
 * factors (1.1 to 1.9 were seen at once); this mixture follows calls under the hook to within a few percent,
 * a plain loop of arithmetic does not. Makes no object that the collector knows of.
 */
#include "hook.h"

#include "base/clock_now.h"

static struct {
    PyObject *nothing; /* a function that returns None */
    PyObject *dict, *key, *addend;
    struct tare_clock clock; /* for reading the counter, which recording a call does twice */
} probe;

static PyObject *nothing(PyObject *self, PyObject *arg)
{
    (void)self;
    (void)arg;
    Py_RETURN_NONE;
}

static PyMethodDef nothing_method = {"nothing", nothing, METH_O, NULL};

static void call_nothing(void)
{
    PyObject *args[2] = {NULL, Py_None};
    Py_XDECREF(PyObject_Vectorcall(probe.nothing, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL));
}

static void once(int i)
{
    volatile uint64_t ticks = tare_clock_now(&probe.clock);
    call_nothing();
    PyObject *found = PyDict_GetItemWithError(probe.dict, probe.key);
    Py_XDECREF(PyNumber_Add(found, probe.addend));
    ticks = tare_clock_now(&probe.clock) - ticks;
    PyObject *number = PyFloat_FromDouble(i);
    if (number)
        PyObject_RichCompareBool(number, found, Py_LT);
    Py_XDECREF(number);
    call_nothing();
}

void hook_probe(int times)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    bool pending = PyErr_Occurred() != NULL;
    if (pending)
        PyErr_Fetch(&type, &value, &trace);
    for (int i = 0; i < times; i++)
        once(i);
    if (PyErr_Occurred())
        PyErr_Clear();
    if (pending)
        PyErr_Restore(type, value, trace);
}

int hook_probe_prepare(const struct tare_clock *clock)
{
    enum { KEYS = 16 };
    probe.clock = *clock;
    if (probe.addend)
        return 0;
    probe.nothing = PyCFunction_New(&nothing_method, NULL);
    probe.dict = PyDict_New();
    for (int i = 0; probe.dict && i < KEYS; i++) {
        PyObject *key = PyUnicode_FromFormat("key %d", i), *number = PyLong_FromLong(100000 + i);
        int rc = key && number ? PyDict_SetItem(probe.dict, key, number) : -1;
        Py_XDECREF(number);
        Py_XSETREF(probe.key, key);
        if (rc < 0)
            return -1;
    }
    probe.addend = PyLong_FromLong(77777);
    return probe.nothing && probe.dict && probe.addend ? 0 : -1;
}
