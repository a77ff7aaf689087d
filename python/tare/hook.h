/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks: Python's calls into a recorder. One recorder per process, on the main interpreter only. hook.c
 * knows threads and forks, hook_frames.c functions; how the interpreter reports calls is in hook_monitoring.c
 * (CPython 3.12 and later) or hook_setprofile.c (3.10, 3.11), of which the build picks one.
 *
 * The profiled program must not notice: callbacks never raise, never run Python code on the path of a call,
 * and keep the pending exception as it is.
 */
#ifndef TARE_PYTHON_HOOK_H
#define TARE_PYTHON_HOOK_H

#include "core_module.h"

#include <stdbool.h>
#include <stdint.h>

#include "instrument/recorder_hot.h"
#include "instrument/session.h"
#include "span.h"

struct hook_options {
    const char *folder;
    uint64_t cap;
    bool c_functions; /* record calls of C functions too */
};

enum { HOOK_C_CACHE = 64, HOOK_CODE_CACHE = 256 };

/* What a thread remembers. */
struct hook_slot {
    const void *key;
    uint32_t frame;
    uint32_t epoch; /* of a code object: it was alive then */
};

struct hook_memory {
    struct tare_recorder_thread *thread; /* NULL: there was no room for it, or no span is open */
    uint64_t stamp;                      /* hook_stamp, when the rest was known to be true */
    struct tare_session_thread at;       /* its own: the same thread, also while no span is open */
    struct span_stack spans;
    struct hook_slot c_frames[HOOK_C_CACHE];
    struct hook_slot codes[HOOK_CODE_CACHE];
};

/* Initial-exec: one load, no call. The extension is loaded by dlopen, and glibc keeps room for such small
 * needs. */
extern _Thread_local struct hook_memory *hook_mine __attribute__((tls_model("initial-exec")));

/* The recording of this process. */
extern struct tare_session hook_session;

/* Counts deaths of code objects that had a frame: another may have come to the same address. */
extern uint32_t hook_epoch;

/* Changes with it, and with every recording. */
extern uint64_t hook_stamp;

/** The same as hook_thread, for a thread that is not known yet, or knows what may be no longer true. */
struct tare_recorder_thread *hook_thread_begin(void);

/** The thread's recorder; NULL while nothing is recorded here, or when this thread has no room. */
static inline struct tare_recorder_thread *hook_thread(void)
{
    struct hook_memory *memory = hook_mine;
    return __builtin_expect(memory && memory->stamp == hook_stamp, 1) ? memory->thread : hook_thread_begin();
}

/** The frame of a code object that this thread has not met lately. */
uint32_t hook_code_find(PyCodeObject *code, struct hook_slot *recent);

/** The same, also while this thread is not recorded because no span is open on it. */
struct tare_recorder_thread *hook_own_thread(void);

/** Before the first recording: where code objects remember their frames. 0, or -1 with an exception. */
int hook_frames_prepare(void);

/** What is remembered about functions goes with its recording. */
void hook_frames_forget(void);

/** The same in a forked child that is not recorded: the tables are left as they are, another thread may have
 * been changing them. */
void hook_frames_abandon(void);

/** A code object of that name is called for the first time. */
void hook_code_met(const char *name);

/** Does a recording go on, and which? Numbers of recordings grow. 0: none, or none yet. */
uint32_t hook_recording(void);

/** Is only recorded what runs inside spans? */
bool hook_spans_only(void);

/** Of a recording of spans: is this thread recorded from now on? */
void hook_thread_switch(bool on);

/** A frame of the user's own, by its name. */
uint32_t hook_span_frame(const char *name);

/** The spans that are open on this thread; hook_own_thread has answered before. */
struct span_stack *hook_span_stack(void);

/** The frame of a code object. hook_thread has answered on this thread before. */
static inline uint32_t hook_code_frame(PyCodeObject *code)
{
    struct hook_slot *recent = &hook_mine->codes[(uintptr_t)code / 64 % HOOK_CODE_CACHE];
    return __builtin_expect(recent->key == code && recent->epoch == hook_epoch, 1)
               ? recent->frame
               : hook_code_find(code, recent);
}

/** The frame of a C function. method: its definition, the key. object: a PyCFunction or a method descriptor;
 * self_arg: what the descriptor is called on, or NULL. */
uint32_t hook_c_frame(const PyMethodDef *method, PyObject *object, PyObject *self_arg);

/** A call of a code object begins, and no span needs care. */
static inline void hook_enter_code(struct tare_recorder_thread *thread, PyCodeObject *code, bool resumed)
{
    if (!tare_recorder_enter_known(thread, code, resumed))
        tare_recorder_enter(thread, hook_code_frame(code), code, resumed);
}

/** A call of a C function begins. */
static inline void hook_enter_c(struct tare_recorder_thread *thread, const PyMethodDef *method,
                                PyObject *object, PyObject *self_arg)
{
    if (!tare_recorder_enter_known(thread, method, false))
        tare_recorder_enter(thread, hook_c_frame(method, object, self_arg), method, false);
}

/** The innermost call ends, if that is what the key stands for and no span needs care; else hook_leave. */
static inline bool hook_leave_key(struct tare_recorder_thread *thread, const void *key, bool unwound)
{
    return !span_bound &&
           (tare_recorder_leave_known(thread, key, unwound) || tare_recorder_leave_key(thread, key, unwound));
}

/** A call of that frame ends (yielded: is only suspended): the innermost open call, or, when something was
 * missed, the nearest one of that frame. */
void hook_leave(struct tare_recorder_thread *thread, uint32_t frame, bool unwound, bool yielded);

/** The frame that a C function has already; 0: none yet. */
uint32_t hook_c_known(const PyMethodDef *method);

/** What recording a call of such a code object, or of such a C function, costs: its kind. */
enum tare_cost hook_code_cost(PyCodeObject *code, const char *name);
enum tare_cost hook_c_cost(const PyMethodDef *method, PyObject *object, const char *name);

/** Work that is always the same, for the recorder; prepare it first. -1 with an exception. */
int hook_probe_prepare(const struct tare_clock *clock);
void hook_probe(int times);

/** What the module needs for events, when it is made. */
int hook_events_init(struct core_state *state);

/** Start and stop reporting. Implemented by the file that the build picked. spans_only: threads are reported
 * where hook_events_here asks for it. */
int hook_events_start(PyObject *module, bool c_functions, bool spans_only);
void hook_events_stop(void);

/** Switch reporting off for a while, and on again, at least on this thread. */
int hook_events_switch(bool on);

/** Of a recording of spans: events of this thread are needed, or no longer. */
void hook_events_here(bool needed);

/** Keep what is known about this process in its capture; after fork, what is different. */
void hook_describe(struct tare_recorder *recorder, const char *folder);
void hook_describe_fork(struct tare_recorder *recorder);

/* What -m hands over to: a function of runpy. */
#define HOOK_RUNNER "_run_module_as_main"

/** Is the function of that name, which is just being called, where the interpreter hands over to the program?
 */
bool hook_program_begins(const char *name);

/** start(folder, cap, c_functions, spans, starting) and stop(): functions of the module. */
PyObject *hook_start(PyObject *module, PyObject *args);
PyObject *hook_stop(PyObject *module, PyObject *unused);

/** Anything that should be known about the recording: how many events came without a match, and so on. */
PyObject *hook_status(PyObject *module, PyObject *unused);

#endif
