/* SPDX-License-Identifier: Apache-2.0 */
/* A capture becomes a profile. Every address is checked; a list cannot be longer than there are chunks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/capture.h"
#include "core/overhead.h"

/* Metadata that tells processes apart: labels of each thread, too. */
static const char *const label_keys[] = {"role", "rank", "local_rank"};
enum { LABEL_KEYS = sizeof label_keys / sizeof label_keys[0] };

/* The columns, in the order they are added. */
enum { CALLS, WALL, OPEN };

struct reading {
    const unsigned char *data;
    uint64_t size;        /* what the writer says it allocated, and is there */
    uint32_t chunks;      /* how many chunks fit */
    const char *name;     /* for messages */
    uint32_t *first_item; /* per chunk: the running number of its first frame or node */
    uint32_t *frame_of;   /* frame number -> profile frame */
    uint32_t frame_count;
    uint32_t *node_of; /* node number -> profile node */
    uint32_t node_count, node_room;
    struct tare_capture_counts *counts; /* per profile node */
    uint32_t counts_room;
    uint8_t *costs; /* per profile frame */
    struct tare_profile *profile;
    struct tare_capture_header header;
    uint64_t death_ticks;
    uint32_t open_calls;
    uint32_t label_values[LABEL_KEYS]; /* texts; 0: not said */
};

static int damaged(const struct reading *r, struct tare_error *err, const char *what)
{
    return tare_fail(err, TARE_E_INPUT, 0, "'%s' is a damaged capture: %s", r->name, what);
}

bool tare_capture_recognise(const void *head, size_t length)
{
    return length >= 8 && memcmp(head, TARE_CAPTURE_MAGIC, 8) == 0;
}

/* The number of the chunk that an address begins; UINT32_MAX if none does. */
static uint32_t chunk_number(const struct reading *r, uint32_t address)
{
    uint64_t offset = (uint64_t)address * TARE_CAPTURE_UNIT;
    if (offset < TARE_CAPTURE_HEADER || (offset - TARE_CAPTURE_HEADER) % TARE_CAPTURE_CHUNK != 0)
        return UINT32_MAX;
    uint64_t number = (offset - TARE_CAPTURE_HEADER) / TARE_CAPTURE_CHUNK;
    return number < r->chunks ? (uint32_t)number : UINT32_MAX;
}

static const unsigned char *chunk_start(const struct reading *r, uint32_t number)
{
    return r->data + TARE_CAPTURE_HEADER + (uint64_t)number * TARE_CAPTURE_CHUNK;
}

/* A walk along a list of chunks. */
struct chunks {
    uint32_t next;   /* address */
    uint32_t number; /* of the current one */
    uint32_t left;   /* a bound against cycles */
    uint32_t used;
    const unsigned char *items;
};

static struct chunks chunks_begin(const struct reading *r, uint32_t first)
{
    return (struct chunks){.next = first, .left = r->chunks};
}

/* 1 with the next chunk, 0 at the end, -1 when the list is broken. */
static int chunks_next(const struct reading *r, struct chunks *list, enum tare_chunk_kind kind,
                       struct tare_error *err)
{
    if (list->next == 0)
        return 0;
    list->number = chunk_number(r, list->next);
    if (list->number == UINT32_MAX || list->left-- == 0)
        return damaged(r, err, "a list of chunks leads nowhere");
    struct tare_capture_chunk chunk;
    memcpy(&chunk, chunk_start(r, list->number), sizeof chunk);
    if (chunk.kind != (uint32_t)kind)
        return damaged(r, err, "a chunk is not of the kind its list says");
    if (chunk.used > TARE_CAPTURE_CHUNK - sizeof chunk)
        return damaged(r, err, "a chunk is fuller than it can be");
    list->items = chunk_start(r, list->number) + sizeof chunk;
    list->used = chunk.used;
    list->next = chunk.next;
    return 1;
}

/* The running number of the item at an address, among items of a size in listed chunks; UINT32_MAX if there
 * is none. */
