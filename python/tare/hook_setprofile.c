/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython 3.10 and 3.11: the C profile hook, per thread. Threads that exist are given it when recording
 * starts; new ones get it through threading.setprofile, whose function hands over to the C hook at its first
 * event. threading is not imported for it: a program that never uses threads must not find it imported, so a
 * program that does is met when it starts its first one. A program that calls sys.setprofile replaces ours on
 * that thread: what follows there is not seen, and a test of the hook says so.
 */
#include "hook.h"

#include <frameobject.h>

#include "span.h"

static struct {
    PyObject *starter;                /* what threading.setprofile is given */
    const PyMethodDef *thread_method; /* _thread.start_new_thread; NULL once threading was told */
    bool c_functions;
    bool on;
    bool everywhere;     /* on every thread; else where a span is open */
    Py_tracefunc theirs; /* the program's own profiler on this thread, while ours is in its place */
    PyObject *their_object;
} events;

/* Not in the headers of the limited API, but exported by 3.10 and 3.11: the hook for another thread. */
int _PyEval_SetProfile(PyThreadState *tstate, Py_tracefunc func, PyObject *arg);

static const PyMethodDef *c_method(PyObject *callable)
{
    return PyCFunction_Check(callable) ? ((PyCFunctionObject *)(void *)callable)->m_ml : NULL;
}

/* Has this frame run before: is it a generator or coroutine taken up again? */
static bool resumed(PyFrameObject *frame, const PyCodeObject *code)
{
    if (!(code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)))
        return false;
#if PY_VERSION_HEX >= 0x030b0000
    return PyFrame_GetLasti(frame) > code->_co_firsttraceable * (int)sizeof(_Py_CODEUNIT);
#else
    return frame->f_lasti >= 0;
#endif
}

/* Does this frame only pause? Asked when it returns. */
static bool yielded(PyFrameObject *frame, PyCodeObject *code)
{
    if (!(code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)))
        return false;
#if PY_VERSION_HEX >= 0x030b0000
    enum { YIELD = 86 }; /* YIELD_VALUE of 3.11, by which awaits pause too */
    PyObject *bytes = PyCode_GetCode(code);
    int at = PyFrame_GetLasti(frame);
    bool pauses = bytes && at >= 0 && at < PyBytes_GET_SIZE(bytes) &&
                  (unsigned char)PyBytes_AS_STRING(bytes)[at] == YIELD;
    Py_XDECREF(bytes);
    return pauses;
#else
    return frame->f_state == FRAME_SUSPENDED;
#endif
}

/* No span is open on this thread: our hook may go, unless one is open elsewhere and waits. */
static void outside(void)
{
    if (!events.everywhere && !span_bound)
        PyEval_SetProfile(NULL, NULL);
}

static void meet_threading(void);

/* Its code, borrowed: the frame is running, and keeps it alive. */
static PyCodeObject *code_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    PyCodeObject *code = PyFrame_GetCode(frame);
    Py_DECREF(code);
    return code;
#else
    return frame->f_code;
#endif
}

static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)self;
    struct tare_recorder_thread *thread = hook_thread();
    if (!thread && !(span_bound && what == PyTrace_CALL)) {
        outside();
        return 0;
    }
    switch (what) {
    case PyTrace_CALL: {
        PyCodeObject *code = code_of(frame);
        if (span_bound)
            span_enter_frame(code, resumed(frame, code));
        else
            hook_enter_code(thread, code, resumed(frame, code));
        break;
    }
    case PyTrace_RETURN: {
        PyCodeObject *code = code_of(frame);
        if (!hook_leave_key(thread, code, arg == NULL))
            hook_leave(thread, hook_code_frame(code), arg == NULL, span_bound && arg && yielded(frame, code));
        break;
    }
    case PyTrace_C_CALL:
        if (events.thread_method && c_method(arg) == events.thread_method)
            meet_threading();
        /* fall through */
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION: {
        const PyMethodDef *method = events.c_functions ? c_method(arg) : NULL;
        if (!method)
            break;
        if (what == PyTrace_C_CALL)
            hook_enter_c(thread, method, arg, NULL);
        else if (!hook_leave_key(thread, method, what == PyTrace_C_EXCEPTION))
            hook_leave(thread, hook_c_frame(method, arg, NULL), what == PyTrace_C_EXCEPTION, false);
        break;
    }
    default:
        break;
    }
    return 0;
}

