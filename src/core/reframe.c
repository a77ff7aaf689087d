/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reframe.h"

#include <stdlib.h>

int tare_reframe(struct tare_profile *dst, const struct tare_profile *src, const struct tare_reframe *how,
                 struct tare_error *err)
{
    uint32_t count = tare_profile_nodes(src);
    uint32_t columns = tare_profile_columns(src);
    uint32_t *moved = malloc(count * sizeof *moved);
    if (!moved)
        return tare_fail_memory(err);
    for (uint32_t n = 0; n < count; n++) {
        const struct tare_node *node = tare_profile_node_at(src, n);
        if (n == 0) {
            moved[n] = 0;
        } else {
            const struct tare_frame *frame = tare_profile_frame_at(src, node->frame);
            uint32_t line = how->line ? how->line(frame, node->line) : 0;
            uint32_t to = how->frames[node->frame];
            uint32_t parent = moved[node->parent];
            moved[n] = to == TARE_NONE ? parent : tare_profile_child(dst, parent, to, line);
        }
        const int64_t *values = tare_profile_values(src, n);
        for (uint32_t c = 0; c < columns; c++)
            if (values[c] && how->columns[c] != TARE_NONE)
                tare_profile_add(dst, moved[n], how->columns[c], values[c]);
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
