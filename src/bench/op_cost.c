/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/op_cost.h"

#include <string.h>

static const struct tare_op_cost shapeless = {.counted = TARE_OP_SHAPELESS};

/* Products that no real model reaches stay at the top. */
static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* The shape of an input, NULL if it is absent or not known. */
static const struct tare_ort_shape *input(const struct tare_op_view *view, size_t i)
{
    return i < view->node->inputs_count && view->inputs[i].ranked ? &view->inputs[i] : NULL;
}

static const struct tare_ort_shape *output(const struct tare_op_view *view, size_t i)
{
    return i < view->node->outputs_count && view->outputs[i].ranked ? &view->outputs[i] : NULL;
}

/* The product of the dimensions from one on. */
static int64_t count_from(const struct tare_ort_shape *shape, size_t from)
{
    int64_t count = 1;
    for (size_t i = from; i < shape->rank; i++)
        count = times(count, shape->dims[i]);
    return count;
}

static int64_t count_of(const struct tare_ort_shape *shape)
{
    return count_from(shape, 0);
}

static bool has_input(const struct tare_op_view *view, size_t i)
{
    return i < view->node->inputs_count && *view->node->inputs[i];
}

static struct tare_op_cost macs(int64_t count)
{
    return (struct tare_op_cost){.macs = count};
}

/* Every element of the result is a sum over the last axis of the left side. */
static struct tare_op_cost matmul(const struct tare_op_view *view)
{
    const struct tare_ort_shape *a = input(view, 0), *out = output(view, 0);
    size_t other = tare_model_node_is(view->node, "QLinearMatMul") ? 3 : 1;
    const struct tare_ort_shape *b = input(view, other);
    bool across = tare_model_attribute_int(view->node, "transA", 0) != 0;
    bool b_across = tare_model_attribute_int(view->node, "transB", 0) != 0;
    int64_t depth =
        tare_model_node_is(view->node, "MatMulNBits") ? tare_model_attribute_int(view->node, "K", -1) : -1;
    if (depth < 0 && a && a->rank)
        depth = a->dims[across && a->rank > 1 ? a->rank - 2 : a->rank - 1];
    if (depth < 0 && b && b->rank)
        depth = b->dims[b_across || b->rank == 1 ? b->rank - 1 : b->rank - 2];
    return out && depth >= 0 ? macs(times(count_of(out), depth)) : shapeless;
}

static struct tare_op_cost gemm(const struct tare_op_view *view)
{
    const struct tare_ort_shape *a = input(view, 0), *b = input(view, 1), *out = output(view, 0);
    int64_t depth = -1;
    if (a && a->rank == 2)
        depth = a->dims[tare_model_attribute_int(view->node, "transA", 0) ? 0 : 1];
    else if (b && b->rank == 2)
        depth = b->dims[tare_model_attribute_int(view->node, "transB", 0) ? 1 : 0];
    if (!out || depth < 0)
        return shapeless;
    struct tare_op_cost cost = macs(times(count_of(out), depth));
    cost.elementwise = has_input(view, 2) ? count_of(out) : 0;
    return cost;
}

/* Every element of the result sees one kernel over its group's channels. */
static struct tare_op_cost conv(const struct tare_op_view *view)
{
    bool linear = tare_model_node_is(view->node, "QLinearConv");
    const struct tare_ort_shape *weights = input(view, linear ? 3 : 1), *out = output(view, 0);
    if (!weights || !out || weights->rank < 2)
        return shapeless;
    struct tare_op_cost cost = macs(times(count_of(out), count_from(weights, 1)));
    bool integer = tare_model_node_is(view->node, "ConvInteger");
    cost.elementwise = !integer && has_input(view, linear ? 8 : 2) ? count_of(out) : 0;
    return cost;
}

/* Every element that comes in is spread by one kernel. */
static struct tare_op_cost conv_transpose(const struct tare_op_view *view)
{
    const struct tare_ort_shape *x = input(view, 0), *weights = input(view, 1), *out = output(view, 0);
    if (!x || !weights || !out || weights->rank < 2)
        return shapeless;
    struct tare_op_cost cost = macs(times(count_of(x), count_from(weights, 1)));
    cost.elementwise = has_input(view, 2) ? count_of(out) : 0;
    return cost;
}

/* Both weight matrices, of all gates and directions, for each step of each sample. */
static struct tare_op_cost recurrent(const struct tare_op_view *view)
{
    const struct tare_ort_shape *x = input(view, 0), *w = input(view, 1), *r = input(view, 2);
    if (!x || !w || !r || x->rank != 3 || w->rank != 3 || r->rank != 3)
        return shapeless;
    int64_t steps = times(x->dims[0], x->dims[1]);
    return macs(times(steps, plus(count_of(w), count_of(r))));
}

