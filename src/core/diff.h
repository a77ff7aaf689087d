/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference of two profiles: one tree that holds both, with a column "base:X" beside each column "X".
 *
 * Code moves, so a function is found again by its kind, name, file and module, and not by its line. Where a
 * file has several functions of one name, they are told apart by line if every line of one side occurs on the
 * other; else, if both sides have equally many, by their order in the file; else they are added up under a
 * frame without a line. Lines inside functions and addresses play no part. Threads are added up: their
 * numbers mean nothing in another run.
 *
 * Pure functions; the results are the caller's to destroy.
 */
#ifndef TARE_CORE_DIFF_H
#define TARE_CORE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/profile.h"

/* All zero is a good choice. */
struct tare_diff_options {
    const char *column; /* which column; NULL: all that both profiles have */
    bool normalise;     /* scale the base so that both totals are equal: compares shares, not amounts */
};

/** Two trees give a profile of kind TARE_PROFILE_DIFF, two of caller pairs one of kind
 * TARE_PROFILE_DIFF_PAIRS, always with its four columns. What was scaled is said in a comment. */
int tare_profile_diff(const struct tare_profile *base, const struct tare_profile *now,
                      const struct tare_diff_options *options, struct tare_profile **ret_diff,
                      struct tare_error *err);

/** The column that a column of a difference is compared with, or TARE_NONE. */
uint32_t tare_diff_base(const struct tare_profile *diff, uint32_t column);

/** One side of a difference as a profile of its own, with all frames of the difference under their ids. */
int tare_diff_side(const struct tare_profile *diff, bool base, struct tare_profile **ret_side,
                   struct tare_error *err);

/** The difference of caller pairs as a difference of estimated trees of at most max_nodes nodes each. */
int tare_diff_estimate(const struct tare_profile *diff, uint32_t max_nodes, struct tare_profile **ret_tree,
                       struct tare_error *err);

#endif
