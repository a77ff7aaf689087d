/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks: Python's calls into a recorder. One recorder per process, on the main interpreter only. hook.c
 * knows frames, threads and forks; how the interpreter reports calls is in hook_monitoring.c (CPython 3.12
 * and later) or hook_setprofile.c (3.10, 3.11), of which the build picks one.
 *
 * The profiled program must not notice: callbacks never raise, never run Python code on the path of a call,
 * and keep the pending exception as it is.
 */
#ifndef TARE_PYTHON_HOOK_H
#define TARE_PYTHON_HOOK_H

#include "core_module.h"

#include <stdbool.h>
#include <stdint.h>

#include "instrument/recorder.h"

struct span_stack;

struct hook_options {
    const char *folder;
    uint64_t cap;
    bool c_functions; /* record calls of C functions too */
};

/** The thread's recorder; NULL while nothing is recorded here, or when this thread has no room. */
struct tare_recorder_thread *hook_thread(void);

/** The same, also while this thread is not recorded because no span is open on it. */
struct tare_recorder_thread *hook_own_thread(void);

/** Does a recording go on, and which? Numbers of recordings grow. 0: none. */
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
uint32_t hook_code_frame(PyCodeObject *code);

/** The frame of a C function. method: its definition, the key. object: a PyCFunction or a method descriptor;
 * self_arg: what the descriptor is called on, or NULL. */
uint32_t hook_c_frame(const PyMethodDef *method, PyObject *object, PyObject *self_arg);

/** A call of that frame ends (yielded: is only suspended): the innermost open call, or, when something was
 * missed, the nearest one of that frame. */
void hook_leave(struct tare_recorder_thread *thread, uint32_t frame, bool unwound, bool yielded);

/** The frame that a C function has already; 0: none yet. */
uint32_t hook_c_known(const PyMethodDef *method);

/** What recording a call of such a code object, or of such a C function, costs: its kind. */
enum tare_cost hook_code_cost(PyCodeObject *code, const char *name);
enum tare_cost hook_c_cost(const PyMethodDef *method, PyObject *object, const char *name);

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

/** Is the function of that name, which is just being called, where the interpreter hands over to the program?
 */
bool hook_program_begins(const char *name);

/** start(folder, cap, c_functions, spans, starting) and stop(): functions of the module. */
PyObject *hook_start(PyObject *module, PyObject *args);
PyObject *hook_stop(PyObject *module, PyObject *unused);

/** Anything that should be known about the recording: how many events came without a match, and so on. */
PyObject *hook_status(PyObject *module, PyObject *unused);

#endif
