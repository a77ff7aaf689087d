/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof, plain or gzip, in two passes over the file: first the tables, then the samples, one at a time. The
 * unpacked file is never held. Neighbouring samples share most of their stack, so a sample starts from where
 * the one before it agrees with it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/pb.h"
#include "report/pprof_tables.h"
#include "report/report.h"

/* Entries of tables that any file may have; beyond them, each must be paid for by a byte of the file. */
#define FREE_ENTRIES ((uint64_t)1 << 20)

/* Beyond this many bytes, a file must not unpack to more than so many times its size. Deflate ends at 1032,
 * and one function deep in recursion comes near that, but not with so much; other stacks that repeat each
 * other reach about 200. A field counts as some bytes more than it has, for the time that it takes. */
#define FREE_BYTES ((uint64_t)256 << 20)
enum { RATIO_MAX = 500, FIELD_BYTES = 16 };

/* Where a stack stands after one of its locations. */
struct step {
    uint64_t location;
    uint32_t node;
    uint32_t depth; /* in frames */
};

struct reader {
    struct tare_in *in;
    struct tare_profile *profile;
    struct pprof_tables tables;
    struct tare_buf field;
    uint64_t *ids;         /* of the sample being read, leaf first */
    size_t id_count, room; /* room: of ids and path */
    struct step *path;     /* of the sample before, root first */
    size_t path_count;
    uint32_t root; /* that path stands on */
    uint64_t values[PPROF_TYPES_MAX];
    uint32_t value_count;
    struct tare_label labels[TARE_LABELS_MAX], last_labels[TARE_LABELS_MAX];
    size_t label_count, last_label_count;
};

/* ---- recognising ---- */

/* Which of its fields 1 to 15 a message has as numbers and as bytes, one bit each. */
struct shape {
    uint16_t numbers, bytes;
    bool open; /* others may occur */
};

static const struct shape profile_shape = {.numbers = 0xf780, .bytes = 0x287e, .open = false};
static const struct shape shapes[] = {
    [PPROF_SAMPLE_TYPE] = {.numbers = 0x0006},
    [PPROF_SAMPLE] = {.numbers = 0x0006, .bytes = 0x000e, .open = true},
    [PPROF_MAPPING] = {.numbers = 0x07fe, .open = true},
    [PPROF_LOCATION] = {.numbers = 0x002e, .bytes = 0x0010, .open = true},
    [PPROF_FUNCTION] = {.numbers = 0x003e, .open = true},
};

static bool allows(const struct shape *shape, uint32_t number, enum tare_pb_wire wire)
{
    uint32_t known = (uint32_t)shape->numbers | shape->bytes;
    if (number > 15 || !(known >> number & 1))
        return shape->open;
    return (wire == TARE_PB_VARINT && shape->numbers >> number & 1) ||
           (wire == TARE_PB_BYTES && shape->bytes >> number & 1);
}

static bool has_shape(const struct shape *shape, const uint8_t *data, size_t length)
{
    struct tare_pb pb = tare_pb_reader(data, length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, NULL)) > 0)
        if (!allows(shape, field.number, field.wire))
            return false;
    return rc == 0;
}

/* Is this the start of a field that the head cuts? A first field that is so long is one deep sample. */
static bool begins_field(const uint8_t *data, size_t length, bool first)
{
    if (first)
        return length > 1 && data[0] == (PPROF_SAMPLE << 3 | TARE_PB_BYTES) && data[1] >= 0x80;
    return allows(&profile_shape, data[0] >> 3, (enum tare_pb_wire)(data[0] & 7));
}

