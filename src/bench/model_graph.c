/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, functions, and the types of their values. */
#include <string.h>

#include "bench/model_impl.h"

static int read_dim(const struct tare_model_reader *reader, struct tare_model_span span,
                    struct tare_model_dim *dim, struct tare_error *err)
{
    *dim = (struct tare_model_dim){.value = -1};
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.number == 1 && field.wire == TARE_PB_VARINT)
            /* Some exporters write -1, some 0, for a dimension that is free. */
            dim->value = (int64_t)field.value > 0 ? (int64_t)field.value : -1;
        if (field.number == 2) {
            if (tare_model_text(reader, &field, "a dimension's name", &dim->name, err) < 0)
                return -1;
            if (*dim->name == '\0')
                dim->name = NULL;
        }
    }
    if (dim->value >= 0)
        dim->name = NULL;
    return rc;
}

static int read_shape(const struct tare_model_reader *reader, struct tare_model_span span,
                      struct tare_model_value *value, struct tare_error *err)
{
    struct tare_model_tally tally;
    if (tare_model_tally(span, &tally, err) < 0)
        return -1;
    struct tare_model_dim *dims = tare_arena_array(reader->arena, tally.of[1], sizeof *dims);
    if (!dims)
        return tare_arena_check(reader->arena, err);
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    size_t rank = 0;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        struct tare_model_span part;
        if (field.number == 1 && (tare_model_bytes(&field, "a dimension", &part, err) < 0 ||
                                  read_dim(reader, part, &dims[rank++], err) < 0))
            return -1;
    }
    value->ranked = true;
    value->rank = rank;
    value->dims = dims;
    return rc;
}

static int read_tensor_type(const struct tare_model_reader *reader, struct tare_model_span span,
                            struct tare_model_value *value, struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        struct tare_model_span part;
        if (field.number == 1 && field.wire == TARE_PB_VARINT)
            value->element = field.value <= 255 ? (enum tare_element)field.value : TARE_ELEMENT_NONE;
        if (field.number == 2 &&
            (tare_model_bytes(&field, "a shape", &part, err) < 0 || read_shape(reader, part, value, err) < 0))
            return -1;
    }
    return rc;
}

static const char *kind_of(uint32_t number)
{
    switch (number) {
    case 1:
        return "tensor";
    case 4:
        return "sequence";
    case 5:
        return "map";
    case 8:
        return "sparse tensor";
    case 9:
        return "optional";
    default:
        return NULL;
    }
}

static int read_type(const struct tare_model_reader *reader, struct tare_model_span span,
                     struct tare_model_value *value, struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        struct tare_model_span part;
        const char *kind = kind_of(field.number);
        if (!kind)
            continue;
        value->kind = kind;
        if (field.number == 1 && (tare_model_bytes(&field, "a type", &part, err) < 0 ||
                                  read_tensor_type(reader, part, value, err) < 0))
            return -1;
    }
    return rc;
}

int tare_model_read_value(struct tare_model_reader *reader, struct tare_model_span span,
                          struct tare_model_value *ret_value, struct tare_error *err)
{
    struct tare_model_value value = {.name = "", .kind = "tensor"};
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        struct tare_model_span part;
        if (field.number == 1 && tare_model_text(reader, &field, "a value's name", &value.name, err) < 0)
            return -1;
        if (field.number == 2 &&
            (tare_model_bytes(&field, "a type", &part, err) < 0 || read_type(reader, part, &value, err) < 0))
            return -1;
    }
    if (rc < 0)
        return -1;
    *ret_value = value;
    return 0;
}

/* The arrays of a graph while they are filled. */
struct parts {
    struct tare_model_node *nodes;
    struct tare_model_tensor *initializers;
    struct tare_model_value *inputs, *outputs, *values;
};

static int parts_make(const struct tare_model_reader *reader, const struct tare_model_tally *tally,
                      struct tare_model_graph *graph, struct parts *parts, struct tare_error *err)
{
    struct tare_arena *arena = reader->arena;
    *parts = (struct parts){
        .nodes = tare_arena_array(arena, tally->of[1], sizeof *parts->nodes),
        .initializers = tare_arena_array(arena, tally->of[5] + tally->of[15], sizeof *parts->initializers),
        .inputs = tare_arena_array(arena, tally->of[11], sizeof *parts->inputs),
        .outputs = tare_arena_array(arena, tally->of[12], sizeof *parts->outputs),
        .values = tare_arena_array(arena, tally->of[13], sizeof *parts->values),
    };
    graph->nodes = parts->nodes;
    graph->initializers = parts->initializers;
    graph->inputs = parts->inputs;
    graph->outputs = parts->outputs;
    graph->values = parts->values;
    return tare_arena_check(arena, err);
}

