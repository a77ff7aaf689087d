/* SPDX-License-Identifier: Apache-2.0 */
#include "hook.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "calibrate.h"
#include "span.h"

/* A table from pointer to frame: open addressing, a power of two of slots. */
struct pointer_slot {
    const void *key;
    uint32_t frame;
};

struct pointer_table {
    struct pointer_slot *slots;
    size_t count, mask;
};

/* How far the interpreter is in starting. What it does until the program begins is not kept. */
enum hook_start { BEGUN, STARTING, RUNNER };

/*
 * The one recording of this process. Global because the interpreter has one profiler per process too, and
 * because a forked child must find it without asking anybody. Changed only while starting, stopping and
 * forking.
 */
static struct {
    struct tare_recorder *recorder;
    Py_ssize_t code_extra;
    bool spans_only; /* threads are recorded while a span is open on them */
    bool prepared;   /* code_extra, the thread key and the fork handler exist */
    pthread_key_t key;
    pthread_mutex_t lock; /* c_frames and kept */
    struct pointer_table c_frames;
    struct pointer_table codes; /* free-threaded builds: frames of code objects, which are kept alive */
    uint64_t unmatched;         /* ends that had no beginning */
    uint64_t skipped;           /* calls ended because an outer one did */
    enum hook_start starting;
    bool calibrating; /* only `calibrator` records, and into nothing that lasts */
    pthread_t calibrator;
    struct calibrate_waiting waiting; /* when recording began */
    bool calibrated[2];               /* with and without C functions: it is done once per process */
    struct tare_calibration calibrations[2];
} hook = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Thread_local struct hook_memory *hook_mine __attribute__((tls_model("initial-exec")));

/* What threads and code objects remember is of one recording, or of none. */
uint32_t hook_generation;
uint32_t hook_epoch;
uint64_t hook_stamp;

static void generation_next(void)
{
    hook_generation++;
    hook_stamp++;
}

static uint64_t pointer_hash(const void *key)
{
    return tare_hash_mix((uint64_t)(uintptr_t)key);
}

static uint32_t pointer_find(const struct pointer_table *table, const void *key)
{
    if (!table->slots)
        return 0;
    for (size_t at = pointer_hash(key) & table->mask;; at = (at + 1) & table->mask) {
        if (table->slots[at].key == key)
            return table->slots[at].frame;
        if (!table->slots[at].key)
            return 0;
    }
}

static bool pointer_add(struct pointer_table *table, const void *key, uint32_t frame)
{
    if (!table->slots || (table->count + 1) * 2 > table->mask + 1) {
        size_t have = table->slots ? table->mask + 1 : 0, want = have ? have * 2 : 256;
        struct pointer_table grown = {.slots = calloc(want, sizeof *grown.slots), .mask = want - 1};
        if (!grown.slots)
            return false;
        for (size_t i = 0; i < have; i++)
            if (table->slots[i].key)
                pointer_add(&grown, table->slots[i].key, table->slots[i].frame);
        free(table->slots);
        *table = grown;
    }
    size_t at = pointer_hash(key) & table->mask;
    while (table->slots[at].key)
        at = (at + 1) & table->mask;
    table->slots[at] = (struct pointer_slot){key, frame};
    table->count++;
    return true;
}

static void pointer_clear(struct pointer_table *table)
{
    free(table->slots);
    *table = (struct pointer_table){0};
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
    int64_t tid = (int64_t)syscall(SYS_gettid);
    if (!text)
        text = tid == getpid() ? "MainThread" : "Thread";
    hook_mine->own = tare_recorder_thread_begin(hook.recorder, tid, text);
    hook_mine->thread = hook.spans_only ? NULL : hook_mine->own;
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
        if (!hook_mine || pthread_setspecific(hook.key, hook_mine) != 0) {
            free(hook_mine);
            hook_mine = NULL;
            return NULL;
        }
    }
    span_stack_finish(&hook_mine->spans);
    *hook_mine = (struct hook_memory){.generation = hook_generation, .stamp = hook_stamp};
    return hook.spans_only ? NULL : thread_record();
}

