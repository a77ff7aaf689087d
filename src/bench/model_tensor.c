/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors in the file: their shape, and whether the data that is there is what the shape needs. A tensor that
 * claims more than it has would make counts and sizes lies, so it is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/model_impl.h"

/* Where the data of a tensor lies, while it is read. */
struct stored {
    bool raw, external;
    int64_t typed; /* elements in the typed fields */
    int64_t length;
};

static int read_entry(const struct tare_model_reader *reader, struct tare_model_span span,
                      struct tare_model_tensor *tensor, struct stored *stored, struct tare_error *err)
{
    const char *key = "", *value = "";
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0)
        if ((field.number == 1 && tare_model_text(reader, &field, "a key", &key, err) < 0) ||
            (field.number == 2 && tare_model_text(reader, &field, "a value", &value, err) < 0))
            return -1;
    if (rc < 0)
        return -1;
    if (strcmp(key, "location") == 0) {
        tensor->location = value;
        return 0;
    }
    bool offset = strcmp(key, "offset") == 0;
    if (!offset && strcmp(key, "length") != 0)
        return 0;
    char *end;
    long long number = strtoll(value, &end, 10);
    if (end == value || *end || number < 0 || number == INT64_MAX)
        return tare_fail(err, TARE_E_INPUT, 0, "the %s of external data is '%s'", key, value);
    *(offset ? &tensor->offset : &stored->length) = number;
    return 0;
}

/* How many varints a packed run holds: each ends with a byte whose top bit is clear. */
static int64_t varints(const uint8_t *data, size_t length)
{
    int64_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += data[i] < 0x80;
    return count;
}

static int64_t typed_count(const struct tare_pb_field *field)
{
    if (field->number == 6 || field->wire != TARE_PB_BYTES)
        return 1;
    if (field->number == 4)
        return (int64_t)(field->length / 4);
    if (field->number == 10)
        return (int64_t)(field->length / 8);
    return varints(field->data, field->length);
}

static int read_fields(struct tare_model_reader *reader, struct tare_model_span span,
                       struct tare_model_tensor *tensor, struct stored *stored, struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    struct tare_model_span part;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        switch (field.number) {
        case 2:
            tensor->element = field.wire == TARE_PB_VARINT && field.value <= TARE_ELEMENT_F4E2M1
                                  ? (enum tare_element)field.value
                                  : TARE_ELEMENT_NONE;
            break;
        case 4:
        case 5:
        case 6:
        case 7:
        case 10:
        case 11:
            stored->typed += typed_count(&field);
            break;
        case 8:
            rc = tare_model_text(reader, &field, "a tensor's name", &tensor->name, err);
            break;
        case 9:
            rc = tare_model_bytes(&field, "a tensor's data", &part, err);
            stored->raw = true;
            tensor->raw = rc == 0 ? part.data : NULL;
            tensor->raw_length = rc == 0 ? part.length : 0;
            break;
        case 13:
            rc = tare_model_bytes(&field, "external data", &part, err);
            if (rc == 0)
                rc = read_entry(reader, part, tensor, stored, err);
            break;
        case 14:
            stored->external = field.wire == TARE_PB_VARINT && field.value == 1;
            break;
        }
        if (rc < 0)
            return -1;
    }
    return rc;
}

/* Is the data there that the shape needs? */
static int check_data(struct tare_model_reader *reader, struct tare_model_tensor *tensor,
                      const struct stored *stored, struct tare_error *err)
{
    const char *name = tensor->name;
    unsigned bits = tare_element_bits(tensor->element);
    if (bits == 0 && tensor->element != TARE_ELEMENT_STRING)
        return tare_fail(err, TARE_E_INPUT, 0, "tensor '%.80s' has an unknown type", name);
    size_t bytes = 0;
    if (tare_shape_count(tensor->dims, tensor->rank, &tensor->count) < 0 ||
        (bits && tare_shape_bytes(tensor->element, tensor->dims, tensor->rank, &bytes, NULL) < 0))
        return tare_fail(err, TARE_E_INPUT, 0, "tensor '%.80s' has impossible dimensions", name);
    if (stored->external) {
        if (bits == 0)
            return tare_fail(err, TARE_E_INPUT, 0, "tensor '%.80s' holds texts in external data", name);
        if (!tensor->location)
            return tare_fail(err, TARE_E_INPUT, 0,
                             "tensor '%.80s' lies in external data, but no file is named", name);
        if (stored->length >= 0 && (uint64_t)stored->length != bytes)
            return tare_fail(err, TARE_E_INPUT, 0,
                             "tensor '%.80s' needs %zu bytes of external data, not %lld", name, bytes,
                             (long long)stored->length);
        return tare_model_check_external(reader, tensor, (int64_t)bytes, err);
    }
    tensor->location = NULL;
    if (stored->raw) {
        if (bits == 0 || tensor->raw_length != bytes)
            return tare_fail(err, TARE_E_INPUT, 0, "tensor '%.80s' has %zu bytes where its shape needs %zu",
                             name, tensor->raw_length, bytes);
        return 0;
    }
    /* Sub-byte types are packed in the typed fields too; complex numbers take two. */
    int64_t elements = stored->typed;
    bool complex = tensor->element == TARE_ELEMENT_C64 || tensor->element == TARE_ELEMENT_C128;
    bool fits = bits == 4 ? elements == (int64_t)bytes || elements == tensor->count
                : complex ? elements % 2 == 0 && elements / 2 == tensor->count
                          : elements == tensor->count;
    if (!fits)
        return tare_fail(err, TARE_E_INPUT, 0, "tensor '%.80s' has %lld values where its shape needs %lld",
                         name, (long long)elements, (long long)tensor->count);
    return 0;
}

