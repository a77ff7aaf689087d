/* SPDX-License-Identifier: Apache-2.0 */
/* A region from elsewhere: believe nothing until every index in it has been checked. */
#include <stdlib.h>
#include <string.h>

#include "core/profile_impl.h"

static int damaged(struct tare_error *err, const char *what)
{
    return tare_fail(err, TARE_E_INPUT, 0, "damaged profile region: %s", what);
}

static int check_header(const struct region *region, size_t size, struct tare_error *err)
{
    if (size < sizeof *region || memcmp(region->magic, REGION_MAGIC, sizeof region->magic) != 0)
        return damaged(err, "it does not begin like one");
    if (region->order != REGION_ORDER)
        return damaged(err, "it was written on a machine with another byte order");
    if (region->version != REGION_VERSION)
        return tare_fail(err, TARE_E_INPUT, 0, "profile region of layout %u; this tare reads layout %u",
                         region->version, REGION_VERSION);
    if (region->size > size || region->columns > TARE_COLUMNS_MAX)
        return damaged(err, "it is cut short");
    uint64_t end = sizeof *region;
    for (int i = 0; i < SECTIONS; i++) {
        const struct section *section = &region->sections[i];
        if (section->offset < end || section->offset % 8 != 0 || section->used > section->capacity ||
            section->offset > region->size || section->capacity > region->size - section->offset)
            return damaged(err, "its sections overlap or run past its end");
        end = section->offset + section->capacity;
    }
    return 0;
}

static int check_slots(const struct tare_profile *profile, enum section_id id, uint32_t count,
                       struct tare_error *err)
{
    uint64_t slots = section_used(profile, id) / sizeof(uint64_t);
    const uint64_t *table = section_data(profile, id);
    if (slots == 0 || (slots & (slots - 1)) != 0 || count >= slots)
        return damaged(err, "a search table has a wrong size");
    uint64_t filled = 0;
    for (uint64_t i = 0; i < slots; i++) {
        filled += table[i] != 0;
        if ((uint32_t)table[i] > count)
            return damaged(err, "a search table points nowhere");
    }
    /* An empty slot must be left, or a search would never end. */
    return filled < slots ? 0 : damaged(err, "a search table is full");
}

static int check_strings(const struct tare_profile *profile, uint32_t count, struct tare_error *err)
{
    const struct string *strings = section_data(profile, SECTION_STRINGS);
    const char *text = section_data(profile, SECTION_TEXT);
    uint64_t bytes = section_used(profile, SECTION_TEXT);
    for (uint32_t i = 0; i < count; i++)
        if ((uint64_t)strings[i].offset + strings[i].length >= bytes ||
            text[strings[i].offset + strings[i].length] != 0)
            return damaged(err, "a string runs past the end");
    if (count == 0 || strings[0].length != 0)
        return damaged(err, "its first string is not empty");
    return 0;
}

static int check_list(const struct tare_profile *profile, enum section_id id, uint32_t strings,
                      struct tare_error *err)
{
    const uint32_t *list = section_data(profile, id);
    for (uint64_t i = 0; i < section_used(profile, id) / sizeof *list; i++)
        if (list[i] >= strings)
            return damaged(err, "a comment is missing");
    return 0;
}

static int check_labels(const struct tare_profile *profile, uint32_t strings, struct tare_error *err)
{
    const struct tare_label *labels = section_data(profile, SECTION_LABELS);
    uint64_t count = section_used(profile, SECTION_LABELS) / sizeof *labels;
    for (uint64_t i = 0; i < count; i++)
        if (labels[i].key >= strings || labels[i].text >= strings || labels[i].unit >= strings)
            return damaged(err, "a label names a missing string");
    const struct label_set *sets = section_data(profile, SECTION_SETS);
    uint64_t set_count = section_used(profile, SECTION_SETS) / sizeof *sets;
    for (uint64_t i = 0; i < set_count; i++)
        if ((uint64_t)sets[i].first + sets[i].count > count)
            return damaged(err, "a set names missing labels");
    return set_count ? 0 : damaged(err, "it has no label sets");
}

