/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ort_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bench/ort_profile_scan.h"
#include "core/stats.h"

/* A line longer than this is not an event of a sane model. */
static const size_t line_cap = (size_t)1 << 20;
/* What the file may cost in memory, whatever it says. */
static const size_t memory_cap = (size_t)512 << 20;
/* Times that are kept, nodes by calls. */
static const size_t times_max = (size_t)4 << 20;
/* A runtime with a higher limit than today's is read so far. */
enum { EVENTS_MAX = 4 * TARE_ORT_PROFILE_EVENTS };
enum { DEPTH_MAX = 32 };
/* Of fewer calls nobody can say which one was stopped; less than this is the clock's own grain. */
enum { STOPS_FROM = 8 };
static const double stop_ns = 2000;

/* One event of the call that is being read. */
struct pending {
    int64_t thread, start_us, length_us;
    uint32_t node; /* NO_NODE: a graph ran */
    uint32_t order;
    bool split;
};

/* A node ran once: what is kept of it. */
struct record {
    uint32_t node, call;
    int32_t self_us, gap_us; /* gap -1: none */
};

static const uint32_t NO_NODE = UINT32_MAX;

struct reader {
    struct tare_ort_profile *profile;
    struct tare_ort_node *nodes;
    size_t nodes_room;
    uint32_t *slots; /* hash table of node numbers + 1 */
    size_t slots_count;
    struct pending *pending;
    size_t pending_count, pending_room;
    struct record *records;
    size_t records_count, records_room;
};

bool tare_ort_profile_has_body(const char *op)
{
    static const char *const ops[] = {"If", "Loop", "Scan", "SequenceMap", NULL};
    for (const char *const *at = ops; *at; at++)
        if (strcmp(op, *at) == 0)
            return true;
    return false;
}

/* Room for one more; false when memory ran out. */
static bool grow(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room ? *room * 2 : 64;
    void *old, *moved;
    memcpy(&old, items, sizeof old);
    moved = reallocarray(old, more, size);
    if (!moved)
        return false;
    memcpy(items, &moved, sizeof moved);
    *room = more;
    return true;
}

static size_t slot_of(const struct reader *reader, const char *name, size_t length, int64_t index)
{
    uint64_t hash = tare_hash_mix(tare_hash_bytes(name, length) + (uint64_t)index);
    size_t at = hash & (reader->slots_count - 1);
    for (; reader->slots && reader->slots[at]; at = (at + 1) & (reader->slots_count - 1)) {
        const struct tare_ort_node *node = &reader->nodes[reader->slots[at] - 1];
        if (node->index == index && strlen(node->name) == length && memcmp(node->name, name, length) == 0)
            break;
    }
    return at;
}

static int rehash(struct reader *reader, struct tare_error *err)
{
    size_t count = reader->slots_count ? reader->slots_count * 2 : 256;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return tare_fail_memory(err);
    free(reader->slots);
    reader->slots = slots;
    reader->slots_count = count;
    for (size_t i = 0; reader->nodes && i < reader->profile->nodes_count; i++) {
        const struct tare_ort_node *node = &reader->nodes[i];
        slots[slot_of(reader, node->name, strlen(node->name), node->index)] = (uint32_t)i + 1;
    }
    return 0;
}

static const char *keep_text(struct reader *reader, const struct tare_ort_event *event, const char *key)
{
    size_t length;
    const char *text = tare_ort_scan_text(event, key, &length);
    return tare_arena_text(&reader->profile->arena, text, length);
}

