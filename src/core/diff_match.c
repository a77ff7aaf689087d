/* SPDX-License-Identifier: Apache-2.0 */
#include "core/diff_match.h"

#include <stdlib.h>

#include "core/reframe.h"

/* A frame of one side, its strings already those of the difference, so that equal texts are equal numbers. */
struct entry {
    struct tare_frame frame;
    uint32_t side;  /* 0 base, 1 now */
    uint32_t index; /* of the frame on its side */
    uint32_t place; /* among the different lines of its side and group */
};

static int compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_functions(const struct tare_frame *a, const struct tare_frame *b)
{
    int by = compare_numbers(a->kind, b->kind);
    if (by == 0)
        by = compare_numbers(a->name, b->name);
    if (by == 0)
        by = compare_numbers(a->qualname, b->qualname);
    if (by == 0)
        by = compare_numbers(a->file, b->file);
    return by ? by : compare_numbers(a->module, b->module);
}

static int compare_entries(const void *a_pointer, const void *b_pointer)
{
    const struct entry *a = a_pointer, *b = b_pointer;
    int by = compare_functions(&a->frame, &b->frame);
    if (by == 0)
        by = compare_numbers(a->side, b->side);
    if (by == 0)
        by = compare_numbers(a->frame.first_line, b->frame.first_line);
    return by ? by : compare_numbers(a->index, b->index);
}

/* Functions of one name in one file: first the base's, by line, then the other side's. */
struct group {
    struct entry *entries;
    size_t count;
    size_t split;       /* where the other side begins */
    uint32_t places[2]; /* different lines on each side */
};

static void number_places(struct group *group)
{
    group->places[0] = group->places[1] = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct entry *entry = &group->entries[i];
        bool begins = i == 0 || i == group->split;
        if (begins || entry->frame.first_line != entry[-1].frame.first_line)
            group->places[entry->side]++;
        entry->place = group->places[entry->side] - 1;
    }
}

static bool has_line(const struct group *group, uint32_t side, uint32_t line)
{
    size_t from = side ? group->split : 0, to = side ? group->count : group->split;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        uint32_t at = group->entries[middle].frame.first_line;
        if (at == line)
            return true;
        if (at < line)
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}

/* Does every line of one side occur on the other? */
static bool lines_agree(const struct group *group)
{
    uint32_t smaller = group->places[1] < group->places[0] ? 1 : 0;
    for (size_t i = 0; i < group->count; i++)
        if (group->entries[i].side == smaller &&
            !has_line(group, 1 - smaller, group->entries[i].frame.first_line))
            return false;
    return true;
}

/* The line of the function at a place of the other side. */
static uint32_t line_at_place(const struct group *group, uint32_t place)
{
    size_t from = group->split, to = group->count;
    while (from + 1 < to) {
        size_t middle = from + (to - from) / 2;
        if (group->entries[middle].place <= place)
            from = middle;
        else
            to = middle;
    }
    return group->entries[from].frame.first_line;
}

static void settle(struct tare_profile *diff, struct group *group, bool exact, uint32_t *const maps[2])
{
    number_places(group);
    bool by_line = exact || lines_agree(group);
    bool by_order = group->places[0] == group->places[1];
    for (size_t i = 0; i < group->count; i++) {
        struct entry *entry = &group->entries[i];
        struct tare_frame frame = entry->frame;
        if (!by_line && by_order && entry->side == 0)
            frame.first_line = line_at_place(group, entry->place);
        else if (!by_line && !by_order)
            frame.first_line = 0;
        maps[entry->side][entry->index] = tare_profile_frame(diff, &frame);
    }
}

static size_t collect(struct tare_profile *diff, const struct tare_profile *from, uint32_t side,
                      struct entry *entries, uint32_t *map)
{
    size_t count = 0;
    for (uint32_t f = 0; f < tare_profile_frames(from); f++) {
        const struct tare_frame *frame = tare_profile_frame_at(from, f);
        map[f] = TARE_NONE;
        if (frame->kind == TARE_FRAME_ROOT)
            continue;
        struct entry *entry = &entries[count++];
        *entry = (struct entry){.frame = tare_reframe_copy(diff, from, frame), .side = side, .index = f};
        entry->frame.flags = 0;
    }
    return count;
}

int tare_diff_match(struct tare_profile *diff, const struct tare_profile *base,
                    const struct tare_profile *now, bool exact, uint32_t *(*ret_maps)[2],
                    struct tare_error *err)
{
    size_t base_frames = tare_profile_frames(base), now_frames = tare_profile_frames(now);
    uint32_t *maps[2] = {malloc((base_frames + 1) * sizeof **maps), malloc((now_frames + 1) * sizeof **maps)};
    struct entry *entries = malloc((base_frames + now_frames + 1) * sizeof *entries);
    int rc = -1;
    if (!maps[0] || !maps[1] || !entries) {
        tare_fail_memory(err);
        goto out;
    }
    size_t count = collect(diff, base, 0, entries, maps[0]);
    count += collect(diff, now, 1, entries + count, maps[1]);
    if (tare_profile_check(diff, err) < 0)
        goto out;
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t at = 0; at < count;) {
        struct group group = {.entries = entries + at};
        while (at + group.count < count &&
               compare_functions(&group.entries->frame, &group.entries[group.count].frame) == 0) {
            if (group.entries[group.count].side == 0)
                group.split++;
            group.count++;
        }
        settle(diff, &group, exact, maps);
        at += group.count;
    }
    rc = tare_profile_check(diff, err);
out:
    free(entries);
    if (rc < 0) {
        free(maps[0]);
        free(maps[1]);
    } else {
        (*ret_maps)[0] = maps[0];
        (*ret_maps)[1] = maps[1];
    }
    return rc;
}
