/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/model_count.h"

#include "onnx_make.h"

static struct tare_ort_shape shape(size_t rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (struct tare_ort_shape){
        .element = TARE_ELEMENT_F32, .ranked = true, .rank = rank, .dims = {a, b, c, d}};
}

/* What a single operator costs, its inputs and outputs being as many as there are shapes. */
static struct tare_op_cost cost(const char *op, struct tare_buf *attributes,
                                const struct tare_ort_shape *inputs, size_t inputs_count,
                                struct tare_ort_shape output)
{
    static const char *const names[] = {"a,b,c,d,e,f,g,h,i", "a",         "a,b",         "a,b,c",
                                        "a,b,c,d",           "a,b,c,d,e", "a,b,c,d,e,f", "a,b,c,d,e,f,g",
                                        "a,b,c,d,e,f,g,h"};
    struct tare_buf graph = onnx_buf();
    for (const char *c = "abcdefghi"; *c; c++)
        onnx_value(&graph, 11, (char[]){*c, '\0'}, TARE_ELEMENT_F32, NULL);
    onnx_node(&graph, op, "n", names[inputs_count % 9], "y", attributes);
    struct tare_buf bytes = onnx_model(&graph);
    struct tare_model *model = onnx_open(&bytes);
    struct tare_op_cost result = {0};
    if (model) {
        struct tare_op_view view = {.node = &model->graph.nodes[0], .inputs = inputs, .outputs = &output};
        result = tare_op_cost(&view);
    }
    tare_model_close(model);
    tare_buf_finish(&bytes);
    return result;
}

static struct tare_buf one_int(const char *name, int64_t value)
{
    struct tare_buf attributes = onnx_buf();
    onnx_int(&attributes, name, value);
    return attributes;
}

static void products_of_matrices(void)
{
    struct tare_ort_shape in[2] = {shape(3, 2, 16, 384, 0), shape(2, 384, 1536, 0, 0)};
    CHECK_INT(cost("MatMul", NULL, in, 2, shape(3, 2, 16, 1536, 0)).macs, 2ll * 16 * 384 * 1536);
    CHECK_INT(cost("MatMulInteger", NULL, in, 2, shape(3, 2, 16, 1536, 0)).macs, 2ll * 16 * 384 * 1536);
    /* The left side's shape is not known, the weight's is. */
    struct tare_ort_shape half[2] = {{0}, shape(2, 384, 1536, 0, 0)};
    CHECK_INT(cost("MatMul", NULL, half, 2, shape(3, 2, 16, 1536, 0)).macs, 2ll * 16 * 384 * 1536);
    struct tare_ort_shape none[2] = {{0}, {0}};
    CHECK_INT(cost("MatMul", NULL, none, 2, shape(3, 2, 16, 1536, 0)).counted, TARE_OP_SHAPELESS);
    struct tare_ort_shape vectors[2] = {shape(1, 10, 0, 0, 0), shape(1, 10, 0, 0, 0)};
    CHECK_INT(cost("MatMul", NULL, vectors, 2, shape(0, 0, 0, 0, 0)).macs, 10);
    struct tare_buf across = one_int("transA", 1);
    struct tare_ort_shape turned[2] = {shape(2, 5, 3, 0, 0), shape(2, 5, 7, 0, 0)};
    CHECK_INT(cost("com.microsoft:FusedMatMul", &across, turned, 2, shape(2, 3, 7, 0, 0)).macs, 3 * 7 * 5);
    across = one_int("transA", 1);
    struct tare_ort_shape biased[3] = {shape(2, 5, 3, 0, 0), shape(2, 5, 7, 0, 0), shape(1, 7, 0, 0, 0)};
    struct tare_op_cost gemm = cost("Gemm", &across, biased, 3, shape(2, 3, 7, 0, 0));
    CHECK_INT(gemm.macs, 3 * 7 * 5);
    CHECK_INT(gemm.elementwise, 21);
    struct tare_buf equation = onnx_buf();
    onnx_string(&equation, "equation", "bhid, bhjd -> bhij");
    struct tare_ort_shape heads[2] = {shape(4, 2, 3, 5, 7), shape(4, 2, 3, 11, 7)};
    CHECK_INT(cost("Einsum", &equation, heads, 2, shape(4, 2, 3, 5, 11)).macs, 2 * 3 * 5 * 11 * 7);
}

