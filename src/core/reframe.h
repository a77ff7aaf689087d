/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying a profile's contexts under other frames: how views merge what they do not tell apart, and how two
 * profiles come to stand in one tree. Contexts that become equal become one and their values are added up.
 * Reads src, adds to dst; as thread-safe as those are.
 */
#ifndef TARE_CORE_REFRAME_H
#define TARE_CORE_REFRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/profile.h"

struct tare_reframe {
    const uint32_t *frames;  /* of src -> of dst; TARE_NONE: such a node melts into its parent */
    const uint32_t *columns; /* of src -> of dst; TARE_NONE: left out */
    /* Per frame of src: values count only at or below one of these; NULL: everywhere. */
    const bool *wanted;
    /* Which line a node keeps; NULL: none does. */
    uint32_t (*line)(const struct tare_frame *frame, uint32_t line);
};

/** Add src to dst as told. O(nodes of src). */
int tare_reframe(struct tare_profile *dst, const struct tare_profile *src, const struct tare_reframe *how,
                 struct tare_error *err);

/** A frame of src in dst, its strings copied, with everything else as it is (labels, mapping and address
 * are the caller's to set). */
struct tare_frame tare_reframe_copy(struct tare_profile *dst, const struct tare_profile *src,
                                    const struct tare_frame *frame);

#endif