/* The node's number; its shapes are those of its first run. */
static int find_node(struct reader *reader, const struct tare_ort_event *event, uint32_t *ret_node,
                     struct tare_error *err)
{
    struct tare_ort_profile *profile = reader->profile;
    /* A name ends at its first NUL, as everywhere else. */
    size_t length = strnlen(event->name, event->name_length);
    int64_t index = tare_ort_scan_int(event, "node_index");
    if ((!reader->slots || profile->nodes_count * 2 >= reader->slots_count) && rehash(reader, err) < 0)
        return -1;
    if (!reader->slots)
        return tare_fail_memory(err);
    size_t slot = slot_of(reader, event->name, length, index);
    if (reader->slots[slot]) {
        *ret_node = reader->slots[slot] - 1;
        return 0;
    }
    if (!grow(&reader->nodes, profile->nodes_count, &reader->nodes_room, sizeof *reader->nodes))
        return tare_fail_memory(err);
    struct tare_ort_node *node = &reader->nodes[profile->nodes_count];
    *node = (struct tare_ort_node){
        .name = tare_arena_text(&profile->arena, event->name, length),
        .op = keep_text(reader, event, "op_name"),
        .provider = keep_text(reader, event, "provider"),
        .index = index,
        .activation_bytes = tare_ort_scan_int(event, "activation_size"),
        .parameter_bytes = tare_ort_scan_int(event, "parameter_size"),
        .output_bytes = tare_ort_scan_int(event, "output_size"),
    };
    node->inputs = tare_ort_scan_shapes(event, "input_type_shape", &profile->arena, &node->inputs_count);
    node->outputs = tare_ort_scan_shapes(event, "output_type_shape", &profile->arena, &node->outputs_count);
    if (tare_arena_check(&profile->arena, err) < 0)
        return -1;
    *ret_node = (uint32_t)profile->nodes_count;
    reader->slots[slot] = (uint32_t)++profile->nodes_count;
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct pending *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    if (x->length_us != y->length_us) /* what holds another comes first */
        return x->length_us > y->length_us ? -1 : 1;
    return x->order > y->order ? -1 : 1; /* and is written last */
}

static int32_t clamp_us(int64_t us)
{
    return us < 0 ? 0 : us > INT32_MAX ? INT32_MAX : (int32_t)us;
}

/* Nodes of one thread that hold the event being looked at, outermost first. */
struct nest {
    size_t record;     /* of the node that holds */
    int64_t end_us;    /* of it */
    int64_t graphs_us; /* spent in its bodies, as the graphs' own events say */
    int64_t nodes_us;  /* and as their nodes say */
    size_t last;       /* record of the last node in it, for the gap; SIZE_MAX if none */
    int64_t last_end_us;
};

static void leave(struct reader *reader, const struct nest *nest)
{
    int64_t inside = nest->graphs_us > nest->nodes_us ? nest->graphs_us : nest->nodes_us;
    struct record *record = &reader->records[nest->record];
    record->self_us = clamp_us(record->self_us - inside);
}

/* A call of the model is complete: who ran inside whom, and how long was it between them? */
static int end_call(struct reader *reader, struct tare_error *err)
{
    struct tare_ort_profile *profile = reader->profile;
    struct nest nests[DEPTH_MAX + 1];
    size_t depth = 0;
    nests[0] = (struct nest){.last = SIZE_MAX, .end_us = INT64_MAX};
    if (reader->pending_count > 0)
        qsort(reader->pending, reader->pending_count, sizeof *reader->pending, by_start);
    for (size_t i = 0; i < reader->pending_count; i++) {
        const struct pending *event = &reader->pending[i];
        bool other_thread = i > 0 && event->thread != reader->pending[i - 1].thread;
        while (depth > 0 && (other_thread || event->start_us >= nests[depth].end_us))
            leave(reader, &nests[depth--]);
        if (other_thread)
            nests[0].last = SIZE_MAX;
        struct nest *nest = &nests[depth];
        if (event->node == NO_NODE || !reader->nodes) {
            nest->graphs_us += event->length_us;
            continue;
        }
        if (!grow(&reader->records, reader->records_count, &reader->records_room, sizeof *reader->records))
            return tare_fail_memory(err);
        struct tare_ort_node *node = &reader->nodes[event->node];
        node->calls++;
        node->split += event->split;
        node->nested = node->nested || depth > 0;
        if (nest->last != SIZE_MAX)
            reader->records[nest->last].gap_us = clamp_us(event->start_us - nest->last_end_us);
        size_t number = reader->records_count++;
        reader->records[number] = (struct record){
            .node = event->node,
            .call = (uint32_t)profile->calls,
            .self_us = clamp_us(event->length_us),
            .gap_us = -1,
        };
        nest->nodes_us += event->length_us;
        nest->last = number;
        nest->last_end_us = event->start_us + event->length_us;
        if (tare_ort_profile_has_body(node->op) && depth < DEPTH_MAX)
            nests[++depth] = (struct nest){
                .record = number, .last = SIZE_MAX, .end_us = event->start_us + event->length_us};
    }
    while (depth > 0)
        leave(reader, &nests[depth--]);
    reader->pending_count = 0;
    profile->calls++;
    return 0;
}

