/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes refer to: strings, frames, labels, mappings, and what is said about the whole. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "core/profile_impl.h"

static void refuse(struct tare_profile *profile, const char *what)
{
    struct tare_error err;
    tare_fail(&err, TARE_E_LIMIT, 0, "%s", what);
    tare_profile_fail(profile, &err);
}

/* Append one item of size bytes to a section and return its index. */
static uint32_t append(struct tare_profile *profile, enum section_id id, const void *item, size_t size)
{
    uint64_t index = section_used(profile, id) / size;
    if (index >= TARE_NONE - 1) {
        refuse(profile, "a table of the profile is full");
        return TARE_NONE;
    }
    if (tare_profile_room(profile, id, size) < 0)
        return TARE_NONE;
    memcpy((unsigned char *)section_data(profile, id) + index * size, item, size);
    profile->region->sections[id].used += size;
    return (uint32_t)index;
}

static const struct string *string_at(const struct tare_profile *profile, uint32_t string)
{
    const struct string *strings = section_data(profile, SECTION_STRINGS);
    return &strings[string];
}

uint32_t tare_profile_strings(const struct tare_profile *profile)
{
    return (uint32_t)(section_used(profile, SECTION_STRINGS) / sizeof(struct string));
}

size_t tare_profile_text_length(const struct tare_profile *profile, uint32_t string)
{
    return string == TARE_NONE ? 0 : string_at(profile, string)->length;
}

const char *tare_profile_text(const struct tare_profile *profile, uint32_t string)
{
    if (string == TARE_NONE)
        return "";
    return (const char *)section_data(profile, SECTION_TEXT) + string_at(profile, string)->offset;
}

static uint64_t string_hash_at(const struct tare_profile *profile, uint32_t index)
{
    return tare_hash_bytes(tare_profile_text(profile, index), tare_profile_text_length(profile, index));
}

uint32_t tare_profile_string(struct tare_profile *profile, const char *text, size_t length)
{
    uint64_t hash = tare_hash_bytes(text, length);
    uint32_t count = tare_profile_strings(profile);
    if (count) {
        struct probe probe = probe_begin(profile, SECTION_STRING_SLOTS, hash);
        uint32_t found;
        while ((found = probe_next(&probe)) != 0)
            if (tare_profile_text_length(profile, found - 1) == length &&
                (length == 0 || memcmp(tare_profile_text(profile, found - 1), text, length) == 0))
                return found - 1;
    }
    uint64_t offset = section_used(profile, SECTION_TEXT);
    if (length >= UINT32_MAX || offset + length + 1 > UINT32_MAX) {
        refuse(profile, "a profile holds at most 4 GiB of text");
        return TARE_NONE;
    }
    if (tare_profile_room(profile, SECTION_TEXT, length + 1) < 0)
        return TARE_NONE;
    struct string string = {.offset = (uint32_t)offset, .length = (uint32_t)length};
    uint32_t index = append(profile, SECTION_STRINGS, &string, sizeof string);
    if (index == TARE_NONE)
        return TARE_NONE;
    char *where = (char *)section_data(profile, SECTION_TEXT) + offset;
    if (length)
        memcpy(where, text, length);
    where[length] = '\0';
    profile->region->sections[SECTION_TEXT].used += length + 1;
    if (slots_add(profile, SECTION_STRING_SLOTS, count, index, hash, string_hash_at) < 0)
        return TARE_NONE;
    return index;
}

uint32_t tare_profile_intern(struct tare_profile *profile, const char *text)
{
    return text ? tare_profile_string(profile, text, strlen(text)) : 0;
}

static uint64_t frame_hash(const struct tare_frame *frame)
{
    return tare_hash_bytes(frame, sizeof *frame);
}

static uint64_t frame_hash_at(const struct tare_profile *profile, uint32_t index)
{
    return frame_hash(tare_profile_frame_at(profile, index));
}

uint32_t tare_profile_frames(const struct tare_profile *profile)
{
    return (uint32_t)(section_used(profile, SECTION_FRAMES) / sizeof(struct tare_frame));
}

const struct tare_frame *tare_profile_frame_at(const struct tare_profile *profile, uint32_t frame)
{
    const struct tare_frame *frames = section_data(profile, SECTION_FRAMES);
    return &frames[frame];
}

uint32_t tare_profile_frame(struct tare_profile *profile, const struct tare_frame *frame)
{
    _Static_assert(sizeof(struct tare_frame) == 48, "no padding: frames are hashed and compared as bytes");
    if (frame->name == TARE_NONE || frame->qualname == TARE_NONE || frame->file == TARE_NONE ||
        frame->module == TARE_NONE || frame->labels == TARE_NONE)
        return TARE_NONE;
    /* The caller's frame may lie in a region that is about to move. */
    struct tare_frame copy = *frame;
    uint64_t hash = frame_hash(&copy);
    uint32_t count = tare_profile_frames(profile);
    if (count) {
        struct probe probe = probe_begin(profile, SECTION_FRAME_SLOTS, hash);
        uint32_t found;
        while ((found = probe_next(&probe)) != 0)
            if (memcmp(tare_profile_frame_at(profile, found - 1), &copy, sizeof copy) == 0)
                return found - 1;
    }
    uint32_t index = append(profile, SECTION_FRAMES, &copy, sizeof copy);
    if (index == TARE_NONE || slots_add(profile, SECTION_FRAME_SLOTS, count, index, hash, frame_hash_at) < 0)
        return TARE_NONE;
    return index;
}

