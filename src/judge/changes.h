/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Change points: where a series of figures, one a run, took another level, and where it drifts instead.
 * Candidates come from E-divisive splits in windows; Welch's test, its variances moderated, and a least size
 * merge what does not hold; a rank test must see the same place. No random numbers: the same series gives the
 * same answer. Figures are above 0. Pure functions.
 */
#ifndef TARE_JUDGE_CHANGES_H
#define TARE_JUDGE_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/* Zero means the default. */
struct tare_changes_rule {
    size_t window;    /* 50 */
    double p;         /* 0.001; splits are proposed at ten times as much */
    double magnitude; /* 0.03: a step of less is not reported */
    size_t after;     /* 6: so many points before and after it */
};

enum tare_change_kind { TARE_CHANGE_STEP, TARE_CHANGE_DRIFT };

struct tare_change {
    enum tare_change_kind kind;
    size_t first;         /* the first point of the new level; of a drift, where it begins */
    size_t last;          /* the last point of the new level, or of the drift */
    double before, after; /* means of the two levels; of a drift, where its line begins and ends */
    double ratio;         /* after / before */
    double per_point;     /* of a drift: change from one point to the next, 0.002 is 0.2 % */
    double p;
    bool gone; /* a later change brought the old level back */
};

/** Find them, in order. values has count finite figures above 0. */
int tare_changes_find(const double *values, size_t count, const struct tare_changes_rule *rule,
                      struct tare_arena *scratch, struct tare_change **ret_changes, size_t *ret_count,
                      struct tare_error *err);

#endif