static int read_part(struct tare_model_reader *reader, const struct tare_pb_field *field, int depth,
                     struct tare_model_graph *graph, const struct parts *parts, struct tare_error *err)
{
    struct tare_model_span part;
    if (tare_model_bytes(field, "a part of a graph", &part, err) < 0)
        return -1;
    switch (field->number) {
    case 1:
        return tare_model_read_node(reader, part, graph, depth, &parts->nodes[graph->nodes_count++], err);
    case 5:
        return tare_model_read_tensor(reader, part, &parts->initializers[graph->initializers_count++], err);
    case 15:
        return tare_model_read_sparse(reader, part, &parts->initializers[graph->initializers_count++], err);
    case 11:
        return tare_model_read_value(reader, part, &parts->inputs[graph->inputs_count++], err);
    case 12:
        return tare_model_read_value(reader, part, &parts->outputs[graph->outputs_count++], err);
    default:
        return tare_model_read_value(reader, part, &parts->values[graph->values_count++], err);
    }
}

int tare_model_read_graph(struct tare_model_reader *reader, struct tare_model_span span,
                          const struct tare_model_graph *parent, int depth,
                          struct tare_model_graph *ret_graph, struct tare_error *err)
{
    if (depth > TARE_MODEL_DEPTH_MAX)
        return tare_fail(err, TARE_E_LIMIT, 0, "its subgraphs nest deeper than %d", TARE_MODEL_DEPTH_MAX);
    struct tare_model_tally tally;
    struct parts parts;
    *ret_graph = (struct tare_model_graph){.name = "", .parent = parent};
    if (tare_model_tally(span, &tally, err) < 0 || parts_make(reader, &tally, ret_graph, &parts, err) < 0)
        return -1;
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        uint32_t number = field.number;
        if (number == 2)
            rc = tare_model_text(reader, &field, "a graph's name", &ret_graph->name, err);
        else if (number == 1 || number == 5 || number == 15 || (number >= 11 && number <= 13))
            rc = read_part(reader, &field, depth, ret_graph, &parts, err);
        if (rc < 0)
            return -1;
    }
    if (rc < 0 || tare_model_index(reader, ret_graph, err) < 0)
        return -1;
    /* Old models list every initializer as an input too; newer ones those that may be replaced. */
    size_t kept = 0;
    for (size_t i = 0; i < ret_graph->inputs_count; i++)
        if (!tare_model_has_initializer(ret_graph, parts.inputs[i].name))
            parts.inputs[kept++] = parts.inputs[i];
    ret_graph->inputs_count = kept;
    return 0;
}

int tare_model_read_function(struct tare_model_reader *reader, struct tare_model_span span,
                             struct tare_model_function *ret_function, struct tare_error *err)
{
    struct tare_model_tally tally;
    struct parts parts;
    *ret_function = (struct tare_model_function){.name = "", .domain = "", .graph = {.name = ""}};
    struct tare_model_graph *graph = &ret_function->graph;
    if (tare_model_tally(span, &tally, err) < 0)
        return -1;
    struct tare_model_tally as_graph = {{[1] = tally.of[7], [11] = tally.of[4], [12] = tally.of[5]}};
    if (parts_make(reader, &as_graph, graph, &parts, err) < 0)
        return -1;
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        struct tare_model_value *value;
        struct tare_model_span part;
        switch (field.number) {
        case 1:
            rc = tare_model_text(reader, &field, "a function's name", &ret_function->name, err);
            break;
        case 10:
            rc = tare_model_text(reader, &field, "a function's domain", &ret_function->domain, err);
            break;
        case 4:
        case 5:
            value = field.number == 4 ? &parts.inputs[graph->inputs_count++]
                                      : &parts.outputs[graph->outputs_count++];
            *value = (struct tare_model_value){.kind = "tensor"};
            rc = tare_model_text(reader, &field, "a function's value", &value->name, err);
            break;
        case 7:
            rc = tare_model_bytes(&field, "a node", &part, err);
            if (rc == 0)
                rc = tare_model_read_node(reader, part, graph, 1, &parts.nodes[graph->nodes_count++], err);
            break;
        }
        if (rc < 0)
            return -1;
    }
    if (rc < 0)
        return -1;
    graph->name = ret_function->name;
    return tare_model_index(reader, graph, err);
}
