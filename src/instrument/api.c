/* SPDX-License-Identifier: Apache-2.0 */
/* The public C API: places and steps on top of a session. */
#include "tare/tare.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "instrument/session.h"

/* Global because spans are named anywhere in a program, without a handle. Places remember its number. */
static struct tare_session session = TARE_SESSION_INIT;

static struct tare_place step_place = {.name = "step"};

struct memory {
    struct tare_session_thread at;
    uint32_t step_depth; /* how deep the open step lies; 0: none is open */
};

static _Thread_local struct memory mine;

/* A thread ends. */
static void thread_over(void *memory)
{
    struct memory *over = memory;
    tare_session_thread_over(&session, &over->at);
    *over = (struct memory){0};
}

static struct tare_recorder_thread *thread_of(void)
{
    if (!session.recorder)
        return NULL;
    if (!tare_session_knows(&session, &mine.at)) {
        char name[16] = "";
        pthread_getname_np(pthread_self(), name, sizeof name);
        mine = (struct memory){.at.number = session.number};
        tare_session_record(&session, &mine.at, name);
        tare_session_attach(&session, &mine);
    }
    return mine.at.own;
}

/* The frame of a place, registered at its first use in a recording. */
static uint32_t frame_of(struct tare_place *place, bool counter)
{
    if (__atomic_load_n(&place->recording, __ATOMIC_ACQUIRE) == session.number)
        return place->id;
    pthread_mutex_lock(&session.lock);
    if (place->recording != session.number) {
        struct tare_recorder_frame frame = {.kind = TARE_FRAME_SPAN,
                                            .counter = counter,
                                            .name = place->name,
                                            .file = place->file,
                                            .first_line = place->line};
        place->id = tare_recorder_frame(session.recorder, &frame);
        __atomic_store_n(&place->recording, session.number, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&session.lock);
    return place->id;
}

void tare_span_begin(struct tare_place *place)
{
    struct tare_recorder_thread *thread = thread_of();
    if (thread)
        tare_recorder_enter(thread, frame_of(place, false), NULL, false);
}

/* A step that was left open ends with the span it lies in. */
static void step_close(struct tare_recorder_thread *thread)
{
    if (mine.step_depth && tare_recorder_depth(thread) == mine.step_depth) {
        tare_recorder_leave(thread, false);
        mine.step_depth = 0;
    }
}

void tare_span_end(void)
{
    struct tare_recorder_thread *thread = thread_of();
    if (!thread)
        return;
    step_close(thread);
    tare_recorder_leave(thread, false);
}

void tare_step(void)
{
    struct tare_recorder_thread *thread = thread_of();
    if (!thread)
        return;
    step_close(thread);
    tare_recorder_enter(thread, frame_of(&step_place, false), NULL, false);
    mine.step_depth = tare_recorder_depth(thread);
}

void tare_count(struct tare_place *place, int64_t amount)
{
    struct tare_recorder_thread *thread = thread_of();
    if (thread)
        tare_recorder_count(thread, frame_of(place, true), amount);
}

static void forked(void)
{
    tare_session_forked(&session, &mine.at, true);
}

static int explain(const char *what, char *problem, size_t size)
{
    if (problem && size)
        snprintf(problem, size, "%s", what);
    return -1;
}

int tare_record_begin(const char *folder, char *problem, size_t size)
{
    if (session.recorder)
        return explain("this process is recorded already", problem, size);
    if (!folder)
        folder = getenv("TARE_RECORD");
    if (!folder)
        return explain("no folder was given, and TARE_RECORD is not set", problem, size);
    if (tare_session_prepare(&session, thread_over, forked) < 0)
        return explain("out of memory", problem, size);
    struct tare_recorder_options options = {.folder = folder};
    struct tare_error err;
    struct tare_recorder *made;
    if (tare_recorder_create(&options, &made, &err) < 0)
        return explain(err.msg, problem, size);
    tare_session_begin(&session, made);
    return 0;
}

void tare_record_end(void)
{
    tare_recorder_destroy(tare_session_end(&session));
}

const char *tare_record_path(void)
{
    return session.recorder ? tare_recorder_path(session.recorder) : NULL;
}
