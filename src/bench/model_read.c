/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's messages, from the graph down to the attribute. Arrays are counted before they are filled. */
#include <string.h>

#include "bench/model_impl.h"

int tare_model_tally(struct tare_model_span span, struct tare_model_tally *ret_tally, struct tare_error *err)
{
    struct tare_model_tally tally = {{0}};
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0)
        if (field.number < sizeof tally.of / sizeof *tally.of)
            tally.of[field.number]++;
    if (rc < 0)
        return -1;
    *ret_tally = tally;
    return 0;
}

int tare_model_bytes(const struct tare_pb_field *field, const char *what, struct tare_model_span *ret_span,
                     struct tare_error *err)
{
    if (field->wire != TARE_PB_BYTES)
        return tare_fail(err, TARE_E_INPUT, 0, "%s is a number where a message belongs", what);
    *ret_span = (struct tare_model_span){field->data, field->length};
    return 0;
}

int tare_model_text(const struct tare_model_reader *reader, const struct tare_pb_field *field,
                    const char *what, const char **ret_text, struct tare_error *err)
{
    struct tare_model_span span = {.length = 0};
    if (tare_model_bytes(field, what, &span, err) < 0)
        return -1;
    if (span.length && memchr(span.data, '\0', span.length))
        return tare_fail(err, TARE_E_INPUT, 0, "%s holds a zero byte", what);
    *ret_text = span.length ? tare_arena_text(reader->arena, (const char *)span.data, span.length) : "";
    return 0;
}

/* Numbers of a repeated field: counted, and kept when there is room given. */
static int each_int(struct tare_model_span span, uint32_t number, int64_t *ints, size_t *ret_count,
                    struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    size_t count = 0;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.number != number)
            continue;
        if (field.wire == TARE_PB_VARINT) {
            if (ints)
                ints[count] = (int64_t)field.value;
            count++;
            continue;
        }
        if (field.wire != TARE_PB_BYTES)
            return tare_fail(err, TARE_E_INPUT, 0, "a list of whole numbers holds something else");
        struct tare_pb packed = tare_pb_reader(field.data, field.length);
        uint64_t value;
        while ((rc = tare_pb_varint(&packed, &value, err)) > 0) {
            if (ints)
                ints[count] = (int64_t)value;
            count++;
        }
        if (rc < 0)
            return -1;
    }
    *ret_count = count;
    return rc;
}

int tare_model_ints(const struct tare_model_reader *reader, struct tare_model_span span, uint32_t number,
                    const int64_t **ret_ints, size_t *ret_count, struct tare_error *err)
{
    size_t count;
    if (each_int(span, number, NULL, &count, err) < 0)
        return -1;
    int64_t *ints = NULL;
    if (count) {
        ints = tare_arena_array(reader->arena, count, sizeof *ints);
        if (!ints)
            return tare_arena_check(reader->arena, err);
        if (each_int(span, number, ints, &count, err) < 0)
            return -1;
    }
    *ret_ints = ints;
    *ret_count = count;
    return 0;
}

static float float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* The floats of an attribute, packed or not. */
static int read_floats(const struct tare_model_reader *reader, struct tare_model_span span,
                       struct tare_model_attribute *attribute, struct tare_error *err)
{
    /* Four bytes each, so there are no more of them than this. */
    float *floats = tare_arena_array(reader->arena, span.length / 4 + 1, sizeof *floats);
    if (!floats)
        return tare_arena_check(reader->arena, err);
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    size_t count = 0;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.number != 7)
            continue;
        if (field.wire == TARE_PB_I32)
            floats[count++] = float_of(field.value);
        else if (field.wire == TARE_PB_BYTES && field.length % 4 == 0)
            for (size_t i = 0; i < field.length; i += 4)
                memcpy(&floats[count++], field.data + i, 4);
        else
            return tare_fail(err, TARE_E_INPUT, 0, "a list of numbers holds something else");
    }
    attribute->floats = floats;
    attribute->count = count;
    return rc;
}

/* Every tensor or graph among an attribute's fields, into arrays that were made for them. */
static int read_parts(struct tare_model_reader *reader, struct tare_model_span span,
                      const struct tare_model_graph *graph, int depth, struct tare_model_tensor *tensors,
                      struct tare_model_graph *graphs, struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        struct tare_model_span part;
        if (field.number != 5 && field.number != 6 && field.number != 10 && field.number != 11)
            continue;
        if (tare_model_bytes(&field, "an attribute", &part, err) < 0)
            return -1;
        if (field.number == 5 || field.number == 10) {
            if (tare_model_read_tensor(reader, part, tensors++, err) < 0)
                return -1;
        } else if (tare_model_read_graph(reader, part, graph, depth + 1, graphs++, err) < 0) {
            return -1;
        }
    }
    return rc;
}

