/* SPDX-License-Identifier: Apache-2.0 */
#include "hook.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "calibrate.h"
#include "span.h"

/* How far the interpreter is in starting. What it does until the program begins is not kept. */
enum hook_start { BEGUN, STARTING, RUNNER };

/*
 * The one recording of this process. Global because the interpreter has one profiler per process too, and
 * because a forked child must find it without asking anybody. Changed only while starting, stopping and
 * forking.
 */
static struct {
    bool spans_only;    /* threads are recorded while a span is open on them */
    uint64_t unmatched; /* ends that had no beginning */
    uint64_t skipped;   /* calls ended because an outer one did */
    enum hook_start starting;
    bool calibrating; /* only `calibrator` records, and into nothing that lasts */
    pthread_t calibrator;
    struct calibrate_waiting waiting; /* when recording began */
    bool calibrated[2];               /* with and without C functions: it is done once per process */
    struct tare_calibration calibrations[2];
    double waited_before; /* how much longer it took because of waiting */
} hook;

struct tare_session hook_session = TARE_SESSION_INIT;

_Thread_local struct hook_memory *hook_mine __attribute__((tls_model("initial-exec")));

uint64_t hook_stamp;

static void session_begin(struct tare_recorder *recorder)
{
    hook_stamp++;
    tare_session_begin(&hook_session, recorder);
}

static void session_end(void)
{
    tare_session_end(&hook_session);
    hook_stamp++;
}

/* The threading.Thread that knows this thread already. A new reference, or NULL. */
static PyObject *thread_known(void)
{
    PyObject *key = PyUnicode_FromString("threading");
    PyObject *threading = key ? PyImport_GetModule(key) : NULL;
    PyObject *active = threading ? PyObject_GetAttrString(threading, "_active") : NULL;
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *thread = NULL;
    if (active && ident && PyDict_Check(active))
        thread = Py_XNewRef(PyDict_GetItemWithError(active, ident));
    Py_XDECREF(key);
    Py_XDECREF(threading);
    Py_XDECREF(active);
    Py_XDECREF(ident);
    return thread;
}

/* The threading.Thread that is just beginning: its own method is what runs first. A new reference, or NULL.
 */
static PyObject *thread_beginning(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    PyObject *locals = frame ? PyObject_GetAttrString((PyObject *)(void *)frame, "f_locals") : NULL;
    PyObject *self = locals ? PyMapping_GetItemString(locals, "self") : NULL;
    Py_XDECREF(locals);
    return self;
}

/* The name of this thread. A new reference, or NULL. */
static PyObject *thread_name(void)
{
    PyObject *thread = thread_known();
    if (!thread) {
        PyErr_Clear();
        thread = thread_beginning();
    }
    PyObject *name = thread ? PyObject_GetAttrString(thread, "_name") : NULL;
    Py_XDECREF(thread);
    if (name && !PyUnicode_Check(name))
        Py_CLEAR(name);
    return name;
}

/* Give this thread its place in the recording. */
static struct tare_recorder_thread *thread_record(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *name = thread_name();
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    if (!text)
        text = syscall(SYS_gettid) == getpid() ? "MainThread" : "Thread";
    tare_session_record(&hook_session, &hook_mine->at, text);
    hook_mine->thread = hook.spans_only ? NULL : hook_mine->at.own;
    Py_XDECREF(name);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return hook_mine->thread;
}

static struct tare_recorder_thread *thread_begin(void)
{
    if (hook.calibrating && !pthread_equal(pthread_self(), hook.calibrator))
        return NULL;
    if (!hook_mine) {
        hook_mine = calloc(1, sizeof *hook_mine);
        if (!hook_mine || tare_session_attach(&hook_session, hook_mine) < 0) {
            free(hook_mine);
            hook_mine = NULL;
            return NULL;
        }
    }
    span_stack_finish(&hook_mine->spans);
    *hook_mine = (struct hook_memory){.at.number = hook_session.number, .stamp = hook_stamp};
    return hook.spans_only ? NULL : thread_record();
}

struct tare_recorder_thread *hook_thread_begin(void)
{
    if (!hook_session.recorder)
        return NULL;
    if (!hook_mine || !tare_session_knows(&hook_session, &hook_mine->at))
        return thread_begin();
    /* The same recording, but a code object died: no address is trusted any more. */
    if (hook_mine->at.own)
        tare_recorder_forget(hook_mine->at.own);
    hook_mine->stamp = hook_stamp;
    return hook_mine->thread;
}

struct tare_recorder_thread *hook_own_thread(void)
{
    if (!hook_recording())
        return NULL;
    if (!hook_mine || !tare_session_knows(&hook_session, &hook_mine->at))
        thread_begin();
    if (hook_mine && !hook_mine->at.own && hook.spans_only)
        thread_record();
    return hook_mine ? hook_mine->at.own : NULL;
}

