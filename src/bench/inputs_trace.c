/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the ids of an input end up. An input is followed through the nodes that only move or convert its
 * values, into subgraphs too, until it is looked up in a table; the smallest table bounds it. The walk is
 * bounded in steps: what it does not reach does not bound.
 */
#include <string.h>

#include "bench/inputs_impl.h"
#include "bench/model_uses.h"

enum { STEPS_MAX = 20000, DEPTH_MAX = 64, FUNCTIONS_MAX = 16, DIMS_MAX = 16 };

struct walk {
    const struct tare_model *model;
    struct tare_model_uses *uses;
    int64_t bound; /* 0: none yet */
    int steps;
};

static void bound_by(struct walk *walk, int64_t bound)
{
    if (bound > 0 && (walk->bound == 0 || bound < walk->bound))
        walk->bound = bound;
}

/* The shape of a table: of a constant, or of one that is only converted or unfolded on the way. */
static bool table_dims(const struct tare_model_graph *graph, const char *name, int depth, int64_t *dims,
                       size_t *ret_rank)
{
    const struct tare_model_tensor *tensor = tare_model_constant(graph, name);
    if (tensor) {
        if (tensor->rank > DIMS_MAX)
            return false;
        for (size_t i = 0; i < tensor->rank; i++)
            dims[i] = tensor->dims[i];
        *ret_rank = tensor->rank;
        return true;
    }
    const struct tare_model_node *node = tare_model_producer(graph, name);
    if (!node || node->inputs_count == 0 || depth == DEPTH_MAX)
        return false;
    if (tare_model_node_is(node, "ConstantOfShape")) {
        const struct tare_model_tensor *shape = tare_model_constant(graph, node->inputs[0]);
        int count = shape ? tare_model_tensor_ints(shape, dims, DIMS_MAX) : -1;
        *ret_rank = count < 0 ? 0 : (size_t)count;
        return count >= 0;
    }
    if (tare_model_node_is(node, "Cast") || tare_model_node_is(node, "Identity") ||
        tare_model_node_is(node, "DequantizeLinear") || tare_model_node_is(node, "QuantizeLinear"))
        return table_dims(graph, node->inputs[0], depth + 1, dims, ret_rank);
    if (tare_model_node_is(node, "Transpose")) {
        const struct tare_model_attribute *perm = tare_model_attribute(node, "perm");
        int64_t from[DIMS_MAX];
        size_t rank;
        if (!table_dims(graph, node->inputs[0], depth + 1, from, &rank))
            return false;
        for (size_t i = 0; i < rank; i++) {
            int64_t axis = perm && perm->count == rank ? perm->ints[i] : (int64_t)(rank - 1 - i);
            if (axis < 0 || (uint64_t)axis >= rank)
                return false;
            dims[i] = from[axis];
        }
        *ret_rank = rank;
        return true;
    }
    return false;
}

static void bound_by_table(struct walk *walk, const struct tare_model_graph *graph, const char *table,
                           int64_t axis)
{
    int64_t dims[DIMS_MAX];
    size_t rank;
    if (!table_dims(graph, table, 0, dims, &rank))
        return;
    if (axis < 0)
        axis += (int64_t)rank;
    if (axis >= 0 && (uint64_t)axis < rank)
        bound_by(walk, dims[axis]);
}

/* Operators whose output holds the same values as one of their inputs, and nothing else. */
static bool passes_on(const struct tare_model_node *node, size_t input)
{
    static const char *const first[] = {
        "Cast",  "Identity", "Unsqueeze", "Squeeze", "Reshape", "Flatten",         "Transpose", "Expand",
        "Slice", "Split",    "Tile",      "Pad",     "Gather",  "ReverseSequence", "Clip",      NULL,
    };
    for (size_t i = 0; first[i]; i++)
        if (tare_model_node_is(node, first[i]))
            return input == 0;
    return tare_model_node_is(node, "Concat") || tare_model_node_is(node, "Max") ||
           (tare_model_node_is(node, "Where") && input > 0);
}