/* Models of the first years do not say an attribute's type: it is that of the field which is there. */
static enum tare_attribute_type type_of(const struct tare_model_tally *tally)
{
    static const struct {
        unsigned number;
        enum tare_attribute_type type;
    } fields[] = {
        {2, TARE_ATTRIBUTE_FLOAT},   {3, TARE_ATTRIBUTE_INT},     {4, TARE_ATTRIBUTE_STRING},
        {5, TARE_ATTRIBUTE_TENSOR},  {6, TARE_ATTRIBUTE_GRAPH},   {7, TARE_ATTRIBUTE_FLOATS},
        {8, TARE_ATTRIBUTE_INTS},    {9, TARE_ATTRIBUTE_STRINGS}, {10, TARE_ATTRIBUTE_TENSORS},
        {11, TARE_ATTRIBUTE_GRAPHS},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (tally->of[fields[i].number])
            return fields[i].type;
    return TARE_ATTRIBUTE_NONE;
}

static int read_scalars(const struct tare_model_reader *reader, struct tare_model_span span,
                        struct tare_model_attribute *attribute, struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.number == 1 &&
            tare_model_text(reader, &field, "an attribute's name", &attribute->name, err) < 0)
            return -1;
        if (field.number == 2 && field.wire == TARE_PB_I32)
            attribute->f = float_of(field.value);
        if (field.number == 3 && field.wire == TARE_PB_VARINT)
            attribute->i = (int64_t)field.value;
        if (field.number == 20 && field.wire == TARE_PB_VARINT && field.value <= TARE_ATTRIBUTE_GRAPHS)
            attribute->type = (enum tare_attribute_type)field.value;
        /* The bytes may be anything: only those that are a text are kept as one. */
        if (field.number == 4 && field.wire == TARE_PB_BYTES && field.length < 4096 &&
            !(field.length && memchr(field.data, '\0', field.length)))
            attribute->s =
                field.length ? tare_arena_text(reader->arena, (const char *)field.data, field.length) : "";
    }
    return rc;
}

static int read_attribute(struct tare_model_reader *reader, struct tare_model_span span,
                          const struct tare_model_graph *graph, int depth,
                          struct tare_model_attribute *attribute, struct tare_error *err)
{
    struct tare_model_tally tally;
    *attribute = (struct tare_model_attribute){.name = ""};
    if (tare_model_tally(span, &tally, err) < 0 || read_scalars(reader, span, attribute, err) < 0)
        return -1;
    if (attribute->type == TARE_ATTRIBUTE_NONE)
        attribute->type = type_of(&tally);
    if (attribute->type == TARE_ATTRIBUTE_INTS)
        return tare_model_ints(reader, span, 8, &attribute->ints, &attribute->count, err);
    if (attribute->type == TARE_ATTRIBUTE_FLOATS)
        return read_floats(reader, span, attribute, err);
    size_t tensors_count = tally.of[5] + tally.of[10], graphs_count = tally.of[6] + tally.of[11];
    if (tensors_count == 0 && graphs_count == 0)
        return 0;
    struct tare_model_tensor *tensors = tare_arena_array(reader->arena, tensors_count, sizeof *tensors);
    struct tare_model_graph *graphs = tare_arena_array(reader->arena, graphs_count, sizeof *graphs);
    if (!tensors || !graphs)
        return tare_arena_check(reader->arena, err);
    attribute->tensor = tensors_count ? tensors : NULL;
    attribute->graphs = graphs_count ? graphs : NULL;
    attribute->count = graphs_count ? graphs_count : tensors_count;
    return read_parts(reader, span, graph, depth, tensors, graphs, err);
}

int tare_model_read_node(struct tare_model_reader *reader, struct tare_model_span span,
                         const struct tare_model_graph *graph, int depth, struct tare_model_node *ret_node,
                         struct tare_error *err)
{
    struct tare_model_tally tally;
    if (tare_model_tally(span, &tally, err) < 0)
        return -1;
    struct tare_arena *arena = reader->arena;
    const char **inputs = tare_arena_array(arena, tally.of[1], sizeof *inputs);
    const char **outputs = tare_arena_array(arena, tally.of[2], sizeof *outputs);
    struct tare_model_attribute *attributes = tare_arena_array(arena, tally.of[5], sizeof *attributes);
    if (!inputs || !outputs || !attributes)
        return tare_arena_check(arena, err);
    struct tare_model_node node = {
        .op = "", .domain = "", .name = "", .inputs = inputs, .outputs = outputs, .attributes = attributes};
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    struct tare_model_span part;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        switch (field.number) {
        case 1:
            rc = tare_model_text(reader, &field, "a node's input", &inputs[node.inputs_count++], err);
            break;
        case 2:
            rc = tare_model_text(reader, &field, "a node's output", &outputs[node.outputs_count++], err);
            break;
        case 3:
            rc = tare_model_text(reader, &field, "a node's name", &node.name, err);
            break;
        case 4:
            rc = tare_model_text(reader, &field, "a node's operator", &node.op, err);
            break;
        case 5:
            rc = tare_model_bytes(&field, "an attribute", &part, err);
            if (rc == 0)
                rc = read_attribute(reader, part, graph, depth, &attributes[node.attributes_count++], err);
            break;
        case 7:
            rc = tare_model_text(reader, &field, "a node's domain", &node.domain, err);
            break;
        }
        if (rc < 0)
            return -1;
    }
    if (rc < 0)
        return -1;
    if (*node.op == '\0')
        return tare_fail(err, TARE_E_INPUT, 0, "a node has no operator");
    if (strcmp(node.domain, "ai.onnx") == 0)
        node.domain = "";
    *ret_node = node;
    return 0;
}
