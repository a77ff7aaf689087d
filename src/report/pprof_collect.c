/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass over a pprof file: each field of its tables, one by one. */
#include <string.h>

#include "report/pprof_tables.h"

int pprof_wrong_type(struct tare_error *err, const char *what)
{
    return tare_fail(err, TARE_E_INPUT, 0, "a field of a %s has the wrong type", what);
}

/* An index into the string table: small enough for any table; the table itself is checked at the end. */
static int index_of(uint64_t value, uint32_t *ret_index, struct tare_error *err)
{
    if (value >= TARE_NONE)
        return tare_fail(err, TARE_E_INPUT, 0, "it refers to a string that no table can hold");
    *ret_index = (uint32_t)value;
    return 0;
}

/* A line number; one that we cannot keep is dropped. */
static uint32_t line_of(struct pprof_tables *tables, uint64_t value)
{
    if (value < TARE_NONE)
        return (uint32_t)value;
    tables->dropped.lines++;
    return 0;
}

static int read_type(const struct tare_pb_field *message, uint32_t *ret_type, uint32_t *ret_unit,
                     struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(message->data, message->length);
    struct tare_pb_field field;
    uint32_t type = 0, unit = 0;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.wire != TARE_PB_VARINT)
            return pprof_wrong_type(err, "sample type");
        if (field.number == PPROF_TYPE_TYPE && index_of(field.value, &type, err) < 0)
            return -1;
        if (field.number == PPROF_TYPE_UNIT && index_of(field.value, &unit, err) < 0)
            return -1;
    }
    *ret_type = type;
    *ret_unit = unit;
    return rc;
}

static int add_type(struct pprof_tables *tables, const struct tare_pb_field *message, struct tare_error *err)
{
    if (tables->type_count == PPROF_TYPES_MAX)
        return tare_fail(err, TARE_E_LIMIT, 0, "it has more than %d sample types", PPROF_TYPES_MAX);
    struct pprof_type *type = &tables->types[tables->type_count++];
    return read_type(message, &type->type, &type->unit, err);
}

static int add_mapping(struct pprof_tables *tables, const struct tare_pb_field *message,
                       struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(message->data, message->length);
    struct tare_pb_field field;
    struct tare_mapping mapping = {0};
    uint64_t id = 0;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.number > PPROF_MAPPING_FLAGS + 3) {
            tables->dropped.fields++;
            continue;
        }
        if (field.wire != TARE_PB_VARINT)
            return pprof_wrong_type(err, "mapping");
        int bad = 0;
        if (field.number == PPROF_MAPPING_ID)
            id = field.value;
        else if (field.number == PPROF_MAPPING_START)
            mapping.start = field.value;
        else if (field.number == PPROF_MAPPING_LIMIT)
            mapping.limit = field.value;
        else if (field.number == PPROF_MAPPING_OFFSET)
            mapping.offset = field.value;
        else if (field.number == PPROF_MAPPING_FILE)
            bad = index_of(field.value, &mapping.file, err);
        else if (field.number == PPROF_MAPPING_BUILD_ID)
            bad = index_of(field.value, &mapping.build_id, err);
        else if (field.value)
            mapping.flags |= 1u << (field.number - PPROF_MAPPING_FLAGS);
        if (bad < 0)
            return -1;
    }
    tare_buf_add(&tables->mappings, &mapping, sizeof mapping);
    pprof_ids_add(&tables->mapping_ids, id);
    return rc;
}

static int add_line(struct pprof_tables *tables, const struct tare_pb_field *message, struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(message->data, message->length);
    struct tare_pb_field field;
    struct pprof_line line = {0};
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.number > PPROF_LINE_COLUMN)
            tables->dropped.fields++;
        else if (field.wire != TARE_PB_VARINT)
            return pprof_wrong_type(err, "line");
        else if (field.number == PPROF_LINE_FUNCTION)
            line.function = field.value;
        else if (field.number == PPROF_LINE_LINE)
            line.line = line_of(tables, field.value);
        else if (field.value)
            tables->dropped.columns++;
    }
    if (rc == 0 && line.function == 0)
        return tare_fail(err, TARE_E_INPUT, 0, "a location has a line without a function");
    tare_buf_add(&tables->lines, &line, sizeof line);
    return rc;
}