int tare_model_read_tensor(struct tare_model_reader *reader, struct tare_model_span span,
                           struct tare_model_tensor *ret_tensor, struct tare_error *err)
{
    struct tare_model_tensor tensor = {.name = "", .proto = span.data, .proto_length = span.length};
    struct stored stored = {.length = -1};
    if (tare_model_ints(reader, span, 1, &tensor.dims, &tensor.rank, err) < 0 ||
        read_fields(reader, span, &tensor, &stored, err) < 0 || check_data(reader, &tensor, &stored, err) < 0)
        return -1;
    *ret_tensor = tensor;
    return 0;
}

int tare_model_read_sparse(struct tare_model_reader *reader, struct tare_model_span span,
                           struct tare_model_tensor *ret_tensor, struct tare_error *err)
{
    struct tare_model_tensor tensor = {.name = ""}, indices;
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        struct tare_model_span part;
        if ((field.number == 1 || field.number == 2) &&
            (tare_model_bytes(&field, "a sparse tensor", &part, err) < 0 ||
             tare_model_read_tensor(reader, part, field.number == 1 ? &tensor : &indices, err) < 0))
            return -1;
    }
    if (rc < 0 || tare_model_ints(reader, span, 3, &tensor.dims, &tensor.rank, err) < 0)
        return -1;
    /* Its bytes are not those of the tensor it stands for. */
    tensor.proto = tensor.raw = NULL;
    tensor.proto_length = tensor.raw_length = 0;
    *ret_tensor = tensor;
    return 0;
}

/* The whole numbers of a typed field. */
static int typed_ints(const struct tare_model_tensor *tensor, uint32_t number, int64_t *ints)
{
    struct tare_pb pb = tare_pb_reader(tensor->proto, tensor->proto_length);
    struct tare_pb_field field;
    int64_t count = 0;
    while (count < tensor->count && tare_pb_next(&pb, &field, NULL) > 0) {
        if (field.number != number)
            continue;
        if (field.wire != TARE_PB_BYTES) {
            ints[count++] = (int64_t)field.value;
            continue;
        }
        struct tare_pb packed = tare_pb_reader(field.data, field.length);
        uint64_t value;
        while (count < tensor->count && tare_pb_varint(&packed, &value, NULL) > 0)
            ints[count++] = (int64_t)value;
    }
    return count == tensor->count ? (int)count : -1;
}

int tare_model_tensor_ints(const struct tare_model_tensor *tensor, int64_t *ints, size_t max)
{
    enum tare_element element = tensor->element;
    unsigned bits = tare_element_bits(element);
    bool whole = (tare_element_is_integer(element) || element == TARE_ELEMENT_BOOL) && bits >= 8;
    if (!whole || tensor->location || !tensor->proto || (uint64_t)tensor->count > max)
        return -1;
    if (!tensor->raw)
        return typed_ints(tensor,
                          element == TARE_ELEMENT_I64                ? 7
                          : bits < 32 || element == TARE_ELEMENT_I32 ? 5
                                                                     : 11,
                          ints);
    for (int64_t i = 0; i < tensor->count; i++) {
        uint64_t value = 0;
        memcpy(&value, tensor->raw + (size_t)i * bits / 8, bits / 8);
        bool is_signed =
            element == TARE_ELEMENT_I8 || element == TARE_ELEMENT_I16 || element == TARE_ELEMENT_I32;
        if (is_signed && value >> (bits - 1))
            value |= ~(uint64_t)0 << bits;
        ints[i] = (int64_t)value;
    }
    return (int)tensor->count;
}
