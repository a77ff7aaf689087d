/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans: named regions of the user's own, as frames in the recording. A span belongs to the thread that
 * opened it: what runs on that thread until it is closed is inside. One that is opened by a coroutine
 * belongs to the coroutine's context instead: it is left when the coroutine pauses and entered again when it
 * goes on, and tasks and threads that were given a copy of that context work inside it too, while it is open.
 *
 * Each thread has a stack of the spans that are entered on it, beside the recorder's stack of calls. When an
 * outer call ends first (an ExitStack, a generator used as context manager), spans above it stay open and are
 * entered again.
 */
#ifndef TARE_PYTHON_SPAN_H
#define TARE_PYTHON_SPAN_H

#include "core_module.h"

#include <stdbool.h>
#include <stdint.h>

#include "instrument/recorder.h"

/* A span that is entered on a thread. */
struct span_entry {
    uint32_t frame;
    uint32_t depth; /* of the recorder's stack, this span included */
    PyObject *run;  /* what a coroutine opened: a capsule of a struct span_run; else NULL */
    bool borrowed;  /* entered for a task that did not open it: ends with the outermost call of the task */
};

struct span_stack {
    struct span_entry *items;
    uint32_t count, room;
};

/** How many spans of coroutines are open in this process; read before every call, so it is bare. */
extern uint32_t span_bound;

/** On how many threads spans are entered. */
extern uint32_t span_active;

/** A call of Python code begins while spans of coroutines are open. */
void span_enter_frame(PyCodeObject *code, bool resumed);

/** A call ended and took what was above it along: bring the spans in order. Returns how many spans that were.
 */
uint32_t span_settle(struct tare_recorder_thread *thread, struct span_stack *stack, bool yielded);

/** The frame of a name: one for each name. */
uint32_t span_frame(const char *name);

/** Open a span on this thread, or in this context if a coroutine does it. */
void span_open(struct tare_recorder_thread *thread, uint32_t frame);

/** Close the innermost open span of that frame. */
void span_close(struct tare_recorder_thread *thread, uint32_t frame, bool unwound);

/** What must exist before spans are opened. 0, or -1 with an exception. */
int span_prepare(void);

/** Forget a thread's spans. */
void span_stack_finish(struct span_stack *stack);

/** A recording begins, or goes on in a forked child (keep). */
void span_forked(bool keep);

/** Make the type Span and put it into the module. */
int span_init(PyObject *module, struct core_state *state);

#endif
