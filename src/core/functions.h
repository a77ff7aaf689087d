/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The per-function view of a profile, as cProfile has it: frames are merged by (file, first line, name), and
 * each function, and each pair of a caller and a function, has four figures.
 *
 * From a tree they are derived by cProfile's own rule: a call is primitive, and its time counts as
 * cumulative, when no outer activation of the same function (for a pair: of the same pair) is running. One
 * walk, O(nodes). From a profile of caller pairs the four explicit columns are taken as they are. Frames that
 * only carry labels are not functions.
 *
 * Texts point into the profile, which must not change meanwhile. Immutable once made; then thread-safe.
 */
#ifndef TARE_CORE_FUNCTIONS_H
#define TARE_CORE_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/profile.h"

/* The figures of a function or a pair. self and total are in the unit of the column. */
struct tare_figures {
    int64_t calls;     /* every call; 0 if the profile does not count them */
    int64_t primitive; /* calls not made while the same was already running */
    int64_t self;
    int64_t total; /* with all that was called */
};

struct tare_function {
    const char *file, *name;
    uint32_t file_length, name_length;
    uint32_t line;  /* first line; 0: unknown */
    uint32_t frame; /* the first frame of the profile that was merged into it */
    bool bare; /* a name without a file; file is then "~", as for builtins, but the name is all there is */
    bool unlisted; /* known only as somebody's caller: a .prof has no entry for it */
    struct tare_figures figures;
};

struct tare_function_pair {
    uint32_t caller, callee; /* functions */
    struct tare_figures figures;
};

struct tare_functions {
    const struct tare_profile *profile;
    uint32_t column;             /* whose values self and total are */
    bool has_calls;              /* calls and primitive are known */
    uint32_t count;              /* functions, in the order the profile has them */
    struct tare_function *items; /* count of them */
    uint32_t pair_count;
    struct tare_function_pair *pairs; /* in the order the profile has them */
    uint32_t *callers;                /* pairs, grouped by callee */
    uint32_t *first; /* count + 1: function f's pairs are callers[first[f]] up to callers[first[f + 1]] */
    int64_t self_sum, calls_sum, primitive_sum; /* over all functions */
};

/**
 * Make the view. column is the one to derive from (TARE_NONE: the profile's main one, or its time if the main
 * one counts calls); a profile of caller pairs has its four columns and ignores it. With strip_dirs files
 * lose their folders, and functions that become equal by that are added up, as pstats does.
 */
int tare_functions_init(struct tare_functions *functions, const struct tare_profile *profile, uint32_t column,
                        bool strip_dirs, struct tare_error *err);

/** Free it. */
void tare_functions_finish(struct tare_functions *functions);

/** How many seconds one unit of self and total is; 0 if they are not times. Multiplying gives the very floats
 * that cProfile makes of its nanoseconds. */
double tare_functions_seconds(const struct tare_functions *functions);

/** Is only the number of calls known of a pair? The pure-Python module profile keeps them so. */
bool tare_functions_counted(const struct tare_functions *functions, const struct tare_function_pair *pair);

/** Order two functions by (file, line, name), as Python orders such tuples. */
int tare_function_compare(const struct tare_function *a, const struct tare_function *b);

#endif
