/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small ONNX models for tests, written field by field, so that a wrong one can be written as well as a right
 * one. Parts are appended to the buffer of a graph; onnx_model wraps it. Lists of names are written with
 * commas: "a,b"; an absent one is empty: "a,,c".
 */
#ifndef TARE_TESTS_ONNX_MAKE_H
#define TARE_TESTS_ONNX_MAKE_H

#include <stdlib.h>

#include "base/pb.h"
#include "bench/model.h"
#include "check.h"

static inline struct tare_buf onnx_buf(void)
{
    struct tare_buf buf;
    tare_buf_init(&buf, (size_t)64 << 20);
    return buf;
}

/* Append a message and free it. */
static inline void onnx_put(struct tare_buf *to, uint32_t number, struct tare_buf *message)
{
    tare_pb_put_bytes(to, number, message->data, message->length);
    tare_buf_finish(message);
}

static inline void onnx_text(struct tare_buf *to, uint32_t number, const char *text)
{
    tare_pb_put_bytes(to, number, text, strlen(text));
}

static inline void onnx_names(struct tare_buf *to, uint32_t number, const char *names)
{
    if (!names)
        return;
    for (;; names++) {
        size_t length = strcspn(names, ",");
        tare_pb_put_bytes(to, number, names, length);
        names += length;
        if (!*names)
            return;
    }
}

/* Append a node; attributes (or NULL) were written by the functions below and are freed. */
static inline void onnx_node(struct tare_buf *graph, const char *op, const char *name, const char *inputs,
                             const char *outputs, struct tare_buf *attributes)
{
    struct tare_buf node = onnx_buf();
    onnx_names(&node, 1, inputs);
    onnx_names(&node, 2, outputs);
    onnx_text(&node, 3, name);
    const char *colon = strrchr(op, ':');
    onnx_text(&node, 4, colon ? colon + 1 : op);
    if (colon)
        tare_pb_put_bytes(&node, 7, op, (size_t)(colon - op));
    if (attributes) {
        tare_buf_add(&node, attributes->data, attributes->length);
        tare_buf_finish(attributes);
    }
    onnx_put(graph, 1, &node);
}

static inline void onnx_int(struct tare_buf *attributes, const char *name, int64_t value)
{
    struct tare_buf attribute = onnx_buf();
    onnx_text(&attribute, 1, name);
    tare_pb_put_int(&attribute, 3, value);
    tare_pb_put_uint(&attribute, 20, TARE_ATTRIBUTE_INT);
    onnx_put(attributes, 5, &attribute);
}

static inline void onnx_ints(struct tare_buf *attributes, const char *name, const int64_t *values,
                             size_t count)
{
    struct tare_buf attribute = onnx_buf(), packed = onnx_buf();
    onnx_text(&attribute, 1, name);
    for (size_t i = 0; i < count; i++)
        tare_pb_put_varint(&packed, (uint64_t)values[i]);
    onnx_put(&attribute, 8, &packed);
    tare_pb_put_uint(&attribute, 20, TARE_ATTRIBUTE_INTS);
    onnx_put(attributes, 5, &attribute);
}

static inline void onnx_string(struct tare_buf *attributes, const char *name, const char *value)
{
    struct tare_buf attribute = onnx_buf();
    onnx_text(&attribute, 1, name);
    onnx_text(&attribute, 4, value);
    tare_pb_put_uint(&attribute, 20, TARE_ATTRIBUTE_STRING);
    onnx_put(attributes, 5, &attribute);
}

/* A subgraph, which is freed. */
static inline void onnx_graph(struct tare_buf *attributes, const char *name, struct tare_buf *graph)
{
    struct tare_buf attribute = onnx_buf();
    onnx_text(&attribute, 1, name);
    onnx_put(&attribute, 6, graph);
    tare_pb_put_uint(&attribute, 20, TARE_ATTRIBUTE_GRAPH);
    onnx_put(attributes, 5, &attribute);
}