static int add_line(struct reader *reader, const char *line, size_t length, struct tare_error *err)
{
    struct tare_ort_profile *profile = reader->profile;
    struct tare_ort_event event;
    enum tare_ort_line kind = tare_ort_scan_line(line, length, &event);
    if (kind == TARE_ORT_LINE_NONE)
        return 0;
    if (kind == TARE_ORT_LINE_ODD) {
        profile->odd++;
        return 0;
    }
    if (++profile->events > EVENTS_MAX)
        return tare_fail(err, TARE_E_LIMIT, 0, "the profile has more than %d events: profile fewer calls",
                         EVENTS_MAX);
    if (kind == TARE_ORT_LINE_CALL)
        return end_call(reader, err);
    if (kind == TARE_ORT_LINE_OTHER)
        return 0;
    uint32_t node = NO_NODE;
    if (kind == TARE_ORT_LINE_NODE && find_node(reader, &event, &node, err) < 0)
        return -1;
    if (!grow(&reader->pending, reader->pending_count, &reader->pending_room, sizeof *reader->pending))
        return tare_fail_memory(err);
    reader->pending[reader->pending_count] = (struct pending){
        .thread = event.thread,
        .start_us = event.start_us,
        .length_us = event.length_us,
        .node = node,
        .order = (uint32_t)reader->pending_count,
        .split = kind == TARE_ORT_LINE_NODE && tare_ort_scan_split(&event),
    };
    reader->pending_count++;
    return 0;
}

static int read_lines(struct reader *reader, struct tare_in *in, struct tare_error *err)
{
    struct tare_buf line;
    tare_buf_init(&line, line_cap);
    int rc = -1;
    for (;;) {
        char block[16384];
        size_t got;
        if (tare_in_read(in, block, sizeof block, &got, err) < 0)
            goto out;
        if (got == 0)
            break;
        for (size_t at = 0; at < got;) {
            const char *end = memchr(block + at, '\n', got - at);
            size_t part = end ? (size_t)(end - block) - at : got - at;
            tare_buf_add(&line, block + at, part);
            at += part;
            if (!end)
                break;
            at++;
            if (line.failed)
                reader->profile->odd++;
            else if (add_line(reader, line.data, line.length, err) < 0)
                goto out;
            tare_buf_clear(&line);
        }
    }
    /* A last line without an end is what a killed process leaves. */
    if (!line.failed && line.length > 0 && add_line(reader, line.data, line.length, err) < 0)
        goto out;
    rc = 0;
out:
    tare_buf_finish(&line);
    return rc;
}

/* A call's number and how long its nodes took together. */
struct total {
    double us;
    size_t call;
};

static int by_total(const void *a, const void *b)
{
    const struct total *x = a, *y = b;
    if (x->us != y->us)
        return x->us < y->us ? -1 : 1;
    return x->call < y->call ? -1 : 1;
}

/* The mean over calls, which are sorted by it. One that took far longer than it usually does was stopped: the
 * processor did something else. */
static void average(struct tare_ort_node *node, double *times, size_t count)
{
    qsort(times, count, sizeof *times, tare_stats_by_value);
    node->low_ns = times[count / 4];
    if (count >= STOPS_FROM) {
        double limit = times[count - 1 - count / 4];
        limit += 3 * (limit - node->low_ns) + stop_ns;
        while (times[count - 1] > limit)
            count--;
    }
    for (size_t i = 0; i < count; i++)
        node->ns += times[i] / (double)count;
    for (size_t i = 0; count > 1 && i < count; i++)
        node->error_ns += (times[i] - node->ns) * (times[i] - node->ns) / (double)(count - 1);
    node->error_ns = sqrt(node->error_ns / (double)count);
}

/*
 * The figures rest on typical calls: the middle half by the time that all nodes took together. Taking the
 * middle of each node by itself would lose what every call has somewhere (a page fault here, a refill of the
 * cache there), and the sum would fall short of any call that was ever made.
 */