static uint32_t item_number(const struct reading *r, uint32_t address, size_t size, uint32_t count)
{
    uint64_t offset = (uint64_t)address * TARE_CAPTURE_UNIT;
    if (offset < TARE_CAPTURE_HEADER)
        return UINT32_MAX;
    uint64_t number = (offset - TARE_CAPTURE_HEADER) / TARE_CAPTURE_CHUNK;
    uint64_t inside = (offset - TARE_CAPTURE_HEADER) % TARE_CAPTURE_CHUNK;
    if (number >= r->chunks || r->first_item[number] == UINT32_MAX ||
        inside < sizeof(struct tare_capture_chunk))
        return UINT32_MAX;
    inside -= sizeof(struct tare_capture_chunk);
    if (inside % size != 0)
        return UINT32_MAX;
    uint64_t item = r->first_item[number] + inside / size;
    return item < count ? (uint32_t)item : UINT32_MAX;
}

/* A text of the capture as a string of the profile; "" for anything that is not one. */
static uint32_t text_to(const struct reading *r, uint32_t address)
{
    uint64_t offset = (uint64_t)address * TARE_CAPTURE_UNIT;
    if (offset < TARE_CAPTURE_HEADER || offset + sizeof(uint32_t) > r->size)
        return 0;
    uint64_t left = TARE_CAPTURE_CHUNK - (offset - TARE_CAPTURE_HEADER) % TARE_CAPTURE_CHUNK;
    uint32_t length;
    memcpy(&length, r->data + offset, sizeof length);
    if (sizeof length + (uint64_t)length > left || offset + sizeof length + length > r->size)
        return 0;
    return tare_profile_string(r->profile, (const char *)r->data + offset + sizeof length, length);
}

/* What stands for a counter among the numbers of frames: its column, counted down from the largest. */
static uint32_t counter_mark(uint32_t column)
{
    return TARE_NONE - 1 - column;
}

static bool is_counter(uint32_t frame)
{
    return frame != TARE_NONE && frame > TARE_NONE - 1 - TARE_COLUMNS_MAX;
}

static uint32_t counter_to(const struct reading *r, const struct tare_capture_frame *from)
{
    const char *name = tare_profile_text(r->profile, text_to(r, from->name));
    uint32_t known = tare_profile_find_column(r->profile, name);
    if (known == TARE_NONE && tare_profile_columns(r->profile) == TARE_COLUMNS_MAX) {
        tare_profile_note(r->profile, "the counter '%s' is left out: a profile has at most %d columns", name,
                          TARE_COLUMNS_MAX);
        return TARE_NONE;
    }
    /* The text lies in the profile, which may move when a column is added. */
    char *copy = strdup(name);
    uint32_t column = copy ? tare_profile_add_column(r->profile, copy, "count") : TARE_NONE;
    free(copy);
    return column == TARE_NONE ? TARE_NONE : counter_mark(column);
}

static uint32_t frame_to(const struct reading *r, const struct tare_capture_frame *from, uint8_t *taken,
                         uint32_t room)
{
    if (from->kind == TARE_CAPTURE_COUNTER)
        return counter_to(r, from);
    struct tare_frame frame = {
        .kind = (uint8_t)(from->kind <= TARE_FRAME_MARK && from->kind != TARE_FRAME_ROOT ? from->kind : 0),
        .name = text_to(r, from->name),
        .qualname = text_to(r, from->qualname),
        .file = text_to(r, from->file),
        .module = text_to(r, from->module),
        .first_line = from->first_line,
    };
    /* Two functions that look the same stay two. */
    for (;; frame.twin++) {
        uint32_t made = tare_profile_frame(r->profile, &frame);
        if (made == TARE_NONE || made >= room)
            return TARE_NONE;
        if (!taken[made]) {
            taken[made] = 1;
            return made;
        }
    }
}

