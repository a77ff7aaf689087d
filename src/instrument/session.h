/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one recording that goes on in a process, which threads know it, and what becomes of it when a thread
 * ends or the process forks. Python's hooks and the public C API each hold one, in static memory, because a
 * forked child must find it without asking anybody.
 *
 * Recordings have numbers: whatever remembers another number knows nothing of this one. A recording begins
 * and ends while no other thread records; forks may happen at any time.
 */
#ifndef TARE_INSTRUMENT_SESSION_H
#define TARE_INSTRUMENT_SESSION_H

#include <pthread.h>

#include "instrument/recorder.h"

struct tare_session {
    struct tare_recorder *recorder; /* NULL: nothing is recorded */
    uint32_t number;                /* grows when a recording begins, and when it ends */
    bool prepared;
    pthread_key_t key;
    pthread_mutex_t lock; /* of its holder's tables; free again in a forked child */
};

#define TARE_SESSION_INIT                                                                                    \
    {                                                                                                        \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                                    \
    }

/* What a thread remembers of it. */
struct tare_session_thread {
    struct tare_recorder_thread *own; /* NULL: it has none yet, or there was no room */
    uint32_t number;                  /* of the recording that this is about */
};

/** Once per process: over is told the memory of each thread that ends (tare_session_attach), forked is called
 * in children. 0, or -1 when memory is short. */
int tare_session_prepare(struct tare_session *session, void (*over)(void *memory), void (*forked)(void));

/** A recording begins. */
void tare_session_begin(struct tare_session *session, struct tare_recorder *recorder);

/** It ends; the recorder is the caller's again. */
struct tare_recorder *tare_session_end(struct tare_session *session);

/** Does this thread know the recording that goes on? */
static inline bool tare_session_knows(const struct tare_session *session,
                                      const struct tare_session_thread *thread)
{
    return thread->number == session->number;
}

/** Whose memory is to be told when this thread ends. 0, or -1 when memory is short. */
int tare_session_attach(const struct tare_session *session, void *memory);

/** Give this thread, which knows the recording, its place in it. */
void tare_session_record(const struct tare_session *session, struct tare_session_thread *thread,
                         const char *name);

/** A thread ended: close what it recorded. */
void tare_session_thread_over(const struct tare_session *session, const struct tare_session_thread *thread);

/** In a forked child. thread: the one that forked, or NULL. True when a capture of its own is recorded into
 * from here on; if not, or if it is not wanted, the child runs on unrecorded and the recorder's memory is
 * left alone, because another thread may have been changing it. */
bool tare_session_forked(struct tare_session *session, const struct tare_session_thread *thread, bool wanted);

#endif
