/* SPDX-License-Identifier: Apache-2.0 */
/* The region: one anonymous mapping that grows, and the slots that make its tables searchable. */
#include "core/profile_impl.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static uint64_t page_up(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

void tare_profile_rebase(struct tare_profile *profile)
{
    profile->region = (struct region *)(void *)profile->base;
    profile->nodes = section_data(profile, SECTION_NODES);
    profile->values = section_data(profile, SECTION_VALUES);
    profile->node_slots = section_data(profile, SECTION_NODE_SLOTS);
    uint64_t slots = section_used(profile, SECTION_NODE_SLOTS) / sizeof(uint64_t);
    profile->node_mask = slots ? slots - 1 : 0;
    profile->node_count = (uint32_t)(section_used(profile, SECTION_NODES) / sizeof(struct tare_node));
}

void tare_profile_fail(struct tare_profile *profile, const struct tare_error *err)
{
    if (profile->failed)
        return;
    profile->failed = true;
    profile->error = *err;
}

static int remember(struct tare_profile *profile, enum tare_code code, int sys, const char *what)
{
    struct tare_error err;
    tare_fail(&err, code, sys, "%s", what);
    tare_profile_fail(profile, &err);
    return -1;
}

int tare_profile_relayout(struct tare_profile *profile, const uint64_t capacity[SECTIONS])
{
    if (profile->failed)
        return -1;
    if (profile->attached)
        return remember(profile, TARE_E_USAGE, 0, "an attached profile cannot be added to");
    struct section next[SECTIONS];
    uint64_t offset = page_up(sizeof(struct region));
    for (int i = 0; i < SECTIONS; i++) {
        const struct section *now = &profile->region->sections[i];
        uint64_t want = page_up(capacity[i]);
        next[i] = (struct section){
            .offset = offset, .capacity = want > now->capacity ? want : now->capacity, .used = now->used};
        offset += next[i].capacity;
    }
    if (offset > profile->cap)
        return remember(profile, TARE_E_LIMIT, 0, "the profile needs more memory than it may have");
    void *base = mremap(profile->base, profile->size, offset, MREMAP_MAYMOVE);
    if (base == MAP_FAILED)
        return remember(profile, TARE_E_MEMORY, errno, "cannot grow the profile");
    profile->base = base;
    profile->size = offset;
    struct region *region = base;
    /* Sections only ever move up, so the last one goes first. */
    for (int i = SECTIONS - 1; i >= 0; i--) {
        struct section *now = &region->sections[i];
        if (next[i].offset != now->offset && now->used)
            memmove(profile->base + next[i].offset, profile->base + now->offset, now->used);
    }
    /* What lies behind the bytes in use may be left over from a section that moved: give those pages back. */
    for (int i = 0; i < SECTIONS; i++) {
        uint64_t start = page_up(next[i].offset + next[i].used);
        uint64_t end = next[i].offset + next[i].capacity;
        if (end > start)
            (void)madvise(profile->base + start, end - start, MADV_DONTNEED);
    }
    memcpy(region->sections, next, sizeof next);
    region->size = offset;
    tare_profile_rebase(profile);
    return 0;
}

int tare_profile_room(struct tare_profile *profile, enum section_id id, uint64_t bytes)
{
    const struct section *section = &profile->region->sections[id];
    if (!profile->attached && bytes <= section->capacity - section->used)
        return profile->failed ? -1 : 0;
    uint64_t capacity[SECTIONS] = {0};
    capacity[id] = section->used + bytes + section->capacity / 2;
    return tare_profile_relayout(profile, capacity);
}

struct probe probe_begin(const struct tare_profile *profile, enum section_id slots, uint64_t hash)
{
    uint64_t count = section_used(profile, slots) / sizeof(uint64_t);
    return (struct probe){.slots = section_data(profile, slots),
                          .mask = count - 1,
                          .at = hash & (count - 1),
                          .tag = (uint32_t)(hash >> 32)};
}

uint32_t probe_next(struct probe *probe)
{
    for (;;) {
        uint64_t slot = probe->slots[probe->at];
        if (slot == 0)
            return 0;
        probe->at = (probe->at + 1) & probe->mask;
        if ((uint32_t)(slot >> 32) == probe->tag)
            return (uint32_t)slot;
    }
}

static void slot_put(uint64_t *slots, uint64_t mask, uint64_t hash, uint32_t index)
{
    uint64_t at = hash & mask;
    while (slots[at])
        at = (at + 1) & mask;
    slots[at] = hash >> 32 << 32 | (index + 1);
}

int slots_add(struct tare_profile *profile, enum section_id slots, uint32_t count, uint32_t index,
              uint64_t hash, uint64_t (*hash_of)(const struct tare_profile *profile, uint32_t index))
{
    uint64_t have = section_used(profile, slots) / sizeof(uint64_t);
    /* At most five eighths full: 10 million nodes still fit 2^24 slots, and a search stays short. */
    if ((uint64_t)count + 1 > have / 8 * 5) {
        uint64_t want = have ? have * 2 : 512;
        uint64_t capacity[SECTIONS] = {0};
        capacity[slots] = want * sizeof(uint64_t);
        if (tare_profile_relayout(profile, capacity) < 0)
            return -1;
        uint64_t *table = section_data(profile, slots);
        memset(table, 0, want * sizeof(uint64_t));
        profile->region->sections[slots].used = want * sizeof(uint64_t);
        tare_profile_rebase(profile);
        for (uint32_t i = 0; i < count; i++)
            slot_put(table, want - 1, hash_of(profile, i), i);
        have = want;
    }
    slot_put(section_data(profile, slots), have - 1, hash, index);
    return 0;
}
