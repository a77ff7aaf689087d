/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who makes which value: a table of names per graph, and an order in which the nodes can run. A name is
 * looked for outward, from a graph to those it is nested in. A node needs what its own subgraphs take from
 * outside, so such uses count as its inputs.
 */
#include <string.h>

#include "base/hash.h"
#include "bench/model_impl.h"

enum maker { MADE_BY_INPUT, MADE_BY_INITIALIZER, MADE_BY_NODE };

struct tare_model_name {
    const char *name; /* NULL: a free slot */
    enum maker maker;
    size_t index;
};

static struct tare_model_name *slot_of(const struct tare_model_graph *graph, const char *name)
{
    size_t mask = graph->names_slots - 1;
    size_t i = (size_t)tare_hash_bytes(name, strlen(name)) & mask;
    while (graph->names[i].name && strcmp(graph->names[i].name, name) != 0)
        i = (i + 1) & mask;
    return &graph->names[i];
}

/* The entry in this graph alone, or NULL. */
static const struct tare_model_name *entry_of(const struct tare_model_graph *graph, const char *name)
{
    if (!graph->names)
        return NULL;
    const struct tare_model_name *slot = slot_of(graph, name);
    return slot->name ? slot : NULL;
}

static void enter(const struct tare_model_graph *graph, const char *name, enum maker maker, size_t index)
{
    struct tare_model_name *slot = slot_of(graph, name);
    *slot = (struct tare_model_name){name, maker, index};
}

bool tare_model_has_initializer(const struct tare_model_graph *graph, const char *name)
{
    const struct tare_model_name *entry = entry_of(graph, name);
    return entry && entry->maker == MADE_BY_INITIALIZER;
}

int tare_model_index(struct tare_model_reader *reader, struct tare_model_graph *graph, struct tare_error *err)
{
    size_t names = graph->inputs_count + graph->initializers_count;
    for (size_t i = 0; i < graph->nodes_count; i++)
        names += graph->nodes[i].outputs_count;
    size_t slots = 4;
    while (slots < 2 * names)
        slots *= 2;
    graph->names = tare_arena_array(reader->arena, slots, sizeof *graph->names);
    graph->names_slots = slots;
    if (!graph->names)
        return tare_arena_check(reader->arena, err);
    for (size_t i = 0; i < graph->inputs_count; i++)
        enter(graph, graph->inputs[i].name, MADE_BY_INPUT, i);
    for (size_t i = 0; i < graph->initializers_count; i++) {
        /* An input of the same name is one that may be replaced; another tensor is a contradiction. */
        if (tare_model_has_initializer(graph, graph->initializers[i].name))
            return tare_fail(err, TARE_E_INPUT, 0, "two tensors are called '%.80s'",
                             graph->initializers[i].name);
        enter(graph, graph->initializers[i].name, MADE_BY_INITIALIZER, i);
    }
    for (size_t i = 0; i < graph->nodes_count; i++) {
        const struct tare_model_node *node = &graph->nodes[i];
        for (size_t j = 0; j < node->outputs_count; j++) {
            if (*node->outputs[j] == '\0')
                continue;
            if (entry_of(graph, node->outputs[j]))
                return tare_fail(err, TARE_E_INPUT, 0, "two things make the value '%.80s'", node->outputs[j]);
            enter(graph, node->outputs[j], MADE_BY_NODE, i);
        }
    }
    return 0;
}

const struct tare_model_node *tare_model_producer(const struct tare_model_graph *graph, const char *name)
{
    for (; graph; graph = graph->parent) {
        const struct tare_model_name *entry = entry_of(graph, name);
        if (entry)
            return entry->maker == MADE_BY_NODE ? &graph->nodes[entry->index] : NULL;
    }
    return NULL;
}

const struct tare_model_tensor *tare_model_constant(const struct tare_model_graph *graph, const char *name)
{
    for (; graph; graph = graph->parent) {
        const struct tare_model_name *entry = entry_of(graph, name);
        if (!entry)
            continue;
        if (entry->maker == MADE_BY_INITIALIZER)
            return &graph->initializers[entry->index];
        if (entry->maker == MADE_BY_INPUT || !tare_model_node_is(&graph->nodes[entry->index], "Constant"))
            return NULL;
        const struct tare_model_attribute *value = tare_model_attribute(&graph->nodes[entry->index], "value");
        return value ? value->tensor : NULL;
    }
    return NULL;
}

const struct tare_model_attribute *tare_model_attribute(const struct tare_model_node *node, const char *name)
{
    for (size_t i = 0; i < node->attributes_count; i++)
        if (strcmp(node->attributes[i].name, name) == 0)
            return &node->attributes[i];
    return NULL;
}

int64_t tare_model_attribute_int(const struct tare_model_node *node, const char *name, int64_t otherwise)
{
    const struct tare_model_attribute *attribute = tare_model_attribute(node, name);
    return attribute && attribute->type == TARE_ATTRIBUTE_INT ? attribute->i : otherwise;
}

bool tare_model_node_is(const struct tare_model_node *node, const char *op)
{
    return strcmp(node->op, op) == 0 &&
           (*node->domain == '\0' || strncmp(node->domain, "com.microsoft", 13) == 0);
}