static bool pprof_recognise(const uint8_t *head, size_t length, bool whole)
{
    struct tare_pb pb = tare_pb_reader(head, length);
    bool strings = false;
    for (size_t fields = 0;; fields++) {
        const uint8_t *start = pb.at;
        struct tare_pb_field field;
        int rc = tare_pb_next(&pb, &field, NULL);
        if (rc <= 0 && whole)
            return rc == 0 && strings;
        if (rc == 0)
            return fields;
        if (rc < 0)
            return begins_field(start, (size_t)(head + length - start), fields == 0);
        if (!allows(&profile_shape, field.number, field.wire))
            return false;
        /* Packed comments look like any text, and nobody begins with them. */
        if (fields == 0 && field.number == PPROF_COMMENT)
            return false;
        uint32_t shape = field.number == PPROF_PERIOD_TYPE ? PPROF_SAMPLE_TYPE : field.number;
        if (shape <= PPROF_FUNCTION && !has_shape(&shapes[shape], field.data, field.length))
            return false;
        if (field.number == PPROF_STRING && !strings && field.length)
            return false;
        strings = strings || field.number == PPROF_STRING;
    }
}

/* ---- samples ---- */

/* Room for as many ids as a message of length bytes can hold. */
static int make_room(struct reader *r, size_t length, struct tare_error *err)
{
    size_t need = length < PPROF_DEPTH_MAX ? length : PPROF_DEPTH_MAX;
    if (need <= r->room)
        return 0;
    size_t room = need < 256 ? 256 : need;
    uint64_t *ids = realloc(r->ids, room * sizeof *ids);
    if (ids)
        r->ids = ids;
    struct step *path = realloc(r->path, room * sizeof *path);
    if (path)
        r->path = path;
    if (!ids || !path)
        return tare_fail_memory(err);
    r->room = room;
    return 0;
}

static int too_deep(struct tare_error *err)
{
    return tare_fail(err, TARE_E_LIMIT, 0, "a stack is deeper than %d frames", PPROF_DEPTH_MAX);
}

static int add_id(struct reader *r, uint64_t id, struct tare_error *err)
{
    if (r->id_count == PPROF_DEPTH_MAX)
        return too_deep(err);
    r->ids[r->id_count++] = id;
    return 0;
}

static int add_value(struct reader *r, uint64_t value, struct tare_error *err)
{
    if (r->value_count == r->tables.type_count)
        return tare_fail(err, TARE_E_INPUT, 0, "a sample has more than its %" PRIu32 " values",
                         r->tables.type_count);
    r->values[r->value_count++] = value;
    return 0;
}

/* A repeated number, packed or not. */
static int add_numbers(struct reader *r, const struct tare_pb_field *field,
                       int (*add)(struct reader *r, uint64_t number, struct tare_error *err),
                       struct tare_error *err)
{
    if (field->wire == TARE_PB_VARINT)
        return add(r, field->value, err);
    if (field->wire != TARE_PB_BYTES)
        return pprof_wrong_type(err, "sample");
    struct tare_pb pb = tare_pb_reader(field->data, field->length);
    uint64_t number;
    while (pb.at < pb.end) {
        /* Most ids take one byte or two. */
        if (*pb.at < 0x80) {
            number = *pb.at++;
        } else if (pb.end - pb.at > 1 && pb.at[1] < 0x80) {
            number = (uint64_t)(pb.at[0] & 0x7f) | (uint64_t)pb.at[1] << 7;
            pb.at += 2;
        } else if (tare_pb_varint(&pb, &number, err) < 0) {
            return -1;
        }
        if (add(r, number, err) < 0)
            return -1;
    }
    return 0;
}

static int add_label(struct reader *r, const struct tare_pb_field *message, struct tare_error *err)
{
    if (message->wire != TARE_PB_BYTES)
        return pprof_wrong_type(err, "sample");
    struct tare_pb pb = tare_pb_reader(message->data, message->length);
    struct tare_pb_field field;
    uint64_t key = 0, text = 0, unit = 0;
    bool is_text = false, is_number = false;
    struct tare_label label;
    memset(&label, 0, sizeof label);
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.number > PPROF_LABEL_UNIT) {
            r->tables.dropped.fields++;
            continue;
        }
        if (field.wire != TARE_PB_VARINT)
            return pprof_wrong_type(err, "label");
        if (field.number == PPROF_LABEL_KEY) {
            key = field.value;
        } else if (field.number == PPROF_LABEL_TEXT) {
            text = field.value;
            is_text = true;
        } else if (field.number == PPROF_LABEL_NUMBER) {
            label.number = (int64_t)field.value;
            is_number = true;
        } else {
            unit = field.value;
        }
    }
    if (rc < 0)
        return -1;
    /* Writers leave out zeros, so one that is neither is the number 0; one that is both is a text. */
    label.numeric = text == 0 && (is_number || !is_text);
    if (!label.numeric) {
        r->tables.dropped.labels += label.number != 0;
        label.number = 0;
        unit = 0;
    }
    if (pprof_string(&r->tables, key, &label.key, err) < 0 ||
        pprof_string(&r->tables, text, &label.text, err) < 0 ||
        pprof_string(&r->tables, unit, &label.unit, err) < 0)
        return -1;
    if (r->label_count == TARE_LABELS_MAX)
        r->tables.dropped.labels++;
    else
        r->labels[r->label_count++] = label;
    return 0;
}