/* The file gives the innermost line first; nodes are made from the outermost inwards. */
static void reverse_lines(struct pprof_tables *tables, uint32_t first, uint32_t count)
{
    struct pprof_line *lines = (struct pprof_line *)(void *)tables->lines.data;
    for (uint32_t i = 0; i < count / 2; i++) {
        struct pprof_line held = lines[first + i];
        lines[first + i] = lines[first + count - 1 - i];
        lines[first + count - 1 - i] = held;
    }
}

static int add_location(struct pprof_tables *tables, const struct tare_pb_field *message,
                        struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(message->data, message->length);
    struct tare_pb_field field;
    struct pprof_place place = {.first = (uint32_t)pprof_count(&tables->lines, sizeof(struct pprof_line))};
    uint64_t id = 0;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.number > PPROF_LOCATION_FOLDED) {
            tables->dropped.fields++;
            continue;
        }
        if (field.wire != (field.number == PPROF_LOCATION_LINE ? TARE_PB_BYTES : TARE_PB_VARINT))
            return pprof_wrong_type(err, "location");
        if (field.number == PPROF_LOCATION_ID)
            id = field.value;
        else if (field.number == PPROF_LOCATION_MAPPING)
            place.mapping = field.value;
        else if (field.number == PPROF_LOCATION_ADDRESS)
            place.address = field.value;
        else if (field.number == PPROF_LOCATION_LINE) {
            if (add_line(tables, &field, err) < 0)
                return -1;
        } else {
            tables->dropped.folded += field.value != 0;
        }
    }
    if (rc < 0)
        return -1;
    place.count = (uint32_t)pprof_count(&tables->lines, sizeof(struct pprof_line)) - place.first;
    if (place.count == 0) {
        /* Only its address is known: a frame without a function. */
        struct pprof_line bare = {0};
        tare_buf_add(&tables->lines, &bare, sizeof bare);
        place.count = 1;
    }
    tare_buf_add(&tables->places, &place, sizeof place);
    pprof_ids_add(&tables->location_ids, id);
    if (tare_buf_check(&tables->lines, err) < 0)
        return -1;
    reverse_lines(tables, place.first, place.count);
    return 0;
}

/* One field of a function that is a number. */
static int function_field(struct pprof_tables *tables, const struct tare_pb_field *field,
                          struct pprof_function *function, uint64_t *id, struct tare_error *err)
{
    struct tare_frame *frame = &function->frame;
    switch (field->number) {
    case PPROF_FUNCTION_ID:
        *id = field->value;
        return 0;
    case PPROF_FUNCTION_NAME:
        return index_of(field->value, &frame->name, err);
    case PPROF_FUNCTION_SYSTEM:
        return index_of(field->value, &function->system_name, err);
    case PPROF_FUNCTION_FILE:
        return index_of(field->value, &frame->file, err);
    case PPROF_FUNCTION_FIRST_LINE:
        frame->first_line = line_of(tables, field->value);
        return 0;
    case PPROF_FUNCTION_MODULE:
        return index_of(field->value, &frame->module, err);
    case PPROF_FUNCTION_QUALNAME:
        function->has_qualname = true;
        return index_of(field->value, &frame->qualname, err);
    case PPROF_FUNCTION_KIND:
        if (field->value == TARE_FRAME_ROOT || field->value > TARE_FRAME_MARK)
            break;
        function->has_kind = true;
        frame->kind = (uint8_t)field->value;
        return 0;
    case PPROF_FUNCTION_TWIN:
        if (field->value >= TARE_NONE)
            break;
        function->has_twin = true;
        function->twin = (uint32_t)field->value;
        return 0;
    default:
        break;
    }
    tables->dropped.fields++;
    return 0;
}