uint32_t hook_recording(void)
{
    return __atomic_load_n(&hook_session.recorder, __ATOMIC_ACQUIRE) && !hook.calibrating
               ? hook_session.number
               : 0;
}

bool hook_spans_only(void)
{
    return hook.spans_only;
}

void hook_thread_switch(bool on)
{
    hook_mine->thread = on ? hook_mine->at.own : NULL;
}

struct span_stack *hook_span_stack(void)
{
    return &hook_mine->spans;
}

uint32_t hook_span_frame(const char *name)
{
    struct tare_recorder_frame frame = {.kind = TARE_FRAME_SPAN, .name = name};
    return tare_recorder_frame(hook_session.recorder, &frame);
}

/* A thread that recorded ends. */
static void thread_over(void *memory)
{
    struct hook_memory *over = memory;
    tare_session_thread_over(&hook_session, &over->at);
    free(over->spans.items);
    free(over);
    hook_mine = NULL;
}

/* A function of that name is called for the first time. A script begins with its module; -m hands over to a
 * runner, whose search for the module counts if it finds one. Modules that come when the runner has given up
 * are those that Python needs to say so. */
void hook_code_met(const char *name)
{
    struct tare_recorder_thread *thread = hook.starting && hook_mine ? hook_mine->thread : NULL;
    if (!thread)
        return;
    if (tare_recorder_depth(thread) == 0 && hook_program_begins(name)) {
        tare_recorder_thread_restart(thread);
        hook.starting = RUNNER;
    }
    const char *outermost = tare_recorder_outermost(thread);
    if (hook.starting == RUNNER && strcmp(name, "<module>") == 0 &&
        (!*outermost || strcmp(outermost, HOOK_RUNNER) == 0)) {
        hook.starting = BEGUN;
        tare_recorder_starting(hook_session.recorder, false);
    }
}

void hook_leave(struct tare_recorder_thread *thread, uint32_t frame, bool unwound, bool yielded)
{
    uint32_t left = tare_recorder_leave_frame(thread, frame, unwound);
    if (left == 0 && tare_recorder_depth(thread) && !hook.spans_only)
        __atomic_fetch_add(&hook.unmatched, 1, __ATOMIC_RELAXED);
    if (left <= 1 && !span_bound)
        return;
    /* Spans that lay above it are no loss. */
    uint32_t spans = span_settle(thread, &hook_mine->spans, yielded);
    if (left > 1 + spans)
        __atomic_fetch_add(&hook.skipped, left - 1 - spans, __ATOMIC_RELAXED);
}

/* In a forked child, before anything else runs: a capture of its own, or none. */
static void forked(void)
{
    bool going = hook_session.recorder,
         known = hook_mine && tare_session_knows(&hook_session, &hook_mine->at);
    /* A child that opens no span leaves no file; one that does begins a recording of its own. */
    bool idle = hook.spans_only && !(known && hook_mine->spans.count);
    hook.waiting = (struct calibrate_waiting){0};
    if (going)
        span_forked(!idle);
    if (tare_session_forked(&hook_session, hook_mine ? &hook_mine->at : NULL, !idle)) {
        hook_describe_fork(hook_session.recorder);
    } else if (going) {
        hook_stamp++;
        hook_frames_abandon();
    }
}

/* What the whole run waited for a processor, if it gets as far as saying so. */
static void keep_waiting(void)
{
    char waiting[96];
    if (!hook_session.recorder || hook.calibrating)
        return;
    struct calibrate_waiting since = calibrate_waiting_since(&hook.waiting);
    snprintf(waiting, sizeof waiting, "%.0f %.0f %.0f", 1000 * calibrate_waiting_factor(&since), since.turns,
             since.waited_ns / 1000);
    tare_recorder_meta(hook_session.recorder, "waiting", waiting);
}

