/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tree.h"

#include <stdlib.h>

int tare_tree_init(struct tare_tree *tree, const struct tare_profile *profile, struct tare_error *err)
{
    uint32_t count = tare_profile_nodes(profile);
    struct tare_tree made = {.profile = profile, .count = count};
    made.first = calloc((size_t)count + 2, sizeof *made.first);
    made.children = malloc((size_t)count * sizeof *made.children);
    made.place = malloc((size_t)count * sizeof *made.place);
    if (!made.first || !made.children || !made.place) {
        tare_tree_finish(&made);
        return tare_fail_memory(err);
    }
    /* Count one place further along than needed, so that filling leaves every entry where it belongs. */
    for (uint32_t node = 1; node < count; node++)
        made.first[tare_profile_node_at(profile, node)->parent + 2]++;
    for (uint32_t node = 0; node < count; node++)
        made.first[node + 1] += made.first[node];
    for (uint32_t node = 1; node < count; node++) {
        uint32_t place = made.first[tare_profile_node_at(profile, node)->parent + 1]++;
        made.children[place] = node;
        made.place[node] = place;
    }
    made.place[0] = 0;
    *tree = made;
    return 0;
}

void tare_tree_finish(struct tare_tree *tree)
{
    free(tree->first);
    free(tree->children);
    free(tree->place);
    *tree = (struct tare_tree){0};
}

int tare_tree_totals(const struct tare_profile *profile, uint32_t column, int64_t **ret_totals,
                     struct tare_error *err)
{
    uint32_t count = tare_profile_nodes(profile);
    int64_t *totals = malloc((size_t)count * sizeof *totals);
    if (!totals)
        return tare_fail_memory(err);
    for (uint32_t node = 0; node < count; node++)
        totals[node] = tare_profile_values(profile, node)[column];
    for (uint32_t node = count; node-- > 1;) {
        int64_t *parent = &totals[tare_profile_node_at(profile, node)->parent];
        if (__builtin_add_overflow(*parent, totals[node], parent))
            *parent = totals[node] < 0 ? INT64_MIN : INT64_MAX;
    }
    *ret_totals = totals;
    return 0;
}

struct tare_walk tare_walk_begin(const struct tare_tree *tree)
{
    return (struct tare_walk){.tree = tree};
}

bool tare_walk_next(struct tare_walk *walk)
{
    const struct tare_tree *tree = walk->tree;
    if (!walk->started) {
        walk->started = walk->entering = true;
        return true;
    }
    if (walk->entering) {
        uint32_t child = tree->first[walk->node];
        if (child < tree->first[walk->node + 1]) {
            walk->node = tree->children[child];
            walk->depth++;
        } else {
            walk->entering = false;
        }
        return true;
    }
    if (walk->node == 0)
        return false;
    uint32_t parent = tare_profile_node_at(tree->profile, walk->node)->parent;
    uint32_t next = tree->place[walk->node] + 1;
    if (next < tree->first[parent + 1]) {
        walk->node = tree->children[next];
        walk->entering = true;
    } else {
        walk->node = parent;
        walk->depth--;
    }
    return true;
}
