/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and events. The path of every call is tare_recorder_enter and tare_recorder_leave; all else is
 * rare. */
#include "instrument/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock_now.h"
#include "base/hash.h"
#include "instrument/recorder_impl.h"

enum {
    SLOTS_FIRST = 256,
    SEARCH_CALLS = 64, /* how far down a missed end is looked for */
};

static inline uint64_t child_hash(uint32_t parent, uint32_t frame)
{
    return tare_hash_mix((uint64_t)parent << 32 | frame);
}

static struct tare_capture_node *node_at(const struct tare_recorder_thread *thread, uint32_t node)
{
    return at_address(thread->base, node);
}

static void slot_put(uint64_t *slots, uint64_t mask, uint64_t hash, uint32_t node)
{
    uint64_t at = hash & mask;
    while (slots[at])
        at = (at + 1) & mask;
    slots[at] = hash >> 32 << 32 | node;
}

/* Twice the slots, filled from the old ones: a node's own words give its hash. */
static bool slots_grow(struct tare_recorder_thread *thread)
{
    uint64_t have = thread->slots ? thread->slot_mask + 1 : 0;
    uint64_t want = have ? have * 2 : SLOTS_FIRST;
    uint64_t *slots = calloc(want, sizeof *slots);
    if (!slots)
        return false;
    for (uint64_t i = 0; i < have; i++) {
        uint32_t node = (uint32_t)thread->slots[i];
        if (node)
            slot_put(slots, want - 1, child_hash(node_at(thread, node)->parent, node_at(thread, node)->frame),
                     node);
    }
    free(thread->slots);
    thread->slots = slots;
    thread->slot_mask = want - 1;
    return true;
}

/* A node in the thread's own chunks; 0: no room. */
static uint32_t node_add(struct tare_recorder_thread *thread, uint32_t parent, uint32_t frame)
{
    const uint32_t bytes = sizeof(struct tare_capture_node);
    struct tare_recorder *recorder = thread->recorder;
    if ((thread->node_count + 1) * 8ull > (thread->slot_mask + 1) * 5 && !slots_grow(thread))
        return 0;
    const struct tare_capture_chunk *chunk =
        thread->nodes.last ? at_address(thread->base, thread->nodes.last) : NULL;
    bool full = !chunk || bytes > TARE_CAPTURE_CHUNK - sizeof *chunk - chunk->used;
    if (full)
        pthread_mutex_lock(&recorder->lock);
    struct tare_capture_node *node = recorder_room(recorder, &thread->nodes, TARE_CHUNK_NODES, bytes);
    if (full)
        pthread_mutex_unlock(&recorder->lock);
    if (!node)
        return 0;
    node->parent = parent;
    node->frame = frame;
    recorder_publish(recorder, &thread->nodes, bytes);
    uint32_t address = address_of(thread->base, node);
    thread->node_count++;
    slot_put(thread->slots, thread->slot_mask, child_hash(parent, frame), address);
    return address;
}

static uint32_t child_find(struct tare_recorder_thread *thread, uint32_t parent, uint32_t frame)
{
    uint64_t hash = child_hash(parent, frame);
    uint64_t tag = hash >> 32;
    for (uint64_t at = hash & thread->slot_mask;; at = (at + 1) & thread->slot_mask) {
        uint64_t slot = thread->slots[at];
        if (slot == 0)
            break;
        if (slot >> 32 != tag)
            continue;
        const struct tare_capture_node *node = node_at(thread, (uint32_t)slot);
        if (node->parent == parent && node->frame == frame)
            return (uint32_t)slot;
    }
    /* Below <truncated> everything is <truncated>. */
    uint32_t made = parent == thread->truncated ? 0 : node_add(thread, parent, frame);
    if (made)
        return made;
    __atomic_fetch_add(&thread->recorder->header->truncated_calls, 1, __ATOMIC_RELAXED);
    return thread->truncated;
}

/* The stack goes on in another chunk: one it had before, or a new one. NULL: no room. */
static struct tare_capture_call *segment_next(struct tare_recorder_thread *thread)
{
    struct tare_recorder *recorder = thread->recorder;
    uint32_t want = thread->segment_count ? thread->segment_now + 1 : 0;
    if (want == thread->segment_count) {
        uint32_t *segments = realloc(thread->segments, (want + 1) * sizeof *segments);
        if (!segments)
            return NULL;
        thread->segments = segments;
        pthread_mutex_lock(&recorder->lock);
        uint32_t address = recorder_chunk_add(recorder, &thread->stack, TARE_CHUNK_STACK);
        pthread_mutex_unlock(&recorder->lock);
        if (!address)
            return NULL;
        segments[thread->segment_count++] = address;
    }
    thread->segment_now = want;
    struct tare_capture_chunk *chunk = at_address(thread->base, thread->segments[want]);
    struct tare_capture_call *first = (struct tare_capture_call *)(void *)(chunk + 1);
    thread->stack_begin = first;
    thread->stack_end = first + TARE_RECORDER_CALLS_PER_CHUNK;
    return first;
}

