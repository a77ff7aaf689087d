/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/model_facts.h"

#include "onnx_make.h"

/* Every kind of constant once: what is trained, what is measured, what only steers. */
static struct tare_buf many_kinds(void)
{
    struct tare_buf graph = onnx_buf(), attributes = onnx_buf(), constant = onnx_buf();
    onnx_value(&graph, 11, "x", TARE_ELEMENT_F32, "batch,3,?,8");
    onnx_weight(&graph, "conv.w", (int64_t[]){4, 3, 3, 3, -1});
    onnx_weight(&graph, "conv.b", (int64_t[]){1, -1});
    for (int i = 0; i < 4; i++)
        onnx_weight(&graph, (const char *const[]){"scale", "bias", "mean", "var"}[i], (int64_t[]){4, -1});
    onnx_weight(&graph, "half", (int64_t[]){1, -1});
    onnx_weight(&graph, "sizes", (int64_t[]){4, -1});
    onnx_weight(&graph, "row", (int64_t[]){8, -1});
    onnx_numbers(&graph, "shape", (int64_t[]){0, -1}, 2, false);
    onnx_numbers(&graph, "made.shape", (int64_t[]){4, 5}, 2, false);
    struct tare_buf q = onnx_zeros("q", TARE_ELEMENT_I8, (int64_t[]){5, 6}, 2);
    onnx_put(&graph, 5, &q);
    onnx_weight(&graph, "q.scale", (int64_t[]){6, -1});
    onnx_node(&graph, "Conv", "", "x,conv.w,conv.b", "a", NULL);
    onnx_node(&graph, "BatchNormalization", "", "a,scale,bias,mean,var", "b", NULL);
    onnx_node(&graph, "Mul", "", "b,half", "c", NULL);
    onnx_node(&graph, "Add", "", "c,row", "d", NULL);
    onnx_node(&graph, "Resize", "", "d,,sizes", "e", NULL);
    onnx_node(&graph, "Reshape", "", "e,shape", "f", NULL);
    onnx_node(&graph, "ConstantOfShape", "", "made.shape", "made", NULL);
    onnx_node(&graph, "Transpose", "", "made", "turned", NULL);
    onnx_node(&graph, "MatMul", "", "f,turned", "g", NULL);
    onnx_node(&graph, "DequantizeLinear", "", "q,q.scale", "w", NULL);
    onnx_node(&graph, "MatMul", "", "g,w", "h", NULL);
    /* Zeros for a state have a constant shape too, and are not trained. */
    onnx_node(&graph, "ConstantOfShape", "", "made.shape", "zeros", NULL);
    onnx_node(&graph, "Concat", "", "h,zeros", "i", NULL);
    /* A weight that is a Constant node, in a subgraph. */
    struct tare_buf tensor = onnx_zeros("", TARE_ELEMENT_F16, (int64_t[]){6, 2}, 2), inner = onnx_buf();
    struct tare_buf value = onnx_buf();
    onnx_text(&value, 1, "value");
    onnx_put(&value, 5, &tensor);
    tare_pb_put_uint(&value, 20, TARE_ATTRIBUTE_TENSOR);
    onnx_put(&constant, 5, &value);
    onnx_node(&inner, "Constant", "", NULL, "k", &constant);
    onnx_node(&inner, "MatMul", "", "h,k", "t", NULL);
    onnx_graph(&attributes, "then_branch", &inner);
    onnx_node(&graph, "If", "", "x", "y", &attributes);
    onnx_value(&graph, 12, "y", TARE_ELEMENT_F32, NULL);
    return onnx_model(&graph);
}

static void parameters_are_told_from_the_rest(void)
{
    struct tare_buf bytes = many_kinds();
    struct tare_model *model = onnx_open(&bytes);
    struct tare_arena arena;
    struct tare_run_model facts = {0};
    struct tare_error err = {0};
    tare_arena_init(&arena, 0);
    if (model)
        CHECK_INT(tare_model_facts(model, &arena, &facts, &err), 0);
    /* conv 108 + 1, batch norm 4 + 4, row 8, made 20; int8 30; float16 12. */
    CHECK_INT(facts.parameters.value, 109 + 8 + 8 + 20 + 30 + 12);
    /* Mean and variance, and the scales of the quantised weight. */
    CHECK_INT(facts.buffers.value, 8 + 6);
    CHECK_INT(facts.parameters_by_type_count, 3);
    if (facts.parameters_by_type_count == 3) {
        CHECK_TEXT(facts.parameters_by_type[0].type, "float32");
        CHECK_INT(facts.parameters_by_type[0].count.value, 145);
        CHECK_INT(facts.parameters_by_type[0].bytes.value, 580);
        CHECK_TEXT(facts.parameters_by_type[1].type, "int8");
        CHECK_INT(facts.parameters_by_type[1].bytes.value, 30);
        CHECK_TEXT(facts.parameters_by_type[2].type, "float16");
        CHECK_INT(facts.parameters_by_type[2].bytes.value, 24);
    }
    CHECK_INT(facts.nodes.value, 16);
    CHECK_TEXT(facts.ops[0].op, "MatMul");
    CHECK_INT(facts.ops[0].nodes.value, 3);
    CHECK_TEXT(facts.name, "test");
    CHECK_TEXT(facts.inputs[0].shape, "batch,3,?,8");
    CHECK_TEXT(facts.inputs[0].type, "float32");
    CHECK(facts.outputs[0].shape == NULL);
    CHECK_INT(facts.opset.value, 17);
    CHECK_INT(facts.size_bytes.value, (int64_t)bytes.length);
    CHECK_INT(strlen(facts.sha256), 64);
    tare_model_close(model);
    tare_arena_finish(&arena);
    tare_buf_finish(&bytes);
}

int main(void)
{
    RUN(parameters_are_told_from_the_rest);
    return check_done();
}