static void convolutions(void)
{
    /* The first layer of ResNet-50: 118,013,952 by everybody's count. */
    struct tare_ort_shape in[3] = {shape(4, 1, 3, 224, 224), shape(4, 64, 3, 7, 7), shape(1, 64, 0, 0, 0)};
    struct tare_op_cost conv = cost("Conv", NULL, in, 3, shape(4, 1, 64, 112, 112));
    CHECK_INT(conv.macs, 118013952);
    CHECK_INT(conv.elementwise, 64 * 112 * 112);
    CHECK_INT(cost("com.microsoft:FusedConv", NULL, in, 2, shape(4, 1, 64, 112, 112)).macs, 118013952);
    CHECK_INT(cost("other.domain:Conv", NULL, in, 2, shape(4, 1, 64, 112, 112)).counted, TARE_OP_UNKNOWN);
    /* Depthwise: the weight's own shape holds the groups. */
    struct tare_ort_shape depth[2] = {shape(4, 1, 32, 10, 10), shape(4, 32, 1, 3, 3)};
    CHECK_INT(cost("Conv", NULL, depth, 2, shape(4, 1, 32, 10, 10)).macs, 32 * 100 * 9);
    struct tare_ort_shape up[2] = {shape(4, 1, 8, 5, 5), shape(4, 8, 4, 2, 2)};
    CHECK_INT(cost("ConvTranspose", NULL, up, 2, shape(4, 1, 4, 10, 10)).macs, 8 * 25 * 4 * 4);
    struct tare_ort_shape linear[8] = {[0] = shape(4, 1, 3, 8, 8), [3] = shape(4, 4, 3, 3, 3)};
    CHECK_INT(cost("QLinearConv", NULL, linear, 8, shape(4, 1, 4, 6, 6)).macs, 4 * 36 * 27);
}

static void recurrence_and_attention(void)
{
    struct tare_ort_shape lstm[3] = {shape(3, 7, 2, 4, 0), shape(3, 1, 20, 4, 0), shape(3, 1, 20, 5, 0)};
    CHECK_INT(cost("LSTM", NULL, lstm, 3, shape(4, 7, 1, 2, 5)).macs, 14 * (20 * 4 + 20 * 5));
    /* Projections of 384 to 3 x 384, then scores and sums over 16 tokens. */
    struct tare_ort_shape fused[3] = {shape(3, 2, 16, 384, 0), shape(2, 384, 1152, 0, 0),
                                      shape(1, 1152, 0, 0, 0)};
    CHECK_INT(cost("com.microsoft:Attention", NULL, fused, 3, shape(3, 2, 16, 384, 0)).macs,
              2ll * 16 * 384 * 1152 + 2ll * 16 * 16 * 384 * 2);
    struct tare_ort_shape apart[3] = {shape(3, 2, 16, 384, 0), shape(3, 2, 20, 384, 0),
                                      shape(3, 2, 20, 384, 0)};
    CHECK_INT(cost("com.microsoft:MultiHeadAttention", NULL, apart, 3, shape(3, 2, 16, 384, 0)).macs,
              2ll * 16 * 20 * 384 * 2);
    struct tare_ort_shape heads[3] = {shape(4, 2, 12, 16, 32), shape(4, 2, 12, 20, 32),
                                      shape(4, 2, 12, 20, 32)};
    CHECK_INT(cost("Attention", NULL, heads, 3, shape(4, 2, 12, 16, 32)).macs, 2ll * 12 * 16 * 20 * 32 * 2);
}

static void the_rest(void)
{
    struct tare_ort_shape in[2] = {shape(2, 3, 100, 0, 0), shape(2, 3, 100, 0, 0)};
    CHECK_INT(cost("Add", NULL, in, 2, shape(2, 3, 100, 0, 0)).elementwise, 300);
    CHECK_INT(cost("ReduceMean", NULL, in, 1, shape(2, 3, 1, 0, 0)).elementwise, 300);
    CHECK_INT(cost("Transpose", NULL, in, 1, shape(2, 100, 3, 0, 0)).elementwise, 0);
    CHECK_INT(cost("Transpose", NULL, in, 1, shape(2, 100, 3, 0, 0)).counted, TARE_OP_COUNTED);
    CHECK_INT(cost("Frobnicate", NULL, in, 1, shape(2, 1, 1, 0, 0)).counted, TARE_OP_UNKNOWN);
    struct tare_buf kernel = onnx_buf();
    onnx_ints(&kernel, "kernel_shape", (int64_t[]){3, 3}, 2);
    CHECK_INT(cost("MaxPool", &kernel, in, 1, shape(4, 1, 2, 5, 5)).elementwise, 50 * 9);
    struct tare_ort_shape huge[2] = {shape(2, INT64_MAX, INT64_MAX, 0, 0),
                                     shape(2, INT64_MAX, INT64_MAX, 0, 0)};
    CHECK_INT(cost("MatMul", NULL, huge, 2, shape(2, INT64_MAX, INT64_MAX, 0, 0)).macs, INT64_MAX);
}

