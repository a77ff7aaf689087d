/* SPDX-License-Identifier: Apache-2.0 */
/* Which node of the graph a row of the profile is, what it moves, and which group it belongs to. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "flow/layering_part.h"

/* Part of a name, in lower case, and the group that it tells. The first that is found counts: the output of
 * an attention block is attention. */
static const struct {
    const char *part, *group;
} words[] = {
    {"attention", "attention"},
    {"attn", "attention"},
    {"mlp", "mlp"},
    {"ffn", "mlp"},
    {"feed_forward", "mlp"},
    {"feedforward", "mlp"},
    {"intermediate", "mlp"},
    {"/output/dense", "mlp"},
    {"/output/layernorm", "mlp"},
    {"/output/add", "mlp"},
    {"embedding", "embeddings"},
    {"classifier", "head"},
    {"lm_head", "head"},
    {"pooling", "pooling"},
    {"pooler", "pooling"},
};

static const char *group_by_words(const char *name)
{
    char lower[256];
    size_t length = 0;
    for (; name[length] && length + 1 < sizeof lower; length++)
        lower[length] = (char)tolower((unsigned char)name[length]);
    lower[length] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(lower, words[i].part))
            return words[i].group;
    return NULL;
}

static const char *group_by_plan(const struct tare_bench_plan *plan, const struct tare_ort_node *node)
{
    for (size_t i = 0; i < plan->groups_count; i++)
        if (strcmp(plan->groups[i], node->op) == 0 || fnmatch(plan->groups[i], node->name, 0) == 0)
            return plan->groups[i];
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct tare_model_node *const *)a)->name,
                  (*(const struct tare_model_node *const *)b)->name);
}

static int name_against(const void *key, const void *item)
{
    return strcmp(key, (*(const struct tare_model_node *const *)item)->name);
}

void tare_layering_join_names(struct tare_layering *layering)
{
    if (!layering->optimised)
        return;
    const struct tare_model_graph *graph = &layering->optimised->graph;
    const struct tare_model_node **sorted = calloc(graph->nodes_count + 1, sizeof *sorted);
    if (!sorted)
        return;
    for (size_t i = 0; i < graph->nodes_count; i++)
        sorted[i] = &graph->nodes[i];
    qsort(sorted, graph->nodes_count, sizeof *sorted, by_name);
    for (size_t i = 0; i < layering->count; i++) {
        const struct tare_ort_node *seen = layering->nodes[i].seen;
        const struct tare_model_node **found =
            bsearch(seen->name, sorted, graph->nodes_count, sizeof *sorted, name_against);
        if (found && strcmp((*found)->op, seen->op) == 0)
            layering->nodes[i].node = *found;
    }
    free(sorted);
}

/* Does it give its input on without moving it? */
static bool is_still(const char *op)
{
    static const char *const ops[] = {"Reshape", "Squeeze",  "Unsqueeze", "Identity", "Flatten", "Shape",
                                      "Size",    "Constant", "If",        "Loop",     "Scan",    NULL};
    for (const char *const *at = ops; *at; at++)
        if (strcmp(op, *at) == 0)
            return true;
    return false;
}

/* What it reads and writes at least. The runtime leaves out weights that it packed, so those of the graph
 * count; of a table that is looked up, what is taken from it does. */
static int64_t bytes_of(const struct tare_layering *layering, const struct tare_layering_node *node)
{
    const struct tare_ort_node *seen = node->seen;
    if (is_still(seen->op))
        return 0;
    if (seen->activation_bytes < 0 || seen->output_bytes < 0)
        return -1;
    double bytes = (double)seen->activation_bytes + (double)seen->output_bytes;
    if (strncmp(seen->op, "Gather", 6) == 0)
        bytes = 2.0 * (double)seen->output_bytes;
    else if (!node->node)
        bytes += seen->parameter_bytes > 0 ? (double)seen->parameter_bytes : 0;
    for (size_t i = 0; node->node && strncmp(seen->op, "Gather", 6) != 0 && i < node->node->inputs_count;
         i++) {
        const struct tare_model_tensor *weight =
            tare_model_constant(&layering->optimised->graph, node->node->inputs[i]);
        if (weight)
            bytes += (double)weight->count * tare_element_bits(weight->element) / 8;
    }
    if (seen->calls > 0 && layering->calls > 0 && bytes < 0x1p62)
        return (int64_t)bytes;
    return -1;
}

/* A fused node has a name that the runtime made up: it belongs where its input comes from. */
static const char *group_of(const struct tare_layering *layering, const struct tare_layering_node *node)
{
    const char *group = group_by_words(node->seen->name);
    const struct tare_model_node *at = node->node;
    for (int steps = 0; !group && at && steps < 3 && at->inputs_count > 0; steps++) {
        if (strchr(at->name, '/'))
            break; /* a name with a path says where it is */
        at = tare_model_producer(&layering->optimised->graph, at->inputs[0]);
        group = at ? group_by_words(at->name) : NULL;
    }
    return group;
}

void tare_layering_join(struct tare_layering *layering, const struct tare_model_count *count)
{
    bool named = false;
    for (size_t i = 0; i < layering->count; i++) {
        struct tare_layering_node *node = &layering->nodes[i];
        node->bytes = bytes_of(layering, node);
        node->macs = count && count->nodes[i].counted == TARE_OP_COUNTED ? count->nodes[i].macs : -1;
        node->group = group_of(layering, node);
        named = named ||
                (node->group && (strcmp(node->group, "attention") == 0 || strcmp(node->group, "mlp") == 0));
    }
    for (size_t i = 0; i < layering->count; i++) {
        struct tare_layering_node *node = &layering->nodes[i];
        const char *planned = group_by_plan(layering->bench->plan, node->seen);
        if (planned)
            node->group = planned;
        else if (!named || !node->group)
            node->group = node->seen->op;
    }
}