struct tare_recorder_thread *hook_thread_begin(void)
{
    if (!hook.recorder)
        return NULL;
    if (!hook_mine || hook_mine->generation != hook_generation)
        return thread_begin();
    /* The same recording, but a code object died: no address is trusted any more. */
    if (hook_mine->own)
        tare_recorder_forget(hook_mine->own);
    hook_mine->stamp = hook_stamp;
    return hook_mine->thread;
}

struct tare_recorder_thread *hook_own_thread(void)
{
    if (!hook_recording())
        return NULL;
    if (!hook_mine || hook_mine->generation != hook_generation)
        thread_begin();
    if (hook_mine && !hook_mine->own && hook.spans_only)
        thread_record();
    return hook_mine ? hook_mine->own : NULL;
}

uint32_t hook_recording(void)
{
    return __atomic_load_n(&hook.recorder, __ATOMIC_ACQUIRE) && !hook.calibrating ? hook_generation : 0;
}

bool hook_spans_only(void)
{
    return hook.spans_only;
}

void hook_thread_switch(bool on)
{
    hook_mine->thread = on ? hook_mine->own : NULL;
}

struct span_stack *hook_span_stack(void)
{
    return &hook_mine->spans;
}

uint32_t hook_span_frame(const char *name)
{
    struct tare_recorder_frame frame = {.kind = TARE_FRAME_SPAN, .name = name};
    return tare_recorder_frame(hook.recorder, &frame);
}

/* A thread that recorded ends. */
static void thread_over(void *memory)
{
    struct hook_memory *over = memory;
    if (over->generation == hook_generation && over->own && hook.recorder)
        tare_recorder_thread_end(over->own);
    free(over->spans.items);
    free(over);
    hook_mine = NULL;
}

/* A function of that name is called for the first time. A script begins with its module; -m hands over to a
 * runner, whose search for the module counts if it finds one. */
static void start_watch(struct tare_recorder_thread *thread, const char *name)
{
    if (tare_recorder_depth(thread) == 0 && hook_program_begins(name)) {
        tare_recorder_thread_restart(thread);
        hook.starting = RUNNER;
    }
    if (hook.starting == RUNNER && strcmp(name, "<module>") == 0) {
        hook.starting = BEGUN;
        tare_recorder_starting(hook.recorder, false);
    }
}

static uint32_t code_register(PyCodeObject *code)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const char *name = PyUnicode_AsUTF8(code->co_name);
    struct tare_recorder_frame frame = {
        .kind = TARE_FRAME_PYTHON,
        .cost = hook_code_cost(code, name ? name : ""),
        .name = name,
        .file = PyUnicode_AsUTF8(code->co_filename),
        .first_line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0,
#if PY_VERSION_HEX >= 0x030b0000
        .qualname = PyUnicode_AsUTF8(code->co_qualname),
#endif
    };
    uint32_t made = tare_recorder_frame(hook.recorder, &frame);
    if (hook.starting && hook_mine && hook_mine->thread && name)
        start_watch(hook_mine->thread, name);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return made;
}

#ifdef Py_GIL_DISABLED
/* Without the GIL the extra field of a code object is not safe on every version: a table, and codes that stay
 * alive. */
uint32_t hook_code_find(PyCodeObject *code, struct hook_slot *recent)
{
    pthread_mutex_lock(&hook.lock);
    uint32_t frame = pointer_find(&hook.codes, code);
    if (!frame) {
        frame = code_register(code);
        if (pointer_add(&hook.codes, code, frame))
            Py_INCREF(code);
    }
    pthread_mutex_unlock(&hook.lock);
    *recent = (struct hook_slot){code, frame, hook_epoch};
    return frame;
}
#else
#if PY_VERSION_HEX >= 0x030c0000
#define code_extra_index PyUnstable_Eval_RequestCodeExtraIndex
#define code_extra_get   PyUnstable_Code_GetExtra
#define code_extra_set   PyUnstable_Code_SetExtra
#else
#define code_extra_index _PyEval_RequestCodeExtraIndex
#define code_extra_get   _PyCode_GetExtra
#define code_extra_set   _PyCode_SetExtra
#endif

/* A code object that has a frame dies: nobody may take its address for it any more. */
static void code_died(void *extra)
{
    if (extra) {
        hook_epoch++;
        hook_stamp++;
    }
}

