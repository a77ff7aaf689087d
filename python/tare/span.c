/* SPDX-License-Identifier: Apache-2.0 */
#include "span.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"

uint32_t span_bound, span_active;

enum { CHAIN_MOST = 64 }; /* spans of one context that are entered at once */

/* A span that a coroutine opened. It lies in the context variable, and links to the one it is inside. */
struct span_run {
    PyObject *parent; /* capsule, or NULL */
    PyObject *owner;  /* the coroutine's frame; NULL when it ended without closing the span */
    void *context;    /* identity of the context it was opened in */
    uint32_t frame;
    uint32_t generation;
    bool open;
};

struct name_slot {
    char *name;
    uint32_t frame;
};

/* Frames of the names, so that each name is one frame; and the variable that holds a context's runs. */
static struct {
    pthread_mutex_t lock;
    struct name_slot *names;
    size_t count;
    uint32_t generation;
    PyObject *current;
} spans = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char RUN[] = "tare.span_run";

static struct span_run *run_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, RUN);
}

static void run_free(PyObject *capsule)
{
    struct span_run *run = run_of(capsule);
    if (run->open && run->generation == hook_recording())
        __atomic_fetch_sub(&span_bound, 1, __ATOMIC_RELAXED);
    Py_XDECREF(run->parent);
    Py_XDECREF(run->owner);
    free(run);
}

static void run_close(struct span_run *run)
{
    if (run->open && run->generation == hook_recording())
        __atomic_fetch_sub(&span_bound, 1, __ATOMIC_RELAXED);
    run->open = false;
    Py_CLEAR(run->owner);
}

/* What the current context holds: a new reference, or NULL. Keeps no exception. */
static PyObject *context_get(void)
{
    PyObject *value = NULL;
    if (spans.current && PyContextVar_Get(spans.current, NULL, &value) < 0)
        PyErr_Clear();
    if (value == Py_None)
        Py_CLEAR(value);
    return value;
}

static void context_set(PyObject *run)
{
    PyObject *token = PyContextVar_Set(spans.current, run ? run : Py_None);
    if (!token)
        PyErr_Clear();
    Py_XDECREF(token);
}

static void *context_identity(void)
{
    return PyThreadState_Get()->context;
}

void span_stack_finish(struct span_stack *stack)
{
    for (uint32_t i = 0; i < stack->count; i++)
        Py_XDECREF(stack->items[i].run);
    free(stack->items);
    *stack = (struct span_stack){0};
}

void span_forked(bool keep)
{
    pthread_mutex_init(&spans.lock, NULL);
    span_active = keep ? 1 : 0;
    if (!keep)
        span_bound = 0;
}

/* Enter a span on this thread. */
static void push(struct tare_recorder_thread *thread, struct span_stack *stack, struct span_entry entry,
                 bool resumed)
{
    if (stack->count == stack->room) {
        uint32_t room = stack->room ? stack->room * 2 : 8;
        struct span_entry *items = realloc(stack->items, room * sizeof *items);
        if (!items)
            return;
        stack->items = items;
        stack->room = room;
    }
    if (hook_spans_only() && !hook_thread()) {
        __atomic_fetch_add(&span_active, 1, __ATOMIC_SEQ_CST);
        hook_thread_switch(true);
        hook_events_here(true);
    }
    tare_recorder_enter(thread, entry.frame, NULL, resumed);
    entry.depth = tare_recorder_depth(thread);
    Py_XINCREF(entry.run);
    stack->items[stack->count++] = entry;
}

/* When no span is left on this thread, it is not recorded any more. */
static void rest(struct tare_recorder_thread *thread, const struct span_stack *stack)
{
    if (stack->count || !hook_spans_only() || !hook_thread())
        return;
    while (tare_recorder_depth(thread))
        tare_recorder_leave(thread, false);
    __atomic_fetch_sub(&span_active, 1, __ATOMIC_RELAXED);
    hook_thread_switch(false);
    hook_events_here(false);
}

uint32_t span_settle(struct tare_recorder_thread *thread, struct span_stack *stack, bool yielded)
{
    if (stack->count == 0)
        return 0;
    uint32_t first = stack->count;
    while (first && stack->items[first - 1].depth > tare_recorder_depth(thread))
        first--;
    uint32_t fallen = stack->count - first;
    struct span_entry *again = fallen ? malloc(fallen * sizeof *again) : NULL;
    if (again)
        memcpy(again, stack->items + first, fallen * sizeof *again);
    stack->count = first;
    while (stack->count && stack->items[stack->count - 1].borrowed &&
           stack->items[stack->count - 1].depth == tare_recorder_depth(thread)) {
        tare_recorder_leave(thread, false);
        Py_XDECREF(stack->items[--stack->count].run);
    }
    for (uint32_t i = 0; again && i < fallen; i++) {
        if (!again[i].run)
            push(thread, stack, again[i], true);
        else if (!yielded && !again[i].borrowed)
            Py_CLEAR(run_of(again[i].run)->owner);
        Py_XDECREF(again[i].run);
    }
    free(again);
    rest(thread, stack);
    return fallen;
}

static bool entered(const struct span_stack *stack, PyObject *run)
{
    for (uint32_t i = stack->count; i > 0; i--)
        if (stack->items[i - 1].run == run)
            return true;
    return false;
}

/* The runs of the current context that are open and not entered on this thread, innermost first. References
 * are new. */
static uint32_t waiting(const struct span_stack *stack, PyObject *ret_runs[CHAIN_MOST])
{
    uint32_t count = 0;
    PyObject *run = context_get();
    while (run) {
        const struct span_run *link = run_of(run);
        PyObject *parent = Py_XNewRef(link->parent);
        if (link->open && link->generation == hook_recording() && count < CHAIN_MOST && !entered(stack, run))
            ret_runs[count++] = run;
        else
            Py_DECREF(run);
        run = parent;
    }
    return count;
}