/* The node that a sample's stack stands on. */
static uint32_t root_of(struct reader *r)
{
    size_t bytes = r->label_count * sizeof r->labels[0];
    if (r->label_count == 0)
        return 0;
    if (r->label_count == r->last_label_count && memcmp(r->labels, r->last_labels, bytes) == 0 && r->root)
        return r->root;
    memcpy(r->last_labels, r->labels, bytes);
    r->last_label_count = r->label_count;
    return tare_profile_root(r->profile, tare_profile_labels(r->profile, r->labels, r->label_count));
}

/* Walk down the stack in ids, from where it leaves the one in path. */
static int walk_down(struct reader *r, uint32_t *ret_node, struct tare_error *err)
{
    uint32_t root = root_of(r);
    size_t same = 0, count = r->id_count;
    if (root == r->root)
        while (same < count && same < r->path_count && r->path[same].location == r->ids[count - 1 - same])
            same++;
    uint32_t node = same ? r->path[same - 1].node : root;
    uint32_t depth = same ? r->path[same - 1].depth : 0;
    for (size_t i = same; i < count; i++) {
        uint64_t id = r->ids[count - 1 - i];
        uint32_t line_count;
        const struct pprof_line *lines = pprof_lines(&r->tables, id, &line_count);
        if (!lines)
            return tare_fail(err, TARE_E_INPUT, 0, "a sample is at location %" PRIu64 ", which is missing",
                             id);
        if (line_count > PPROF_DEPTH_MAX - depth)
            return too_deep(err);
        for (uint32_t j = 0; j < line_count; j++)
            node = tare_profile_child(r->profile, node, lines[j].frame, lines[j].line);
        depth += line_count;
        r->path[i] = (struct step){.location = id, .node = node, .depth = depth};
    }
    r->path_count = count;
    r->root = root;
    *ret_node = node;
    return node == TARE_NONE ? tare_profile_check(r->profile, err) : 0;
}

static int add_sample(struct reader *r, const struct tare_pb_field *message, struct tare_error *err)
{
    struct tare_pb pb = tare_pb_reader(message->data, message->length);
    struct tare_pb_field field;
    r->id_count = r->label_count = 0;
    r->value_count = 0;
    if (make_room(r, message->length, err) < 0)
        return -1;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        int bad = 0;
        if (field.number == PPROF_SAMPLE_LOCATIONS)
            bad = add_numbers(r, &field, add_id, err);
        else if (field.number == PPROF_SAMPLE_VALUES)
            bad = add_numbers(r, &field, add_value, err);
        else if (field.number == PPROF_SAMPLE_LABEL)
            bad = add_label(r, &field, err);
        else
            r->tables.dropped.fields++;
        if (bad < 0)
            return -1;
    }
    if (rc < 0)
        return -1;
    if (r->value_count != r->tables.type_count)
        return tare_fail(err, TARE_E_INPUT, 0, "a sample has %" PRIu32 " values instead of %" PRIu32,
                         r->value_count, r->tables.type_count);
    uint32_t node;
    if (walk_down(r, &node, err) < 0)
        return -1;
    for (uint32_t i = 0; i < r->value_count; i++)
        if (r->values[i])
            tare_profile_add(r->profile, node, r->tables.types[i].column, (int64_t)r->values[i]);
    return 0;
}

/* ---- the file ---- */