uint32_t hook_code_find(PyCodeObject *code, struct hook_slot *recent)
{
    /* The extra holds both words: the generation it is of, and the frame. */
    void *extra = NULL;
    code_extra_get((PyObject *)code, hook.code_extra, &extra);
    uint64_t known = (uint64_t)(uintptr_t)extra;
    uint32_t frame = (uint32_t)known;
    if (known >> 32 != hook_generation) {
        frame = code_register(code);
        extra = (void *)(uintptr_t)((uint64_t)hook_generation << 32 | frame);
        if (code_extra_set((PyObject *)code, hook.code_extra, extra) < 0) {
            PyErr_Clear();
            return frame; /* its death would not be told */
        }
    }
    *recent = (struct hook_slot){code, frame, hook_epoch};
    return frame;
}
#endif

/* The name that cProfile gives a C function. A new reference, or NULL. */
static PyObject *c_name(const PyMethodDef *method, PyObject *object, PyObject *self_arg)
{
    PyObject *self = self_arg, *module = NULL;
    if (PyCFunction_Check(object)) {
        self = ((PyCFunctionObject *)(void *)object)->m_self;
        module = ((PyCFunctionObject *)(void *)object)->m_module;
    }
    if (module && !PyUnicode_Check(module))
        module = NULL;
    if (!self)
        return module ? PyUnicode_FromFormat("<%U.%s>", module, method->ml_name)
                      : PyUnicode_FromFormat("<%s>", method->ml_name);
    /* A method of a built-in type is shown as its type has it, anything else by its module. */
    PyObject *short_name = PyUnicode_FromString(method->ml_name);
    PyObject *found = short_name ? _PyType_Lookup(Py_TYPE(self), short_name) : NULL;
    PyObject *name = found ? PyObject_Repr(found) : NULL;
    Py_XDECREF(short_name);
    if (name)
        return name;
    PyErr_Clear();
    return module ? PyUnicode_FromFormat("<built-in method %U.%s>", module, method->ml_name)
                  : PyUnicode_FromFormat("<built-in method %s>", method->ml_name);
}

static uint32_t c_register(const PyMethodDef *method, PyObject *object, PyObject *self_arg)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *name = c_name(method, object, self_arg);
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    if (!text)
        text = method->ml_name;
    struct tare_recorder_frame frame = {
        .kind = TARE_FRAME_BUILTIN,
        .cost = hook_c_cost(method, object, text),
        .name = text,
        .file = "~",
    };
    uint32_t made = tare_recorder_frame(hook.recorder, &frame);
    Py_XDECREF(name);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return made;
}

uint32_t hook_c_frame(const PyMethodDef *method, PyObject *object, PyObject *self_arg)
{
    /* Definitions are static data of their modules: the pointer is the function. */
    struct hook_slot *recent = &hook_mine->c_frames[(uintptr_t)method / sizeof *method % HOOK_C_CACHE];
    if (recent->key == method)
        return recent->frame;
    pthread_mutex_lock(&hook.lock);
    uint32_t frame = pointer_find(&hook.c_frames, method);
    pthread_mutex_unlock(&hook.lock);
    if (!frame) {
        /* Naming it may take other locks, so it happens outside ours; of two threads that race, one is found
         * again. */
        uint32_t made = c_register(method, object, self_arg);
        pthread_mutex_lock(&hook.lock);
        frame = pointer_find(&hook.c_frames, method);
        if (!frame && pointer_add(&hook.c_frames, method, made))
            frame = made;
        pthread_mutex_unlock(&hook.lock);
        if (!frame)
            frame = made;
    }
    *recent = (struct hook_slot){.key = method, .frame = frame};
    return frame;
}

