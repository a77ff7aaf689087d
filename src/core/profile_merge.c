/* SPDX-License-Identifier: Apache-2.0 */
/* One profile into another: translate what nodes refer to, then the nodes, parents first. */
#include <stdlib.h>
#include <string.h>

#include "core/profile_impl.h"

struct translation {
    uint32_t column[TARE_COLUMNS_MAX];
    uint32_t *string, *frame, *node; /* TARE_NONE: not translated yet */
    uint32_t mapping;                /* how many mappings the target had before */
};

static uint32_t *untranslated(uint32_t count)
{
    uint32_t *map = malloc(((size_t)count + 1) * sizeof *map);
    if (map)
        memset(map, 0xff, ((size_t)count + 1) * sizeof *map);
    return map;
}

static uint32_t string_to(struct tare_profile *dst, const struct tare_profile *src, struct translation *t,
                          uint32_t string)
{
    if (t->string[string] == TARE_NONE)
        t->string[string] =
            tare_profile_string(dst, tare_profile_text(src, string), tare_profile_text_length(src, string));
    return t->string[string];
}

static uint32_t labels_to(struct tare_profile *dst, const struct tare_profile *src, struct translation *t,
                          uint32_t set)
{
    size_t count;
    const struct tare_label *labels = tare_profile_labels_at(src, set, &count);
    struct tare_label copy[TARE_LABELS_MAX];
    for (size_t i = 0; i < count && i < TARE_LABELS_MAX; i++) {
        copy[i] = labels[i];
        copy[i].key = string_to(dst, src, t, labels[i].key);
        copy[i].text = string_to(dst, src, t, labels[i].text);
        copy[i].unit = string_to(dst, src, t, labels[i].unit);
    }
    return tare_profile_labels(dst, copy, count);
}

static uint32_t frame_to(struct tare_profile *dst, const struct tare_profile *src, struct translation *t,
                         uint32_t frame)
{
    if (t->frame[frame] != TARE_NONE)
        return t->frame[frame];
    struct tare_frame copy = *tare_profile_frame_at(src, frame);
    copy.name = string_to(dst, src, t, copy.name);
    copy.qualname = string_to(dst, src, t, copy.qualname);
    copy.file = string_to(dst, src, t, copy.file);
    copy.module = string_to(dst, src, t, copy.module);
    copy.labels = copy.labels ? labels_to(dst, src, t, copy.labels) : 0;
    copy.mapping = copy.mapping ? copy.mapping + t->mapping : 0;
    t->frame[frame] = tare_profile_frame(dst, &copy);
    return t->frame[frame];
}

/* Mappings that both have, in the same order from the first, are shared; else all of src's are added. */
static void mappings_to(struct tare_profile *dst, const struct tare_profile *src, struct translation *t)
{
    uint32_t count = tare_profile_mappings(src);
    uint32_t have = tare_profile_mappings(dst);
    bool shared = count <= have;
    for (uint32_t i = 1; i <= count && shared; i++) {
        const struct tare_mapping *a = tare_profile_mapping_at(dst, i), *b = tare_profile_mapping_at(src, i);
        shared = a->start == b->start && a->limit == b->limit && a->offset == b->offset &&
                 a->file == string_to(dst, src, t, b->file) &&
                 a->build_id == string_to(dst, src, t, b->build_id);
    }
    t->mapping = shared ? 0 : have;
    for (uint32_t i = 1; i <= count && !shared; i++) {
        struct tare_mapping copy = *tare_profile_mapping_at(src, i);
        copy.file = string_to(dst, src, t, copy.file);
        copy.build_id = string_to(dst, src, t, copy.build_id);
        tare_profile_add_mapping(dst, &copy);
    }
}

static void meta_to(struct tare_profile *dst, const struct tare_profile *src, struct translation *t,
                    bool first)
{
    const struct tare_profile_meta *from = tare_profile_meta_const(src);
    uint32_t period_type = string_to(dst, src, t, from->period_type);
    uint32_t period_unit = string_to(dst, src, t, from->period_unit);
    uint32_t default_column = string_to(dst, src, t, from->default_column);
    uint32_t drop = string_to(dst, src, t, from->drop_frames),
             keep = string_to(dst, src, t, from->keep_frames);
    uint32_t doc = string_to(dst, src, t, from->doc_url);
    struct tare_profile_meta *to = tare_profile_meta(dst);
    if (first) {
        *to = *from;
        to->period_type = period_type;
        to->period_unit = period_unit;
        to->default_column = default_column;
        to->drop_frames = drop;
        to->keep_frames = keep;
        to->doc_url = doc;
        return;
    }
    int64_t end = to->time_ns + to->duration_ns, from_end = from->time_ns + from->duration_ns;
    if (from->time_ns && to->time_ns) {
        to->time_ns = from->time_ns < to->time_ns ? from->time_ns : to->time_ns;
        to->duration_ns = (from_end > end ? from_end : end) - to->time_ns;
    }
    to->estimated |= from->estimated;
}

static void lists_to(struct tare_profile *dst, const struct tare_profile *src)
{
    for (uint32_t i = 0; i < tare_profile_comments(src); i++) {
        uint32_t string = tare_profile_comment_at(src, i);
        tare_profile_add_comment(dst, tare_profile_text(src, string), tare_profile_text_length(src, string));
    }
    for (uint32_t i = 0; i < tare_profile_notes(src); i++)
        tare_profile_note(dst, "%s", tare_profile_note_at(src, i));
}

static void nodes_to(struct tare_profile *dst, const struct tare_profile *src, struct translation *t)
{
    uint32_t columns = tare_profile_columns(src);
    uint32_t count = tare_profile_nodes(src);
    t->node[0] = 0;
    for (uint32_t node = 0; node < count; node++) {
        const struct tare_node *from = tare_profile_node_at(src, node);
        if (node)
            t->node[node] = tare_profile_child(dst, t->node[from->parent], frame_to(dst, src, t, from->frame),
                                               from->line);
        const int64_t *values = tare_profile_values(src, node);
        for (uint32_t i = 0; i < columns; i++)
            if (values[i])
                tare_profile_add(dst, t->node[node], t->column[i], values[i]);
    }
}

int tare_profile_merge(struct tare_profile *dst, const struct tare_profile *src, struct tare_error *err)
{
    bool first = tare_profile_nodes(dst) == 1 && tare_profile_columns(dst) == 0;
    uint32_t kind = tare_profile_meta_const(src)->kind;
    if (!first && tare_profile_meta_const(dst)->kind != kind)
        return tare_fail(err, TARE_E_USAGE, 0, "whole stacks and caller pairs cannot be merged");
    struct translation t = {
        .string = untranslated(tare_profile_strings(src)),
        .frame = untranslated(tare_profile_frames(src)),
        .node = untranslated(tare_profile_nodes(src)),
    };
    int rc = -1;
    if (!t.string || !t.frame || !t.node) {
        rc = tare_fail_memory(err);
        goto out;
    }
    for (uint32_t i = 0; i < tare_profile_columns(src); i++)
        t.column[i] =
            tare_profile_add_column(dst, tare_profile_column_name(src, i), tare_profile_column_unit(src, i));
    mappings_to(dst, src, &t);
    meta_to(dst, src, &t, first);
    lists_to(dst, src);
    nodes_to(dst, src, &t);
    rc = tare_profile_check(dst, err);
out:
    free(t.string);
    free(t.frame);
    free(t.node);
    return rc;
}
