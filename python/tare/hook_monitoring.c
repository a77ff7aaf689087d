/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython 3.12 and later: sys.monitoring, with callbacks in C, under a free tool id that is not the
 * profiler's, so that the program's own cProfile, coverage or sys.setprofile work as they would without us.
 * Events are per interpreter: all threads are seen. Generators and coroutines leave when they yield and enter
 * again when they are resumed, as cProfile counts them.
 */
#include "hook.h"

#include <stddef.h>
#include <string.h>

#include "span.h"

enum { TOOL_PROFILER = 2, TOOL_COUNT = 6 };

/* The state of the events; one per process, see hook.c. */
static struct {
    PyObject *monitoring; /* the module sys.monitoring */
    PyObject *missing;    /* sys.monitoring.MISSING */
    int tool;
    long set; /* the events asked for */
    bool c_functions;
    bool on;
    uint32_t outside; /* of a recording of spans: calls seen since a span was open */
} events = {.tool = -1};

/*
 * Switching events on or off makes the interpreter write all running code anew, which costs as much as a few
 * hundred calls that nobody records. So they stay on for that many calls after the last span was closed.
 */
enum { OUTSIDE_CALLS = 200 };

static int set_events(long set);

/* Without the GIL one thread may open a span while another switches events off. The lock must be Python's:
 * all threads are stopped to switch them. */
#ifdef Py_GIL_DISABLED
static PyMutex switching;
#define switching_lock()   PyMutex_Lock(&switching)
#define switching_unlock() PyMutex_Unlock(&switching)
#else
#define switching_lock()   ((void)0)
#define switching_unlock() ((void)0)
#endif

static void outside(void)
{
    if (span_active || span_bound || !events.on || ++events.outside < OUTSIDE_CALLS)
        return;
    switching_lock();
    if (events.on && !span_active && !span_bound) {
        events.on = false;
        if (set_events(0) < 0)
            PyErr_Clear();
    }
    switching_unlock();
}

void hook_events_here(bool needed)
{
    events.outside = 0;
    if (!needed)
        return;
    switching_lock();
    if (!events.on) {
        events.on = true;
        if (set_events(events.set) < 0)
            PyErr_Clear();
    }
    switching_unlock();
}

static PyObject *on_enter(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    PyCodeObject *code = (PyCodeObject *)(void *)args[0];
    struct tare_recorder_thread *thread = hook_thread();
    if (span_bound)
        span_enter_frame(code, false);
    else if (thread)
        hook_enter_code(thread, code, false);
    else
        outside();
    Py_RETURN_NONE;
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    PyCodeObject *code = (PyCodeObject *)(void *)args[0];
    struct tare_recorder_thread *thread = hook_thread();
    if (span_bound)
        span_enter_frame(code, true);
    else if (thread)
        hook_enter_code(thread, code, true);
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    struct tare_recorder_thread *thread = hook_thread();
    if (thread && !hook_leave_key(thread, args[0], false))
        hook_leave(thread, hook_code_frame((PyCodeObject *)(void *)args[0]), false, false);
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    struct tare_recorder_thread *thread = hook_thread();
    if (thread && !hook_leave_key(thread, args[0], false))
        hook_leave(thread, hook_code_frame((PyCodeObject *)(void *)args[0]), false, true);
    Py_RETURN_NONE;
}

static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    struct tare_recorder_thread *thread = hook_thread();
    if (thread && !hook_leave_key(thread, args[0], true))
        hook_leave(thread, hook_code_frame((PyCodeObject *)(void *)args[0]), true, false);
    Py_RETURN_NONE;
}

/* The definition behind a callable that cProfile would count: a built-in function, or a method descriptor
 * called on something. */
static const PyMethodDef *c_method(PyObject *callable, PyObject *first_arg)
{
    if (PyCFunction_Check(callable))
        return ((PyCFunctionObject *)(void *)callable)->m_ml;
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type) && first_arg != events.missing)
        return ((PyMethodDescrObject *)(void *)callable)->d_method;
    return NULL;
}

/* Its arguments: code, offset, callable, first argument. */
static PyObject *on_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    PyObject *callable = args[2];
    /* Python functions report themselves. */
    if (Py_IS_TYPE(callable, &PyFunction_Type) || Py_IS_TYPE(callable, &PyMethod_Type))
        Py_RETURN_NONE;
    struct tare_recorder_thread *thread = hook_thread();
    if (!thread)
        Py_RETURN_NONE;
    const PyMethodDef *method = c_method(callable, args[3]);
    if (method)
        hook_enter_c(thread, method, callable, args[3]);
    else
        tare_recorder_blind(thread);
    Py_RETURN_NONE;
}

static PyObject *on_c_return(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    const PyMethodDef *method = c_method(args[2], args[3]);
    struct tare_recorder_thread *thread = method ? hook_thread() : NULL;
    if (thread && !hook_leave_key(thread, method, false))
        hook_leave(thread, hook_c_frame(method, args[2], args[3]), false, false);
    Py_RETURN_NONE;
}

