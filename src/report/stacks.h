/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile made ready for stack views (folded, flame graph, speedscope): a copy in which contexts that such
 * a view does not tell apart are one. A frame is its name (the qualified one if known), file and first line;
 * lines inside a function, addresses and inlining are gone. Thread roots keep the labels that name a thread
 * (process, thread, rank, worker), as the name of a frame, and only if there are at least two of them. Caller
 * pairs are turned into an estimated tree. Of what the view asks for, match keeps only stacks that pass
 * through such a function, and strip_dirs merges functions that only their folders told apart. Immutable once
 * made; then thread-safe.
 */
#ifndef TARE_REPORT_STACKS_H
#define TARE_REPORT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/profile.h"
#include "core/tree.h"
#include "report/report.h"

struct tare_stacks {
    struct tare_profile *profile; /* all columns of the original, or of its estimate */
    struct tare_tree tree;        /* siblings sorted by name, file and line */
    uint32_t column;              /* the one to show */
    uint32_t base;                /* of a difference: the column to compare it with, else TARE_NONE */
};

/** Make it. keep_lines keeps the line of a node whose function's first line is unknown. */
int tare_stacks_init(struct tare_stacks *stacks, const struct tare_profile *profile,
                     const struct tare_view *view, bool keep_lines, struct tare_error *err);

/** Free it. */
void tare_stacks_finish(struct tare_stacks *stacks);

/** Sort siblings by their totals (one per node), the largest first, instead of by name. */
void tare_stacks_sort(struct tare_stacks *stacks, const int64_t *totals);

/** The frame of a node other than node 0. */
const struct tare_frame *tare_stacks_frame(const struct tare_stacks *stacks, uint32_t node);

/** Were the stacks estimated from caller pairs? Then the view says so. */
bool tare_stacks_estimated(const struct tare_stacks *stacks);

#endif