void span_enter_frame(PyCodeObject *code, bool resumed)
{
    struct tare_recorder_thread *thread = hook_thread();
    bool coroutine = code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR);
    if (thread && !coroutine) {
        tare_recorder_enter(thread, hook_code_frame(code), code, resumed);
        return;
    }
    thread = hook_own_thread();
    if (!thread)
        return;
    struct span_stack *stack = hook_span_stack();
    PyObject *runs[CHAIN_MOST];
    uint32_t count = waiting(stack, runs), now = count;
    PyObject *frame = (PyObject *)(void *)PyEval_GetFrame();
    /* Those that a coroutine of this very context opened are entered when that coroutine goes on. */
    for (; now > 0; now--) {
        const struct span_run *run = run_of(runs[now - 1]);
        if (run->owner && run->context == context_identity())
            break;
        push(thread, stack, (struct span_entry){.frame = run->frame, .run = runs[now - 1], .borrowed = true},
             true);
    }
    bool owns = now > 0 && run_of(runs[now - 1])->owner == frame;
    if (stack->count || owns || !hook_spans_only())
        tare_recorder_enter(thread, hook_code_frame(code), code, resumed);
    for (; now > 0 && run_of(runs[now - 1])->owner == frame; now--)
        push(thread, stack, (struct span_entry){.frame = run_of(runs[now - 1])->frame, .run = runs[now - 1]},
             true);
    for (uint32_t i = 0; i < count; i++)
        Py_DECREF(runs[i]);
}

uint32_t span_frame(const char *name)
{
    pthread_mutex_lock(&spans.lock);
    if (spans.generation != hook_recording()) {
        for (size_t i = 0; i < spans.count; i++)
            free(spans.names[i].name);
        spans.count = 0;
        spans.generation = hook_recording();
    }
    uint32_t frame = 0;
    for (size_t i = 0; i < spans.count && !frame; i++)
        if (strcmp(spans.names[i].name, name) == 0)
            frame = spans.names[i].frame;
    if (!frame) {
        frame = hook_span_frame(name);
        struct name_slot *grown = realloc(spans.names, (spans.count + 1) * sizeof *grown);
        char *copy = strdup(name);
        if (grown)
            spans.names = grown;
        if (grown && copy)
            grown[spans.count++] = (struct name_slot){copy, frame};
        else
            free(copy);
    }
    pthread_mutex_unlock(&spans.lock);
    return frame;
}

/* A coroutine opens a span. */
static void open_bound(struct tare_recorder_thread *thread, struct span_stack *stack, uint32_t frame,
                       PyFrameObject *owner, PyCodeObject *code)
{
    struct span_run *run = calloc(1, sizeof *run);
    PyObject *capsule = run ? PyCapsule_New(run, RUN, run_free) : NULL;
    if (!capsule) {
        PyErr_Clear();
        free(run);
        return;
    }
    *run = (struct span_run){
        .parent = context_get(),
        .owner = Py_NewRef((PyObject *)(void *)owner),
        .frame = frame,
        .generation = hook_recording(),
        .open = true,
    };
    context_set(capsule);
    run->context = context_identity();
    __atomic_fetch_add(&span_bound, 1, __ATOMIC_SEQ_CST);
    /* The coroutine's own call must be on the stack: the span falls when it pauses. */
    if (stack->count == 0 && hook_spans_only())
        tare_recorder_enter(thread, hook_code_frame(code), code, true);
    push(thread, stack, (struct span_entry){.frame = frame, .run = capsule}, false);
    Py_DECREF(capsule);
}

void span_open(struct tare_recorder_thread *thread, uint32_t frame)
{
    struct span_stack *stack = hook_span_stack();
    PyFrameObject *caller = PyEval_GetFrame();
    PyCodeObject *code = caller ? PyFrame_GetCode(caller) : NULL;
    if (code && code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR))
        open_bound(thread, stack, frame, caller, code);
    else
        push(thread, stack, (struct span_entry){.frame = frame}, false);
    Py_XDECREF(code);
}

/* The innermost open run of that frame in this context is closed, and no longer the context's. */
static void close_run(uint32_t frame)
{
    PyObject *run = context_get();
    PyObject *first = Py_XNewRef(run);
    while (run && !(run_of(run)->open && run_of(run)->frame == frame)) {
        PyObject *parent = Py_XNewRef(run_of(run)->parent);
        Py_DECREF(run);
        run = parent;
    }
    if (run)
        run_close(run_of(run));
    if (run && run == first)
        context_set(run_of(run)->parent);
    Py_XDECREF(run);
    Py_XDECREF(first);
}

void span_close(struct tare_recorder_thread *thread, uint32_t frame, bool unwound)
{
    struct span_stack *stack = hook_span_stack();
    uint32_t at = stack->count;
    while (at && stack->items[at - 1].frame != frame)
        at--;
    if (at == 0 || stack->items[at - 1].run)
        close_run(frame);
    if (at == 0)
        return;
    struct span_entry entry = stack->items[at - 1];
    memmove(stack->items + at - 1, stack->items + at, (stack->count - at) * sizeof *stack->items);
    stack->count--;
    while (tare_recorder_depth(thread) > entry.depth)
        tare_recorder_leave(thread, false);
    tare_recorder_leave(thread, unwound);
    Py_XDECREF(entry.run);
    if (stack->count)
        span_settle(thread, stack, false);
    else
        rest(thread, stack);
}

int span_prepare(void)
{
    if (!spans.current)
        spans.current = PyContextVar_New("tare_span", NULL);
    return spans.current ? 0 : -1;
}