static struct tare_capture_call *segment_back(struct tare_recorder_thread *thread)
{
    struct tare_capture_chunk *chunk = at_address(thread->base, thread->segments[--thread->segment_now]);
    thread->stack_begin = (struct tare_capture_call *)(void *)(chunk + 1);
    thread->stack_end = thread->stack_begin + TARE_RECORDER_CALLS_PER_CHUNK;
    return thread->stack_end - 1;
}

void tare_recorder_enter(struct tare_recorder_thread *thread, uint32_t frame, const void *key, bool resumed)
{
    uint64_t now = tare_clock_now(thread->clock);
    if (now >= thread->probe_at)
        now = recorder_probe(thread, now);
    uint32_t parent = thread->top->node;
    uint32_t child = child_find(thread, parent, frame);
    struct tare_capture_call *call = thread->top + 1;
    if (call == thread->stack_end || thread->lost_depth) {
        call = thread->lost_depth ? NULL : segment_next(thread);
        if (!call) {
            thread->lost_depth++;
            __atomic_fetch_add(&thread->recorder->header->lost_calls, 1, __ATOMIC_RELAXED);
            return;
        }
    }
    if (key && child != thread->truncated)
        *recorder_known_at(thread, parent, key) = (struct recorder_known){key, parent, child};
    recorder_push(thread, call, child, key, resumed, now);
}

void tare_recorder_forget(struct tare_recorder_thread *thread)
{
    memset(thread->known, 0, sizeof thread->known);
}

/* End the innermost call, which is on the stack. */
static void leave_top(struct tare_recorder_thread *thread, uint64_t now, bool unwound)
{
    struct tare_capture_call *call = thread->top;
    recorder_pop(thread, call == thread->stack_begin ? segment_back(thread) : call - 1, now, unwound);
}

void tare_recorder_leave(struct tare_recorder_thread *thread, bool unwound)
{
    uint64_t now = tare_clock_now(thread->clock);
    if (thread->lost_depth)
        thread->lost_depth--;
    else if (thread->record->depth)
        leave_top(thread, now, unwound);
}

bool tare_recorder_leave_key(struct tare_recorder_thread *thread, const void *key, bool unwound)
{
    uint64_t now = tare_clock_now(thread->clock);
    /* The entry that stands for the thread itself has no key. */
    if (thread->top->key != (uint64_t)(uintptr_t)key || thread->lost_depth)
        return false;
    leave_top(thread, now, unwound);
    return true;
}

/* How many calls lie above the nearest open one of that frame; TARE_NONE if it is not among the nearest. */
static uint32_t calls_above(const struct tare_recorder_thread *thread, uint32_t frame)
{
    uint32_t depth = thread->record->depth;
    for (uint32_t above = 0; above < SEARCH_CALLS && above < depth; above++)
        if (recorder_open(thread, depth - above)->frame == frame)
            return above;
    return TARE_NONE;
}

uint32_t tare_recorder_leave_frame(struct tare_recorder_thread *thread, uint32_t frame, bool unwound)
{
    const struct tare_capture_node *node = node_at(thread, thread->top->node);
    /* What was folded away, or found no room on the stack, has no frame to compare: believe it. */
    if (node->frame == frame || thread->top->node == thread->truncated || thread->lost_depth) {
        tare_recorder_leave(thread, unwound);
        return 1;
    }
    uint32_t above = calls_above(thread, frame);
    if (above == TARE_NONE)
        return 0;
    for (uint32_t i = 0; i <= above; i++)
        tare_recorder_leave(thread, unwound);
    return above + 1;
}

void tare_recorder_blind(struct tare_recorder_thread *thread)
{
    node_at(thread, thread->top->node)->blind++;
}

void tare_recorder_totals(const struct tare_recorder_thread *thread, enum tare_cost cost, uint64_t *ret_calls,
                          uint64_t *ret_self_ticks)
{
    uint64_t calls = 0, self_ticks = 0;
    for (uint32_t at = *thread->nodes.first; at;) {
        const struct tare_capture_chunk *chunk = at_address(thread->base, at);
        const struct tare_capture_node *node = (const struct tare_capture_node *)(const void *)(chunk + 1);
        for (uint32_t i = 0; i < chunk->used / sizeof *node; i++) {
            const struct tare_capture_frame *frame = at_address(thread->base, node[i].frame);
            if (!node[i].frame || frame->cost != (uint16_t)cost)
                continue;
            calls += node[i].calls;
            self_ticks += node[i].self_ticks;
        }
        at = chunk->next;
    }
    *ret_calls = calls;
    *ret_self_ticks = self_ticks;
}

