/* SPDX-License-Identifier: Apache-2.0 */
/* The type Span: a name that can be entered and left, by `with` and `async with`, any number of times. */
#include "hook.h"
#include "span.h"

struct span {
    PyObject_HEAD
    PyObject *name;
    uint32_t frame; /* in the recording of that generation */
    uint32_t generation;
};

static PyMethodDef span_methods[5];

/* Where calls of C functions are reported for `with` too (3.14), our own method would lie below the span. */
static void forget_enter(struct tare_recorder_thread *thread)
{
    for (const PyMethodDef *method = span_methods; method->ml_name; method++) {
        uint32_t known = hook_c_known(method);
        if (known)
            tare_recorder_leave_frame(thread, known, false);
    }
}

/* 0, or -1 with an exception. */
static int open_span(PyObject *self)
{
    struct span *span = (struct span *)(void *)self;
    if (!hook_recording()) {
        PyObject *done = PyObject_CallMethod(self, "_begin", NULL);
        Py_XDECREF(done);
        if (!done)
            return -1;
    }
    struct tare_recorder_thread *thread = hook_own_thread();
    if (!thread)
        return 0;
    uint32_t recording = hook_recording();
    if (__atomic_load_n(&span->generation, __ATOMIC_ACQUIRE) != recording) {
        span->frame = span_frame(PyUnicode_AsUTF8(span->name));
        __atomic_store_n(&span->generation, recording, __ATOMIC_RELEASE);
    }
    if (tare_recorder_depth(thread))
        forget_enter(thread);
    span_open(thread, span->frame);
    return 0;
}

static void close_span(PyObject *self, bool unwound)
{
    struct span *span = (struct span *)(void *)self;
    bool known = hook_recording() && span->generation == hook_recording();
    struct tare_recorder_thread *thread = known ? hook_own_thread() : NULL;
    if (thread)
        span_close(thread, span->frame, unwound);
}

static PyObject *span_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    return open_span(self) < 0 ? NULL : Py_NewRef(self);
}

static PyObject *span_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    close_span(self, count > 0 && args[0] != Py_None);
    Py_RETURN_FALSE;
}

/* What `async with` waits for: a value that is there already. */
struct ready {
    PyObject_HEAD
    PyObject *value;
};

static PyObject *ready_make(PyTypeObject *defining, PyObject *value)
{
    const struct core_state *state = PyType_GetModuleState(defining);
    PyTypeObject *type = (PyTypeObject *)(void *)state->ready_type;
    struct ready *ready = (struct ready *)(void *)type->tp_alloc(type, 0);
    if (ready)
        ready->value = Py_NewRef(value);
    return (PyObject *)(void *)ready;
}

static void ready_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((struct ready *)(void *)self)->value);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *ready_next(PyObject *self)
{
    PyErr_SetObject(PyExc_StopIteration, ((struct ready *)(void *)self)->value);
    return NULL;
}

static PyObject *span_aenter(PyObject *self, PyTypeObject *defining, PyObject *const *args, Py_ssize_t count,
                             PyObject *names)
{
    (void)args;
    (void)count;
    (void)names;
    return open_span(self) < 0 ? NULL : ready_make(defining, self);
}

static PyObject *span_aexit(PyObject *self, PyTypeObject *defining, PyObject *const *args, Py_ssize_t count,
                            PyObject *names)
{
    (void)names;
    close_span(self, count > 0 && args[0] != Py_None);
    return ready_make(defining, Py_False);
}

static int span_set_up(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", NULL};
    PyObject *name;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U", names, &name))
        return -1;
    if (!PyUnicode_AsUTF8(name))
        return -1;
    struct span *span = (struct span *)(void *)self;
    PyObject *old = span->name;
    span->name = Py_NewRef(name);
    Py_XDECREF(old);
    return 0;
}

static void span_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((struct span *)(void *)self)->name);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *get_name(PyObject *self, void *unused)
{
    (void)unused;
    return Py_XNewRef(((struct span *)(void *)self)->name);
}

#define ANY(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef span_methods[5] = {
    {"__enter__", span_enter, METH_NOARGS, "Open the span."},
    {"__exit__", ANY(span_exit), METH_FASTCALL, "Close it."},
    {"__aenter__", ANY(span_aenter), METH_METHOD | METH_FASTCALL | METH_KEYWORDS, "Open the span."},
    {"__aexit__", ANY(span_aexit), METH_METHOD | METH_FASTCALL | METH_KEYWORDS, "Close it."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef span_getters[] = {
    {"name", get_name, NULL, "What the span is called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot span_slots[] = {
    {Py_tp_init, (void *)(uintptr_t)span_set_up},
    {Py_tp_dealloc, (void *)(uintptr_t)span_dealloc},
    {Py_tp_methods, span_methods},
    {Py_tp_getset, span_getters},
    {0, NULL},
};

static PyType_Spec span_spec = {
    .name = "tare._core.Span",
    .basicsize = sizeof(struct span),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = span_slots,
};

static PyType_Slot ready_slots[] = {
    {Py_tp_dealloc, (void *)(uintptr_t)ready_dealloc},
    {Py_am_await, (void *)(uintptr_t)PyObject_SelfIter},
    {Py_tp_iter, (void *)(uintptr_t)PyObject_SelfIter},
    {Py_tp_iternext, (void *)(uintptr_t)ready_next},
    {0, NULL},
};

static PyType_Spec ready_spec = {
    .name = "tare._core.Ready",
    .basicsize = sizeof(struct ready),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = ready_slots,
};

int span_init(PyObject *module, struct core_state *state)
{
    if (PyInterpreterState_Get() == PyInterpreterState_Main() && span_prepare() < 0)
        return -1;
    state->ready_type = PyType_FromModuleAndSpec(module, &ready_spec, NULL);
    state->span_type = PyType_FromModuleAndSpec(module, &span_spec, NULL);
    if (!state->ready_type || !state->span_type)
        return -1;
    return PyModule_AddObjectRef(module, "Span", state->span_type);
}
