/* SPDX-License-Identifier: Apache-2.0 */
#include "report/svg_layout.h"

#include <stdlib.h>

static const double narrowest_px = 0.1;

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Each node's value with all below it, values below zero taken as none; NULL without memory. */
static int64_t *positive_totals(const struct tare_profile *profile, uint32_t column, bool *negative)
{
    uint32_t count = tare_profile_nodes(profile);
    int64_t *totals = calloc(count, sizeof *totals);
    if (!totals)
        return NULL;
    for (uint32_t n = 0; n < count; n++) {
        int64_t value = tare_profile_values(profile, n)[column];
        if (value < 0)
            *negative = true;
        totals[n] = value < 0 ? 0 : value;
    }
    for (uint32_t n = count; n-- > 1;) {
        uint32_t parent = tare_profile_node_at(profile, n)->parent;
        totals[parent] = add(totals[parent], totals[n]);
    }
    return totals;
}

static int compare_descending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static int choose_threshold(struct tare_svg_layout *layout, struct tare_error *err)
{
    uint32_t count = layout->stacks.tree.count, wide = 0;
    double smallest = layout->scale > 0 ? narrowest_px / layout->scale : 1;
    layout->threshold = smallest > 1 ? (int64_t)smallest : 1;
    for (uint32_t n = 0; n < count; n++) {
        layout->drawable += layout->totals[n] > 0;
        wide += layout->totals[n] >= layout->threshold;
    }
    if (wide <= TARE_SVG_FRAMES)
        return 0;
    int64_t *sorted = malloc((size_t)wide * sizeof *sorted);
    if (!sorted)
        return tare_fail_memory(err);
    uint32_t filled = 0;
    for (uint32_t n = 0; n < count; n++)
        if (layout->totals[n] >= layout->threshold)
            sorted[filled++] = layout->totals[n];
    qsort(sorted, wide, sizeof *sorted, compare_descending);
    layout->threshold = add(sorted[TARE_SVG_FRAMES], 1);
    free(sorted);
    return 0;
}

/* Visit what is drawn and, if given, what is not, where it begins. */
static void visit(const struct tare_svg_layout *layout,
                  void (*draw)(void *context, uint32_t node, uint32_t row, int64_t start),
                  void (*skip)(void *context, uint32_t node), void *context)
{
    int64_t next[TARE_SVG_ROWS + 1]; /* where the next frame of a row begins */
    struct tare_walk walk = tare_walk_begin(&layout->stacks.tree);
    next[0] = 0;
    while (tare_walk_next(&walk)) {
        if (!walk.entering)
            continue;
        int64_t total = layout->totals[walk.node];
        if (walk.depth < TARE_SVG_ROWS && total >= layout->threshold) {
            int64_t start = next[walk.depth];
            next[walk.depth] = add(start, total);
            next[walk.depth + 1] = start;
            draw(context, walk.node, walk.depth, start);
        } else {
            if (skip)
                skip(context, walk.node);
            walk.entering = false; /* pass over all below it */
        }
    }
}

/* What is drawn and what is not, while it is counted. */
struct tally {
    const struct tare_svg_layout *layout;
    uint32_t drawn, rows, gone_count;
    int64_t left_out, gone;
};

static void count_drawn(void *context, uint32_t node, uint32_t row, int64_t start)
{
    struct tally *tally = context;
    (void)node;
    (void)start;
    tally->drawn++;
    if (row >= tally->rows)
        tally->rows = row + 1;
}

static void count_skipped(void *context, uint32_t node)
{
    struct tally *tally = context;
    const struct tare_svg_layout *layout = tally->layout;
    tally->left_out = add(tally->left_out, layout->totals[node]);
    if (layout->before && layout->totals[node] == 0 && layout->before[node] > 0) {
        tally->gone = add(tally->gone, layout->before[node]);
        tally->gone_count++;
    }
}

int tare_svg_layout_init(struct tare_svg_layout *layout, const struct tare_profile *profile,
                         const struct tare_view *view, double width, struct tare_error *err)
{
    struct tare_svg_layout made = {0};
    int64_t *totals = NULL, *before = NULL;
    if (tare_stacks_init(&made.stacks, profile, view, false, err) < 0)
        return -1;
    const struct tare_stacks *stacks = &made.stacks;
    totals = positive_totals(stacks->profile, stacks->column, &made.negative);
    if (stacks->base != TARE_NONE)
        before = positive_totals(stacks->profile, stacks->base, &made.negative);
    if (!totals || (stacks->base != TARE_NONE && !before)) {
        tare_fail_memory(err);
        goto out;
    }
    tare_stacks_sort(&made.stacks, totals);
    made.totals = totals;
    made.before = before;
    made.total = totals[0];
    made.total_before = before ? before[0] : 0;
    made.scale = made.total > 0 ? width / (double)made.total : 0;
    if (choose_threshold(&made, err) < 0)
        goto out;
    struct tally tally = {.layout = &made};
    visit(&made, count_drawn, count_skipped, &tally);
    made.drawn = tally.drawn;
    made.rows = tally.rows;
    made.left_out = tally.left_out;
    made.gone = tally.gone;
    made.gone_count = tally.gone_count;
    *layout = made;
    return 0;
out:
    free(totals);
    free(before);
    tare_stacks_finish(&made.stacks);
    return -1;
}

void tare_svg_layout_finish(struct tare_svg_layout *layout)
{
    free(layout->totals);
    free(layout->before);
    tare_stacks_finish(&layout->stacks);
}

void tare_svg_layout_each(const struct tare_svg_layout *layout,
                          void (*draw)(void *context, uint32_t node, uint32_t row, int64_t start),
                          void *context)
{
    visit(layout, draw, NULL, context);
}
