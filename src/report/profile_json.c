/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as JSON, whole: columns, frames, labels, mappings, and the nodes as arrays that share an index.
 * docs/profile-json.md describes it.
 */
#include "base/json.h"
#include "report/report.h"

static void put_string(struct tare_json *json, const struct tare_profile *profile, const char *key,
                       uint32_t string)
{
    tare_json_key(json, key);
    tare_json_span(json, tare_profile_text(profile, string), tare_profile_text_length(profile, string));
}

/* Left out when there is nothing to say. */
static void put_optional(struct tare_json *json, const struct tare_profile *profile, const char *key,
                         uint32_t string)
{
    if (string && string != TARE_NONE)
        put_string(json, profile, key, string);
}

static void put_number(struct tare_json *json, const char *key, uint64_t value)
{
    if (value)
        tare_json_put_uint(json, key, value);
}

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = {"tree", "pairs", "diff", "diff_pairs"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static const char *frame_kind_name(uint8_t kind)
{
    static const char *const names[] = {"other", "root", "python", "builtin", "native", "span", "mark"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static void write_meta(struct tare_json *json, const struct tare_profile *profile)
{
    const struct tare_profile_meta *meta = tare_profile_meta_const(profile);
    uint32_t column = tare_profile_main_column(profile);
    tare_json_put_text(json, "schema", "tare.profile/1");
    tare_json_put_text(json, "kind", kind_name(meta->kind));
    tare_json_put_bool(json, "estimated", meta->estimated);
    tare_json_put_int(json, "time_ns", meta->time_ns);
    tare_json_put_int(json, "duration_ns", meta->duration_ns);
    tare_json_key(json, "period");
    if (meta->period || meta->period_type) {
        tare_json_object(json);
        put_string(json, profile, "type", meta->period_type);
        put_string(json, profile, "unit", meta->period_unit);
        tare_json_put_int(json, "value", meta->period);
        tare_json_end(json);
    } else {
        tare_json_null(json);
    }
    tare_json_put_text(json, "main_column",
                       column == TARE_NONE ? NULL : tare_profile_column_name(profile, column));
    put_optional(json, profile, "drop_frames", meta->drop_frames);
    put_optional(json, profile, "keep_frames", meta->keep_frames);
    put_optional(json, profile, "doc_url", meta->doc_url);
    tare_json_key(json, "comments");
    tare_json_array(json);
    for (uint32_t i = 0; i < tare_profile_comments(profile); i++) {
        uint32_t comment = tare_profile_comment_at(profile, i);
        tare_json_span(json, tare_profile_text(profile, comment), tare_profile_text_length(profile, comment));
    }
    tare_json_end(json);
    tare_json_key(json, "notes");
    tare_json_array(json);
    for (uint32_t i = 0; i < tare_profile_notes(profile); i++)
        tare_json_text(json, tare_profile_note_at(profile, i));
    tare_json_end(json);
}

static void write_columns(struct tare_json *json, const struct tare_profile *profile)
{
    tare_json_key(json, "columns");
    tare_json_array(json);
    for (uint32_t c = 0; c < tare_profile_columns(profile); c++) {
        int64_t sum = 0;
        for (uint32_t n = 0; n < tare_profile_nodes(profile); n++)
            if (__builtin_add_overflow(sum, tare_profile_values(profile, n)[c], &sum))
                sum = sum < 0 ? INT64_MAX : INT64_MIN; /* it wrapped round: stay at the end it passed */
        tare_json_record(json);
        tare_json_put_text(json, "name", tare_profile_column_name(profile, c));
        tare_json_put_text(json, "unit", tare_profile_column_unit(profile, c));
        tare_json_put_int(json, "sum", sum);
        tare_json_end(json);
    }
    tare_json_end(json);
}

static void write_labels(struct tare_json *json, const struct tare_profile *profile, uint32_t set)
{
    size_t count;
    const struct tare_label *labels = tare_profile_labels_at(profile, set, &count);
    tare_json_key(json, "labels");
    tare_json_array(json);
    for (size_t i = 0; i < count; i++) {
        tare_json_record(json);
        put_string(json, profile, "key", labels[i].key);
        if (labels[i].numeric)
            tare_json_put_int(json, "number", labels[i].number);
        else
            put_string(json, profile, "text", labels[i].text);
        put_optional(json, profile, "unit", labels[i].unit);
        tare_json_end(json);
    }
    tare_json_end(json);
}

static void write_frames(struct tare_json *json, const struct tare_profile *profile)
{
    tare_json_key(json, "frames");
    tare_json_array(json);
    for (uint32_t f = 0; f < tare_profile_frames(profile); f++) {
        const struct tare_frame *frame = tare_profile_frame_at(profile, f);
        tare_json_record(json);
        tare_json_put_text(json, "kind", frame_kind_name(frame->kind));
        put_string(json, profile, "name", frame->name);
        put_optional(json, profile, "qualname", frame->qualname);
        put_optional(json, profile, "file", frame->file);
        put_number(json, "first_line", frame->first_line);
        put_optional(json, profile, "module", frame->module);
        put_number(json, "address", frame->address);
        put_number(json, "mapping", frame->mapping);
        put_number(json, "twin", frame->twin);
        if (frame->flags & TARE_FRAME_INLINED)
            tare_json_put_bool(json, "inlined", true);
        if (frame->kind == TARE_FRAME_ROOT)
            write_labels(json, profile, frame->labels);
        tare_json_end(json);
    }
    tare_json_end(json);
}

static void write_mappings(struct tare_json *json, const struct tare_profile *profile)
{
    tare_json_key(json, "mappings");
    tare_json_array(json);
    for (uint32_t i = 1; i <= tare_profile_mappings(profile); i++) {
        const struct tare_mapping *mapping = tare_profile_mapping_at(profile, i);
        tare_json_record(json);
        put_string(json, profile, "file", mapping->file);
        put_optional(json, profile, "build_id", mapping->build_id);
        tare_json_put_uint(json, "start", mapping->start);
        tare_json_put_uint(json, "limit", mapping->limit);
        tare_json_put_uint(json, "offset", mapping->offset);
        tare_json_end(json);
    }
    tare_json_end(json);
}

enum node_field { NODE_PARENT, NODE_FRAME, NODE_LINE };

static void write_node_field(struct tare_json *json, const struct tare_profile *profile, const char *key,
                             enum node_field field)
{
    tare_json_key(json, key);
    tare_json_row(json);
    for (uint32_t n = 0; n < tare_profile_nodes(profile); n++) {
        const struct tare_node *node = tare_profile_node_at(profile, n);
        uint32_t value = field == NODE_PARENT ? node->parent : field == NODE_FRAME ? node->frame : node->line;
        tare_json_int(json, value == TARE_NONE ? -1 : (int64_t)value);
    }
    tare_json_end(json);
}

static void write_nodes(struct tare_json *json, const struct tare_profile *profile)
{
    tare_json_key(json, "nodes");
    tare_json_object(json);
    tare_json_put_uint(json, "count", tare_profile_nodes(profile));
    write_node_field(json, profile, "parent", NODE_PARENT);
    write_node_field(json, profile, "frame", NODE_FRAME);
    write_node_field(json, profile, "line", NODE_LINE);
    tare_json_key(json, "values");
    tare_json_array(json);
    for (uint32_t c = 0; c < tare_profile_columns(profile); c++) {
        tare_json_row(json);
        for (uint32_t n = 0; n < tare_profile_nodes(profile); n++)
            tare_json_int(json, tare_profile_values(profile, n)[c]);
        tare_json_end(json);
    }
    tare_json_end(json);
    tare_json_end(json);
}

static void profile_json_write(const struct tare_profile *profile, const struct tare_view *view,
                               struct tare_out *out)
{
    (void)view; /* everything is written: whoever reads it chooses */
    struct tare_json json;
    tare_json_init(&json, out, 1);
    tare_json_object(&json);
    write_meta(&json, profile);
    write_columns(&json, profile);
    write_frames(&json, profile);
    write_mappings(&json, profile);
    write_nodes(&json, profile);
    tare_json_end(&json);
    tare_out_add(out, "\n", 1);
}

const struct tare_writer tare_writer_json = {
    .name = "json",
    .extensions = ".json",
    .summary = "the whole profile as JSON",
    .write = profile_json_write,
};