static int read_frames(struct reading *r, struct tare_error *err)
{
    struct chunks list = chunks_begin(r, r->header.first_frames);
    int rc;
    while ((rc = chunks_next(r, &list, TARE_CHUNK_FRAMES, err)) > 0) {
        r->first_item[list.number] = r->frame_count;
        r->frame_count += list.used / (uint32_t)sizeof(struct tare_capture_frame);
    }
    if (rc < 0)
        return -1;
    r->frame_of = malloc(((size_t)r->frame_count + 1) * sizeof *r->frame_of);
    /* The profile's frames are those, and the roots of threads. */
    r->costs = calloc((size_t)r->frame_count + 1, 1);
    uint8_t *taken = calloc((size_t)r->frame_count + 1, 1);
    if (!r->frame_of || !r->costs || !taken) {
        free(taken);
        return tare_fail_memory(err);
    }
    uint32_t at = 0;
    list = chunks_begin(r, r->header.first_frames);
    while ((rc = chunks_next(r, &list, TARE_CHUNK_FRAMES, err)) > 0)
        for (uint32_t i = 0; i < list.used / sizeof(struct tare_capture_frame); i++) {
            struct tare_capture_frame frame;
            memcpy(&frame, list.items + i * sizeof frame, sizeof frame);
            uint32_t made = frame_to(r, &frame, taken, r->frame_count);
            if (made != TARE_NONE && !is_counter(made))
                r->costs[made] = (uint8_t)(frame.cost < TARE_COSTS ? frame.cost : TARE_COST_NONE);
            r->frame_of[at++] = made;
        }
    free(taken);
    return rc;
}

static int64_t to_ns(const struct reading *r, uint64_t ticks)
{
    double ns = (double)ticks * r->header.ns_per_tick;
    return ns < 9e18 ? llround(ns) : INT64_MAX;
}

/* The profile's node for a thread: a root with labels. */
static uint32_t thread_root(const struct reading *r, const struct tare_capture_thread *thread)
{
    struct tare_profile *profile = r->profile;
    struct tare_label labels[3 + LABEL_KEYS] = {
        {.key = tare_profile_intern(profile, "process"), .numeric = 1, .number = r->header.pid},
        {.key = tare_profile_intern(profile, "thread"), .text = text_to(r, thread->name)},
        {.key = tare_profile_intern(profile, "tid"), .numeric = 1, .number = thread->tid},
    };
    size_t count = 3;
    for (size_t i = 0; i < LABEL_KEYS; i++)
        if (r->label_values[i])
            labels[count++] = (struct tare_label){.key = tare_profile_intern(profile, label_keys[i]),
                                                  .text = r->label_values[i]};
    return tare_profile_root(profile, tare_profile_labels(profile, labels, count));
}

static int node_keep(struct reading *r, uint32_t node, struct tare_error *err)
{
    if (r->node_count == r->node_room) {
        uint32_t room = r->node_room ? r->node_room * 2 : 1024;
        uint32_t *grown = realloc(r->node_of, room * sizeof *grown);
        if (!grown)
            return tare_fail_memory(err);
        r->node_of = grown;
        r->node_room = room;
    }
    r->node_of[r->node_count++] = node;
    return 0;
}

/* Profile nodes are numbered as they are made, so this array grows by one or two at a time. */
static int counts_reach(struct reading *r, uint32_t node, struct tare_error *err)
{
    if (node < r->counts_room)
        return 0;
    uint64_t room = node < 512 ? 1024 : (uint64_t)node + node / 2;
    struct tare_capture_counts *grown = realloc(r->counts, room * sizeof *grown);
    if (!grown)
        return tare_fail_memory(err);
    memset(grown + r->counts_room, 0, (room - r->counts_room) * sizeof *grown);
    r->counts = grown;
    r->counts_room = (uint32_t)(room < UINT32_MAX ? room : UINT32_MAX);
    return 0;
}

static int counts_keep(struct reading *r, uint32_t node, const struct tare_capture_node *from,
                       struct tare_error *err)
{
    if (node == TARE_NONE)
        return 0; /* the profile remembers why */
    if (counts_reach(r, node, err) < 0)
        return -1;
    r->counts[node].resumes += from->resumes;
    r->counts[node].unwinds += from->unwinds;
    r->counts[node].blind += from->blind;
    return 0;
}

