/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/model_weights.h"

#include <string.h>

enum { DEPTH_MAX = 12, STEPS_MAX = 4096 };

/* What an input of an operator takes a constant for. */
enum purpose { WEIGHT = 1, ARITHMETIC = 2, STATISTIC = 4, SCALE = 8, SETTING = 16, MOVED = 32, OTHER = 64 };

/* One row per operator; the inputs not named are OTHER. A mask has bit k for input k. */
static const struct {
    const char *op;
    unsigned weight, arithmetic, statistic, scale, setting, moved;
} rows[] = {
    {.op = "Conv", .weight = 6},
    {.op = "FusedConv", .weight = 6},
    {.op = "ConvTranspose", .weight = 6},
    {.op = "ConvInteger", .weight = 2, .scale = 12},
    {.op = "QLinearConv", .weight = 8 | 256, .scale = 2 | 4 | 16 | 32 | 64 | 128},
    {.op = "QLinearMatMul", .weight = 8, .scale = 2 | 4 | 16 | 32 | 64 | 128},
    {.op = "MatMulInteger", .weight = 3, .scale = 12},
    {.op = "MatMulIntegerToFloat", .weight = 2 | 64, .scale = 4 | 8 | 16 | 32},
    {.op = "DynamicQuantizeMatMul", .weight = 2 | 16, .scale = 4 | 8},
    {.op = "MatMulNBits", .weight = 2, .scale = 12},
    {.op = "QAttention", .weight = 2 | 4, .scale = 8 | 16 | 64 | 128},
    {.op = "Attention", .weight = 2 | 4},
    {.op = "MatMul", .weight = 3},
    {.op = "FusedMatMul", .weight = 3},
    {.op = "Gemm", .weight = 7},
    {.op = "FusedGemm", .weight = 7},
    {.op = "Einsum", .weight = 7},
    {.op = "BatchNormalization", .weight = 6, .statistic = 24},
    {.op = "InstanceNormalization", .weight = 6},
    {.op = "GroupNormalization", .weight = 6},
    {.op = "LayerNormalization", .weight = 6},
    {.op = "SimplifiedLayerNormalization", .weight = 2},
    {.op = "SkipLayerNormalization", .weight = 4 | 8 | 16},
    {.op = "EmbedLayerNormalization", .weight = 4 | 8 | 16 | 32 | 64},
    {.op = "BiasGelu", .weight = 2},
    {.op = "FastGelu", .weight = 2},
    {.op = "PRelu", .weight = 2},
    {.op = "LSTM", .weight = 2 | 4 | 8 | 128, .setting = 16},
    {.op = "GRU", .weight = 2 | 4 | 8, .setting = 16},
    {.op = "RNN", .weight = 2 | 4 | 8, .setting = 16},
    {.op = "DynamicQuantizeLSTM", .weight = 2 | 4 | 8 | 128, .setting = 16, .scale = 256 | 512 | 1024 | 2048},
    {.op = "Gather", .weight = 1, .setting = 2},
    {.op = "GatherBlockQuantized", .weight = 1, .setting = 2, .scale = 12},
    {.op = "DequantizeLinear", .moved = 1, .scale = 6},
    {.op = "QuantizeLinear", .moved = 1, .scale = 6},
    {.op = "Add", .arithmetic = 3},
    {.op = "Sub", .arithmetic = 3},
    {.op = "Mul", .arithmetic = 3},
    {.op = "Div", .arithmetic = 3},
    {.op = "Pow", .arithmetic = 3},
    {.op = "Max", .arithmetic = 3},
    {.op = "Min", .arithmetic = 3},
    {.op = "Cast", .moved = 1},
    {.op = "Identity", .moved = 1},
    {.op = "Unsqueeze", .moved = 1, .setting = 2},
    {.op = "Squeeze", .moved = 1, .setting = 2},
    {.op = "Reshape", .moved = 1, .setting = 2},
    {.op = "Flatten", .moved = 1},
    {.op = "Transpose", .moved = 1},
    {.op = "Slice", .moved = 1, .setting = 30},
    {.op = "Split", .moved = 1, .setting = 2},
    {.op = "Expand", .moved = 1, .setting = 2},
    {.op = "Resize", .setting = 14},
    {.op = "Upsample", .setting = 2},
    {.op = "Pad", .setting = 14},
    {.op = "Clip", .setting = 6},
    {.op = "Range", .setting = 7},
    {.op = "OneHot", .setting = 6},
    {.op = "NonMaxSuppression", .setting = 28},
};

static enum purpose purpose_of(const struct tare_model_use *use)
{
    /* Opset 23 has an Attention of its own, whose inputs are all computed. */
    if (*use->node->domain == '\0' && strcmp(use->node->op, "Attention") == 0)
        return OTHER;
    unsigned bit = use->input < 32 ? 1u << use->input : 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!tare_model_node_is(use->node, rows[i].op))
            continue;
        return rows[i].weight & bit       ? WEIGHT
               : rows[i].arithmetic & bit ? ARITHMETIC
               : rows[i].statistic & bit  ? STATISTIC
               : rows[i].scale & bit      ? SCALE
               : rows[i].setting & bit    ? SETTING
               : rows[i].moved & bit      ? MOVED
                                          : OTHER;
    }
    return OTHER;
}

/* All purposes that a value serves, itself or after being moved about. */
static unsigned purposes(const struct tare_model_uses *uses, const char *name, int depth, int *steps)
{
    unsigned all = 0;
    for (const struct tare_model_use *use = tare_model_uses_of(uses, name); use; use = use->next) {
        if ((*steps)++ > STEPS_MAX)
            return all;
        enum purpose purpose = purpose_of(use);
        if (purpose == MOVED && depth < DEPTH_MAX) {
            for (size_t i = 0; i < use->node->outputs_count; i++)
                all |= purposes(uses, use->node->outputs[i], depth + 1, steps);
        } else {
            all |= (unsigned)purpose;
        }
    }
    return all;
}

enum tare_weight tare_model_weight(const struct tare_model_uses *uses, const char *name,
                                   enum tare_element element, int64_t count, bool made)
{
    unsigned bits = tare_element_bits(element);
    bool small = bits > 0 && bits <= 8 && element != TARE_ELEMENT_BOOL;
    bool whole = tare_element_is_integer(element) && !small;
    if (count == 0 || !(tare_element_is_float(element) || small || element == TARE_ELEMENT_I32))
        return TARE_WEIGHT_NONE;
    int steps = 0;
    unsigned all = purposes(uses, name, 0, &steps);
    if (all & (STATISTIC | SCALE))
        return TARE_WEIGHT_BUFFER;
    if (all & WEIGHT)
        return TARE_WEIGHT_PARAMETER;
    /* Whole numbers are shapes and indices, but for the biases of quantised layers. */
    if (whole || count == 1)
        return TARE_WEIGHT_NONE;
    if (all & ARITHMETIC)
        return TARE_WEIGHT_PARAMETER;
    return made || all == SETTING ? TARE_WEIGHT_NONE : TARE_WEIGHT_PARAMETER;
}
