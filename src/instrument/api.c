/* SPDX-License-Identifier: Apache-2.0 */
/* The public C API: places, threads and forks on top of the recorder. */
#include "tare/tare.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "instrument/recorder.h"

/*
 * The one recording of this process. Global because spans are named anywhere in a program, without a handle.
 * recorder and number change only while beginning, ending and forking, when the caller says that no span is
 * open.
 */
static struct {
    struct tare_recorder *recorder;
    unsigned number; /* counts recordings; places and threads remember which they know */
    bool prepared;
    pthread_key_t key;
    pthread_mutex_t lock; /* registering places */
    struct tare_place step;
} recording = {.lock = PTHREAD_MUTEX_INITIALIZER, .step = {.name = "step"}};

struct memory {
    struct tare_recorder_thread *thread;
    unsigned number;
    uint32_t step_depth; /* how deep the open step lies; 0: none is open */
};

static _Thread_local struct memory mine;

/* A thread ends. */
static void thread_over(void *memory)
{
    struct memory *over = memory;
    if (recording.recorder && over->thread && over->number == recording.number)
        tare_recorder_thread_end(over->thread);
    *over = (struct memory){0};
}

static struct tare_recorder_thread *thread_of(void)
{
    if (!recording.recorder)
        return NULL;
    if (mine.number != recording.number) {
        char name[16] = "";
        pthread_getname_np(pthread_self(), name, sizeof name);
        mine = (struct memory){.number = recording.number};
        mine.thread = tare_recorder_thread_begin(recording.recorder, (int64_t)syscall(SYS_gettid), name);
        pthread_setspecific(recording.key, &mine);
    }
    return mine.thread;
}

/* The frame of a place, registered at its first use in a recording. */
static uint32_t frame_of(struct tare_place *place, bool counter)
{
    if (__atomic_load_n(&place->recording, __ATOMIC_ACQUIRE) == recording.number)
        return place->id;
    pthread_mutex_lock(&recording.lock);
    if (place->recording != recording.number) {
        struct tare_recorder_frame frame = {.kind = TARE_FRAME_SPAN,
                                            .counter = counter,
                                            .name = place->name,
                                            .file = place->file,
                                            .first_line = place->line};
        place->id = tare_recorder_frame(recording.recorder, &frame);
        __atomic_store_n(&place->recording, recording.number, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&recording.lock);
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
    tare_recorder_enter(thread, frame_of(&recording.step, false), NULL, false);
    mine.step_depth = tare_recorder_depth(thread);
}

void tare_count(struct tare_place *place, int64_t amount)
{
    struct tare_recorder_thread *thread = thread_of();
    if (thread)
        tare_recorder_count(thread, frame_of(place, true), amount);
}

/* In a forked child: a capture of its own, or none. */
static void forked(void)
{
    pthread_mutex_init(&recording.lock, NULL);
    if (!recording.recorder)
        return;
    struct tare_error err;
    struct tare_recorder_thread *thread = mine.number == recording.number ? mine.thread : NULL;
    if (tare_recorder_forked(recording.recorder, thread, &err) == 0)
        return;
    recording.recorder = NULL;
    recording.number++;
}

static int explain(const char *what, char *problem, size_t size)
{
    if (problem && size)
        snprintf(problem, size, "%s", what);
    return -1;
}

int tare_record_begin(const char *folder, char *problem, size_t size)
{
    if (recording.recorder)
        return explain("this process is recorded already", problem, size);
    if (!folder)
        folder = getenv("TARE_RECORD");
    if (!folder)
        return explain("no folder was given, and TARE_RECORD is not set", problem, size);
    if (!recording.prepared) {
        if (pthread_key_create(&recording.key, thread_over) != 0 || pthread_atfork(NULL, NULL, forked) != 0)
            return explain("out of memory", problem, size);
        recording.prepared = true;
    }
    struct tare_recorder_options options = {.folder = folder};
    struct tare_error err;
    struct tare_recorder *made;
    if (tare_recorder_create(&options, &made, &err) < 0)
        return explain(err.msg, problem, size);
    recording.recorder = made;
    recording.number++;
    return 0;
}

void tare_record_end(void)
{
    struct tare_recorder *ended = recording.recorder;
    recording.recorder = NULL;
    recording.number++;
    tare_recorder_destroy(ended);
}

const char *tare_record_path(void)
{
    return recording.recorder ? tare_recorder_path(recording.recorder) : NULL;
}
