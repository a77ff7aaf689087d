/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of every recorded call, inline, for callers that record millions of them a second. Entering finds
 * the context by what the caller has at hand, a key such as the address of a function: one look into a small
 * table of the thread. What is not there is found by tare_recorder_enter, which puts it there. Same rules as
 * in recorder.h; the structures belong to the recorder, and nobody else touches them.
 */
#ifndef TARE_INSTRUMENT_RECORDER_HOT_H
#define TARE_INSTRUMENT_RECORDER_HOT_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/clock_now.h"
#include "core/capture.h"
#include "instrument/recorder.h"

/* A list of chunks that is being appended to. */
struct chunk_list {
    uint32_t *first; /* in the capture: where the list begins */
    uint32_t last;   /* address of its newest chunk */
};

enum { TARE_RECORDER_KNOWN_BITS = 9 };

/* The child of a context that was entered with a key. */
struct recorder_known {
    const void *key;
    uint32_t parent, child;
};

struct tare_recorder_thread {
    /* What every event touches, together. */
    unsigned char *base; /* the capture's mapping */
    struct tare_capture_call *top, *stack_begin, *stack_end;
    struct tare_capture_thread *record;
    const struct tare_clock *clock;
    uint64_t probe_at;   /* when the next probe is due */
    uint32_t lost_depth; /* calls that could not be put on the stack */
    uint32_t node_count;

    uint64_t *slots; /* high half tag, low half node; 0 empty */
    uint64_t slot_mask;
    uint64_t probe_last; /* what the latest probe took; 0: there was none */
    struct tare_recorder *recorder;
    struct chunk_list nodes, stack;
    uint32_t truncated; /* the node for calls without room */
    uint32_t *segments; /* addresses of the stack's chunks, oldest first */
    uint32_t segment_count, segment_now;
    struct tare_recorder_thread *next;
    struct recorder_known known[1 << TARE_RECORDER_KNOWN_BITS];
};

/** What lies at an address. */
static inline void *at_address(const unsigned char *base, uint32_t address)
{
    union {
        const unsigned char *given;
        unsigned char *kept;
    } memory = {.given = base};
    return memory.kept + (uint64_t)address * TARE_CAPTURE_UNIT;
}

/** Keep the compiler from moving stores across: the processor keeps the order that another process sees. */
static inline void recorder_in_this_order(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

/** Where a child entered with a key is remembered, if it is. */
static inline struct recorder_known *recorder_known_at(struct tare_recorder_thread *thread, uint32_t parent,
                                                       const void *key)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)key >> 4 ^ (uint64_t)parent << 16) * 0x9e3779b97f4a7c15u;
    return &thread->known[mixed >> (64 - TARE_RECORDER_KNOWN_BITS)];
}

/** Put a call on the stack; there is room. */
static inline void recorder_push(struct tare_recorder_thread *thread, struct tare_capture_call *call,
                                 uint32_t node, const void *key, bool resumed, uint64_t now)
{
    call->enter_ticks = now;
    call->inner_ticks = 0;
    call->key = (uint64_t)(uintptr_t)key;
    call->node = node;
    call->resumed = resumed;
    recorder_in_this_order();
    thread->record->depth++;
    thread->record->last_ticks = now;
    thread->top = call;
}

/** Take the innermost call off; it is not the first of its chunk. */
static inline void recorder_pop(struct tare_recorder_thread *thread, struct tare_capture_call *caller,
                                uint64_t now, bool unwound)
{
    struct tare_capture_call *call = thread->top;
    struct tare_capture_thread *record = thread->record;
    uint64_t took = now - call->enter_ticks;
    struct tare_capture_node *node = at_address(thread->base, call->node);
    record->depth--;
    record->last_ticks = now;
    recorder_in_this_order();
    node->calls++;
    node->self_ticks += took - call->inner_ticks;
    node->resumes += call->resumed;
    node->unwinds += unwound;
    caller->inner_ticks += took;
    thread->top = caller;
}

/** A call begins, as with tare_recorder_enter. False, and nothing happened: it is not remembered. */
static inline bool tare_recorder_enter_known(struct tare_recorder_thread *thread, const void *key,
                                             bool resumed)
{
    if (!thread) /* callers have one: said to the analyser */
        __builtin_unreachable();
    uint64_t now = tare_clock_now(thread->clock);
    struct tare_capture_call *top = thread->top, *call = top + 1;
    const struct recorder_known *known = recorder_known_at(thread, top->node, key);
    if (__builtin_expect(known->key != key || known->parent != top->node || call == thread->stack_end ||
                             thread->lost_depth || now >= thread->probe_at,
                         0))
        return false;
    recorder_push(thread, call, known->child, key, resumed, now);
    return true;
}

/** The innermost call ends, as with tare_recorder_leave_key. False, and nothing happened: use that. */
static inline bool tare_recorder_leave_known(struct tare_recorder_thread *thread, const void *key,
                                             bool unwound)
{
    uint64_t now = tare_clock_now(thread->clock);
    struct tare_capture_call *top = thread->top;
    if (__builtin_expect(
            top->key != (uint64_t)(uintptr_t)key || top == thread->stack_begin || thread->lost_depth, 0))
        return false;
    recorder_pop(thread, top - 1, now, unwound);
    return true;
}

#endif