/* A constant that is added to the ids makes the table that much smaller for them. */
static bool shift_of(const struct tare_model_graph *graph, const struct tare_model_node *node, size_t input,
                     int64_t *ret_shift)
{
    bool add = tare_model_node_is(node, "Add"), sub = tare_model_node_is(node, "Sub");
    if ((!add && !(sub && input == 0)) || node->inputs_count != 2)
        return false;
    const struct tare_model_tensor *other = tare_model_constant(graph, node->inputs[1 - input]);
    int64_t value;
    if (!other || tare_model_tensor_ints(other, &value, 1) != 1 || value < 0 || value > INT32_MAX)
        return false;
    *ret_shift = add ? value : 0;
    return true;
}

static void follow(struct walk *walk, const char *name, int depth);

static const struct tare_model_function *function_of(const struct tare_model *model,
                                                     const struct tare_model_node *node)
{
    for (size_t i = 0; i < model->functions_count; i++)
        if (strcmp(model->functions[i].name, node->op) == 0 &&
            strcmp(model->functions[i].domain, node->domain) == 0)
            return &model->functions[i];
    return NULL;
}

/* A node that calls one of the model's own functions: the walk goes on inside. */
static void reach_function(struct walk *walk, const struct tare_model_node *node, size_t input, int depth)
{
    const struct tare_model_function *function = function_of(walk->model, node);
    struct walk inner = {.model = walk->model};
    if (!function || input >= function->graph.inputs_count || depth >= FUNCTIONS_MAX ||
        tare_model_uses_create(&function->graph, &inner.uses, NULL) < 0)
        return;
    /* Looking through it costs as many steps as it has nodes. */
    size_t nodes = function->graph.nodes_count;
    inner.steps = walk->steps + (int)(nodes < STEPS_MAX ? nodes : STEPS_MAX);
    follow(&inner, function->graph.inputs[input].name, depth + 1);
    tare_model_uses_destroy(inner.uses);
    walk->steps = inner.steps;
    bound_by(walk, inner.bound);
}

/* The value is this input of this node. */
static void reach(struct walk *walk, const struct tare_model_graph *graph, const struct tare_model_node *node,
                  size_t input, int depth)
{
    if ((tare_model_node_is(node, "Gather") || tare_model_node_is(node, "GatherElements")) && input == 1) {
        bound_by_table(walk, graph, node->inputs[0], tare_model_attribute_int(node, "axis", 0));
    } else if (tare_model_node_is(node, "GatherBlockQuantized") && input == 1) {
        bound_by_table(walk, graph, node->inputs[0], tare_model_attribute_int(node, "gather_axis", 0));
    } else if (tare_model_node_is(node, "EmbedLayerNormalization") && input < 2 && node->inputs_count > 4) {
        bound_by_table(walk, graph, node->inputs[input == 0 ? 2 : 4], 0);
    } else if (tare_model_node_is(node, "OneHot") && input == 0 && node->inputs_count > 1) {
        const struct tare_model_tensor *size = tare_model_constant(graph, node->inputs[1]);
        int64_t value;
        if (size && tare_model_tensor_ints(size, &value, 1) == 1)
            bound_by(walk, value);
    }
    int64_t shift;
    if (passes_on(node, input)) {
        for (size_t i = 0; i < node->outputs_count; i++)
            follow(walk, node->outputs[i], depth + 1);
    } else if (shift_of(graph, node, input, &shift) && node->outputs_count) {
        struct walk inner = {.model = walk->model, .uses = walk->uses, .steps = walk->steps};
        follow(&inner, node->outputs[0], depth + 1);
        walk->steps = inner.steps;
        bound_by(walk, inner.bound > shift ? inner.bound - shift : 0);
    } else {
        reach_function(walk, node, input, depth);
    }
}

/* Every use of a value. */
static void follow(struct walk *walk, const char *name, int depth)
{
    if (depth > DEPTH_MAX || *name == '\0')
        return;
    for (const struct tare_model_use *use = tare_model_uses_of(walk->uses, name); use; use = use->next) {
        if (walk->steps++ > STEPS_MAX)
            return;
        reach(walk, use->graph, use->node, use->input, depth);
    }
}

int64_t tare_inputs_id_bound(const struct tare_model *model, const char *name)
{
    struct walk walk = {.model = model};
    if (tare_model_uses_create(&model->graph, &walk.uses, NULL) < 0)
        return 0;
    follow(&walk, name, 0);
    tare_model_uses_destroy(walk.uses);
    return walk.bound;
}
