/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile's nodes with their children: what views walk. Built in two passes, valid as long as the profile
 * is not changed. Thread-safe once built.
 */
#ifndef TARE_CORE_TREE_H
#define TARE_CORE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/profile.h"

struct tare_tree {
    const struct tare_profile *profile;
    uint32_t count;     /* nodes */
    uint32_t *first;    /* count + 1: node n's children are children[first[n]] up to children[first[n + 1]] */
    uint32_t *children; /* grouped by parent, in order of addition */
    uint32_t *place;    /* where a node stands in children */
};

/* A walk down and up again: each node is entered, then its children are walked, then it is left. */
struct tare_walk {
    const struct tare_tree *tree;
    uint32_t node;  /* where we are */
    uint32_t depth; /* 0 at node 0 */
    bool entering;
    bool started;
};

/** Build it. */
int tare_tree_init(struct tare_tree *tree, const struct tare_profile *profile, struct tare_error *err);

/** Free it. */
void tare_tree_finish(struct tare_tree *tree);

/** A node's value in a column with all below it, for every node; free() it. */
int tare_tree_totals(const struct tare_profile *profile, uint32_t column, int64_t **ret_totals,
                     struct tare_error *err);

/** Begin a walk at node 0. */
struct tare_walk tare_walk_begin(const struct tare_tree *tree);

/** The next step: false at the end. walk->node, walk->depth and walk->entering say what it is. Needs no
 * memory. */
bool tare_walk_next(struct tare_walk *walk);

#endif