/* ONNX Runtime's fused attention, with the projections to query, key and value inside. */
static struct tare_op_cost fused_attention(const struct tare_op_view *view)
{
    const struct tare_ort_shape *x = input(view, 0), *weights = input(view, 1), *out = output(view, 0);
    if (!x || !weights || !out || x->rank != 3 || weights->rank != 2 || out->rank != 3)
        return shapeless;
    int64_t length = x->dims[1], width = weights->dims[1], value = out->dims[2];
    /* The keys of earlier steps come from the past: 2 x batch x heads x length x size. */
    const struct tare_ort_shape *past = input(view, tare_model_node_is(view->node, "QAttention") ? 8 : 4);
    int64_t total = past && past->rank == 5 ? plus(length, past->dims[3]) : length;
    /* Query and key are equally wide; what is left is the value. */
    int64_t query = (width - value) / 2;
    int64_t projection = times(times(x->dims[0], length), times(x->dims[2], width));
    int64_t inside = times(times(x->dims[0], length), times(total, plus(query, value)));
    return macs(plus(projection, inside));
}

/* Attention whose query, key and value come in: scores, then their sum of values. */
static struct tare_op_cost attention(const struct tare_op_view *view)
{
    const struct tare_ort_shape *q = input(view, 0), *k = input(view, 1), *out = output(view, 0);
    if (!q || !out)
        return shapeless;
    /* With a cache the keys are those of the present, an output: batch x heads x length x size. */
    const struct tare_ort_shape *present = output(view, 1);
    int64_t length = -1;
    if (present && present->rank == 4)
        length = present->dims[2];
    else if (k && k->rank >= 3)
        length = k->dims[k->rank == 4 ? 2 : 1];
    else if (!k && !has_input(view, 1))
        length = q->rank >= 2 ? q->dims[1] : -1; /* packed: all three in one */
    /* Each element of the query meets every key, each of the result every value. */
    int64_t query = q->rank == 5 ? count_of(q) / 3 : count_of(q);
    if (length < 0)
        return shapeless;
    bool packed = !has_input(view, 1);
    if (packed)
        query = count_of(out);
    return macs(times(length, plus(query, count_of(out))));
}

/* Two operands, one letter per axis: every combination of letters is one product. */
static struct tare_op_cost einsum(const struct tare_op_view *view)
{
    const struct tare_model_attribute *equation = tare_model_attribute(view->node, "equation");
    if (!equation || !equation->s || view->node->inputs_count != 2 || strchr(equation->s, '.'))
        return (struct tare_op_cost){.counted = TARE_OP_UNKNOWN};
    int64_t sizes[128] = {0};
    size_t operand = 0, axis = 0;
    const char *c = equation->s;
    for (; *c && strncmp(c, "->", 2) != 0; c++) {
        if (*c == ' ')
            continue;
        if (*c == ',') {
            operand++;
            axis = 0;
            continue;
        }
        const struct tare_ort_shape *shape = input(view, operand);
        if (!shape)
            return shapeless;
        if (axis >= shape->rank || (unsigned char)*c >= 128)
            return (struct tare_op_cost){.counted = TARE_OP_UNKNOWN};
        int64_t size = shape->dims[axis++];
        if (size > sizes[(unsigned char)*c])
            sizes[(unsigned char)*c] = size;
    }
    int64_t product = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i])
            product = times(product, sizes[i]);
    return macs(product);
}

static const struct {
    const char *op;
    struct tare_op_cost (*cost)(const struct tare_op_view *view);
} contractions[] = {
    {"MatMul", matmul},
    {"FusedMatMul", matmul},
    {"FusedMatMulActivation", matmul},
    {"TransposeMatMul", matmul},
    {"MatMulInteger", matmul},
    {"MatMulInteger16", matmul},
    {"MatMulIntegerToFloat", matmul},
    {"DynamicQuantizeMatMul", matmul},
    {"QLinearMatMul", matmul},
    {"MatMulNBits", matmul},
    {"Gemm", gemm},
    {"FusedGemm", gemm},
    {"Conv", conv},
    {"FusedConv", conv},
    {"NhwcConv", conv},
    {"NhwcFusedConv", conv},
    {"ConvInteger", conv},
    {"QLinearConv", conv},
    {"DeformConv", conv},
    {"ConvTranspose", conv_transpose},
    {"LSTM", recurrent},
    {"GRU", recurrent},
    {"RNN", recurrent},
    {"DynamicQuantizeLSTM", recurrent},
    {"QAttention", fused_attention},
    {"MultiHeadAttention", attention},
    {"GroupQueryAttention", attention},
    {"Einsum", einsum},
};

