/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spans.h"

#include <stdlib.h>
#include <string.h>

#include "core/reframe.h"

struct cutting {
    const struct tare_profile *from;
    struct tare_profile *to;
    uint32_t *frames; /* of from -> of to; TARE_NONE: not asked for yet */
    uint32_t *nodes;  /* of from -> of to; TARE_NONE: outside */
    bool *melted;     /* per node of from: it became its caller */
    uint8_t *kinds;   /* per frame of from: what it is to us */
    uint32_t columns;
    bool times[TARE_COLUMNS_MAX]; /* columns that measure time */
};

enum { ORDINARY, WANTED, MELTS };

static uint8_t kind_of(const struct tare_profile *profile, const struct tare_frame *frame, const char *name,
                       const char *own_folder)
{
    const char *text = tare_profile_text(profile, frame->name);
    if (frame->kind == TARE_FRAME_SPAN)
        return strcmp(text, name) == 0 ? WANTED : ORDINARY;
    if (frame->kind == TARE_FRAME_BUILTIN)
        return strstr(text, " of 'tare._core.") ? MELTS : ORDINARY;
    const char *file = tare_profile_text(profile, frame->file);
    size_t length = own_folder ? strlen(own_folder) : 0;
    bool own = length && frame->kind == TARE_FRAME_PYTHON && strncmp(file, own_folder, length) == 0 &&
               file[length] == '/';
    return own ? MELTS : ORDINARY;
}

/* The root of the thread that a node belongs to, in the part. */
static uint32_t root_for(struct cutting *cut, uint32_t node)
{
    size_t count;
    uint32_t set = tare_profile_labels_of(cut->from, node);
    const struct tare_label *labels = tare_profile_labels_at(cut->from, set, &count);
    struct tare_label copies[TARE_LABELS_MAX];
    for (size_t i = 0; i < count; i++) {
        copies[i] = labels[i];
        copies[i].key = tare_profile_intern(cut->to, tare_profile_text(cut->from, labels[i].key));
        copies[i].text = tare_profile_intern(cut->to, tare_profile_text(cut->from, labels[i].text));
        copies[i].unit = tare_profile_intern(cut->to, tare_profile_text(cut->from, labels[i].unit));
    }
    return tare_profile_root(cut->to, tare_profile_labels(cut->to, copies, count));
}

static uint32_t frame_for(struct cutting *cut, uint32_t frame)
{
    if (cut->frames[frame] == TARE_NONE) {
        const struct tare_frame *from = tare_profile_frame_at(cut->from, frame);
        struct tare_frame copy = tare_reframe_copy(cut->to, cut->from, from);
        copy.twin = from->twin;
        copy.address = from->address;
        cut->frames[frame] = tare_profile_frame(cut->to, &copy);
    }
    return cut->frames[frame];
}

static void cut_node(struct cutting *cut, uint32_t n)
{
    const struct tare_node *node = tare_profile_node_at(cut->from, n);
    uint32_t parent = cut->nodes[node->parent];
    uint8_t kind = cut->kinds[node->frame];
    if (parent == TARE_NONE && kind != WANTED)
        return;
    bool span = tare_profile_frame_at(cut->from, node->frame)->kind == TARE_FRAME_SPAN;
    bool melts = kind == MELTS || (cut->melted[node->parent] && !span);
    cut->melted[n] = melts;
    if (parent == TARE_NONE)
        parent = root_for(cut, n);
    cut->nodes[n] =
        melts ? parent : tare_profile_child(cut->to, parent, frame_for(cut, node->frame), node->line);
    const int64_t *values = tare_profile_values(cut->from, n);
    for (uint32_t c = 0; c < cut->columns; c++)
        if (values[c] && (!melts || cut->times[c]))
            tare_profile_add(cut->to, cut->nodes[n], c, values[c]);
}

static void cut_meta(struct cutting *cut)
{
    const struct tare_profile_meta *from = tare_profile_meta_const(cut->from);
    uint32_t column = tare_profile_intern(cut->to, tare_profile_text(cut->from, from->default_column));
    struct tare_profile_meta *to = tare_profile_meta(cut->to);
    to->time_ns = from->time_ns;
    to->default_column = column;
    for (uint32_t i = 0; i < tare_profile_comments(cut->from); i++) {
        uint32_t comment = tare_profile_comment_at(cut->from, i);
        tare_profile_add_comment(cut->to, tare_profile_text(cut->from, comment),
                                 tare_profile_text_length(cut->from, comment));
    }
    for (uint32_t i = 0; i < tare_profile_notes(cut->from); i++)
        tare_profile_note(cut->to, "%s", tare_profile_note_at(cut->from, i));
    cut->columns = tare_profile_columns(cut->from);
    for (uint32_t c = 0; c < cut->columns; c++) {
        const char *unit = tare_profile_column_unit(cut->from, c);
        cut->times[c] = strcmp(unit, "nanoseconds") == 0;
        tare_profile_add_column(cut->to, tare_profile_column_name(cut->from, c), unit);
    }
}

int tare_profile_span(const struct tare_profile *profile, const char *name, const char *own_folder,
                      struct tare_profile **ret_part, struct tare_error *err)
{
    uint32_t frames = tare_profile_frames(profile), nodes = tare_profile_nodes(profile);
    struct cutting cut = {.from = profile};
    int rc = -1;
    if (tare_profile_create(0, &cut.to, err) < 0)
        return -1;
    cut.frames = malloc(((size_t)frames + 1) * sizeof *cut.frames);
    cut.nodes = malloc((size_t)nodes * sizeof *cut.nodes);
    cut.kinds = malloc((size_t)frames + 1);
    cut.melted = calloc(nodes, sizeof *cut.melted);
    if (!cut.frames || !cut.nodes || !cut.kinds || !cut.melted) {
        tare_fail_memory(err);
        goto out;
    }
    memset(cut.frames, 0xff, frames * sizeof *cut.frames);
    memset(cut.nodes, 0xff, nodes * sizeof *cut.nodes);
    for (uint32_t f = 0; f < frames; f++)
        cut.kinds[f] = kind_of(profile, tare_profile_frame_at(profile, f), name, own_folder);
    cut_meta(&cut);
    for (uint32_t n = 1; n < nodes; n++)
        cut_node(&cut, n);
    rc = tare_profile_check(cut.to, err);
out:
    free(cut.frames);
    free(cut.nodes);
    free(cut.kinds);
    free(cut.melted);
    if (rc < 0)
        tare_profile_destroy(cut.to);
    else
        *ret_part = cut.to;
    return rc;
}
