/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture: the file that a recorder writes while the program runs, and the checked reader of it. It is
 * private and short-lived, the one format of our own: another layout is refused, naming the tare that reads
 * it.
 *
 * One file per process. It is mapped by its writer and grows in chunks that are really allocated before they
 * are touched, so that a full disk costs contexts and never a signal. Whatever a store reached before the
 * process died is there: the reader needs no closing words. Links are addresses: offset / 8 as 32 bits, 0 for
 * none, so a capture holds at most 32 GiB.
 *
 * Order of writing, so that a writer killed anywhere leaves a file that reads: a record is filled before the
 * chunk's `used` or the link that makes it visible; a call is taken off the open stack before its time is
 * added to its node. At most the one event that was being written is missing per thread.
 */
#ifndef TARE_CORE_CAPTURE_H
#define TARE_CORE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/profile.h"

#define TARE_CAPTURE_MAGIC "tarecap"

enum {
    TARE_CAPTURE_LAYOUT = 2,
    TARE_CAPTURE_ORDER = 0x01020304,
    TARE_CAPTURE_HEADER = 4096,
    TARE_CAPTURE_CHUNK = 32 * 1024, /* chunks begin at multiples of it behind the header */
    TARE_CAPTURE_UNIT = 8,
};

enum tare_chunk_kind {
    TARE_CHUNK_FREE = 0,
    TARE_CHUNK_TEXT,    /* uint32_t length, bytes, NUL, padded to 8 */
    TARE_CHUNK_META,    /* uint32_t addresses of two texts: key, value */
    TARE_CHUNK_FRAMES,  /* struct tare_capture_frame */
    TARE_CHUNK_THREADS, /* struct tare_capture_thread */
    TARE_CHUNK_NODES,   /* struct tare_capture_node, of one thread, parents first */
    TARE_CHUNK_STACK,   /* struct tare_capture_call, of one thread */
    TARE_CHUNK_EVENTS,  /* kept for the timeline */
    TARE_CHUNK_KINDS,
};

struct tare_capture_chunk {
    uint32_t kind;
    uint32_t next; /* address of the next chunk of its list */
    uint32_t used; /* bytes behind this head */
    uint32_t reserved;
};

struct tare_capture_header {
    char magic[8];
    uint32_t order;
    uint32_t layout;
    char version[32]; /* the tare that wrote it */
    uint64_t size;    /* bytes that are really allocated */
    uint64_t cap;     /* bytes it may grow to */
    int64_t pid, parent_pid;
    int64_t start_unix_ns;
    uint64_t start_ticks;
    uint64_t end_ticks;  /* 0: it did not end by itself */
    double ns_per_tick;  /* of the clock that the ticks came from */
    uint32_t first_meta; /* chunk lists */
    uint32_t first_frames;
    uint32_t first_text;
    uint32_t first_threads;
    uint32_t first_events; /* kept for the timeline */
    uint32_t starting; /* 1: the program has not begun, what was recorded is the interpreter's own start */
    uint64_t truncated_calls; /* calls that had no room for a context of their own */
    uint64_t lost_calls;      /* calls that left no trace: their time is their caller's */
    uint64_t probe_ticks;     /* of all probes: work that is always the same, timed now and then */
    uint64_t probes;
    uint64_t probe_squares; /* of their ticks */
    uint64_t probe_steps;   /* squares of the differences between one and the next */
};

/* A kind of frame that only captures have: a counter. Its node stands under the context that counted; calls
 * is how often, self_ticks how much (as int64_t). */
enum { TARE_CAPTURE_COUNTER = 0x100 };

struct tare_capture_frame {
    uint32_t name, qualname, file, module; /* texts */
    uint32_t first_line;
    uint16_t kind; /* enum tare_frame_kind, or TARE_CAPTURE_COUNTER */
    uint16_t cost; /* enum tare_cost: what recording a call of it costs */
    uint64_t address;
};

struct tare_capture_thread {
    int64_t tid;
    uint32_t name; /* text */
    uint32_t
        root; /* node without frame; parent of the thread's outermost calls. 0: the thread does not count */
    uint32_t first_nodes; /* chunk lists */
    uint32_t first_stack;
    uint32_t depth; /* open calls; entry 0 of the stack is the thread itself and not counted */
    uint32_t ended; /* 1: the thread ended by itself */
    uint64_t begin_ticks;
    uint64_t last_ticks; /* of its last event */
};

struct tare_capture_node {
    uint32_t parent; /* node; 0 for the root of a thread */
    uint32_t frame;  /* 0 for the root of a thread */
    uint32_t reserved;
    uint32_t blind; /* calls it made that were reported and are no call of a function: of types */
    uint64_t calls;
    uint64_t self_ticks;
    uint32_t resumes; /* of the calls: how many took up a generator or coroutine again */
    uint32_t unwinds; /* of the calls: how many ended by an exception */
};

struct tare_capture_call {
    uint64_t enter_ticks;
    uint64_t inner_ticks; /* of the calls it made */
    uint64_t key;         /* the writer's own: tells it what was entered */
    uint32_t node;
    uint32_t resumed;
};

/* Of the calls of a node: what their cost depends on. */
struct tare_capture_counts {
    uint64_t resumes, unwinds, blind;
};

/* What a reader found beside the profile. */
struct tare_capture_info {
    struct tare_capture_counts *counts; /* per node of the profile, as many as it has */
    uint8_t *costs;                     /* per frame of the profile: enum tare_cost */
    int64_t pid, parent_pid;
    bool ended;    /* the writer closed it */
    bool starting; /* the program had not begun: the profile is empty */
    uint32_t threads;
    uint32_t open_calls; /* closed by the reader at the end of the capture */
    uint64_t truncated_calls;
    uint64_t lost_calls;
    double probes;
    double probe_ns;       /* what a probe took on average; 0: there were none */
    double probe_variance; /* in square nanoseconds, as the next */
    double probe_step;     /* the mean square of the difference between one and the next */
    char version[32];
};

/** Do these bytes begin like a capture? */
bool tare_capture_recognise(const void *head, size_t length);

/**
 * Read a capture into an empty profile, with the columns calls/count, wall/nanoseconds and, if calls were
 * open, open/count: those are closed at death_ticks (0: at the last event) and counted as calls; and one
 * column per counter. Each thread is a root with the labels process, thread and tid, and role, rank and
 * local_rank where the metadata say them. The writer may still be alive, but data must be a copy that does
 * not change. The times are as recorded: core/overhead.h takes the recorder's own off. Afterwards
 * tare_capture_info_finish, unless it failed.
 */
int tare_capture_read(const void *data, size_t size, const char *name, uint64_t death_ticks,
                      struct tare_profile *profile, struct tare_capture_info *ret_info,
                      struct tare_error *err);

/** Free what is in it. */
void tare_capture_info_finish(struct tare_capture_info *info);

#endif