void tare_recorder_count(struct tare_recorder_thread *thread, uint32_t counter, int64_t amount)
{
    uint32_t cell = child_find(thread, thread->top->node, counter);
    if (cell == thread->truncated)
        return;
    struct tare_capture_node *node = node_at(thread, cell);
    node->calls++;
    node->self_ticks += (uint64_t)amount;
}

uint32_t tare_recorder_depth(const struct tare_recorder_thread *thread)
{
    return thread->record->depth + thread->lost_depth;
}

const char *tare_recorder_outermost(const struct tare_recorder_thread *thread)
{
    if (thread->record->depth == 0)
        return "";
    uint32_t address = recorder_open(thread, 1)->frame;
    const struct tare_capture_frame *frame = at_address(thread->base, address);
    return address && frame->name ? (const char *)at_address(thread->base, frame->name) + sizeof(uint32_t)
                                  : "";
}

/* A text in the capture, under the lock; 0: empty, or no room. */
static uint32_t text_add(struct tare_recorder *recorder, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (length == 0)
        return 0;
    /* A text lies in one chunk; what is longer is cut. */
    const size_t most = TARE_CAPTURE_CHUNK / 2;
    if (length > most)
        length = most;
    uint32_t bytes = (uint32_t)((sizeof(uint32_t) + length + 1 + TARE_CAPTURE_UNIT - 1) / TARE_CAPTURE_UNIT) *
                     TARE_CAPTURE_UNIT;
    unsigned char *where = recorder_room(recorder, &recorder->text, TARE_CHUNK_TEXT, bytes);
    if (!where)
        return 0;
    uint32_t stored = (uint32_t)length;
    memcpy(where, &stored, sizeof stored);
    memcpy(where + sizeof stored, text, length);
    recorder_publish(recorder, &recorder->text, bytes);
    return address_of(recorder->base, where);
}

static uint32_t frame_add(struct tare_recorder *recorder, const struct tare_recorder_frame *frame)
{
    struct tare_capture_frame made = {
        .name = text_add(recorder, frame->name),
        .qualname = text_add(recorder, frame->qualname),
        .file = text_add(recorder, frame->file),
        .module = text_add(recorder, frame->module),
        .first_line = frame->first_line,
        .kind = (uint16_t)(frame->counter ? TARE_CAPTURE_COUNTER : frame->kind),
        .cost = (uint16_t)frame->cost,
        .address = frame->address,
    };
    struct tare_capture_frame *where =
        recorder_room(recorder, &recorder->frames, TARE_CHUNK_FRAMES, sizeof made);
    if (!where)
        return 0;
    *where = made;
    recorder_publish(recorder, &recorder->frames, sizeof made);
    return address_of(recorder->base, where);
}

uint32_t tare_recorder_frame(struct tare_recorder *recorder, const struct tare_recorder_frame *frame)
{
    pthread_mutex_lock(&recorder->lock);
    uint32_t made = frame_add(recorder, frame);
    pthread_mutex_unlock(&recorder->lock);
    return made ? made : recorder->truncated_frame;
}

void tare_recorder_meta(struct tare_recorder *recorder, const char *key, const char *value)
{
    pthread_mutex_lock(&recorder->lock);
    uint32_t pair[2] = {text_add(recorder, key), text_add(recorder, value)};
    uint32_t *where = recorder_room(recorder, &recorder->meta, TARE_CHUNK_META, sizeof pair);
    if (where) {
        memcpy(where, pair, sizeof pair);
        recorder_publish(recorder, &recorder->meta, sizeof pair);
    }
    pthread_mutex_unlock(&recorder->lock);
}

void tare_recorder_starting(struct tare_recorder *recorder, bool starting)
{
    recorder->header->starting = starting;
}

void recorder_thread_free(struct tare_recorder_thread *thread)
{
    free(thread->slots);
    free(thread->segments);
    free(thread);
}

/* Everything of a thread that lies in the capture: record, root, <truncated>, and the stack's first entry. */
static bool thread_place(struct tare_recorder_thread *thread, int64_t tid, const char *name)
{
    struct tare_recorder *recorder = thread->recorder;
    pthread_mutex_lock(&recorder->lock);
    uint32_t name_text = text_add(recorder, name);
    struct tare_capture_thread *record =
        recorder_room(recorder, &recorder->threads, TARE_CHUNK_THREADS, sizeof *record);
    if (record) {
        record->tid = tid;
        record->name = name_text;
        record->begin_ticks = record->last_ticks = tare_clock_ticks(thread->clock);
        recorder_publish(recorder, &recorder->threads, sizeof *record);
    }
    pthread_mutex_unlock(&recorder->lock);
    if (!record)
        return false;
    thread->record = record;
    thread->nodes = (struct chunk_list){.first = &record->first_nodes};
    thread->stack = (struct chunk_list){.first = &record->first_stack};
    uint32_t root = node_add(thread, 0, 0);
    thread->truncated = root ? node_add(thread, root, recorder->truncated_frame) : 0;
    thread->top = thread->truncated ? segment_next(thread) : NULL;
    if (!thread->top)
        return false;
    thread->top->node = root;
    record->root = root;
    return true;
}