static int check_frames(const struct tare_profile *profile, uint32_t strings, struct tare_error *err)
{
    uint64_t sets = section_used(profile, SECTION_SETS) / sizeof(struct label_set);
    uint32_t mappings = tare_profile_mappings(profile);
    for (uint32_t i = 0; i < tare_profile_frames(profile); i++) {
        const struct tare_frame *frame = tare_profile_frame_at(profile, i);
        if (frame->name >= strings || frame->qualname >= strings || frame->file >= strings ||
            frame->module >= strings || frame->labels >= sets || frame->mapping > mappings)
            return damaged(err, "a frame names something that is missing");
    }
    for (uint32_t i = 1; i <= mappings; i++) {
        const struct tare_mapping *mapping = tare_profile_mapping_at(profile, i);
        if (mapping->file >= strings || mapping->build_id >= strings)
            return damaged(err, "a mapping names a missing string");
    }
    return 0;
}

static int check_nodes(const struct tare_profile *profile, struct tare_error *err)
{
    uint32_t frames = tare_profile_frames(profile);
    const struct tare_node *nodes = profile->nodes;
    if (profile->node_count == 0 || nodes[0].parent != TARE_NONE)
        return damaged(err, "it has no root");
    if (section_used(profile, SECTION_VALUES) / sizeof(int64_t) <
        (uint64_t)profile->node_count * profile->region->columns)
        return damaged(err, "values are missing");
    for (uint32_t i = 1; i < profile->node_count; i++)
        if (nodes[i].parent >= i || nodes[i].frame >= frames)
            return damaged(err, "a node names a missing parent or frame");
    return 0;
}

static int check_meta(const struct tare_profile *profile, uint32_t strings, struct tare_error *err)
{
    const struct tare_profile_meta *meta = &profile->region->meta;
    const uint32_t named[] = {meta->period_type, meta->period_unit, meta->default_column,
                              meta->drop_frames, meta->keep_frames, meta->doc_url};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (named[i] >= strings)
            return damaged(err, "its metadata names a missing string");
    for (uint32_t i = 0; i < profile->region->columns; i++)
        if (profile->region->column_name[i] >= strings || profile->region->column_unit[i] >= strings)
            return damaged(err, "a column has no name");
    return meta->kind <= TARE_PROFILE_DIFF_PAIRS ? 0 : damaged(err, "its kind is unknown");
}

static int check_all(const struct tare_profile *profile, struct tare_error *err)
{
    uint32_t strings = tare_profile_strings(profile);
    uint32_t sets = (uint32_t)(section_used(profile, SECTION_SETS) / sizeof(struct label_set));
    if (check_strings(profile, strings, err) < 0 || check_meta(profile, strings, err) < 0 ||
        check_list(profile, SECTION_COMMENTS, strings, err) < 0 ||
        check_list(profile, SECTION_NOTES, strings, err) < 0 || check_labels(profile, strings, err) < 0 ||
        check_frames(profile, strings, err) < 0 || check_nodes(profile, err) < 0)
        return -1;
    if (check_slots(profile, SECTION_STRING_SLOTS, strings, err) < 0 ||
        check_slots(profile, SECTION_SET_SLOTS, sets, err) < 0 ||
        check_slots(profile, SECTION_NODE_SLOTS, profile->node_count, err) < 0)
        return -1;
    uint32_t frames = tare_profile_frames(profile);
    return frames ? check_slots(profile, SECTION_FRAME_SLOTS, frames, err) : 0;
}

int tare_profile_attach(const void *region, size_t size, struct tare_profile **ret_profile,
                        struct tare_error *err)
{
    if ((uintptr_t)region % 8 != 0)
        return tare_fail(err, TARE_E_USAGE, 0, "a profile region must be 8-byte aligned");
    if (check_header(region, size, err) < 0)
        return -1;
    struct tare_profile *profile = calloc(1, sizeof *profile);
    if (!profile)
        return tare_fail_memory(err);
    /* Nothing writes through it: every call that adds refuses an attached profile. */
    union {
        const void *given;
        unsigned char *kept;
    } base = {.given = region};
    profile->base = base.kept;
    profile->size = size;
    profile->attached = true;
    tare_profile_rebase(profile);
    if (check_all(profile, err) < 0) {
        free(profile);
        return -1;
    }
    *ret_profile = profile;
    return 0;
}