static int reduce(struct reader *reader, size_t skip, struct tare_error *err)
{
    struct tare_ort_profile *profile = reader->profile;
    size_t first = profile->calls > skip ? skip : 0;
    size_t count = profile->calls - first;
    size_t typical = count >= 4 ? count - 2 * (count / 4) : count;
    if (profile->nodes_count > 0 && typical > times_max / profile->nodes_count)
        typical = times_max / profile->nodes_count > 0 ? times_max / profile->nodes_count : 1;
    struct total *totals = calloc(count, sizeof *totals);
    size_t *columns = calloc(profile->calls, sizeof *columns); /* 0: not typical, else its number + 1 */
    double *times = calloc(profile->nodes_count * typical + 1, sizeof *times);
    int64_t *gaps = calloc(profile->nodes_count + 1, sizeof *gaps);
    int64_t *gaps_us = calloc(profile->nodes_count + 1, sizeof *gaps_us);
    int rc = -1;
    if (!totals || !columns || !times || !gaps || !gaps_us) {
        tare_fail_memory(err);
        goto out;
    }
    for (size_t i = 0; i < count; i++)
        totals[i].call = first + i;
    for (size_t i = 0; i < reader->records_count; i++)
        if (reader->records[i].call >= first)
            totals[reader->records[i].call - first].us += reader->records[i].self_us;
    qsort(totals, count, sizeof *totals, by_total);
    for (size_t i = 0; i < typical; i++)
        columns[totals[(count - typical) / 2 + i].call] = i + 1;
    for (size_t i = 0; i < reader->records_count; i++) {
        const struct record *record = &reader->records[i];
        size_t column = columns[record->call];
        if (column == 0)
            continue;
        times[record->node * typical + column - 1] += record->self_us * 1e3;
        /* A gap that took a thousand times longer than any event is a stop, not the profiler. */
        if (record->gap_us >= 0 && record->gap_us < 1000) {
            gaps[record->node]++;
            gaps_us[record->node] += record->gap_us;
        }
    }
    for (size_t i = 0; reader->nodes && i < profile->nodes_count; i++) {
        struct tare_ort_node *node = &reader->nodes[i];
        average(node, times + i * typical, typical);
        node->has_gap = gaps[i] > 0;
        node->gap_ns = gaps[i] > 0 ? (double)gaps_us[i] * 1e3 / (double)gaps[i] : 0;
        profile->sum_ns += node->ns;
    }
    profile->typical = typical;
    profile->full = profile->events >= TARE_ORT_PROFILE_EVENTS;
    rc = 0;
out:
    free(totals);
    free(columns);
    free(times);
    free(gaps);
    free(gaps_us);
    return rc;
}

int tare_ort_profile_read(struct tare_in *in, size_t skip, struct tare_ort_profile **ret_profile,
                          struct tare_error *err)
{
    struct reader reader = {.profile = calloc(1, sizeof *reader.profile)};
    if (!reader.profile)
        return tare_fail_memory(err);
    tare_arena_init(&reader.profile->arena, memory_cap);
    int rc = read_lines(&reader, in, err);
    if (rc == 0 && reader.profile->calls == 0)
        rc = tare_fail(err, TARE_E_INPUT, 0,
                       "'%s' has no complete call of a model: it is not a profile of ONNX Runtime, or it was "
                       "cut short",
                       tare_in_name(in));
    if (rc == 0)
        rc = reduce(&reader, skip, err);
    if (rc == 0) {
        struct tare_ort_node *nodes =
            tare_arena_array(&reader.profile->arena, reader.profile->nodes_count + 1, sizeof *nodes);
        if (!nodes)
            rc = tare_fail_memory(err);
        else if (reader.nodes && reader.profile->nodes_count > 0)
            memcpy(nodes, reader.nodes, reader.profile->nodes_count * sizeof *nodes);
        reader.profile->nodes = nodes;
    }
    free(reader.nodes);
    free(reader.slots);
    free(reader.pending);
    free(reader.records);
    if (rc < 0)
        tare_ort_profile_destroy(reader.profile);
    else
        *ret_profile = reader.profile;
    return rc;
}

void tare_ort_profile_destroy(struct tare_ort_profile *profile)
{
    if (!profile)
        return;
    tare_arena_finish(&profile->arena);
    free(profile);
}
