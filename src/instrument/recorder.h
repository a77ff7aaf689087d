/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder: calls of this process, as they happen, into a capture (core/capture.h). It knows no Python.
 *
 * Each thread has a tree and a stack of its own, and records only into them. Entering costs one reading of
 * the clock and one search among the children of the current call; leaving costs one reading of the clock.
 * Neither allocates, locks or makes a system call, except when a chunk is full: then one is taken under a
 * lock, and the file grows by really allocating. When it may not or cannot grow, new contexts fold into
 * <truncated> and are counted.
 *
 * Registering frames and threads may be done from any thread. Enter and leave belong to the thread. After
 * fork() the child calls tare_recorder_forked before it records anything: it gets a file of its own, in which
 * all frames keep their ids and the calls that are open are open again, from now on.
 */
#ifndef TARE_INSTRUMENT_RECORDER_H
#define TARE_INSTRUMENT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "core/overhead.h"
#include "core/profile.h"

struct tare_recorder;
struct tare_recorder_thread;

/* Work that is always the same, done so many times: how long it takes tells how fast the processor is now. A
 * processor that is shared is slower at times by half and more, and what recording costs is so too. */
typedef void tare_recorder_probe(int times);

struct tare_recorder_options {
    const char *folder; /* where captures are made; it exists */
    uint64_t cap;       /* most bytes of a capture; 0: 256 MiB */
    bool scratch;       /* keep the capture in memory: it has no path and is gone with the recorder */
    const struct tare_clock *clock; /* copied; NULL: make one, which takes 20 ms */
    tare_recorder_probe *probe;     /* timed every few milliseconds while calls are recorded; or NULL */
};

/* What is entered. Texts are copied; NULL is "". */
struct tare_recorder_frame {
    enum tare_frame_kind kind;
    bool counter; /* not entered, but counted */
    enum tare_cost cost;
    const char *name, *qualname, *file, *module;
    uint32_t first_line;
    uint64_t address;
};

/** Make a capture in options->folder and be ready to record. */
int tare_recorder_create(const struct tare_recorder_options *options, struct tare_recorder **ret_recorder,
                         struct tare_error *err);

/** Say that it ended well, and free it. The file stays. No thread may record any more. */
void tare_recorder_destroy(struct tare_recorder *recorder);

/** Where the capture is; NULL if it is a scratch. */
const char *tare_recorder_path(const struct tare_recorder *recorder);

/** The clock it uses. */
const struct tare_clock *tare_recorder_clock(const struct tare_recorder *recorder);

/** How long a probe takes now, in ticks. */
uint64_t tare_recorder_probe_now(const struct tare_clock *clock, tare_recorder_probe *probe);

/** Keep something about the process: "command", "rank"... */
void tare_recorder_meta(struct tare_recorder *recorder, const char *key, const char *value);

/** Say that the program has not begun yet, or that it has now. What is recorded before that is not shown. */
void tare_recorder_starting(struct tare_recorder *recorder, bool starting);

/** A frame's id, never 0 unless there is no room: then the id of <truncated>. Every call makes a new frame.
 */
uint32_t tare_recorder_frame(struct tare_recorder *recorder, const struct tare_recorder_frame *frame);

/** Begin recording on a thread; NULL when there is no room for it. */
struct tare_recorder_thread *tare_recorder_thread_begin(struct tare_recorder *recorder, int64_t tid,
                                                        const char *name);

/** Forget what this thread recorded so far, and begin anew. No call may be open. False when there was no room
 * for it: then nothing is forgotten. */
bool tare_recorder_thread_restart(struct tare_recorder_thread *thread);

/** The thread ended: its open calls are closed, its memory goes. Its tree stays in the capture. */
void tare_recorder_thread_end(struct tare_recorder_thread *thread);

/** A call begins. key: what tare_recorder_leave_key will be told. resumed: it takes up a generator or
 * coroutine again. */
void tare_recorder_enter(struct tare_recorder_thread *thread, uint32_t frame, const void *key, bool resumed);

/** Keys may stand for something else from now on. */
void tare_recorder_forget(struct tare_recorder_thread *thread);

/** The innermost call ends. unwound: by an exception. */
void tare_recorder_leave(struct tare_recorder_thread *thread, bool unwound);

/** The innermost call ends, if it was entered with that key, which is not NULL; false if it was not. */
bool tare_recorder_leave_key(struct tare_recorder_thread *thread, const void *key, bool unwound);

/**
 * A call of that frame ends: the innermost, or when something was missed the nearest open one of that frame,
 * with all that it had called. Returns how many calls that were, 0 if no such call is open.
 */
uint32_t tare_recorder_leave_frame(struct tare_recorder_thread *thread, uint32_t frame, bool unwound);

/** The current call made a call that is reported but not recorded, of a type for instance. */
void tare_recorder_blind(struct tare_recorder_thread *thread);

/** Calls and own time so far of all frames of a kind on this thread. Slow. */
void tare_recorder_totals(const struct tare_recorder_thread *thread, enum tare_cost cost, uint64_t *ret_calls,
                          uint64_t *ret_self_ticks);

/** Add to a counter, whose frame says that it is one, in the innermost open call. */
void tare_recorder_count(struct tare_recorder_thread *thread, uint32_t counter, int64_t amount);

/** How many calls are open. */
uint32_t tare_recorder_depth(const struct tare_recorder_thread *thread);

/** The name of the function whose call is the outermost that is open; "": none is. */
const char *tare_recorder_outermost(const struct tare_recorder_thread *thread);

/** In the child after fork(): a capture of its own. Only the calling thread lives on; returns it, or NULL
 * with err. */
int tare_recorder_forked(struct tare_recorder *recorder, struct tare_recorder_thread *thread,
                         struct tare_error *err);

#endif
