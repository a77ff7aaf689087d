/* SPDX-License-Identifier: Apache-2.0 */
/* Columns, nodes and their values. */
#include "core/profile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "core/profile_impl.h"

uint64_t node_hash(uint32_t parent, uint32_t frame, uint32_t line)
{
    return tare_hash_mix(((uint64_t)parent << 32 | frame) + (uint64_t)line * 0x9e3779b97f4a7c15u);
}

static uint64_t node_hash_at(const struct tare_profile *profile, uint32_t index)
{
    const struct tare_node *node = &profile->nodes[index];
    return node_hash(node->parent, node->frame, node->line);
}

/* Append a node that is not there yet. */
static uint32_t node_append(struct tare_profile *profile, struct tare_node node, uint64_t hash)
{
    uint32_t count = profile->node_count;
    uint64_t width = profile->region->columns * sizeof(int64_t);
    if (profile->failed || profile->attached || count == TARE_NONE - 1)
        return TARE_NONE;
    struct section *nodes = &profile->region->sections[SECTION_NODES];
    struct section *values = &profile->region->sections[SECTION_VALUES];
    if (nodes->used + sizeof node > nodes->capacity || values->used + width > values->capacity) {
        uint64_t room = (uint64_t)count + count / 2 + 256;
        uint64_t capacity[SECTIONS] = {0};
        capacity[SECTION_NODES] = room * sizeof node;
        capacity[SECTION_VALUES] = room * width;
        if (tare_profile_relayout(profile, capacity) < 0)
            return TARE_NONE;
    }
    if (slots_add(profile, SECTION_NODE_SLOTS, count, count, hash, node_hash_at) < 0)
        return TARE_NONE;
    profile->nodes[count] = node;
    memset((unsigned char *)profile->values + count * width, 0, width);
    profile->region->sections[SECTION_NODES].used += sizeof node;
    profile->region->sections[SECTION_VALUES].used += width;
    profile->node_count = count + 1;
    return count;
}

