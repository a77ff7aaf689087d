/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/model_write.h"

#include <string.h>

#include "base/out.h"
#include "base/pb.h"

/* Numbers of the fields and types, from onnx.proto. */
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_I = 3, ATTRIBUTE_TYPE = 20, ATTRIBUTE_TYPE_INT = 2 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8, OPSET_VERSION = 2 };
enum { IR_VERSION = 8, OPSET = 13 };
/* These models are small; their weights too. */
static const size_t cap = (size_t)64 << 20;

static void put_text(struct tare_buf *buf, uint32_t number, const char *text)
{
    tare_pb_put_bytes(buf, number, text, strlen(text));
}

static void put_message(struct tare_buf *buf, uint32_t number, const struct tare_buf *message)
{
    tare_pb_put_bytes(buf, number, message->data, message->length);
    buf->failed = buf->failed || message->failed;
}

void tare_model_writer_init(struct tare_model_writer *writer)
{
    struct tare_buf *const bufs[] = {&writer->nodes,   &writer->initializers, &writer->inputs,
                                     &writer->outputs, &writer->scratch,      &writer->inner,
                                     &writer->type,    &writer->shape};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        tare_buf_init(bufs[i], cap);
}

void tare_model_writer_finish(struct tare_model_writer *writer)
{
    struct tare_buf *const bufs[] = {&writer->nodes,   &writer->initializers, &writer->inputs,
                                     &writer->outputs, &writer->scratch,      &writer->inner,
                                     &writer->type,    &writer->shape};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        tare_buf_finish(bufs[i]);
}

void tare_model_writer_node(struct tare_model_writer *writer, const char *op, const char *name,
                            const char *const *inputs, size_t inputs_count, const char *const *outputs,
                            size_t outputs_count, const char *attribute, int64_t value)
{
    struct tare_buf *node = &writer->scratch;
    tare_buf_clear(node);
    for (size_t i = 0; i < inputs_count; i++)
        put_text(node, NODE_INPUT, inputs[i]);
    for (size_t i = 0; i < outputs_count; i++)
        put_text(node, NODE_OUTPUT, outputs[i]);
    put_text(node, NODE_NAME, name);
    put_text(node, NODE_OP, op);
    if (attribute) {
        tare_buf_clear(&writer->inner);
        put_text(&writer->inner, ATTRIBUTE_NAME, attribute);
        tare_pb_put_int(&writer->inner, ATTRIBUTE_I, value);
        tare_pb_put_uint(&writer->inner, ATTRIBUTE_TYPE, ATTRIBUTE_TYPE_INT);
        put_message(node, NODE_ATTRIBUTE, &writer->inner);
    }
    put_message(&writer->nodes, GRAPH_NODE, node);
}

static void put_value(struct tare_model_writer *writer, struct tare_buf *buf, uint32_t number,
                      const char *name, enum tare_element element, const int64_t *dims, size_t rank)
{
    tare_buf_clear(&writer->shape);
    for (size_t i = 0; i < rank; i++) {
        tare_buf_clear(&writer->inner);
        tare_pb_put_int(&writer->inner, DIM_VALUE, dims[i]);
        put_message(&writer->shape, SHAPE_DIM, &writer->inner);
    }
    tare_buf_clear(&writer->inner);
    tare_pb_put_uint(&writer->inner, TENSOR_ELEMENT, (uint64_t)element);
    put_message(&writer->inner, TENSOR_SHAPE, &writer->shape);
    tare_buf_clear(&writer->type);
    put_message(&writer->type, TYPE_TENSOR, &writer->inner);
    tare_buf_clear(&writer->scratch);
    put_text(&writer->scratch, VALUE_NAME, name);
    put_message(&writer->scratch, VALUE_TYPE, &writer->type);
    put_message(buf, number, &writer->scratch);
}

void tare_model_writer_input(struct tare_model_writer *writer, const char *name, enum tare_element element,
                             const int64_t *dims, size_t rank)
{
    put_value(writer, &writer->inputs, GRAPH_INPUT, name, element, dims, rank);
}

void tare_model_writer_output(struct tare_model_writer *writer, const char *name, enum tare_element element,
                              const int64_t *dims, size_t rank)
{
    put_value(writer, &writer->outputs, GRAPH_OUTPUT, name, element, dims, rank);
}

void tare_model_writer_weight(struct tare_model_writer *writer, const struct tare_tensor *tensor)
{
    struct tare_buf *message = &writer->scratch;
    tare_buf_clear(message);
    tare_buf_clear(&writer->inner);
    for (size_t i = 0; i < tensor->rank; i++)
        tare_pb_put_varint(&writer->inner, (uint64_t)tensor->dims[i]);
    put_message(message, TENSOR_DIMS, &writer->inner);
    tare_pb_put_uint(message, TENSOR_TYPE, (uint64_t)tensor->element);
    put_text(message, TENSOR_NAME, tensor->name);
    tare_pb_put_bytes(message, TENSOR_RAW, tensor->data, tensor->bytes);
    put_message(&writer->initializers, GRAPH_INITIALIZER, message);
}

int tare_model_writer_save(struct tare_model_writer *writer, const char *path, struct tare_error *err)
{
    struct tare_buf *graph = &writer->scratch, *model = &writer->inner;
    struct tare_out out;
    tare_buf_clear(graph);
    tare_buf_add(graph, writer->nodes.data, writer->nodes.length);
    put_text(graph, GRAPH_NAME, "tare");
    tare_buf_add(graph, writer->initializers.data, writer->initializers.length);
    tare_buf_add(graph, writer->inputs.data, writer->inputs.length);
    tare_buf_add(graph, writer->outputs.data, writer->outputs.length);
    tare_buf_clear(model);
    tare_pb_put_uint(model, MODEL_IR, IR_VERSION);
    put_text(model, MODEL_PRODUCER, "tare");
    put_message(model, MODEL_GRAPH, graph);
    tare_buf_clear(&writer->type);
    tare_pb_put_uint(&writer->type, OPSET_VERSION, OPSET);
    put_message(model, MODEL_OPSET, &writer->type);
    if (tare_buf_check(&writer->nodes, err) < 0 || tare_buf_check(&writer->initializers, err) < 0 ||
        tare_buf_check(&writer->inputs, err) < 0 || tare_buf_check(&writer->outputs, err) < 0 ||
        tare_buf_check(model, err) < 0 || tare_out_open(&out, path, err) < 0)
        return -1;
    tare_out_add(&out, model->data, model->length);
    int rc = tare_out_commit(&out, err);
    tare_out_finish(&out);
    return rc;
}
