/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After fork() two processes share one mapping. The child leaves it at once for a file of its own, in which
 * frames, texts and metadata lie where they lay, so that every id that the caller kept is still right;
 * threads, trees and stacks begin anew.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "instrument/recorder_impl.h"

/* The frames of a thread's open calls, outermost first, read from the mapping it leaves. NULL with count > 0:
 * no memory. */
static uint32_t *open_frames(const struct tare_recorder_thread *thread, uint32_t *ret_count)
{
    uint32_t depth = thread->record->depth;
    uint32_t *frames = calloc((size_t)depth + 1, sizeof *frames);
    *ret_count = depth;
    for (uint32_t i = 1; frames && i <= depth; i++)
        frames[i - 1] = recorder_open(thread, i)->frame;
    return frames;
}

/* Copy what keeps its place, and hand the other chunks out again. */
static int adopt_chunks(struct tare_recorder *recorder, const unsigned char *old, uint64_t end,
                        struct tare_error *err)
{
    const struct tare_capture_header *from = (const struct tare_capture_header *)(const void *)old;
    struct tare_capture_header *to = recorder->header;
    if (recorder_file_reach(recorder, end) != 0)
        return tare_fail(err, TARE_E_IO, 0, "no room for the capture of a forked process in '%s'",
                         recorder->folder);
    for (uint64_t offset = end; offset > TARE_CAPTURE_HEADER;) {
        offset -= TARE_CAPTURE_CHUNK;
        const struct tare_capture_chunk *chunk =
            (const struct tare_capture_chunk *)(const void *)(old + offset);
        struct tare_capture_chunk *mine = (struct tare_capture_chunk *)(void *)(recorder->base + offset);
        if (chunk->kind == TARE_CHUNK_TEXT || chunk->kind == TARE_CHUNK_META ||
            chunk->kind == TARE_CHUNK_FRAMES) {
            memcpy(mine, chunk, TARE_CAPTURE_CHUNK);
        } else {
            mine->next = recorder->free_chunk;
            recorder->free_chunk = (uint32_t)(offset / TARE_CAPTURE_UNIT);
        }
    }
    recorder->next_chunk = end;
    to->first_meta = from->first_meta;
    to->first_frames = from->first_frames;
    to->first_text = from->first_text;
    to->starting = from->starting;
    return 0;
}

int tare_recorder_forked(struct tare_recorder *recorder, struct tare_recorder_thread *thread,
                         struct tare_error *err)
{
    struct tare_recorder old = *recorder;
    /* Whoever held the lock does not exist here. */
    pthread_mutex_init(&recorder->lock, NULL);
    uint32_t count = 0;
    uint32_t *frames = thread ? open_frames(thread, &count) : NULL;
    recorder->path = NULL;
    recorder->fd = -1;
    recorder->base = NULL;
    int rc = -1;
    if (thread && !frames) {
        rc = tare_fail_memory(err);
        goto out;
    }
    if (recorder_file_open(recorder, err) < 0 || adopt_chunks(recorder, old.base, old.next_chunk, err) < 0)
        goto out;
    recorder->meta.last = old.meta.last;
    recorder->frames.last = old.frames.last;
    recorder->text.last = old.text.last;
    for (struct tare_recorder_thread *gone = recorder->list, *next; gone; gone = next) {
        next = gone->next;
        if (gone != thread)
            recorder_thread_free(gone);
    }
    recorder->list = thread;
    if (thread) {
        thread->next = NULL;
        if (recorder_thread_renew(thread, getpid(), "MainThread") < 0) {
            rc = tare_fail(err, TARE_E_IO, 0, "no room for the capture of a forked process in '%s'",
                           recorder->folder);
            goto out;
        }
        for (uint32_t i = 0; i < count; i++)
            tare_recorder_enter(thread, frames[i], NULL, false);
    }
    rc = 0;
out:
    munmap(old.base, old.cap);
    close(old.fd);
    free(old.path);
    free(frames);
    return rc;
}
