/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile: a calling-context tree. Deterministic profiles, samples and allocations are all this one noun,
 * so that any collector feeds any view.
 *
 * A frame says what runs; a node says in which context: (parent, frame, line). Node 0 is the root of
 * everything and has no frame. A frame of kind TARE_FRAME_ROOT carries a set of labels (process, thread,
 * rank...) and stands only under node 0. Each node has one value per column: its own share, without its
 * children; totals are a view (core/tree.h).
 *
 * Invariants: a parent's index is smaller than its children's, so one pass forwards sees parents first and
 * one pass backwards sees children first; (parent, frame, line) names at most one node; equal frames are one
 * frame. Two functions whose fields are all equal and that are still two (two code objects made by one source
 * line) differ in `twin`.
 *
 * Everything lives in one contiguous region and is linked by 32-bit index, never by pointer: it can be
 * copied, mapped at another address, or written to a file as it is. Pointers handed out are valid until the
 * next call that may add something.
 *
 * A call that adds and fails (no memory, cap reached) is remembered and returns TARE_NONE, which every call
 * accepts and ignores: check once, at the end, with tare_profile_check. Not thread-safe; const calls may run
 * side by side.
 */
#ifndef TARE_CORE_PROFILE_H
#define TARE_CORE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TARE_NONE UINT32_MAX

enum {
    TARE_COLUMNS_MAX = 16,
    TARE_LABELS_MAX = 64, /* in one set */
};

enum tare_frame_kind {
    TARE_FRAME_OTHER = 0, /* a foreign file did not say */
    TARE_FRAME_ROOT,      /* carries labels; only under node 0 */
    TARE_FRAME_PYTHON,
    TARE_FRAME_BUILTIN, /* a C function called from Python, named as cProfile names it */
    TARE_FRAME_NATIVE,
    TARE_FRAME_SPAN, /* a named region of the user's own */
    TARE_FRAME_MARK, /* made by tare: <truncated>, <gap> */
};

enum { TARE_FRAME_INLINED = 1 }; /* flag: inlined into its parent, with which it shares an address */

/* What runs. name, qualname, file and module are strings of the profile (0 is ""). */
struct tare_frame {
    uint8_t kind;
    uint8_t flags;
    uint16_t reserved; /* 0 */
    uint32_t name;
    uint32_t qualname;
    uint32_t file;
    uint32_t module;
    uint32_t first_line; /* 0: unknown */
    uint32_t mapping;    /* 1 for the profile's first mapping; 0: none */
    uint32_t labels;     /* of a TARE_FRAME_ROOT: its set; else 0 */
    uint32_t twin;       /* 0, or tells frames apart that are otherwise equal */
    uint32_t reserved2;  /* 0 */
    uint64_t address;    /* 0: unknown */
};

struct tare_node {
    uint32_t parent; /* TARE_NONE for node 0 */
    uint32_t frame;  /* TARE_NONE for node 0 */
    uint32_t line;   /* where in the frame; 0: unknown */
};

/* A loaded object, as pprof describes it. */
struct tare_mapping {
    uint64_t start, limit, offset;
    uint32_t file, build_id; /* strings */
    uint32_t flags;          /* TARE_MAPPING_* */
    uint32_t reserved;
};

enum {
    TARE_MAPPING_FUNCTIONS = 1,
    TARE_MAPPING_FILENAMES = 2,
    TARE_MAPPING_LINES = 4,
    TARE_MAPPING_INLINES = 8,
};

/* One label: text, or a number with a unit (text is then 0 and numeric is 1). */
struct tare_label {
    uint32_t key, text, unit; /* strings */
    uint32_t numeric;
    int64_t number;
};

/* What the contexts are. */
enum tare_profile_kind {
    TARE_PROFILE_TREE = 0, /* whole stacks */
    /* Caller pairs, as cProfile keeps them: every context is a function, or a caller and a function. The four
     * columns "calls", "primitive_calls", "tottime" and "cumtime" are explicit; nothing is derived from the
     * tree. A pair's values are on the node of depth two; a function's node of depth one holds what its pairs
     * leave over (calls from nowhere; may be negative), so that a function's figure is the sum over the nodes
     * that end in it. */
    TARE_PROFILE_PAIRS,
    /* A difference of trees (core/diff.h): the columns come in pairs, "base:X" then "X". */
    TARE_PROFILE_DIFF,
    /* A difference of caller pairs: contexts as in TARE_PROFILE_PAIRS, columns as in TARE_PROFILE_DIFF. */
    TARE_PROFILE_DIFF_PAIRS,
};

/* What a file says about the whole profile; strings are the profile's. */
struct tare_profile_meta {
    int64_t time_ns;     /* when it began, since 1970; 0: unknown */
    int64_t duration_ns; /* 0: unknown */
    int64_t period;      /* sampling period; 0: none */
    uint32_t period_type, period_unit;
    uint32_t default_column; /* a string: the column's name, 0: not said */
    uint32_t drop_frames, keep_frames, doc_url;
    uint32_t kind;      /* enum tare_profile_kind */
    uint32_t estimated; /* 1: stacks were estimated from caller pairs */
};

struct tare_profile;

/** An empty profile: node 0, no columns. cap bounds its memory in bytes, 0 for no bound. */
int tare_profile_create(size_t cap, struct tare_profile **ret_profile, struct tare_error *err);

/** Free it; NULL is allowed. */
void tare_profile_destroy(struct tare_profile *profile);