/* The dims and the type of a tensor; the data is the caller's to append. */
static inline struct tare_buf onnx_tensor_head(const char *name, enum tare_element element,
                                               const int64_t *dims, size_t rank)
{
    struct tare_buf tensor = onnx_buf();
    for (size_t i = 0; i < rank; i++) {
        /* Zero too: the helper of the writer would leave it out. */
        tare_pb_put_varint(&tensor, 1 << 3);
        tare_pb_put_varint(&tensor, (uint64_t)dims[i]);
    }
    tare_pb_put_uint(&tensor, 2, (uint64_t)element);
    onnx_text(&tensor, 8, name);
    return tensor;
}

/* A tensor with as many zero bytes as it needs. */
static inline struct tare_buf onnx_zeros(const char *name, enum tare_element element, const int64_t *dims,
                                         size_t rank)
{
    struct tare_buf tensor = onnx_tensor_head(name, element, dims, rank);
    size_t bytes = 0;
    CHECK_INT(tare_shape_bytes(element, dims, rank, &bytes, NULL), 0);
    char *data = calloc(1, bytes + 1);
    tare_pb_put_bytes(&tensor, 9, data, bytes);
    free(data);
    return tensor;
}

/* An initializer of floats; dims end with -1. */
static inline void onnx_weight(struct tare_buf *graph, const char *name, const int64_t *dims)
{
    size_t rank = 0;
    while (dims[rank] >= 0)
        rank++;
    struct tare_buf tensor = onnx_zeros(name, TARE_ELEMENT_F32, dims, rank);
    onnx_put(graph, 5, &tensor);
}

static inline struct tare_buf onnx_int64s(const char *name, const int64_t *values, size_t count, bool scalar)
{
    int64_t dims[1] = {(int64_t)count};
    struct tare_buf tensor = onnx_tensor_head(name, TARE_ELEMENT_I64, dims, scalar ? 0 : 1);
    tare_pb_put_bytes(&tensor, 9, values, count * sizeof *values);
    return tensor;
}

/* An initializer of int64. */
static inline void onnx_numbers(struct tare_buf *graph, const char *name, const int64_t *values, size_t count,
                                bool scalar)
{
    struct tare_buf tensor = onnx_int64s(name, values, count, scalar);
    onnx_put(graph, 5, &tensor);
}

/* An input (11) or output (12); dims is "batch,3,?": a name, a number, or free without a name. NULL:
 * unranked. */
static inline void onnx_value(struct tare_buf *graph, uint32_t number, const char *name,
                              enum tare_element element, const char *dims)
{
    struct tare_buf value = onnx_buf(), type = onnx_buf(), tensor = onnx_buf(), shape = onnx_buf();
    onnx_text(&value, 1, name);
    tare_pb_put_uint(&tensor, 1, (uint64_t)element);
    for (const char *at = dims; at && *at;) {
        size_t length = strcspn(at, ",");
        struct tare_buf dim = onnx_buf();
        char *end;
        long long size = strtoll(at, &end, 10);
        if (end == at + length && length)
            tare_pb_put_int(&dim, 1, size);
        else if (!(length == 1 && *at == '?'))
            tare_pb_put_bytes(&dim, 2, at, length);
        onnx_put(&shape, 1, &dim);
        at += length + (at[length] == ',');
    }
    if (dims)
        onnx_put(&tensor, 2, &shape);
    else
        tare_buf_finish(&shape);
    onnx_put(&type, 1, &tensor);
    onnx_put(&value, 2, &type);
    onnx_put(graph, number, &value);
}

/* The whole model; the graph is freed. */
static inline struct tare_buf onnx_model(struct tare_buf *graph)
{
    struct tare_buf model = onnx_buf(), opset = onnx_buf();
    tare_pb_put_uint(&model, 1, 8);
    onnx_text(&model, 2, "tare tests");
    onnx_put(&model, 7, graph);
    onnx_text(&opset, 1, "");
    tare_pb_put_uint(&opset, 2, 17);
    onnx_put(&model, 8, &opset);
    return model;
}

/* Read a model that must be good; bytes must outlive it. */
static inline struct tare_model *onnx_open(const struct tare_buf *bytes)
{
    struct tare_model *model = NULL;
    struct tare_error err = {0};
    if (tare_model_open_memory(bytes->data, bytes->length, "test.onnx", &model, &err) < 0)
        CHECK_TEXT(err.msg, "");
    return model;
}

#endif