/* The first event of a new thread, as threading.setprofile reports it: install the C hook and tell it of this
 * event. */
static PyObject *on_first(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count < 3 || !events.on || !PyFrame_Check(args[0]))
        Py_RETURN_NONE;
    PyEval_SetProfile(on_event, NULL);
    if (PyUnicode_CompareWithASCIIString(args[1], "call") == 0)
        on_event(NULL, (PyFrameObject *)(void *)args[0], PyTrace_CALL, Py_None);
    Py_RETURN_NONE;
}

static PyMethodDef first_method = {"tare_first_event", (PyCFunction)(void (*)(void))on_first, METH_FASTCALL,
                                   NULL};

/* threading.setprofile(starter), unless the program has a function of its own there; back to None at the end.
 * 0 also when there is no threading yet. */
static int set_for_new_threads(bool on)
{
    PyObject *key = PyUnicode_FromString("threading");
    PyObject *threading = key ? PyImport_GetModule(key) : NULL;
    Py_XDECREF(key);
    if (!threading)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *now = PyObject_GetAttrString(threading, "_profile_hook");
    int rc = now ? 0 : -1;
    if (now && now == (on ? Py_None : events.starter)) {
        PyObject *done = PyObject_CallMethod(threading, "setprofile", "O", on ? events.starter : Py_None);
        rc = done ? 0 : -1;
        Py_XDECREF(done);
    }
    if (on)
        events.thread_method = NULL;
    Py_XDECREF(now);
    Py_DECREF(threading);
    return rc;
}

/* The first thread is about to be started. */
static void meet_threading(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (set_for_new_threads(true) < 0)
        PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

static const PyMethodDef *find_thread_method(void)
{
    PyObject *module = PyImport_ImportModule("_thread");
    PyObject *function = module ? PyObject_GetAttrString(module, "start_new_thread") : NULL;
    const PyMethodDef *method = function ? c_method(function) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(function);
    return method;
}

static void set_for_threads(Py_tracefunc function)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    for (PyThreadState *t = PyInterpreterState_ThreadHead(interpreter); t; t = PyThreadState_Next(t))
        if ((events.everywhere || t->c_profilefunc == on_event) && _PyEval_SetProfile(t, function, NULL) < 0)
            PyErr_Clear();
}

void hook_events_here(bool needed)
{
    PyThreadState *here = PyThreadState_Get();
    if (events.everywhere || (here->c_profilefunc && here->c_profilefunc != on_event))
        return; /* the program has a profiler of its own on this thread */
    if (needed && !here->c_profilefunc)
        PyEval_SetProfile(on_event, NULL);
    else if (!needed && here->c_profilefunc && !span_bound)
        PyEval_SetProfile(NULL, NULL);
}

int hook_events_init(struct core_state *state)
{
    (void)state;
    return 0;
}

int hook_events_start(PyObject *module, bool c_functions, bool spans_only)
{
    events.c_functions = c_functions;
    events.everywhere = !spans_only;
    if (spans_only)
        return 0;
    events.starter = PyCFunction_New(&first_method, module);
    events.thread_method = find_thread_method();
    if (!events.starter || !events.thread_method || set_for_new_threads(true) < 0) {
        Py_CLEAR(events.starter);
        return -1;
    }
    events.on = true;
    set_for_threads(on_event);
    return 0;
}

int hook_events_switch(bool on)
{
    const PyThreadState *here = PyThreadState_Get();
    if (on == (here->c_profilefunc == on_event))
        return 0;
    if (on) {
        events.theirs = here->c_profilefunc;
        Py_XSETREF(events.their_object, Py_XNewRef(here->c_profileobj));
        PyEval_SetProfile(on_event, NULL);
        return 0;
    }
    PyEval_SetProfile(events.theirs, events.their_object);
    events.theirs = NULL;
    Py_CLEAR(events.their_object);
    return 0;
}

void hook_events_stop(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    events.on = false;
    set_for_threads(NULL);
    if (!events.everywhere) {
        PyErr_Restore(type, value, trace);
        return;
    }
    events.thread_method = NULL;
    if (set_for_new_threads(false) < 0)
        PyErr_Clear();
    Py_CLEAR(events.starter);
    PyErr_Restore(type, value, trace);
}
