/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/model_repeat.h"

#include <stdio.h>
#include <string.h>

#include "base/out.h"
#include "base/pb.h"

/* Numbers of the fields, from onnx.proto. */
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, GRAPH_NODE = 1, MODEL_GRAPH = 7 };
/* Nodes without their weights: more than this is no graph that one wants to run twice. */
static const size_t cap = (size_t)64 << 20;

struct copy {
    const struct tare_model_graph *graph;
    const bool *chosen;
    struct tare_buf nodes; /* what is added to the graph */
    struct tare_buf node;  /* the one being made */
};

bool tare_model_repeat_can(const struct tare_model_node *node)
{
    for (size_t i = 0; i < node->attributes_count; i++)
        if (node->attributes[i].graphs)
            return false;
    return node->outputs_count > 0;
}

static bool is_repeated(const struct copy *copy, const char *value)
{
    const struct tare_model_node *from = tare_model_producer(copy->graph, value);
    return from && copy->chosen[from - copy->graph->nodes];
}

static void put_name(struct tare_buf *buf, uint32_t number, const char *name, int time)
{
    char suffix[32];
    int length = snprintf(suffix, sizeof suffix, "/tare-again-%d", time);
    tare_pb_put_header(buf, number, strlen(name) + (size_t)length);
    tare_buf_add_text(buf, name);
    tare_buf_add_text(buf, suffix);
}

/* The node's message with other names: the model has them as texts, in the message's own order. */
static int repeat_node(struct copy *copy, const struct tare_pb_field *message,
                       const struct tare_model_node *node, int time, struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(message->data, message->length);
    struct tare_pb_field field;
    const uint8_t *from = pb.at;
    size_t inputs = 0, outputs = 0;
    int rc;
    tare_buf_clear(&copy->node);
    for (; (rc = tare_pb_next(&pb, &field, err)) > 0; from = pb.at) {
        const char *name = NULL;
        bool renamed = false;
        if (field.number == NODE_INPUT && inputs < node->inputs_count) {
            name = node->inputs[inputs++];
            renamed = is_repeated(copy, name);
        } else if (field.number == NODE_OUTPUT && outputs < node->outputs_count) {
            name = node->outputs[outputs++];
            renamed = *name != '\0';
        } else if (field.number == NODE_NAME) {
            name = node->name;
            renamed = true;
        }
        if (renamed)
            put_name(&copy->node, field.number, name, time);
        else
            tare_buf_add(&copy->node, from, (size_t)(pb.at - from));
    }
    if (rc < 0)
        return -1;
    tare_pb_put_bytes(&copy->nodes, GRAPH_NODE, copy->node.data, copy->node.length);
    copy->nodes.failed = copy->nodes.failed || copy->node.failed;
    return 0;
}

static int repeat_nodes(struct copy *copy, const struct tare_pb_field *graph, int time,
                        struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(graph->data, graph->length);
    struct tare_pb_field field;
    size_t number = 0;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.number != GRAPH_NODE || number >= copy->graph->nodes_count)
            continue;
        if (copy->chosen[number] && repeat_node(copy, &field, &copy->graph->nodes[number], time, err) < 0)
            return -1;
        number++;
    }
    return rc;
}

static int write_copy(struct copy *copy, const struct tare_model *model, int times, struct tare_out *out,
                      struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(model->map, model->map_length);
    struct tare_pb_field field;
    const uint8_t *from = pb.at;
    int rc;
    for (; (rc = tare_pb_next(&pb, &field, err)) > 0; from = pb.at) {
        if (field.number != MODEL_GRAPH || field.wire != TARE_PB_BYTES) {
            tare_out_add(out, from, (size_t)(pb.at - from));
            continue;
        }
        for (int time = 1; time <= times; time++)
            if (repeat_nodes(copy, &field, time, err) < 0)
                return -1;
        if (tare_buf_check(&copy->nodes, err) < 0)
            return -1;
        tare_buf_clear(&copy->node);
        tare_pb_put_header(&copy->node, MODEL_GRAPH, field.length + copy->nodes.length);
        tare_out_add(out, copy->node.data, copy->node.length);
        tare_out_add(out, field.data, field.length);
        tare_out_add(out, copy->nodes.data, copy->nodes.length);
    }
    return rc;
}

int tare_model_repeat(const struct tare_model *model, const bool *chosen, int times, const char *path,
                      struct tare_error *err)
{
    struct copy copy = {.graph = &model->graph, .chosen = chosen};
    struct tare_out out;
    tare_buf_init(&copy.nodes, cap);
    tare_buf_init(&copy.node, cap);
    int rc = tare_out_open(&out, path, err);
    if (rc == 0) {
        rc = write_copy(&copy, model, times, &out, err);
        if (rc == 0)
            rc = tare_out_commit(&out, err);
        tare_out_finish(&out);
    }
    tare_buf_finish(&copy.nodes);
    tare_buf_finish(&copy.node);
    return rc;
}