/* What a node waits for: numbers of nodes of its own graph, one after another. */
struct needs {
    const struct tare_model_graph *graph;
    size_t *makers; /* NULL while they are only counted */
    size_t count;
};

/* Note one use of a name, seen from inner, which is needs->graph or nested in it. */
static int need(struct needs *needs, const struct tare_model_graph *inner, const char *name,
                struct tare_error *err)
{
    if (*name == '\0')
        return 0;
    for (const struct tare_model_graph *graph = inner; graph; graph = graph->parent) {
        const struct tare_model_name *entry = entry_of(graph, name);
        if (!entry)
            continue;
        if (graph == needs->graph && entry->maker == MADE_BY_NODE) {
            if (needs->makers)
                needs->makers[needs->count] = entry->index;
            needs->count++;
        }
        return 0;
    }
    return tare_fail(err, TARE_E_INPUT, 0, "the value '%.80s' is used, but nothing makes it", name);
}

/* All that a node uses, with what its subgraphs use. */
static int need_of_node(struct needs *needs, const struct tare_model_graph *inner,
                        const struct tare_model_node *node, struct tare_error *err)
{
    for (size_t i = 0; i < node->inputs_count; i++)
        if (need(needs, inner, node->inputs[i], err) < 0)
            return -1;
    for (size_t i = 0; i < node->attributes_count; i++) {
        const struct tare_model_attribute *attribute = &node->attributes[i];
        if (!attribute->graphs)
            continue;
        for (size_t j = 0; j < attribute->count; j++) {
            const struct tare_model_graph *graph = &attribute->graphs[j];
            for (size_t k = 0; k < graph->nodes_count; k++)
                if (need_of_node(needs, graph, &graph->nodes[k], err) < 0)
                    return -1;
        }
    }
    return 0;
}

/* Depth-first from every node in the file's order, which therefore stays as it is where it is right. */
static int visit_all(struct tare_model_graph *graph, const size_t *starts, const size_t *makers,
                     size_t *stack, size_t *next, size_t *order, struct tare_error *err)
{
    enum { NEW, OPEN, DONE };
    unsigned char *state = (unsigned char *)(next + graph->nodes_count);
    size_t ordered = 0;
    for (size_t root = 0; root < graph->nodes_count; root++) {
        size_t depth = 0;
        if (state[root] == NEW) {
            stack[depth++] = root;
            state[root] = OPEN;
            next[root] = starts[root];
        }
        while (depth) {
            size_t node = stack[depth - 1];
            if (next[node] == starts[node + 1]) {
                state[node] = DONE;
                order[ordered++] = node;
                depth--;
                continue;
            }
            size_t maker = makers[next[node]++];
            if (state[maker] == OPEN)
                return tare_fail(err, TARE_E_INPUT, 0, "its graph has a cycle through the %.40s node '%.80s'",
                                 graph->nodes[maker].op, graph->nodes[maker].name);
            if (state[maker] == NEW) {
                stack[depth++] = maker;
                state[maker] = OPEN;
                next[maker] = starts[maker];
            }
        }
    }
    graph->order = order;
    return 0;
}

static int sort_one(struct tare_model_reader *reader, struct tare_model_graph *graph, struct tare_error *err)
{
    struct needs needs = {.graph = graph};
    size_t n = graph->nodes_count;
    for (size_t i = 0; i < n; i++)
        if (need_of_node(&needs, graph, &graph->nodes[i], err) < 0)
            return -1;
    /* The scratch is freed with the arena's; the order stays. */
    struct tare_arena scratch;
    tare_arena_init(&scratch, 0);
    int rc = -1;
    size_t *starts = tare_arena_array(&scratch, n + 1, sizeof *starts);
    size_t *makers = tare_arena_array(&scratch, needs.count, sizeof *makers);
    size_t *stack = tare_arena_array(&scratch, n, sizeof *stack);
    size_t *next = tare_arena_array(&scratch, n, sizeof *next + 1);
    size_t *order = tare_arena_array(reader->arena, n, sizeof *order);
    if (!starts || !makers || !stack || !next || !order) {
        rc = tare_fail_memory(err);
        goto out;
    }
    needs = (struct needs){.graph = graph, .makers = makers};
    for (size_t i = 0; i < n; i++) {
        starts[i] = needs.count;
        if (need_of_node(&needs, graph, &graph->nodes[i], err) < 0)
            goto out;
    }
    starts[n] = needs.count;
    rc = visit_all(graph, starts, makers, stack, next, order, err);
out:
    tare_arena_finish(&scratch);
    return rc;
}

int tare_model_sort(struct tare_model_reader *reader, struct tare_model_graph *graph, struct tare_error *err)
{
    if (sort_one(reader, graph, err) < 0)
        return -1;
    for (size_t i = 0; i < graph->nodes_count; i++) {
        const struct tare_model_node *node = &graph->nodes[i];
        for (size_t j = 0; j < node->attributes_count; j++) {
            const struct tare_model_attribute *attribute = &node->attributes[j];
            for (size_t k = 0; attribute->graphs && k < attribute->count; k++)
                if (tare_model_sort(reader, &attribute->graphs[k], err) < 0)
                    return -1;
        }
    }
    return 0;
}