static int too_large(struct tare_error *err)
{
    return tare_fail(err, TARE_E_LIMIT, 0, "it unpacks to far more than a profile of its size holds");
}

/* Is what was unpacked so far more than a profile can have been packed into what was read? */
static int check_ratio(const struct reader *r, uint64_t fields, struct tare_error *err)
{
    uint64_t cost = tare_in_position(r->in) + fields * FIELD_BYTES;
    return cost > FREE_BYTES && cost / RATIO_MAX > tare_in_raw_position(r->in) ? too_large(err) : 0;
}

/* Are there more entries in the tables than a profile can have in what was read? */
static int check_entries(const struct reader *r, struct tare_error *err)
{
    const struct pprof_tables *tables = &r->tables;
    uint64_t entries = pprof_count(&tables->strings, sizeof(uint32_t)) + tables->mapping_ids.count +
                       tables->function_ids.count + tables->location_ids.count +
                       pprof_count(&tables->lines, sizeof(struct pprof_line)) +
                       pprof_count(&tables->comments, sizeof(uint32_t));
    return entries > FREE_ENTRIES + tare_in_raw_position(r->in) ? too_large(err) : 0;
}

static int read_pass(struct reader *r, bool samples, struct tare_error *err)
{
    struct tare_pb_field field;
    uint64_t fields = 0;
    int rc;
    while ((rc = tare_pb_stream_next(r->in, &r->field, PPROF_MESSAGE_MAX, &field, err)) > 0) {
        int bad = check_ratio(r, ++fields, err);
        if (bad == 0 && !samples)
            bad = pprof_collect(&r->tables, &field, err) < 0 ? -1 : check_entries(r, err);
        else if (bad == 0 && field.number == PPROF_SAMPLE)
            bad = add_sample(r, &field, err);
        if (bad < 0)
            return -1;
    }
    return rc;
}

static void note_dropped(struct reader *r)
{
    const struct pprof_dropped *dropped = &r->tables.dropped;
    if (dropped->columns)
        tare_profile_note(r->profile, "dropped %" PRIu64 " column numbers: only lines are kept",
                          dropped->columns);
    if (dropped->folded)
        tare_profile_note(r->profile, "dropped the mark of %" PRIu64 " locations whose code was folded",
                          dropped->folded);
    if (dropped->lines)
        tare_profile_note(r->profile, "dropped %" PRIu64 " line numbers out of range", dropped->lines);
    if (dropped->labels)
        tare_profile_note(r->profile,
                          "dropped %" PRIu64 " labels: a sample has at most %d, each a text or a number",
                          dropped->labels, TARE_LABELS_MAX);
    if (dropped->fields)
        tare_profile_note(r->profile, "dropped %" PRIu64 " fields that this version does not know",
                          dropped->fields);
}

static int pprof_read(struct tare_in *in, struct tare_profile *profile, struct tare_error *err)
{
    struct tare_error why = {0};
    int rc = -1;
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return tare_fail_memory(err);
    r->in = in;
    r->profile = profile;
    tare_buf_init(&r->field, PPROF_MESSAGE_MAX + 1);
    pprof_tables_init(&r->tables, profile);
    if (read_pass(r, false, &why) < 0 || pprof_tables_resolve(&r->tables, &why) < 0)
        goto out;
    if (r->tables.sample_count && (tare_in_rewind(in, &why) < 0 || read_pass(r, true, &why) < 0))
        goto out;
    note_dropped(r);
    rc = tare_profile_check(profile, &why);
out:
    /* What the input has to say names it already. */
    if (rc < 0 && why.msg[0] != '\'' && why.code != TARE_E_IO && why.code != TARE_E_MEMORY)
        tare_fail(err, why.code, 0, "'%s' cannot be read as pprof: %s", tare_in_name(in), why.msg);
    else if (rc < 0 && err)
        *err = why;
    pprof_tables_finish(&r->tables);
    tare_buf_finish(&r->field);
    free(r->ids);
    free(r->path);
    free(r);
    return rc;
}

const struct tare_reader tare_reader_pprof = {
    .name = "pprof",
    .summary = "pprof protobuf, compressed or not",
    .recognise = pprof_recognise,
    .read = pprof_read,
};
