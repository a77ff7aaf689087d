/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/model_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "bench/model_weights.h"

enum { TYPES = TARE_ELEMENT_F4E2M1 + 1, SHAPE_MAX = 16 };

struct tally {
    int64_t parameters, buffers;
    int64_t count[TYPES], bytes[TYPES];
};

/* Sums that no real model reaches stay at the top instead of passing it. */
static void add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

static void tally_one(struct tally *tally, const struct tare_model_uses *uses, const char *name,
                      enum tare_element element, int64_t count, bool made)
{
    enum tare_weight weight = tare_model_weight(uses, name, element, count, made);
    if (weight == TARE_WEIGHT_BUFFER)
        add(&tally->buffers, count);
    if (weight != TARE_WEIGHT_PARAMETER)
        return;
    add(&tally->parameters, count);
    add(&tally->count[element], count);
    size_t bytes = 0;
    tare_shape_bytes(element, &count, 1, &bytes, NULL);
    add(&tally->bytes[element], (int64_t)bytes);
}

/* A ConstantOfShape whose shape is known counts as the tensor it makes. */
static void tally_made(struct tally *tally, const struct tare_model_uses *uses,
                       const struct tare_model_graph *graph, const struct tare_model_node *node)
{
    const struct tare_model_attribute *value = tare_model_attribute(node, "value");
    const struct tare_model_tensor *shape =
        node->inputs_count ? tare_model_constant(graph, node->inputs[0]) : NULL;
    enum tare_element element = value && value->tensor ? value->tensor->element : TARE_ELEMENT_F32;
    int64_t dims[SHAPE_MAX], count;
    int rank = shape ? tare_model_tensor_ints(shape, dims, SHAPE_MAX) : -1;
    if (rank < 0 || node->outputs_count == 0 || tare_shape_count(dims, (size_t)rank, &count) < 0)
        return;
    tally_one(tally, uses, node->outputs[0], element, count, true);
}

static void tally_graph(struct tally *tally, const struct tare_model_uses *uses,
                        const struct tare_model_graph *graph)
{
    for (size_t i = 0; i < graph->initializers_count; i++) {
        const struct tare_model_tensor *tensor = &graph->initializers[i];
        tally_one(tally, uses, tensor->name, tensor->element, tensor->count, false);
    }
    for (size_t i = 0; i < graph->nodes_count; i++) {
        const struct tare_model_node *node = &graph->nodes[i];
        const struct tare_model_attribute *value = tare_model_attribute(node, "value");
        if (tare_model_node_is(node, "Constant") && value && value->tensor && node->outputs_count)
            tally_one(tally, uses, node->outputs[0], value->tensor->element, value->tensor->count, false);
        if (tare_model_node_is(node, "ConstantOfShape"))
            tally_made(tally, uses, graph, node);
        for (size_t k = 0; k < node->attributes_count; k++)
            for (size_t j = 0; node->attributes[k].graphs && j < node->attributes[k].count; j++)
                tally_graph(tally, uses, &node->attributes[k].graphs[j]);
    }
}

static int tally_root(struct tally *tally, const struct tare_model_graph *graph, struct tare_error *err)
{
    struct tare_model_uses *uses = NULL;
    if (tare_model_uses_create(graph, &uses, err) < 0)
        return -1;
    tally_graph(tally, uses, graph);
    tare_model_uses_destroy(uses);
    return 0;
}

/* All nodes of a graph and of what is nested in it. */
static size_t gather_nodes(const struct tare_model_graph *graph, const struct tare_model_node **nodes)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->nodes_count; i++) {
        const struct tare_model_node *node = &graph->nodes[i];
        if (nodes)
            nodes[count] = node;
        count++;
        for (size_t k = 0; k < node->attributes_count; k++)
            for (size_t j = 0; node->attributes[k].graphs && j < node->attributes[k].count; j++)
                count += gather_nodes(&node->attributes[k].graphs[j], nodes ? nodes + count : NULL);
    }
    return count;
}

static size_t gather_all(const struct tare_model *model, const struct tare_model_node **nodes)
{
    size_t count = gather_nodes(&model->graph, nodes);
    for (size_t i = 0; i < model->functions_count; i++)
        count += gather_nodes(&model->functions[i].graph, nodes ? nodes + count : NULL);
    return count;
}

static int by_op(const void *a, const void *b)
{
    const struct tare_model_node *const *x = a, *const *y = b;
    return strcmp((*x)->op, (*y)->op);
}

static int by_nodes(const void *a, const void *b)
{
    const struct tare_run_op *x = a, *y = b;
    return x->nodes.value != y->nodes.value ? (x->nodes.value < y->nodes.value ? 1 : -1)
                                            : strcmp(x->op, y->op);
}