int recorder_thread_renew(struct tare_recorder_thread *thread, int64_t tid, const char *name)
{
    thread->base = thread->recorder->base;
    thread->node_count = 0;
    thread->lost_depth = 0;
    thread->segment_count = thread->segment_now = 0;
    memset(thread->slots, 0, (thread->slot_mask + 1) * sizeof *thread->slots);
    tare_recorder_forget(thread);
    return thread_place(thread, tid, name) ? 0 : -1;
}

bool tare_recorder_thread_restart(struct tare_recorder_thread *thread)
{
    struct tare_recorder_thread before = *thread;
    struct tare_capture_thread *old = thread->record;
    const char *name = old->name ? (const char *)at_address(thread->base, old->name) + sizeof(uint32_t) : "";
    if (recorder_thread_renew(thread, old->tid, name) < 0) {
        *thread = before;
        return false;
    }
    /* A thread without a root is none. */
    old->root = old->first_nodes = old->first_stack = 0;
    return true;
}

struct tare_recorder_thread *tare_recorder_thread_begin(struct tare_recorder *recorder, int64_t tid,
                                                        const char *name)
{
    struct tare_recorder_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->recorder = recorder;
    thread->base = recorder->base;
    thread->clock = &recorder->clock;
    thread->probe_at = recorder->probe ? 0 : UINT64_MAX;
    if (!slots_grow(thread) || !thread_place(thread, tid, name)) {
        recorder_thread_free(thread);
        return NULL;
    }
    pthread_mutex_lock(&recorder->lock);
    thread->next = recorder->list;
    recorder->list = thread;
    pthread_mutex_unlock(&recorder->lock);
    return thread;
}

void tare_recorder_thread_end(struct tare_recorder_thread *thread)
{
    struct tare_recorder *recorder = thread->recorder;
    while (thread->record->depth || thread->lost_depth)
        tare_recorder_leave(thread, false);
    thread->record->ended = 1;
    pthread_mutex_lock(&recorder->lock);
    struct tare_recorder_thread **link = &recorder->list;
    while (*link && *link != thread)
        link = &(*link)->next;
    if (*link)
        *link = thread->next;
    pthread_mutex_unlock(&recorder->lock);
    recorder_thread_free(thread);
}

static int recorder_start(struct tare_recorder *recorder, struct tare_error *err)
{
    if (recorder_file_open(recorder, err) < 0)
        return -1;
    struct tare_recorder_frame truncated = {.kind = TARE_FRAME_MARK, .name = "<truncated>"};
    recorder->truncated_frame = frame_add(recorder, &truncated);
    return 0;
}

int tare_recorder_create(const struct tare_recorder_options *options, struct tare_recorder **ret_recorder,
                         struct tare_error *err)
{
    struct tare_recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        return tare_fail_memory(err);
    recorder->fd = -1;
    pthread_mutex_init(&recorder->lock, NULL);
    recorder->cap = options->cap ? options->cap : (uint64_t)256 << 20;
    recorder->scratch = options->scratch;
    recorder->probe = options->probe;
    recorder->folder = strdup(options->folder ? options->folder : "");
    if (options->clock)
        recorder->clock = *options->clock;
    else
        tare_clock_init(&recorder->clock);
    if (!recorder->folder || recorder_start(recorder, err) < 0) {
        if (!recorder->folder)
            tare_fail_memory(err);
        recorder_file_close(recorder);
        free(recorder->folder);
        free(recorder->path);
        free(recorder);
        return -1;
    }
    *ret_recorder = recorder;
    return 0;
}

void tare_recorder_destroy(struct tare_recorder *recorder)
{
    if (!recorder)
        return;
    for (struct tare_recorder_thread *thread = recorder->list, *next; thread; thread = next) {
        next = thread->next;
        tare_recorder_thread_end(thread);
    }
    tare_clock_refine(&recorder->clock);
    recorder->header->ns_per_tick = 1e9 / recorder->clock.frequency_hz;
    recorder->header->end_ticks = tare_clock_ticks(&recorder->clock);
    recorder_file_close(recorder);
    pthread_mutex_destroy(&recorder->lock);
    free(recorder->folder);
    free(recorder->path);
    free(recorder);
}

const char *tare_recorder_path(const struct tare_recorder *recorder)
{
    return recorder->path;
}

const struct tare_clock *tare_recorder_clock(const struct tare_recorder *recorder)
{
    return &recorder->clock;
}