uint32_t hook_c_known(const PyMethodDef *method)
{
    pthread_mutex_lock(&hook.lock);
    uint32_t frame = pointer_find(&hook.c_frames, method);
    pthread_mutex_unlock(&hook.lock);
    return frame;
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
    pthread_mutex_init(&hook.lock, NULL);
    hook.waiting = (struct calibrate_waiting){0};
    if (!hook.recorder)
        return;
    struct tare_error err;
    bool known = hook_mine && hook_mine->generation == hook_generation;
    struct tare_recorder_thread *thread = known ? hook_mine->own : NULL;
    /* A child that opens no span leaves no file; one that does begins a recording of its own. */
    bool idle = hook.spans_only && !(known && hook_mine->spans.count);
    span_forked(!idle);
    if (!idle && tare_recorder_forked(hook.recorder, thread, &err) == 0) {
        hook_describe_fork(hook.recorder);
        return;
    }
    /* The child runs on, unrecorded. What the recorder and the tables hold is left alone: another thread may
     * have been changing them. */
    hook.recorder = NULL;
    generation_next();
    hook.c_frames = hook.codes = (struct pointer_table){0};
}

/* What the whole run waited for a processor, if it gets as far as saying so. */
static void keep_waiting(void)
{
    char waiting[32];
    if (!hook.recorder || hook.calibrating)
        return;
    snprintf(waiting, sizeof waiting, "%.0f", 1000 * calibrate_waiting_since(&hook.waiting));
    tare_recorder_meta(hook.recorder, "waiting", waiting);
}

static int prepare(void)
{
    if (hook.prepared)
        return 0;
#ifndef Py_GIL_DISABLED
    hook.code_extra = code_extra_index(code_died);
    if (hook.code_extra < 0) {
        PyErr_SetString(PyExc_RuntimeError, "this interpreter has no room left for data of code objects");
        return -1;
    }
#endif
    if (pthread_key_create(&hook.key, thread_over) != 0 || pthread_atfork(NULL, NULL, forked) != 0 ||
        atexit(keep_waiting) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    hook.prepared = true;
    return 0;
}

/* What was remembered about functions. */
static void forget_frames(void)
{
    pointer_clear(&hook.c_frames);
#ifdef Py_GIL_DISABLED
    for (size_t i = 0; hook.codes.slots && i <= hook.codes.mask; i++)
        Py_XDECREF((PyObject *)(uintptr_t)hook.codes.slots[i].key);
#endif
    pointer_clear(&hook.codes);
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
    hook.recorder = scratch;
    generation_next();
    int rc = calibrate_run(options.clock, c_functions, &hook.calibrations[c_functions]);
    hook.calibrated[c_functions] = rc == 0;
    hook.recorder = NULL;
    generation_next();
    hook.calibrating = false;
    hook.unmatched = hook.skipped = 0;
    tare_recorder_destroy(scratch);
    forget_frames();
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
    if (hook.recorder)
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
    generation_next();
    /* From here on other threads may open spans, and switch events on. */
    int rc = spans_only ? hook_events_switch(false) : 0;
    __atomic_store_n(&hook.recorder, recorder, __ATOMIC_RELEASE);
    if (rc < 0 || (!spans_only && hook_events_switch(true) < 0)) {
        hook.recorder = NULL;
        generation_next();
        hook_events_stop();
        tare_recorder_destroy(recorder);
        return NULL;
    }
    return PyUnicode_DecodeFSDefault(tare_recorder_path(recorder));
}

PyObject *hook_stop(PyObject *module, PyObject *unused)
{
    (void)unused;
    if (!hook.recorder)
        return PyErr_Format(core_state_of(module)->error, "nothing is being recorded");
    hook_events_stop();
    struct tare_recorder *recorder = hook.recorder;
    PyObject *path = PyUnicode_DecodeFSDefault(tare_recorder_path(recorder));
    keep_waiting();
    hook.recorder = NULL;
    generation_next();
    tare_recorder_destroy(recorder);
    forget_frames();
    return path;
}

PyObject *hook_status(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *path = hook.recorder ? PyUnicode_DecodeFSDefault(tare_recorder_path(hook.recorder))
                                   : PyUnicode_FromString("");
    return Py_BuildValue("{s:O,s:O,s:N,s:K,s:K}", "recording", hook.recorder ? Py_True : Py_False,
                         "spans_only", hook.recorder && hook.spans_only ? Py_True : Py_False, "path", path,
                         "unmatched", (unsigned long long)hook.unmatched, "skipped",
                         (unsigned long long)hook.skipped);
}