/* x -> MatMul(w) (unnamed) -> If with two branches, of which one ran, three times. */
static void a_profile_is_joined(void)
{
    struct tare_buf graph = onnx_buf(), then = onnx_buf(), otherwise = onnx_buf(), attributes = onnx_buf();
    onnx_value(&graph, 11, "x", TARE_ELEMENT_F32, "batch,8");
    onnx_weight(&graph, "w", (int64_t[]){8, 4, -1});
    onnx_weight(&graph, "v", (int64_t[]){4, 5, -1});
    onnx_node(&graph, "MatMul", "", "x,w", "a", NULL);
    onnx_node(&then, "MatMul", "inside", "a,v", "t", NULL);
    onnx_node(&otherwise, "MatMul", "elsewhere", "a,v", "e", NULL);
    onnx_node(&otherwise, "Relu", "relu", "e", "f", NULL);
    onnx_graph(&attributes, "then_branch", &then);
    onnx_graph(&attributes, "else_branch", &otherwise);
    onnx_node(&graph, "If", "if", "x", "y", &attributes);
    onnx_node(&graph, "Frobnicate", "odd", "y", "z", NULL);
    struct tare_buf bytes = onnx_model(&graph);
    struct tare_model *model = onnx_open(&bytes);
    struct tare_ort_shape a = shape(2, 3, 4, 0, 0), t = shape(2, 3, 5, 0, 0);
    struct tare_ort_node nodes[] = {
        {.name = "MatMul_0", .op = "MatMul", .calls = 10, .outputs = &a, .outputs_count = 1},
        {.name = "inside", .op = "MatMul", .calls = 30, .outputs = &t, .outputs_count = 1},
        {.name = "if", .op = "If", .calls = 10, .outputs = &t, .outputs_count = 1},
        {.name = "odd", .op = "Frobnicate", .calls = 10, .outputs = &t, .outputs_count = 1},
        {.name = "made by the runtime", .op = "Cast", .calls = 10, .outputs = &t, .outputs_count = 1},
    };
    struct tare_ort_profile profile = {.nodes = nodes, .nodes_count = 5, .calls = 10};
    struct tare_tensor x = {.name = "x", .element = TARE_ELEMENT_F32, .dims = {3, 8}, .rank = 2};
    struct tare_arena arena;
    struct tare_model_count count = {0};
    struct tare_error err = {0};
    tare_arena_init(&arena, 0);
    if (model && tare_model_count(model, &profile, &x, 1, &arena, &count, &err) < 0)
        CHECK_TEXT(err.msg, "");
    CHECK_INT(count.matched, 4);
    CHECK_INT(count.nodes[0].macs, 3 * 8 * 4);
    CHECK_INT(count.nodes[1].macs, 3 * (3 * 4 * 5));
    CHECK_INT(count.nodes[4].counted, TARE_OP_UNKNOWN);
    CHECK_INT(count.macs, 3 * 8 * 4 + 3 * (3 * 4 * 5));
    CHECK_INT(count.not_counted_count, 2);
    if (count.not_counted_count == 2) {
        CHECK_TEXT(count.not_counted[0], "MatMul: 1 node, did not run");
        CHECK_TEXT(count.not_counted[1], "Frobnicate: 1 node, not known");
    }
    CHECK_TEXT(count.ops[0].op, "MatMul");
    CHECK_INT(count.ops[0].nodes.value, 3);
    CHECK_INT(count.ops[0].flops.value, 2 * count.macs);
    tare_model_close(model);
    tare_arena_finish(&arena);
    tare_buf_finish(&bytes);
}

int main(void)
{
    RUN(products_of_matrices);
    RUN(convolutions);
    RUN(recurrence_and_attention);
    RUN(the_rest);
    RUN(a_profile_is_joined);
    return check_done();
}
