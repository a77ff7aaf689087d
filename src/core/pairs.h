/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole stacks estimated from caller pairs, for views that need them (flame graph, folded, speedscope). A
 * function's time is divided among its contexts in proportion to the cumulative time of the calls that lead
 * to it; a call that closes a cycle is shown once and not followed. The sum of the tree's times is the sum of
 * the pairs' times, to the nanosecond while the tree is complete. What the result looks like is a guess, and
 * every view of it says "estimated from caller pairs" (meta.estimated).
 */
#ifndef TARE_CORE_PAIRS_H
#define TARE_CORE_PAIRS_H

#include <stdint.h>

#include "base/error.h"
#include "core/profile.h"

/* What every view of an estimated tree says. */
#define TARE_PAIRS_ESTIMATED "estimated from caller pairs"

enum {
    TARE_PAIRS_NODES = 200000, /* most nodes when nobody says otherwise */
    TARE_PAIRS_DEPTH = 1000,   /* most frames in a stack */
};

/**
 * A tree of at most max_nodes nodes (0: TARE_PAIRS_NODES) with the columns calls/count and
 * tottime/nanoseconds, made from a profile of kind TARE_PROFILE_PAIRS. The heaviest contexts come first; what
 * is below the last ones is summed up in a <truncated> frame under each. Functions called from nowhere have a
 * node each, however many they are. Comments and times are copied. The caller destroys the result.
 */
int tare_pairs_estimate(const struct tare_profile *pairs, uint32_t max_nodes, struct tare_profile **ret_tree,
                        struct tare_error *err);

#endif