/* How often a node was called. A span that paused and went on was still opened once. */
static int64_t calls_of(const struct reading *r, uint32_t node, const struct tare_capture_node *from)
{
    uint64_t calls = from->calls & INT64_MAX;
    uint32_t frame = node == TARE_NONE ? TARE_NONE : tare_profile_node_at(r->profile, node)->frame;
    if (frame != TARE_NONE && tare_profile_frame_at(r->profile, frame)->kind == TARE_FRAME_SPAN)
        calls -= from->resumes < calls ? from->resumes : calls;
    return (int64_t)calls;
}

static int read_nodes(struct reading *r, const struct tare_capture_thread *thread, uint32_t root,
                      struct tare_error *err)
{
    struct chunks list = chunks_begin(r, thread->first_nodes);
    int rc;
    while ((rc = chunks_next(r, &list, TARE_CHUNK_NODES, err)) > 0) {
        r->first_item[list.number] = r->node_count;
        for (uint32_t i = 0; i < list.used / sizeof(struct tare_capture_node); i++) {
            struct tare_capture_node from;
            memcpy(&from, list.items + i * sizeof from, sizeof from);
            uint32_t node = root;
            if (from.parent) {
                uint32_t parent = item_number(r, from.parent, sizeof from, r->node_count);
                uint32_t frame =
                    item_number(r, from.frame, sizeof(struct tare_capture_frame), r->frame_count);
                if (parent == UINT32_MAX || frame == UINT32_MAX)
                    return damaged(r, err, "a context has no caller or no function");
                if (is_counter(r->frame_of[frame])) {
                    uint32_t column = counter_mark(r->frame_of[frame]);
                    tare_profile_add(r->profile, r->node_of[parent], column, (int64_t)from.self_ticks);
                    if (node_keep(r, r->node_of[parent], err) < 0)
                        return -1;
                    continue;
                }
                /* Every thread has a place for what finds no room; it shows only when it was used. */
                bool unused = frame == 0 && from.calls == 0;
                node = unused ? r->node_of[parent]
                              : tare_profile_child(r->profile, r->node_of[parent], r->frame_of[frame], 0);
            }
            if (node_keep(r, node, err) < 0)
                return -1;
            tare_profile_add(r->profile, node, CALLS, calls_of(r, node, &from));
            if (counts_keep(r, node, &from, err) < 0)
                return -1;
            tare_profile_add(r->profile, node, WALL, to_ns(r, from.self_ticks));
        }
    }
    return rc;
}

/* Close what was open: each call runs until the end, less what it called and less the open call it made. */
static int read_stack(struct reading *r, const struct tare_capture_thread *thread, uint64_t end,
                      struct tare_error *err)
{
    struct chunks list = chunks_begin(r, thread->first_stack);
    const uint32_t per_chunk =
        (TARE_CAPTURE_CHUNK - sizeof(struct tare_capture_chunk)) / sizeof(struct tare_capture_call);
    uint32_t number = 0, pending = TARE_NONE;
    struct tare_capture_call outer = {0};
    int rc = 1;
    while (number <= thread->depth && (rc = chunks_next(r, &list, TARE_CHUNK_STACK, err)) > 0)
        for (uint32_t i = 0; i < per_chunk && number <= thread->depth; i++, number++) {
            struct tare_capture_call call;
            memcpy(&call, list.items + i * sizeof call, sizeof call);
            if (number == 0)
                continue;
            uint32_t item = item_number(r, call.node, sizeof(struct tare_capture_node), r->node_count);
            if (item == UINT32_MAX)
                return damaged(r, err, "an open call has no context");
            if (call.enter_ticks > end)
                call.enter_ticks = end;
            if (pending != TARE_NONE) {
                uint64_t took = call.enter_ticks - outer.enter_ticks;
                bool sane = call.enter_ticks >= outer.enter_ticks && took >= outer.inner_ticks;
                tare_profile_add(r->profile, pending, WALL, sane ? to_ns(r, took - outer.inner_ticks) : 0);
            }
            pending = r->node_of[item];
            outer = call;
            tare_profile_add(r->profile, pending, CALLS, 1);
            tare_profile_add(r->profile, pending, OPEN, 1);
            r->open_calls++;
        }
    if (rc < 0)
        return -1;
    if (pending != TARE_NONE && end - outer.enter_ticks >= outer.inner_ticks)
        tare_profile_add(r->profile, pending, WALL, to_ns(r, end - outer.enter_ticks - outer.inner_ticks));
    return 0;
}