int tare_profile_create(size_t cap, struct tare_profile **ret_profile, struct tare_error *err)
{
    struct tare_profile *profile = calloc(1, sizeof *profile);
    if (!profile)
        return tare_fail_memory(err);
    profile->cap = cap ? cap : SIZE_MAX;
    profile->size = 4096;
    _Static_assert(sizeof(struct region) <= 4096, "the header fits the first page");
    profile->base = mmap(NULL, profile->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (profile->base == MAP_FAILED) {
        free(profile);
        return tare_fail_memory(err);
    }
    struct region *region = (struct region *)(void *)profile->base;
    memcpy(region->magic, REGION_MAGIC, sizeof region->magic);
    region->order = REGION_ORDER;
    region->version = REGION_VERSION;
    region->size = profile->size;
    for (int i = 0; i < SECTIONS; i++)
        region->sections[i].offset = profile->size;
    tare_profile_rebase(profile);

    tare_profile_string(profile, "", 0);
    tare_profile_labels(profile, NULL, 0);
    node_append(profile, (struct tare_node){TARE_NONE, TARE_NONE, 0}, node_hash(TARE_NONE, TARE_NONE, 0));
    if (tare_profile_check(profile, err) < 0) {
        tare_profile_destroy(profile);
        return -1;
    }
    *ret_profile = profile;
    return 0;
}

void tare_profile_destroy(struct tare_profile *profile)
{
    if (!profile)
        return;
    if (!profile->attached)
        munmap(profile->base, profile->size);
    free(profile);
}

int tare_profile_check(const struct tare_profile *profile, struct tare_error *err)
{
    if (!profile->failed)
        return 0;
    if (err)
        *err = profile->error;
    return -1;
}

/* Make every node's row of values one wider, from the last row to the first because rows move up. */
static void widen(struct tare_profile *profile, uint32_t columns)
{
    for (uint32_t node = profile->node_count; node-- > 0;) {
        int64_t *to = profile->values + (uint64_t)node * (columns + 1);
        memmove(to, profile->values + (uint64_t)node * columns, columns * sizeof *to);
        to[columns] = 0;
    }
}

uint32_t tare_profile_add_column(struct tare_profile *profile, const char *name, const char *unit)
{
    uint32_t columns = profile->region->columns;
    for (uint32_t i = 0; i < columns; i++)
        if (strcmp(tare_profile_column_name(profile, i), name) == 0 &&
            strcmp(tare_profile_column_unit(profile, i), unit) == 0)
            return i;
    if (columns == TARE_COLUMNS_MAX) {
        struct tare_error err;
        tare_fail(&err, TARE_E_LIMIT, 0, "a profile has at most %d value columns", TARE_COLUMNS_MAX);
        tare_profile_fail(profile, &err);
        return TARE_NONE;
    }
    uint32_t name_id = tare_profile_intern(profile, name);
    uint32_t unit_id = tare_profile_intern(profile, unit);
    uint64_t more = (uint64_t)profile->node_count * sizeof(int64_t);
    if (tare_profile_room(profile, SECTION_VALUES, more) < 0)
        return TARE_NONE;
    widen(profile, columns);
    profile->region->sections[SECTION_VALUES].used += more;
    profile->region->column_name[columns] = name_id;
    profile->region->column_unit[columns] = unit_id;
    profile->region->columns = columns + 1;
    return columns;
}

uint32_t tare_profile_columns(const struct tare_profile *profile)
{
    return profile->region->columns;
}

const char *tare_profile_column_name(const struct tare_profile *profile, uint32_t column)
{
    return tare_profile_text(profile, profile->region->column_name[column]);
}

const char *tare_profile_column_unit(const struct tare_profile *profile, uint32_t column)
{
    return tare_profile_text(profile, profile->region->column_unit[column]);
}

uint32_t tare_profile_find_column(const struct tare_profile *profile, const char *name)
{
    for (uint32_t i = 0; i < profile->region->columns; i++)
        if (strcmp(tare_profile_column_name(profile, i), name) == 0)
            return i;
    return TARE_NONE;
}

uint32_t tare_profile_main_column(const struct tare_profile *profile)
{
    uint32_t columns = profile->region->columns;
    uint32_t chosen = profile->region->meta.default_column;
    uint32_t column =
        chosen ? tare_profile_find_column(profile, tare_profile_text(profile, chosen)) : TARE_NONE;
    if (column != TARE_NONE)
        return column;
    return columns ? columns - 1 : TARE_NONE;
}

/* The hot path: one hash, a short probe, one comparison. */
static inline uint32_t node_find(const struct tare_profile *profile, uint32_t parent, uint32_t frame,
                                 uint32_t line, uint64_t hash)
{
    uint64_t mask = profile->node_mask;
    uint64_t tag = hash >> 32;
    for (uint64_t at = hash & mask;; at = (at + 1) & mask) {
        uint64_t slot = profile->node_slots[at];
        if (slot == 0)
            return TARE_NONE;
        if (slot >> 32 != tag)
            continue;
        uint32_t index = (uint32_t)slot - 1;
        const struct tare_node *node = &profile->nodes[index];
        if (node->parent == parent && node->frame == frame && node->line == line)
            return index;
    }
}

uint32_t tare_profile_find_child(const struct tare_profile *profile, uint32_t parent, uint32_t frame,
                                 uint32_t line)
{
    return node_find(profile, parent, frame, line, node_hash(parent, frame, line));
}

uint32_t tare_profile_child(struct tare_profile *profile, uint32_t parent, uint32_t frame, uint32_t line)
{
    if (parent == TARE_NONE || frame == TARE_NONE)
        return TARE_NONE;
    uint64_t hash = node_hash(parent, frame, line);
    uint32_t found = node_find(profile, parent, frame, line, hash);
    if (found != TARE_NONE)
        return found;
    return node_append(profile, (struct tare_node){parent, frame, line}, hash);
}

uint32_t tare_profile_nodes(const struct tare_profile *profile)
{
    return profile->node_count;
}

const struct tare_node *tare_profile_node_at(const struct tare_profile *profile, uint32_t node)
{
    return &profile->nodes[node];
}

const int64_t *tare_profile_values(const struct tare_profile *profile, uint32_t node)
{
    return profile->values + (uint64_t)node * profile->region->columns;
}

void tare_profile_add(struct tare_profile *profile, uint32_t node, uint32_t column, int64_t value)
{
    if (node == TARE_NONE || column == TARE_NONE || profile->attached)
        return;
    int64_t *at = &profile->values[(uint64_t)node * profile->region->columns + column];
    if (__builtin_add_overflow(*at, value, at))
        *at = value < 0 ? INT64_MIN : INT64_MAX;
}

uint32_t tare_profile_root(struct tare_profile *profile, uint32_t labels)
{
    if (labels == 0)
        return 0;
    struct tare_frame frame = {.kind = TARE_FRAME_ROOT, .labels = labels};
    return labels == TARE_NONE ? TARE_NONE
                               : tare_profile_child(profile, 0, tare_profile_frame(profile, &frame), 0);
}

uint32_t tare_profile_labels_of(const struct tare_profile *profile, uint32_t node)
{
    uint32_t top = 0;
    while (node != 0) {
        top = node;
        node = profile->nodes[node].parent;
    }
    return top ? tare_profile_frame_at(profile, profile->nodes[top].frame)->labels : 0;
}

struct tare_profile_meta *tare_profile_meta(struct tare_profile *profile)
{
    return &profile->region->meta;
}

const struct tare_profile_meta *tare_profile_meta_const(const struct tare_profile *profile)
{
    return &profile->region->meta;
}

const void *tare_profile_region(const struct tare_profile *profile, size_t *ret_size)
{
    *ret_size = (size_t)profile->region->size;
    return profile->base;
}