static int prepare(void)
{
    if (hook_session.prepared)
        return 0;
    if (hook_frames_prepare() < 0)
        return -1;
    if (tare_session_prepare(&hook_session, thread_over, forked) < 0 || atexit(keep_waiting) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* Measure what recording costs, into a recorder that is thrown away. The hooks are installed; they are off
 * afterwards, and record nowhere. */
static int calibrate(const struct tare_recorder *real, bool c_functions)
{
    struct tare_recorder_options options = {
        .cap = 1 << 20, .scratch = true, .clock = tare_recorder_clock(real)};
    struct tare_recorder *scratch;
    struct tare_error err;
    if (hook_events_switch(false) < 0)
        return -1;
    if (tare_recorder_create(&options, &scratch, &err) < 0)
        return 0; /* without a calibration the result says so */
    hook.calibrator = pthread_self();
    hook.calibrating = true;
    session_begin(scratch);
    struct calibrate_waiting begin = {0}, since;
    calibrate_waiting_now(&begin);
    int rc = calibrate_run(options.clock, c_functions, &hook.calibrations[c_functions]);
    hook.calibrated[c_functions] = rc == 0;
    since = calibrate_waiting_since(&begin);
    hook.waited_before = calibrate_waiting_factor(&since);
    session_end();
    hook.calibrating = false;
    hook.unmatched = hook.skipped = 0;
    tare_recorder_destroy(scratch);
    hook_frames_forget();
    return rc;
}

/* The calibration goes into the capture, so that whoever reads it can apply it. */
static void keep_calibration(struct tare_recorder *recorder, bool c_functions)
{
    if (!hook.calibrated[c_functions])
        return;
    struct tare_buf buf;
    tare_buf_init(&buf, 8192);
    tare_calibration_write(&hook.calibrations[c_functions], &buf);
    tare_recorder_meta(recorder, "calibration", buf.data);
    tare_buf_clear(&buf);
    tare_buf_printf(&buf, "%.0f", 1000 * hook.waited_before);
    tare_recorder_meta(recorder, "waiting before", buf.data);
    tare_buf_finish(&buf);
}

PyObject *hook_start(PyObject *module, PyObject *args)
{
    const char *folder;
    unsigned long long cap = 0;
    int c_functions = 1, spans_only = 0, starting = 0;
    const struct core_state *state = core_state_of(module);
    if (!PyArg_ParseTuple(args, "s|Kppp", &folder, &cap, &c_functions, &spans_only, &starting))
        return NULL;
    if (PyInterpreterState_Get() != PyInterpreterState_Main())
        return PyErr_Format(state->error, "tare records the main interpreter only, and this is another one");
    if (hook_session.recorder)
        return PyErr_Format(state->error, "this process is recorded already");
    if (prepare() < 0)
        return NULL;
    struct tare_recorder_options options = {.folder = folder, .cap = cap, .probe = hook_probe};
    struct tare_recorder *recorder;
    struct tare_error err;
    if (tare_recorder_create(&options, &recorder, &err) < 0)
        return core_raise(state, &err, NULL);
    if (hook_probe_prepare(tare_recorder_clock(recorder)) < 0) {
        tare_recorder_destroy(recorder);
        return NULL;
    }
    hook_describe(recorder, folder);
    hook.spans_only = false;
    span_forked(false);
    if (hook_events_start(module, c_functions, spans_only) < 0) {
        tare_recorder_destroy(recorder);
        return NULL;
    }
    if (!hook.calibrated[c_functions] && calibrate(recorder, c_functions) < 0) {
        hook_events_stop();
        tare_recorder_destroy(recorder);
        return NULL;
    }
    keep_calibration(recorder, c_functions);
    hook.waiting = (struct calibrate_waiting){0};
    calibrate_waiting_now(&hook.waiting);
    hook.starting = starting ? STARTING : BEGUN;
    tare_recorder_starting(recorder, starting);
    hook.unmatched = hook.skipped = 0;
    hook.spans_only = spans_only;
    /* From its beginning other threads may open spans, and switch events on. */
    int rc = spans_only ? hook_events_switch(false) : 0;
    session_begin(recorder);
    if (rc < 0 || (!spans_only && hook_events_switch(true) < 0)) {
        session_end();
        hook_events_stop();
        tare_recorder_destroy(recorder);
        return NULL;
    }
    return PyUnicode_DecodeFSDefault(tare_recorder_path(recorder));
}

PyObject *hook_stop(PyObject *module, PyObject *unused)
{
    (void)unused;
    if (!hook_session.recorder)
        return PyErr_Format(core_state_of(module)->error, "nothing is being recorded");
    hook_events_stop();
    struct tare_recorder *recorder = hook_session.recorder;
    PyObject *path = PyUnicode_DecodeFSDefault(tare_recorder_path(recorder));
    keep_waiting();
    session_end();
    tare_recorder_destroy(recorder);
    hook_frames_forget();
    return path;
}

PyObject *hook_status(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *path = hook_session.recorder
                         ? PyUnicode_DecodeFSDefault(tare_recorder_path(hook_session.recorder))
                         : PyUnicode_FromString("");
    return Py_BuildValue("{s:O,s:O,s:N,s:K,s:K}", "recording", hook_session.recorder ? Py_True : Py_False,
                         "spans_only", hook_session.recorder && hook.spans_only ? Py_True : Py_False, "path",
                         path, "unmatched", (unsigned long long)hook.unmatched, "skipped",
                         (unsigned long long)hook.skipped);
}