/* Did any thread leave calls open? 1, 0, or -1. */
static int any_open(const struct reading *r, struct tare_error *err)
{
    struct chunks list = chunks_begin(r, r->header.first_threads);
    int rc;
    while ((rc = chunks_next(r, &list, TARE_CHUNK_THREADS, err)) > 0)
        for (uint32_t i = 0; i < list.used / sizeof(struct tare_capture_thread); i++) {
            struct tare_capture_thread thread;
            memcpy(&thread, list.items + i * sizeof thread, sizeof thread);
            if (thread.depth)
                return 1;
        }
    return rc;
}

static int read_threads(struct reading *r, uint32_t *ret_threads, struct tare_error *err)
{
    struct chunks list = chunks_begin(r, r->header.first_threads);
    int rc;
    uint32_t threads = 0;
    while ((rc = chunks_next(r, &list, TARE_CHUNK_THREADS, err)) > 0)
        for (uint32_t i = 0; i < list.used / sizeof(struct tare_capture_thread); i++) {
            struct tare_capture_thread thread;
            memcpy(&thread, list.items + i * sizeof thread, sizeof thread);
            if (!thread.root)
                continue;
            threads++;
            uint32_t root = thread_root(r, &thread);
            uint64_t end = r->death_ticks ? r->death_ticks : thread.last_ticks;
            if (end < thread.last_ticks)
                end = thread.last_ticks;
            if (read_nodes(r, &thread, root, err) < 0)
                return -1;
            if (thread.depth && read_stack(r, &thread, end, err) < 0)
                return -1;
        }
    *ret_threads = threads;
    return rc;
}

/* Metadata travels as comments: "key: value". */
static int read_meta(struct reading *r, struct tare_error *err)
{
    struct chunks list = chunks_begin(r, r->header.first_meta);
    int rc;
    while ((rc = chunks_next(r, &list, TARE_CHUNK_META, err)) > 0)
        for (uint32_t i = 0; i < list.used / (2 * sizeof(uint32_t)); i++) {
            uint32_t pair[2];
            memcpy(pair, list.items + i * sizeof pair, sizeof pair);
            uint32_t key = text_to(r, pair[0]), value = text_to(r, pair[1]);
            /* The last one counts: a forked process adds its own to what it inherited. */
            for (size_t k = 0; k < LABEL_KEYS; k++)
                if (strcmp(tare_profile_text(r->profile, key), label_keys[k]) == 0)
                    r->label_values[k] = value;
            size_t key_length = tare_profile_text_length(r->profile, key);
            size_t value_length = tare_profile_text_length(r->profile, value);
            char *line = malloc(key_length + 2 + value_length);
            if (!line)
                return tare_fail_memory(err);
            memcpy(line, tare_profile_text(r->profile, key), key_length);
            memcpy(line + key_length, ": ", 2);
            memcpy(line + key_length + 2, tare_profile_text(r->profile, value), value_length);
            tare_profile_add_comment(r->profile, line, key_length + 2 + value_length);
            free(line);
        }
    return rc;
}

