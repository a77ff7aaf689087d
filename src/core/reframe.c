/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reframe.h"

#include <stdlib.h>

/* Where a node went, and whether its values count. */
struct moved {
    uint32_t node;
    bool counts;
};

static struct moved move_node(struct tare_profile *dst, const struct tare_profile *src,
                              const struct tare_reframe *how, const struct tare_node *node,
                              struct moved parent)
{
    const struct tare_frame *frame = tare_profile_frame_at(src, node->frame);
    uint32_t to = how->frames[node->frame];
    uint32_t line = how->line ? how->line(frame, node->line) : 0;
    return (struct moved){
        .node = to == TARE_NONE ? parent.node : tare_profile_child(dst, parent.node, to, line),
        .counts = parent.counts || (how->wanted && how->wanted[node->frame]),
    };
}

int tare_reframe(struct tare_profile *dst, const struct tare_profile *src, const struct tare_reframe *how,
                 struct tare_error *err)
{
    uint32_t count = tare_profile_nodes(src);
    uint32_t columns = tare_profile_columns(src);
    struct moved *moved = calloc(count, sizeof *moved);
    if (!moved)
        return tare_fail_memory(err);
    moved[0] = (struct moved){.counts = !how->wanted};
    for (uint32_t n = 0; n < count; n++) {
        const struct tare_node *node = tare_profile_node_at(src, n);
        if (n)
            moved[n] = move_node(dst, src, how, node, moved[node->parent]);
        const int64_t *values = tare_profile_values(src, n);
        for (uint32_t c = 0; c < columns && moved[n].counts; c++)
            if (values[c] && how->columns[c] != TARE_NONE)
                tare_profile_add(dst, moved[n].node, how->columns[c], values[c]);
    }
    free(moved);
    return tare_profile_check(dst, err);
}

static uint32_t copy_text(struct tare_profile *dst, const struct tare_profile *src, uint32_t string)
{
    return tare_profile_string(dst, tare_profile_text(src, string), tare_profile_text_length(src, string));
}

struct tare_frame tare_reframe_copy(struct tare_profile *dst, const struct tare_profile *src,
                                    const struct tare_frame *frame)
{
    return (struct tare_frame){
        .kind = frame->kind,
        .flags = frame->flags,
        .name = copy_text(dst, src, frame->name),
        .qualname = copy_text(dst, src, frame->qualname),
        .file = copy_text(dst, src, frame->file),
        .module = copy_text(dst, src, frame->module),
        .first_line = frame->first_line,
    };
}