static int add_function(struct pprof_tables *tables, const struct tare_pb_field *message,
                        struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(message->data, message->length);
    struct tare_pb_field field;
    struct pprof_function function;
    memset(&function, 0, sizeof function);
    uint64_t id = 0;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.wire == TARE_PB_VARINT) {
            if (function_field(tables, &field, &function, &id, err) < 0)
                return -1;
        } else if (field.number <= PPROF_FUNCTION_FIRST_LINE) {
            return pprof_wrong_type(err, "function");
        } else {
            tables->dropped.fields++;
        }
    }
    tare_buf_add(&tables->functions, &function, sizeof function);
    pprof_ids_add(&tables->function_ids, id);
    return rc;
}

static int add_string(struct pprof_tables *tables, const struct tare_pb_field *field, struct tare_error *err)
{
    if (tables->strings.length == 0 && field->length)
        return tare_fail(err, TARE_E_INPUT, 0, "its first string is not empty");
    uint32_t string = tare_profile_string(tables->profile, (const char *)field->data, field->length);
    tare_buf_add(&tables->strings, &string, sizeof string);
    return tare_profile_check(tables->profile, err);
}

static int add_comment(struct pprof_tables *tables, uint64_t value, struct tare_error *err)
{
    uint32_t index;
    if (index_of(value, &index, err) < 0)
        return -1;
    tare_buf_add(&tables->comments, &index, sizeof index);
    return 0;
}

static int add_comments(struct pprof_tables *tables, const struct tare_pb_field *field,
                        struct tare_error *err)
{
    if (field->wire == TARE_PB_VARINT)
        return add_comment(tables, field->value, err);
    struct tare_pb pb = tare_pb_reader(field->data, field->length);
    uint64_t value;
    int rc;
    while ((rc = tare_pb_varint(&pb, &value, err)) > 0)
        if (add_comment(tables, value, err) < 0)
            return -1;
    return rc;
}

/* Fields of the profile itself that are numbers. */
static int add_number(struct pprof_tables *tables, const struct tare_pb_field *field, struct tare_error *err)
{
    struct tare_profile_meta *meta = &tables->meta;
    switch (field->number) {
    case PPROF_DROP_FRAMES:
        return index_of(field->value, &meta->drop_frames, err);
    case PPROF_KEEP_FRAMES:
        return index_of(field->value, &meta->keep_frames, err);
    case PPROF_TIME:
        meta->time_ns = (int64_t)field->value;
        return 0;
    case PPROF_DURATION:
        meta->duration_ns = (int64_t)field->value;
        return 0;
    case PPROF_PERIOD:
        meta->period = (int64_t)field->value;
        return 0;
    case PPROF_DEFAULT_TYPE:
        return index_of(field->value, &meta->default_column, err);
    default:
        return index_of(field->value, &meta->doc_url, err);
    }
}

int pprof_collect(struct pprof_tables *tables, const struct tare_pb_field *field, struct tare_error *err)
{
    if (field->number > PPROF_DOC_URL) {
        tables->dropped.fields++;
        return 0;
    }
    bool message = field->number <= PPROF_STRING || field->number == PPROF_PERIOD_TYPE;
    bool either = field->number == PPROF_COMMENT && field->wire == TARE_PB_BYTES;
    if (!either && field->wire != (message ? TARE_PB_BYTES : TARE_PB_VARINT))
        return pprof_wrong_type(err, "profile");
    switch (field->number) {
    case PPROF_SAMPLE_TYPE:
        return add_type(tables, field, err);
    case PPROF_SAMPLE:
        tables->sample_count++;
        return 0;
    case PPROF_MAPPING:
        return add_mapping(tables, field, err);
    case PPROF_LOCATION:
        return add_location(tables, field, err);
    case PPROF_FUNCTION:
        return add_function(tables, field, err);
    case PPROF_STRING:
        return add_string(tables, field, err);
    case PPROF_PERIOD_TYPE:
        return read_type(field, &tables->meta.period_type, &tables->meta.period_unit, err);
    case PPROF_COMMENT:
        return add_comments(tables, field, err);
    default:
        return add_number(tables, field, err);
    }
}
