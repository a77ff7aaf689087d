/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the frames of a flame graph go: which are drawn, in which row, from where to where. A frame is as
 * wide as its value with all below it; values below zero have no width. Frames narrower than 0.1 px and rows
 * below the lowest are left out, and so are the smallest of too many frames for a browser to open. Immutable
 * once made.
 */
#ifndef TARE_REPORT_SVG_LAYOUT_H
#define TARE_REPORT_SVG_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "report/report.h"
#include "report/stacks.h"

enum {
    TARE_SVG_ROWS = 1000,
    TARE_SVG_FRAMES = 20000,
};

struct tare_svg_layout {
    struct tare_stacks stacks; /* siblings sorted by width */
    int64_t *totals;           /* per node: its width, in the column's unit */
    int64_t *before;           /* of a difference: the same for the base, else NULL */
    int64_t total, total_before;
    double scale;      /* px per unit */
    int64_t threshold; /* the smallest total that is drawn */
    uint32_t drawable; /* nodes with any width */
    uint32_t drawn;    /* of those */
    uint32_t rows;     /* used */
    int64_t left_out;  /* value of what is not drawn, counted where it begins */
    int64_t gone;      /* of a difference: the base's value of contexts that are no more, counted likewise */
    uint32_t gone_count; /* how many of these begin */
    bool negative;       /* there were values below zero */
};

/** Make it for frames that fill width px. */
int tare_svg_layout_init(struct tare_svg_layout *layout, const struct tare_profile *profile,
                         const struct tare_view *view, double width, struct tare_error *err);

/** Free it. */
void tare_svg_layout_finish(struct tare_svg_layout *layout);

/** Call draw for each frame that is drawn, a parent before its children; start is in the column's unit. */
void tare_svg_layout_each(const struct tare_svg_layout *layout,
                          void (*draw)(void *context, uint32_t node, uint32_t row, int64_t start),
                          void *context);

#endif