uint32_t tare_profile_function(struct tare_profile *profile, enum tare_frame_kind kind, const char *name,
                               const char *file, uint32_t first_line)
{
    struct tare_frame frame = {.kind = (uint8_t)kind,
                               .name = tare_profile_intern(profile, name),
                               .file = tare_profile_intern(profile, file),
                               .first_line = first_line};
    return tare_profile_frame(profile, &frame);
}

const struct tare_label *tare_profile_labels_at(const struct tare_profile *profile, uint32_t set,
                                                size_t *ret_count)
{
    const struct label_set *sets = section_data(profile, SECTION_SETS);
    const struct tare_label *labels = section_data(profile, SECTION_LABELS);
    *ret_count = sets[set].count;
    return labels + sets[set].first;
}

static uint64_t set_hash_at(const struct tare_profile *profile, uint32_t index)
{
    size_t count;
    const struct tare_label *labels = tare_profile_labels_at(profile, index, &count);
    return tare_hash_bytes(labels, count * sizeof *labels);
}

/* Labels in one order, whatever order they came in: by key, then by the rest. */
static int label_order(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct tare_label));
}

uint32_t tare_profile_labels(struct tare_profile *profile, const struct tare_label *labels, size_t count)
{
    _Static_assert(sizeof(struct tare_label) == 24, "no padding: labels are hashed and compared as bytes");
    if (count > TARE_LABELS_MAX) {
        refuse(profile, "a sample has more labels than any real one");
        return TARE_NONE;
    }
    struct tare_label sorted[TARE_LABELS_MAX] = {0};
    size_t bytes = count * sizeof sorted[0];
    if (count) {
        memcpy(sorted, labels, bytes);
        qsort(sorted, count, sizeof sorted[0], label_order);
    }
    uint64_t hash = tare_hash_bytes(sorted, bytes);
    uint32_t sets = (uint32_t)(section_used(profile, SECTION_SETS) / sizeof(struct label_set));
    if (sets) {
        struct probe probe = probe_begin(profile, SECTION_SET_SLOTS, hash);
        uint32_t found;
        while ((found = probe_next(&probe)) != 0) {
            size_t have;
            const struct tare_label *there = tare_profile_labels_at(profile, found - 1, &have);
            if (have == count && (count == 0 || memcmp(there, sorted, bytes) == 0))
                return found - 1;
        }
    }
    struct label_set set = {.first = (uint32_t)(section_used(profile, SECTION_LABELS) / sizeof sorted[0]),
                            .count = (uint32_t)count};
    for (size_t i = 0; i < count; i++)
        if (append(profile, SECTION_LABELS, &sorted[i], sizeof sorted[i]) == TARE_NONE)
            return TARE_NONE;
    uint32_t index = append(profile, SECTION_SETS, &set, sizeof set);
    if (index == TARE_NONE || slots_add(profile, SECTION_SET_SLOTS, sets, index, hash, set_hash_at) < 0)
        return TARE_NONE;
    return index;
}

uint32_t tare_profile_add_mapping(struct tare_profile *profile, const struct tare_mapping *mapping)
{
    struct tare_mapping copy = *mapping;
    uint32_t index = append(profile, SECTION_MAPPINGS, &copy, sizeof copy);
    return index == TARE_NONE ? TARE_NONE : index + 1;
}

uint32_t tare_profile_mappings(const struct tare_profile *profile)
{
    return (uint32_t)(section_used(profile, SECTION_MAPPINGS) / sizeof(struct tare_mapping));
}

const struct tare_mapping *tare_profile_mapping_at(const struct tare_profile *profile, uint32_t number)
{
    const struct tare_mapping *mappings = section_data(profile, SECTION_MAPPINGS);
    return &mappings[number - 1];
}

static void add_string_to(struct tare_profile *profile, enum section_id id, const char *text, size_t length)
{
    uint32_t string = tare_profile_string(profile, text, length);
    if (string != TARE_NONE)
        append(profile, id, &string, sizeof string);
}

void tare_profile_add_comment(struct tare_profile *profile, const char *text, size_t length)
{
    add_string_to(profile, SECTION_COMMENTS, text, length);
}

uint32_t tare_profile_comments(const struct tare_profile *profile)
{
    return (uint32_t)(section_used(profile, SECTION_COMMENTS) / sizeof(uint32_t));
}

uint32_t tare_profile_comment_at(const struct tare_profile *profile, uint32_t index)
{
    const uint32_t *comments = section_data(profile, SECTION_COMMENTS);
    return comments[index];
}

void tare_profile_note(struct tare_profile *profile, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (length < 0)
        return;
    size_t kept = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    add_string_to(profile, SECTION_NOTES, text, kept);
}

uint32_t tare_profile_notes(const struct tare_profile *profile)
{
    return (uint32_t)(section_used(profile, SECTION_NOTES) / sizeof(uint32_t));
}

const char *tare_profile_note_at(const struct tare_profile *profile, uint32_t index)
{
    const uint32_t *notes = section_data(profile, SECTION_NOTES);
    return tare_profile_text(profile, notes[index]);
}
