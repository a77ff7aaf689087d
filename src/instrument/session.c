/* SPDX-License-Identifier: Apache-2.0 */
#include "instrument/session.h"

#include <sys/syscall.h>
#include <unistd.h>

int tare_session_prepare(struct tare_session *session, void (*over)(void *memory), void (*forked)(void))
{
    if (session->prepared)
        return 0;
    if (pthread_key_create(&session->key, over) != 0 || pthread_atfork(NULL, NULL, forked) != 0)
        return -1;
    session->prepared = true;
    return 0;
}

void tare_session_begin(struct tare_session *session, struct tare_recorder *recorder)
{
    session->number++;
    __atomic_store_n(&session->recorder, recorder, __ATOMIC_RELEASE);
}

struct tare_recorder *tare_session_end(struct tare_session *session)
{
    struct tare_recorder *recorder = session->recorder;
    session->recorder = NULL;
    session->number++;
    return recorder;
}

int tare_session_attach(const struct tare_session *session, void *memory)
{
    return pthread_setspecific(session->key, memory) == 0 ? 0 : -1;
}

void tare_session_record(const struct tare_session *session, struct tare_session_thread *thread,
                         const char *name)
{
    thread->own = tare_recorder_thread_begin(session->recorder, (int64_t)syscall(SYS_gettid), name);
}

void tare_session_thread_over(const struct tare_session *session, const struct tare_session_thread *thread)
{
    if (session->recorder && thread->own && tare_session_knows(session, thread))
        tare_recorder_thread_end(thread->own);
}

bool tare_session_forked(struct tare_session *session, const struct tare_session_thread *thread, bool wanted)
{
    struct tare_error err;
    pthread_mutex_init(&session->lock, NULL);
    if (!session->recorder)
        return false;
    struct tare_recorder_thread *own = thread && tare_session_knows(session, thread) ? thread->own : NULL;
    if (wanted && tare_recorder_forked(session->recorder, own, &err) == 0)
        return true;
    tare_session_end(session);
    return false;
}