/* The operators, those with most nodes first. */
static int list_ops(const struct tare_model *model, struct tare_arena *arena, struct tare_run_model *facts,
                    struct tare_error *err)
{
    size_t count = gather_all(model, NULL);
    const struct tare_model_node **nodes = calloc(count + 1, sizeof *nodes);
    if (!nodes)
        return tare_fail_memory(err);
    gather_all(model, nodes);
    qsort(nodes, count, sizeof *nodes, by_op);
    size_t kinds = 0;
    for (size_t i = 0; i < count; i++)
        kinds += i == 0 || strcmp(nodes[i]->op, nodes[i - 1]->op) != 0;
    facts->ops = tare_arena_array(arena, kinds, sizeof *facts->ops);
    for (size_t i = 0; facts->ops && i < count; i++) {
        if (i == 0 || strcmp(nodes[i]->op, nodes[i - 1]->op) != 0)
            facts->ops[facts->ops_count++] =
                (struct tare_run_op){.op = tare_arena_copy(arena, nodes[i]->op), .nodes = tare_run_int(0)};
        facts->ops[facts->ops_count - 1].nodes.value++;
    }
    if (facts->ops)
        qsort(facts->ops, facts->ops_count, sizeof *facts->ops, by_nodes);
    free(nodes);
    facts->nodes = tare_run_int((int64_t)count);
    return tare_arena_check(arena, err);
}

/* "batch,seq,384": as the model says it. */
static const char *shape_text(struct tare_arena *arena, const struct tare_model_value *value)
{
    const char *text = "";
    if (!value->ranked)
        return NULL;
    for (size_t i = 0; i < value->rank && i < SHAPE_MAX; i++) {
        const struct tare_model_dim *dim = &value->dims[i];
        const char *comma = i ? "," : "";
        text = dim->value >= 0
                   ? tare_arena_printf(arena, "%s%s%lld", text, comma, (long long)dim->value)
                   : tare_arena_printf(arena, "%s%s%.64s", text, comma, dim->name ? dim->name : "?");
    }
    return text;
}

static struct tare_run_tensor *list_values(struct tare_arena *arena, const struct tare_model_value *values,
                                           size_t count)
{
    struct tare_run_tensor *tensors = tare_arena_array(arena, count, sizeof *tensors);
    for (size_t i = 0; tensors && i < count; i++) {
        bool tensor = strcmp(values[i].kind, "tensor") == 0;
        tensors[i] = (struct tare_run_tensor){
            .name = tare_arena_copy(arena, values[i].name),
            .type = tensor ? tare_element_name(values[i].element) : values[i].kind,
            .shape = shape_text(arena, &values[i]),
        };
    }
    return tensors;
}

/* The file's name without folder and ending. */
static const char *name_of(struct tare_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return tare_arena_text(arena, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static const char *hash_of(const struct tare_model *model, struct tare_arena *arena)
{
    struct tare_sha256 sha;
    char hex[TARE_SHA256_TEXT];
    tare_sha256_init(&sha);
    tare_sha256_add(&sha, model->map, model->map_length);
    tare_sha256_end(&sha, hex);
    return tare_arena_copy(arena, hex);
}

int tare_model_facts(const struct tare_model *model, struct tare_arena *arena,
                     struct tare_run_model *ret_facts, struct tare_error *err)
{
    struct tally tally = {0};
    if (tally_root(&tally, &model->graph, err) < 0)
        return -1;
    for (size_t i = 0; i < model->functions_count; i++)
        if (tally_root(&tally, &model->functions[i].graph, err) < 0)
            return -1;
    struct tare_run_model facts = {
        .name = name_of(arena, model->path),
        .path = tare_arena_copy(arena, model->path),
        .format = "onnx",
        .sha256 = hash_of(model, arena),
        .opset = model->opset ? tare_run_int(model->opset) : (struct tare_run_int){0},
        .size_bytes = tare_run_int(model->size_bytes),
        .parameters = tare_run_int(tally.parameters),
        .buffers = tare_run_int(tally.buffers),
        .inputs = list_values(arena, model->graph.inputs, model->graph.inputs_count),
        .inputs_count = model->graph.inputs_count,
        .outputs = list_values(arena, model->graph.outputs, model->graph.outputs_count),
        .outputs_count = model->graph.outputs_count,
        .parameters_by_type = tare_arena_array(arena, TYPES, sizeof *facts.parameters_by_type),
    };
    if (*model->producer)
        facts.producer = *model->producer_version
                             ? tare_arena_printf(arena, "%s %s", model->producer, model->producer_version)
                             : tare_arena_copy(arena, model->producer);
    for (size_t i = 0; facts.parameters_by_type && i < TYPES; i++)
        if (tally.count[i])
            facts.parameters_by_type[facts.parameters_by_type_count++] = (struct tare_run_parameters){
                .type = tare_element_name((enum tare_element)i),
                .count = tare_run_int(tally.count[i]),
                .bytes = tare_run_int(tally.bytes[i]),
            };
    if (list_ops(model, arena, &facts, err) < 0)
        return -1;
    *ret_facts = facts;
    return 0;
}
