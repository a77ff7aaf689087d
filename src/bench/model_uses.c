/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/model_uses.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct slot {
    const char *name;
    struct tare_model_use *first, *last;
};

struct tare_model_uses {
    struct slot *slots;
    size_t mask;
    struct tare_model_use *uses;
    size_t count;
};

static struct slot *slot_of(const struct tare_model_uses *uses, const char *name)
{
    size_t i = (size_t)tare_hash_bytes(name, strlen(name)) & uses->mask;
    while (uses->slots[i].name && strcmp(uses->slots[i].name, name) != 0)
        i = (i + 1) & uses->mask;
    return &uses->slots[i];
}

/* Count the uses, or note them when there is room. */
static void each_use(struct tare_model_uses *uses, const struct tare_model_graph *graph)
{
    for (size_t i = 0; i < graph->nodes_count; i++) {
        const struct tare_model_node *node = &graph->nodes[i];
        for (size_t k = 0; k < node->inputs_count; k++) {
            if (*node->inputs[k] == '\0')
                continue;
            size_t at = uses->count++;
            if (!uses->uses)
                continue;
            struct tare_model_use *use = &uses->uses[at];
            *use = (struct tare_model_use){.graph = graph, .node = node, .input = k};
            struct slot *slot = slot_of(uses, node->inputs[k]);
            if (slot->last)
                slot->last->next = use;
            else
                slot->first = use;
            slot->name = node->inputs[k];
            slot->last = use;
        }
        for (size_t k = 0; k < node->attributes_count; k++)
            for (size_t j = 0; node->attributes[k].graphs && j < node->attributes[k].count; j++)
                each_use(uses, &node->attributes[k].graphs[j]);
    }
}

int tare_model_uses_create(const struct tare_model_graph *graph, struct tare_model_uses **ret_uses,
                           struct tare_error *err)
{
    struct tare_model_uses *uses = calloc(1, sizeof *uses);
    if (!uses)
        return tare_fail_memory(err);
    each_use(uses, graph);
    size_t count = uses->count, slots = 4;
    while (slots < 2 * count)
        slots *= 2;
    uses->mask = slots - 1;
    uses->slots = calloc(slots, sizeof *uses->slots);
    uses->uses = calloc(count + 1, sizeof *uses->uses);
    if (!uses->slots || !uses->uses) {
        tare_model_uses_destroy(uses);
        return tare_fail_memory(err);
    }
    uses->count = 0;
    each_use(uses, graph);
    *ret_uses = uses;
    return 0;
}

void tare_model_uses_destroy(struct tare_model_uses *uses)
{
    if (!uses)
        return;
    free(uses->slots);
    free(uses->uses);
    free(uses);
}

const struct tare_model_use *tare_model_uses_of(const struct tare_model_uses *uses, const char *name)
{
    return slot_of(uses, name)->first;
}