static bool is_in(const struct tare_model_node *node, const char *const *ops)
{
    for (; *ops; ops++)
        if (tare_model_node_is(node, *ops))
            return true;
    return false;
}

/* One for each element they make. */
static const char *const makers[] = {
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BiasGelu",
    "BiasAdd",
    "BiasSplitGelu",
    "BitShift",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "CumSum",
    "DequantizeLinear",
    "Div",
    "Dropout",
    "DynamicQuantizeLinear",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "FastGelu",
    "Floor",
    "Gelu",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "HardSwish",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "PRelu",
    "Pow",
    "QLinearAdd",
    "QLinearLeakyRelu",
    "QLinearMul",
    "QLinearSigmoid",
    "QuantizeLinear",
    "QuickGelu",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Sum",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Where",
    "Xor",
    "Resize",
    "Upsample",
    "GridSample",
    "RotaryEmbedding",
    NULL,
};

/* One for each element they take: normalising and reducing. */
static const char *const takers[] = {
    "ArgMax",
    "ArgMin",
    "BatchNormalization",
    "EmbedLayerNormalization",
    "GroupNorm",
    "GroupNormalization",
    "Hardmax",
    "InstanceNormalization",
    "LRN",
    "LayerNormalization",
    "LogSoftmax",
    "LpNormalization",
    "MeanVarianceNormalization",
    "QLinearReduceMean",
    "QLinearSoftmax",
    "RMSNormalization",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "SimplifiedLayerNormalization",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
    "Softmax",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GlobalMaxPool",
    "QLinearGlobalAveragePool",
    "TopK",
    NULL,
};

static const char *const pools[] = {"AveragePool", "LpPool", "MaxPool", "QLinearAveragePool", NULL};

/* They only move data, or run what is counted by itself. */
static const char *const movers[] = {
    "Cast",
    "CastLike",
    "Compress",
    "Concat",
    "ConcatFromSequence",
    "Constant",
    "ConstantOfShape",
    "CopyToHost",
    "DepthToSpace",
    "Expand",
    "EyeLike",
    "Flatten",
    "Gather",
    "GatherBlockQuantized",
    "GatherElements",
    "GatherND",
    "Identity",
    "If",
    "Loop",
    "MemcpyFromHost",
    "MemcpyToHost",
    "NonZero",
    "OneHot",
    "Pad",
    "QLinearConcat",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "Range",
    "Reshape",
    "ReorderInput",
    "ReorderOutput",
    "ReverseSequence",
    "Scan",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceInsert",
    "Shape",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "SplitToSequence",
    "Squeeze",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "ImageScaler",
    NULL,
};

static struct tare_op_cost elementwise(const struct tare_op_view *view)
{
    const struct tare_ort_shape *in = input(view, 0), *out = output(view, 0);
    int64_t each = 1;
    const struct tare_ort_shape *shape = out;
    if (is_in(view->node, takers)) {
        /* An embedding takes ids, and makes what is normalised. */
        shape = tare_model_node_is(view->node, "EmbedLayerNormalization") ? out : in;
    } else if (is_in(view->node, pools)) {
        const struct tare_model_attribute *kernel = tare_model_attribute(view->node, "kernel_shape");
        for (size_t i = 0; kernel && i < kernel->count; i++)
            each = times(each, kernel->ints[i]);
    } else if (!is_in(view->node, makers)) {
        return (struct tare_op_cost){.counted = TARE_OP_UNKNOWN};
    }
    return shape ? (struct tare_op_cost){.elementwise = times(count_of(shape), each)} : shapeless;
}

static bool is_attention(const struct tare_model_node *node)
{
    return tare_model_node_is(node, "Attention");
}

struct tare_op_cost tare_op_cost(const struct tare_op_view *view)
{
    /* Two operators share this name: ONNX's own takes query, key and value. */
    if (is_attention(view->node))
        return *view->node->domain ? fused_attention(view) : attention(view);
    for (size_t i = 0; i < sizeof contractions / sizeof *contractions; i++)
        if (tare_model_node_is(view->node, contractions[i].op))
            return contractions[i].cost(view);
    if (is_in(view->node, movers))
        return (struct tare_op_cost){0};
    return elementwise(view);
}

bool tare_op_is_contraction(const struct tare_model_node *node)
{
    for (size_t i = 0; i < sizeof contractions / sizeof *contractions; i++)
        if (tare_model_node_is(node, contractions[i].op))
            return true;
    return is_attention(node);
}
