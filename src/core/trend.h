/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trends: one figure of one configuration on one machine, run after run, and where it changed. Flow makes
 * them of a folder of runs, reports draw them. Plain data; texts live in the arena the trends were made in.
 */
#ifndef TARE_CORE_TREND_H
#define TARE_CORE_TREND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* One run. */
struct tare_trend_point {
    double value;
    const char *run;       /* its file */
    const char *timestamp; /* RFC 3339 */
    const char *commit;    /* NULL if not known */
};

struct tare_trend_change {
    char id[9];           /* to acknowledge it by; the same as long as the run is */
    bool drift;           /* no step: it moves little by little */
    bool worse;           /* in the direction of cost */
    bool gone;            /* a later change brought the old level back */
    size_t first, last;   /* points of the new level, or of the drift */
    double before, after; /* levels */
    double ratio;         /* after / before */
    double per_run;       /* of a drift: 0.002 is 0.2 % a run */
    double p;
    const char *machine; /* what changed on the machine at the same time; NULL if nothing */
    const char *reason;  /* why it was acknowledged; NULL if it was not */
};

struct tare_trend {
    const char *benchmark, *configuration, *metric, *unit;
    const char *label;   /* the keys that tell it from the others */
    const char *machine; /* fingerprint; NULL if not known */
    bool higher_better;
    struct tare_trend_point *points;
    size_t count;
    struct tare_trend_change *changes;
    size_t changes_count;
};

struct tare_trends {
    struct tare_arena *arena;
    const char *folder;
    struct tare_trend *items;
    size_t count;
    size_t runs;    /* files read */
    size_t skipped; /* files that are not runs */
    const char *skipped_why;
};

#endif
