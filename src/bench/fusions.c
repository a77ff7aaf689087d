/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fusions.h"

#include <string.h>

typedef const struct tare_model_graph graph_t;
typedef const struct tare_model_node node_t;

/* Operators that only hand a value on, for the patterns that allow them in between. */
static const char *const handing[] = {"Cast", "Dropout", "Identity", "Where", NULL};
static const char *const scaling[] = {"Add",  "Sub", "Mul",     "Div",     "Where",     "Cast", "Identity",
                                      "Clip", "Max", "Dropout", "Reshape", "Unsqueeze", NULL};
static const char *const activations[] = {"Relu", "LeakyRelu",   "Clip",      "Sigmoid",
                                          "Tanh", "HardSigmoid", "HardSwish", NULL};

static bool is_any(node_t *node, const char *const *ops)
{
    for (; *ops; ops++)
        if (tare_model_node_is(node, *ops))
            return true;
    return false;
}

static node_t *producer(graph_t *graph, node_t *node, size_t input)
{
    if (!node || input >= node->inputs_count || !*node->inputs[input])
        return NULL;
    return tare_model_producer(graph, node->inputs[input]);
}

/* The op that an input comes from, through at most `steps` of the ops that may lie between. */
static node_t *comes_from(graph_t *graph, node_t *node, size_t input, const char *const *between,
                          const char *op, int steps)
{
    node_t *at = producer(graph, node, input);
    if (!at || tare_model_node_is(at, op))
        return at;
    if (steps == 0 || !is_any(at, between))
        return NULL;
    for (size_t i = 0; i < at->inputs_count && i < 3; i++) {
        node_t *found = comes_from(graph, at, i, between, op, steps - 1);
        if (found)
            return found;
    }
    return NULL;
}

static bool is_constant(graph_t *graph, node_t *node, size_t input)
{
    return input < node->inputs_count && tare_model_constant(graph, node->inputs[input]);
}

/* MatMul(Softmax(... MatMul ...), values) */
static bool is_attention(graph_t *graph, node_t *node)
{
    if (!tare_model_node_is(node, "MatMul"))
        return false;
    node_t *softmax = comes_from(graph, node, 0, handing, "Softmax", 3);
    return softmax && (comes_from(graph, softmax, 0, scaling, "MatMul", 5) ||
                       comes_from(graph, softmax, 0, scaling, "FusedMatMul", 5));
}

/* Div(Sub(x, mean), Sqrt(Add(ReduceMean(Pow or Mul of the difference), epsilon))) */
static bool is_layer_norm(graph_t *graph, node_t *node)
{
    if (tare_model_node_is(node, "LayerNormalization"))
        return true;
    if (!tare_model_node_is(node, "Div"))
        return false;
    node_t *root = producer(graph, node, 1), *difference = producer(graph, node, 0);
    if (!root || !difference || !tare_model_node_is(root, "Sqrt") || !tare_model_node_is(difference, "Sub"))
        return false;
    return comes_from(graph, root, 0, scaling, "ReduceMean", 2) != NULL;
}

static bool is_skip_layer_norm(graph_t *graph, node_t *node)
{
    if (!is_layer_norm(graph, node))
        return false;
    node_t *input = producer(graph, node, 0);
    if (tare_model_node_is(node, "Div"))
        input = producer(graph, input, 0);
    return input && tare_model_node_is(input, "Add") && producer(graph, input, 0) &&
           producer(graph, input, 1) && !is_constant(graph, input, 0) && !is_constant(graph, input, 1);
}

static bool is_gelu(graph_t *graph, node_t *node)
{
    (void)graph;
    return tare_model_node_is(node, "Erf") || tare_model_node_is(node, "Gelu");
}

static bool is_bias_gelu(graph_t *graph, node_t *node)
{
    if (!is_gelu(graph, node))
        return false;
    node_t *input = producer(graph, node, 0);
    if (tare_model_node_is(node, "Erf") && input) /* Erf(x / sqrt(2)) */
        input = producer(graph, input, 0);
    return input && tare_model_node_is(input, "Add") &&
           (is_constant(graph, input, 0) || is_constant(graph, input, 1));
}

/* Add(MatMul(x, weights), bias) */
static bool is_gemm(graph_t *graph, node_t *node)
{
    if (!tare_model_node_is(node, "Add"))
        return false;
    for (size_t side = 0; side < 2; side++) {
        node_t *product = producer(graph, node, side);
        const struct tare_model_tensor *bias =
            node->inputs_count == 2 ? tare_model_constant(graph, node->inputs[1 - side]) : NULL;
        if (product && tare_model_node_is(product, "MatMul") && is_constant(graph, product, 1) && bias &&
            bias->rank == 1)
            return true;
    }
    return false;
}

/* A product whose operand is only turned round, or which is only scaled. */
static bool is_fused_matmul(graph_t *graph, node_t *node)
{
    static const char *const scales[] = {"Mul", "Div", NULL};
    static const char *const sources[] = {"Transpose", "Reshape", "MatMul", "Add", NULL};
    if (tare_model_node_is(node, "MatMul"))
        for (size_t i = 0; i < node->inputs_count; i++) {
            node_t *input = producer(graph, node, i);
            node_t *source = producer(graph, input, 0); /* not the end of some activation */
            if (input && is_any(input, scales) && is_constant(graph, input, 1) &&
                tare_model_constant(graph, input->inputs[1])->count == 1 && source && is_any(source, sources))
                return true;
        }
    if (!is_any(node, scales) || !is_constant(graph, node, 1) ||
        tare_model_constant(graph, node->inputs[1])->count != 1)
        return false;
    node_t *product = producer(graph, node, 0);
    return product && tare_model_node_is(product, "MatMul");
}