/** 0 if everything that was added so far is in it. */
int tare_profile_check(const struct tare_profile *profile, struct tare_error *err);

/** Add a column, with zero in every node; an existing one with this name and unit is returned. TARE_NONE on
 * failure. */
uint32_t tare_profile_add_column(struct tare_profile *profile, const char *name, const char *unit);

uint32_t tare_profile_columns(const struct tare_profile *profile);                         /**< How many. */
const char *tare_profile_column_name(const struct tare_profile *profile, uint32_t column); /**< "wall" */
const char *tare_profile_column_unit(const struct tare_profile *profile,
                                     uint32_t column); /**< "nanoseconds" */

/** The column of that name, or TARE_NONE. */
uint32_t tare_profile_find_column(const struct tare_profile *profile, const char *name);

/** The column that a view shows when nobody chose: the profile's own default, else the last. TARE_NONE if
 * there is none. */
uint32_t tare_profile_main_column(const struct tare_profile *profile);

/** The id of a string, added if new; "" is 0. Embedded NULs are kept, but text() ends at them. text must
 * not lie in this profile's own region. */
uint32_t tare_profile_string(struct tare_profile *profile, const char *text, size_t length);

/** The id of a NUL-terminated string; NULL is "". */
uint32_t tare_profile_intern(struct tare_profile *profile, const char *text);

/** The text of a string id; "" for TARE_NONE. */
const char *tare_profile_text(const struct tare_profile *profile, uint32_t string);

/** Its length in bytes. */
size_t tare_profile_text_length(const struct tare_profile *profile, uint32_t string);

uint32_t tare_profile_strings(
    const struct tare_profile *profile); /**< How many; ids are 0 to that less one. */

/** The id of a frame, added if new. */
uint32_t tare_profile_frame(struct tare_profile *profile, const struct tare_frame *frame);

/** A Python or other function in one call. */
uint32_t tare_profile_function(struct tare_profile *profile, enum tare_frame_kind kind, const char *name,
                               const char *file, uint32_t first_line);

uint32_t tare_profile_frames(
    const struct tare_profile *profile); /**< How many; ids are 0 to that less one. */
const struct tare_frame *tare_profile_frame_at(const struct tare_profile *profile, uint32_t frame);

/** The id of a set of labels, added if new; order does not matter. The empty set is 0. */
uint32_t tare_profile_labels(struct tare_profile *profile, const struct tare_label *labels, size_t count);

/** The labels of a set, in one order whatever order they were given in. */
const struct tare_label *tare_profile_labels_at(const struct tare_profile *profile, uint32_t set,
                                                size_t *ret_count);

/** The node under node 0 that carries a set of labels, added if new; node 0 itself for the empty set. */
uint32_t tare_profile_root(struct tare_profile *profile, uint32_t labels);

/** Add a mapping; returns its number, from 1. */
uint32_t tare_profile_add_mapping(struct tare_profile *profile, const struct tare_mapping *mapping);

uint32_t tare_profile_mappings(const struct tare_profile *profile);
const struct tare_mapping *tare_profile_mapping_at(const struct tare_profile *profile, uint32_t number);

/** The child of parent with that frame and line, added if new. */
uint32_t tare_profile_child(struct tare_profile *profile, uint32_t parent, uint32_t frame, uint32_t line);

/** The same without adding; TARE_NONE if there is none. */
uint32_t tare_profile_find_child(const struct tare_profile *profile, uint32_t parent, uint32_t frame,
                                 uint32_t line);

uint32_t tare_profile_nodes(const struct tare_profile *profile); /**< How many, node 0 included. */
const struct tare_node *tare_profile_node_at(const struct tare_profile *profile, uint32_t node);

/** The values of a node, one per column. */
const int64_t *tare_profile_values(const struct tare_profile *profile, uint32_t node);

/** Add to one value; saturates instead of overflowing. */
void tare_profile_add(struct tare_profile *profile, uint32_t node, uint32_t column, int64_t value);

/** The labels of the thread a node belongs to: the set of its TARE_FRAME_ROOT ancestor, else 0. O(depth). */
uint32_t tare_profile_labels_of(const struct tare_profile *profile, uint32_t node);

/** What is said about the whole; may be changed in place. */
struct tare_profile_meta *tare_profile_meta(struct tare_profile *profile);
const struct tare_profile_meta *tare_profile_meta_const(const struct tare_profile *profile);

/** Add a comment: metadata that travels with the profile, in pprof files too. */
void tare_profile_add_comment(struct tare_profile *profile, const char *text, size_t length);
uint32_t tare_profile_comments(const struct tare_profile *profile);
uint32_t tare_profile_comment_at(const struct tare_profile *profile, uint32_t index); /**< A string. */

/** Say something to the user about this profile (what a reader dropped); it does not travel into files. */
void tare_profile_note(struct tare_profile *profile, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
uint32_t tare_profile_notes(const struct tare_profile *profile);
const char *tare_profile_note_at(const struct tare_profile *profile, uint32_t index);

/** Add all of src to dst: columns by name and unit, frames by what they are. O(nodes of src). */
int tare_profile_merge(struct tare_profile *dst, const struct tare_profile *src, struct tare_error *err);

/** The region itself: these bytes are the profile. */
const void *tare_profile_region(const struct tare_profile *profile, size_t *ret_size);

/** Use a region that lies at any 8-byte aligned address and stays the caller's. It is checked whole, and
 * cannot be added to. */
int tare_profile_attach(const void *region, size_t size, struct tare_profile **ret_profile,
                        struct tare_error *err);

#endif
