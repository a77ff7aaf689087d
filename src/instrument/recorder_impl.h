/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the recorder: its memory, and how the capture grows. Only src/instrument/recorder*.c includes this.
 */
#ifndef TARE_INSTRUMENT_RECORDER_IMPL_H
#define TARE_INSTRUMENT_RECORDER_IMPL_H

#include <pthread.h>
#include <stddef.h>

#include "core/capture.h"
#include "instrument/recorder_hot.h"

enum {
    TARE_RECORDER_CALLS_PER_CHUNK =
        (TARE_CAPTURE_CHUNK - sizeof(struct tare_capture_chunk)) / sizeof(struct tare_capture_call),
};

struct tare_recorder {
    struct tare_clock clock;
    pthread_mutex_t lock; /* growing, registering */
    char *folder, *path;
    int fd;
    bool scratch;        /* the file has no name */
    unsigned char *base; /* reserved address space of cap bytes; mapped up to header->size */
    uint64_t cap;
    uint64_t next_chunk; /* offset of the first chunk never used */
    uint32_t free_chunk; /* chunks to use again */
    struct tare_capture_header *header;
    struct chunk_list meta, frames, text, threads;
    uint32_t truncated_frame;
    tare_recorder_probe *probe; /* or NULL */
    uint64_t probe_best;        /* the fastest so far, in ticks */
    struct tare_recorder_thread *list;
};

/** The address of something in the capture. */
static inline uint32_t address_of(const unsigned char *base, const void *memory)
{
    return (uint32_t)((uint64_t)((const unsigned char *)memory - base) / TARE_CAPTURE_UNIT);
}

/** The context of an open call; number 1 is the outermost. */
static inline const struct tare_capture_node *recorder_open(const struct tare_recorder_thread *thread,
                                                            uint32_t number)
{
    const struct tare_capture_chunk *chunk =
        at_address(thread->base, thread->segments[number / TARE_RECORDER_CALLS_PER_CHUNK]);
    const struct tare_capture_call *calls = (const struct tare_capture_call *)(const void *)(chunk + 1);
    return at_address(thread->base, calls[number % TARE_RECORDER_CALLS_PER_CHUNK].node);
}

/** A probe is due, in a call that begins now: when it begins after the probe. The probe's time is nobody's.
 */
uint64_t recorder_probe(struct tare_recorder_thread *thread, uint64_t now);

/** Make and map the file. */
int recorder_file_open(struct tare_recorder *recorder, struct tare_error *err);

/** Unmap and close; the file stays. */
void recorder_file_close(struct tare_recorder *recorder);

/** Make the file at least size bytes long. 0 or an errno. */
int recorder_file_reach(struct tare_recorder *recorder, uint64_t size);

/** Free a thread's own memory. */
void recorder_thread_free(struct tare_recorder_thread *thread);

/** Give a thread a new place in a new capture: an empty tree, nothing open. */
int recorder_thread_renew(struct tare_recorder_thread *thread, int64_t tid, const char *name);

/** A new chunk at the end of a list, under the lock. 0: no room. */
uint32_t recorder_chunk_add(struct tare_recorder *recorder, struct chunk_list *list,
                            enum tare_chunk_kind kind);

/** Room for bytes in the newest chunk of a list, zeroed, not yet visible; then recorder_publish. NULL: no
 * room. */
void *recorder_room(struct tare_recorder *recorder, struct chunk_list *list, enum tare_chunk_kind kind,
                    uint32_t bytes);

/** Make what recorder_room gave visible to readers. */
void recorder_publish(struct tare_recorder *recorder, const struct chunk_list *list, uint32_t bytes);

#endif