static bool is_conv_norm(graph_t *graph, node_t *node)
{
    node_t *input = producer(graph, node, 0);
    return tare_model_node_is(node, "BatchNormalization") && input && tare_model_node_is(input, "Conv");
}

static bool is_conv_activation(graph_t *graph, node_t *node)
{
    node_t *input = producer(graph, node, 0);
    if (!is_any(node, activations) || !input)
        return false;
    return tare_model_node_is(input, "Conv") || is_conv_norm(graph, input);
}

static bool is_conv(graph_t *graph, node_t *node)
{
    (void)graph;
    return tare_model_node_is(node, "Conv");
}

static bool is_quantised_product(graph_t *graph, node_t *node)
{
    (void)graph;
    return tare_model_node_is(node, "MatMulInteger");
}

static bool has_fused_activation(node_t *node)
{
    if (tare_model_node_is(node, "FusedConv"))
        return true;
    const struct tare_model_attribute *attribute = tare_model_attribute(node, "activation");
    return tare_model_node_is(node, "Conv") && attribute && attribute->s && *attribute->s;
}

static bool is_blocked_conv(node_t *node)
{
    return strcmp(node->op, "Conv") == 0 && strcmp(node->domain, "com.microsoft.nchwc") == 0;
}

struct kind {
    const char *name;
    bool (*possible)(graph_t *graph, node_t *node); /* ends a pattern in the original */
    const char *made[6];                            /* ops of the optimised graph that show it */
    bool (*is_made)(node_t *node);                  /* or, where the op alone does not tell */
    bool gone;        /* shown by what is no longer there: possible patterns that the optimised graph lacks */
    const char *left; /* what it means where it was not done */
};

static const struct kind kinds[] = {
    {"Attention",
     is_attention,
     {"Attention", "MultiHeadAttention", "GroupQueryAttention", "QAttention"},
     NULL,
     false,
     "stays a chain of MatMul, Softmax, MatMul with the transposes around them"},
    {"LayerNormalization",
     is_layer_norm,
     {"LayerNormalization", "SkipLayerNormalization", "EmbedLayerNormalization",
      "SimplifiedLayerNormalization"},
     NULL,
     false,
     "stays in its pieces, each a pass over the data"},
    {"SkipLayerNormalization",
     is_skip_layer_norm,
     {"SkipLayerNormalization", "EmbedLayerNormalization", "SkipSimplifiedLayerNormalization"},
     NULL,
     false,
     "the addition before it stays a pass of its own over the data"},
    {"Gelu",
     is_gelu,
     {"Gelu", "BiasGelu", "FastGelu", "QuickGelu"},
     NULL,
     false,
     "stays in its pieces, each a pass over the data"},
    {"BiasGelu",
     is_bias_gelu,
     {"BiasGelu", "FastGelu"},
     NULL,
     false,
     "the bias stays a pass of its own over the data"},
    {"Gemm (MatMul and bias)",
     is_gemm,
     {"Gemm", "FusedGemm"},
     NULL,
     false,
     "the bias stays a pass of its own: the runtime does this for inputs of two dimensions only"},
    {"FusedMatMul (scaled)",
     is_fused_matmul,
     {"FusedMatMul"},
     NULL,
     false,
     "the scaling stays a pass of its own over the data"},
    {"Conv and BatchNormalization",
     is_conv_norm,
     {NULL},
     NULL,
     true,
     "the normalisation stays a pass of its own over the data"},
    {"Conv and activation",
     is_conv_activation,
     {NULL},
     has_fused_activation,
     false,
     "the activation stays a pass of its own over the data"},
    {"Conv in blocked layout",
     is_conv,
     {NULL},
     is_blocked_conv,
     false,
     "runs in the plain layout, which is slower on processors with wide vectors"},
    {"Quantised MatMul",
     is_quantised_product,
     {"DynamicQuantizeMatMul", "MatMulIntegerToFloat"},
     NULL,
     false,
     "quantising and scaling stay passes of their own"},
};

static int64_t count_possible(const struct kind *kind, graph_t *graph)
{
    int64_t count = 0;
    for (size_t i = 0; i < graph->nodes_count; i++)
        count += kind->possible(graph, &graph->nodes[i]);
    return count;
}

static int64_t count_made(const struct kind *kind, graph_t *graph)
{
    int64_t count = 0;
    for (size_t i = 0; i < graph->nodes_count; i++) {
        node_t *node = &graph->nodes[i];
        bool made = kind->is_made && kind->is_made(node);
        for (size_t k = 0; !made && k < sizeof kind->made / sizeof *kind->made && kind->made[k]; k++)
            made = tare_model_node_is(node, kind->made[k]);
        count += made;
    }
    return count;
}

int tare_fusions_find(const struct tare_model *original, const struct tare_model *optimised,
                      struct tare_run *run, struct tare_run_model *facts, struct tare_error *err)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *kind = &kinds[i];
        int64_t possible = count_possible(kind, &original->graph);
        int64_t before = count_made(kind, &original->graph);
        int64_t found = kind->gone ? possible - count_possible(kind, &optimised->graph)
                                   : count_made(kind, &optimised->graph);
        /* What the file has already, the runtime did not do; a pattern that is one node counts as done. */
        if (possible < before)
            possible = before;
        found = found < 0 ? 0 : found;
        if (possible < found)
            possible = found;
        if (possible == 0)
            continue;
        struct tare_run_fusion *row =
            tare_run_append(run, &facts->fusions, &facts->fusions_count, sizeof *facts->fusions);
        if (!row)
            return tare_fail_memory(err);
        row->name = kind->name;
        row->found = tare_run_int(found);
        row->possible = tare_run_int(possible);
        row->text = found < possible ? kind->left : NULL;
    }
    return 0;
}