static PyObject *on_c_raise(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    const PyMethodDef *method = c_method(args[2], args[3]);
    struct tare_recorder_thread *thread = method ? hook_thread() : NULL;
    if (thread && !hook_leave_key(thread, method, true))
        hook_leave(thread, hook_c_frame(method, args[2], args[3]), true, false);
    Py_RETURN_NONE;
}

/* What is registered: an object whose call is our function, with nothing between the two. */
struct callback {
    PyObject_HEAD
    vectorcallfunc call;
};

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(struct callback, call), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot callback_slots[] = {
    {Py_tp_members, callback_members},
    {Py_tp_call, (void *)(uintptr_t)PyVectorcall_Call},
    {0, NULL},
};

static PyType_Spec callback_spec = {
    .name = "tare._core.Callback",
    .basicsize = sizeof(struct callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callback_slots,
};

/* An event by its name in sys.monitoring.events, its callback, and whether it belongs to C functions. */
static const struct event {
    const char *name;
    vectorcallfunc call;
    bool c_function;
} table[] = {
    {"PY_START", on_enter, false},  {"PY_RESUME", on_resume, false}, {"PY_THROW", on_resume, false},
    {"PY_RETURN", on_leave, false}, {"PY_YIELD", on_yield, false},   {"PY_UNWIND", on_unwind, false},
    {"CALL", on_call, true},        {"C_RETURN", on_c_return, true}, {"C_RAISE", on_c_raise, true},
};

enum { EVENTS = sizeof table / sizeof table[0] };

/* Take a tool id that nobody has: the unnamed ones first, then those with a name, never the profiler's. */
static int tool_take(void)
{
    static const int order[] = {4, 3, 5, 1, 0};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        PyObject *done = PyObject_CallMethod(events.monitoring, "use_tool_id", "is", order[i], "tare");
        if (done) {
            Py_DECREF(done);
            return order[i];
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            return -1;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError, "every tool id of sys.monitoring is taken, so calls cannot be seen");
    return -1;
}

/* The number of an event; -1 with an exception. */
static long event_number(const char *name)
{
    PyObject *all = PyObject_GetAttrString(events.monitoring, "events");
    PyObject *number = all ? PyObject_GetAttrString(all, name) : NULL;
    long value = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(all);
    Py_XDECREF(number);
    return value;
}

/* Register (or with NULL, take away) a callback. */
static int register_callback(long event, PyObject *callback)
{
    PyObject *done = PyObject_CallMethod(events.monitoring, "register_callback", "ilO", events.tool, event,
                                         callback ? callback : Py_None);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int set_events(long set)
{
    PyObject *done = PyObject_CallMethod(events.monitoring, "set_events", "il", events.tool, set);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static PyObject *callback_new(PyObject *type, vectorcallfunc call)
{
    struct callback *made = PyObject_New(struct callback, (PyTypeObject *)(void *)type);
    if (made)
        made->call = call;
    return (PyObject *)(void *)made;
}

static int register_all(PyObject *type, long *ret_set)
{
    long set = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < EVENTS; i++) {
        if (table[i].c_function && !events.c_functions)
            continue;
        long number = event_number(table[i].name);
        PyObject *callback = number < 0 ? NULL : callback_new(type, table[i].call);
        rc = callback ? register_callback(number, callback) : -1;
        Py_XDECREF(callback);
        /* C_RETURN and C_RAISE come with CALL and cannot be asked for on their own. */
        if (strncmp(table[i].name, "C_", 2) != 0)
            set |= number;
    }
    *ret_set = set;
    return rc;
}

int hook_events_init(struct core_state *state)
{
    state->callback_type = PyType_FromSpec(&callback_spec);
    return state->callback_type ? 0 : -1;
}

int hook_events_start(PyObject *module, bool c_functions, bool spans_only)
{
    /* A forked child that did not go on recording still has what its parent registered. */
    hook_events_stop();
    events.c_functions = c_functions;
    PyObject *sys = PyImport_ImportModule("sys");
    events.monitoring = sys ? PyObject_GetAttrString(sys, "monitoring") : NULL;
    events.missing = events.monitoring ? PyObject_GetAttrString(events.monitoring, "MISSING") : NULL;
    Py_XDECREF(sys);
    if (!events.missing)
        return -1;
    events.tool = tool_take();
    if (events.tool < 0)
        return -1;
    if (register_all(core_state_of(module)->callback_type, &events.set) < 0 ||
        (!spans_only && hook_events_switch(true) < 0)) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        hook_events_stop();
        PyErr_Restore(type, value, trace);
        return -1;
    }
    return 0;
}

int hook_events_switch(bool on)
{
    events.on = on;
    return set_events(on ? events.set : 0);
}

void hook_events_stop(void)
{
    if (events.tool < 0)
        return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    set_events(0);
    events.on = false;
    for (size_t i = 0; i < EVENTS; i++) {
        long number = event_number(table[i].name);
        if (number >= 0)
            register_callback(number, NULL);
    }
    Py_XDECREF(PyObject_CallMethod(events.monitoring, "free_tool_id", "i", events.tool));
    events.tool = -1;
    Py_CLEAR(events.monitoring);
    Py_CLEAR(events.missing);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
}