static int read_header(struct reading *r, size_t size, struct tare_error *err)
{
    if (size < TARE_CAPTURE_HEADER || !tare_capture_recognise(r->data, size))
        return damaged(r, err, "it does not begin like one");
    memcpy(&r->header, r->data, sizeof r->header);
    r->header.version[sizeof r->header.version - 1] = '\0';
    if (r->header.order != TARE_CAPTURE_ORDER)
        return damaged(r, err, "it comes from a machine with another byte order");
    if (r->header.layout != TARE_CAPTURE_LAYOUT)
        return tare_fail(err, TARE_E_INPUT, 0,
                         "'%s' is a capture of tare %s, which reads it; this is tare %s", r->name,
                         r->header.version, TARE_VERSION);
    if (!(r->header.ns_per_tick > 1e-6 && r->header.ns_per_tick < 1e6))
        return damaged(r, err, "its clock makes no sense");
    /* The writer may have grown it after it was copied: read what is there. */
    r->size = r->header.size < size ? r->header.size : size;
    if (r->size < TARE_CAPTURE_HEADER)
        return damaged(r, err, "it is cut short");
    r->chunks = (uint32_t)((r->size - TARE_CAPTURE_HEADER) / TARE_CAPTURE_CHUNK);
    return 0;
}

static int read_all(struct reading *r, struct tare_capture_info *info, struct tare_error *err)
{
    struct tare_profile *profile = r->profile;
    tare_profile_add_column(profile, "calls", "count");
    tare_profile_add_column(profile, "wall", "nanoseconds");
    int open = r->header.starting ? 0 : any_open(r, err);
    if (open < 0)
        return -1;
    if (open)
        tare_profile_add_column(profile, "open", "count");
    struct tare_profile_meta *meta = tare_profile_meta(profile);
    meta->time_ns = r->header.start_unix_ns;
    meta->default_column = tare_profile_intern(profile, "wall");
    r->first_item = malloc(((size_t)r->chunks + 1) * sizeof *r->first_item);
    if (!r->first_item)
        return tare_fail_memory(err);
    memset(r->first_item, 0xff, ((size_t)r->chunks + 1) * sizeof *r->first_item);
    if (read_meta(r, err) < 0 || read_frames(r, err) < 0 ||
        (!r->header.starting && read_threads(r, &info->threads, err) < 0))
        return -1;
    if (counts_reach(r, tare_profile_nodes(profile) - 1, err) < 0)
        return -1;
    return tare_profile_check(profile, err);
}

static void read_probes(const struct tare_capture_header *header, struct tare_capture_info *info)
{
    double count = (double)header->probes, ns = header->ns_per_tick;
    if (header->probes == 0)
        return;
    info->probes = count;
    info->probe_ns = (double)header->probe_ticks / count * ns;
    info->probe_variance =
        fmax(0, (double)header->probe_squares / count * ns * ns - info->probe_ns * info->probe_ns);
    info->probe_step = count > 1 ? (double)header->probe_steps / (count - 1) * ns * ns : 0;
}

int tare_capture_read(const void *data, size_t size, const char *name, uint64_t death_ticks,
                      struct tare_profile *profile, struct tare_capture_info *ret_info,
                      struct tare_error *err)
{
    struct reading r = {.data = data, .name = name, .profile = profile, .death_ticks = death_ticks};
    struct tare_capture_info info = {0};
    if (read_header(&r, size, err) < 0)
        return -1;
    int rc = read_all(&r, &info, err);
    free(r.first_item);
    free(r.frame_of);
    free(r.node_of);
    if (rc < 0) {
        free(r.counts);
        free(r.costs);
        return -1;
    }
    info.counts = r.counts;
    info.costs = r.costs;
    info.pid = r.header.pid;
    info.parent_pid = r.header.parent_pid;
    info.ended = r.header.end_ticks != 0;
    info.starting = r.header.starting != 0;
    info.open_calls = r.open_calls;
    info.truncated_calls = r.header.truncated_calls;
    info.lost_calls = r.header.lost_calls;
    read_probes(&r.header, &info);
    memcpy(info.version, r.header.version, sizeof info.version);
    *ret_info = info;
    return 0;
}

void tare_capture_info_finish(struct tare_capture_info *info)
{
    free(info->counts);
    free(info->costs);
    *info = (struct tare_capture_info){0};
}
