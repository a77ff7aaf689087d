/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the profile: the layout of its region. Only src/core/profile*.c includes this.
 *
 * A region is a header followed by sections. A section has an offset, a capacity and a number of bytes in
 * use; growing one moves those behind it, so the sections that grow together stand at the end and are grown
 * in one move. Tables that are searched have a section of slots beside them: a power of two of 64-bit words,
 * high half the hash, low half index + 1, 0 for empty, probed in line.
 */
#ifndef TARE_CORE_PROFILE_IMPL_H
#define TARE_CORE_PROFILE_IMPL_H

#include "core/profile.h"

enum section_id {
    SECTION_COMMENTS, /* uint32_t strings */
    SECTION_NOTES,    /* uint32_t strings */
    SECTION_MAPPINGS, /* struct tare_mapping */
    SECTION_LABELS,   /* struct tare_label */
    SECTION_SETS,     /* struct label_set */
    SECTION_SET_SLOTS,
    SECTION_TEXT,    /* the bytes of strings, each ending in NUL */
    SECTION_STRINGS, /* struct string */
    SECTION_STRING_SLOTS,
    SECTION_FRAMES, /* struct tare_frame */
    SECTION_FRAME_SLOTS,
    SECTION_NODES,  /* struct tare_node */
    SECTION_VALUES, /* int64_t, one per column and node */
    SECTION_NODE_SLOTS,
    SECTIONS,
};

struct section {
    uint64_t offset, capacity, used; /* bytes */
};

struct string {
    uint32_t offset, length; /* in SECTION_TEXT */
};

struct label_set {
    uint32_t first, count;
};

#define REGION_MAGIC   "tareprf"
#define REGION_ORDER   0x01020304u
#define REGION_VERSION 1u

struct region {
    char magic[8];
    uint32_t order; /* REGION_ORDER as the writer's machine stores it */
    uint32_t version;
    uint64_t size;
    uint32_t columns;
    uint32_t reserved;
    uint32_t column_name[TARE_COLUMNS_MAX];
    uint32_t column_unit[TARE_COLUMNS_MAX];
    struct tare_profile_meta meta;
    struct section sections[SECTIONS];
};

struct tare_profile {
    unsigned char *base; /* the region */
    size_t size;         /* bytes mapped */
    size_t cap;
    bool attached; /* the region is somebody else's, and read-only */
    bool failed;
    struct tare_error error;
    /* Into the region, set again whenever it moves. */
    struct region *region;
    struct tare_node *nodes;
    int64_t *values;
    uint64_t *node_slots;
    uint64_t node_mask;
    uint32_t node_count;
};

/** Set the pointers into the region again. */
void tare_profile_rebase(struct tare_profile *profile);

/** Keep the first failure. */
void tare_profile_fail(struct tare_profile *profile, const struct tare_error *err);

/** Give sections new capacities (0: unchanged) in one move. -1 leaves everything as it was, and is
 * remembered. */
int tare_profile_relayout(struct tare_profile *profile, const uint64_t capacity[SECTIONS]);

/** Make room for bytes more in a section. */
int tare_profile_room(struct tare_profile *profile, enum section_id id, uint64_t bytes);

/** Where a section's bytes are. */
static inline void *section_data(const struct tare_profile *profile, enum section_id id)
{
    return profile->base + profile->region->sections[id].offset;
}

/** Bytes in use. */
static inline uint64_t section_used(const struct tare_profile *profile, enum section_id id)
{
    return profile->region->sections[id].used;
}

/* A search among slots: start, then next until it returns 0 (an empty slot, at `at`). */
struct probe {
    const uint64_t *slots;
    uint64_t mask, at;
    uint32_t tag;
};

/** Begin a search in a slots section that is not empty. */
struct probe probe_begin(const struct tare_profile *profile, enum section_id slots, uint64_t hash);

/** The next entry whose hash agrees, as index + 1; 0 when there is none. */
uint32_t probe_next(struct probe *probe);

/** Put index into the slots, growing them if needed; hash_of gives the hash of entry i when they are filled
 * anew. */
int slots_add(struct tare_profile *profile, enum section_id slots, uint32_t count, uint32_t index,
              uint64_t hash, uint64_t (*hash_of)(const struct tare_profile *profile, uint32_t index));

/** The hash that places a node. */
uint64_t node_hash(uint32_t parent, uint32_t frame, uint32_t line);

#endif
