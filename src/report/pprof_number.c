/* SPDX-License-Identifier: Apache-2.0 */
#include "report/pprof_number.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* What two frames of one function have in common. */
struct function_key {
    uint32_t kind, name, qualname, file, module, first_line, twin;
};

static struct function_key function_key(const struct tare_profile *profile, uint32_t frame)
{
    const struct tare_frame *f = tare_profile_frame_at(profile, frame);
    return (struct function_key){f->kind, f->name, f->qualname, f->file, f->module, f->first_line, f->twin};
}

static uint64_t function_hash(const struct pprof_number *number, uint32_t function)
{
    const uint32_t *frames = (const uint32_t *)(const void *)number->functions.data;
    struct function_key key = function_key(number->profile, frames[function - 1]);
    return tare_hash_bytes(&key, sizeof key);
}

static uint64_t location_hash(const struct pprof_number *number, uint32_t location)
{
    const struct pprof_location *l = pprof_location_at(number, location);
    return tare_hash_mix(((uint64_t)l->base << 32 | l->frame) + (uint64_t)l->line * 0x9e3779b97f4a7c15u);
}

/* Keep at least half of the slots empty. */
static int slots_room(struct pprof_slots *table, const struct pprof_number *number,
                      uint64_t (*hash)(const struct pprof_number *number, uint32_t entry))
{
    uint64_t size = table->slots ? (uint64_t)table->mask + 1 : 0;
    if ((uint64_t)table->count * 2 < size)
        return 0;
    size = size ? size * 2 : 1024;
    uint32_t *slots = size <= UINT32_MAX ? calloc((size_t)size, sizeof *slots) : NULL;
    if (!slots)
        return -1;
    uint32_t mask = (uint32_t)(size - 1);
    for (uint32_t entry = 1; entry <= table->count; entry++) {
        uint32_t at = (uint32_t)hash(number, entry) & mask;
        while (slots[at])
            at = (at + 1) & mask;
        slots[at] = entry;
    }
    free(table->slots);
    table->slots = slots;
    table->mask = mask;
    return 0;
}

int pprof_number_init(struct pprof_number *number, const struct tare_profile *profile, struct tare_error *err)
{
    *number = (struct pprof_number){.profile = profile};
    tare_buf_init(&number->strings, SIZE_MAX);
    tare_buf_init(&number->locations, SIZE_MAX);
    tare_buf_init(&number->functions, SIZE_MAX);
    number->string_of = calloc(tare_profile_strings(profile), sizeof *number->string_of);
    number->function_of = calloc((size_t)tare_profile_frames(profile) + 1, sizeof *number->function_of);
    pprof_number_text(number, "");
    if (!number->string_of || !number->function_of || number->failed) {
        pprof_number_finish(number);
        return tare_fail_memory(err);
    }
    return 0;
}

void pprof_number_finish(struct pprof_number *number)
{
    free(number->string_of);
    free(number->function_of);
    free(number->location_slots.slots);
    free(number->function_slots.slots);
    tare_buf_finish(&number->strings);
    tare_buf_finish(&number->locations);
    tare_buf_finish(&number->functions);
}

int pprof_number_check(const struct pprof_number *number, struct tare_error *err)
{
    return number->failed ? tare_fail_memory(err) : 0;
}

static uint32_t add_text(struct pprof_number *number, const char *text, size_t length)
{
    uint32_t index = (uint32_t)(number->strings.length / sizeof(struct pprof_text));
    struct pprof_text entry = {text, length};
    tare_buf_add(&number->strings, &entry, sizeof entry);
    number->failed |= number->strings.failed;
    return index;
}

uint32_t pprof_number_text(struct pprof_number *number, const char *text)
{
    return add_text(number, text, strlen(text));
}

uint32_t pprof_number_string(struct pprof_number *number, uint32_t string)
{
    if (string == 0)
        return 0;
    uint32_t *index = &number->string_of[string];
    if (*index == 0)
        *index = add_text(number, tare_profile_text(number->profile, string),
                          tare_profile_text_length(number->profile, string));
    return *index;
}

struct pprof_location *pprof_location_at(const struct pprof_number *number, uint32_t location)
{
    return (struct pprof_location *)(void *)number->locations.data + (location - 1);
}

uint32_t pprof_number_locations(const struct pprof_number *number)
{
    return number->location_slots.count;
}

uint32_t pprof_number_location(struct pprof_number *number, uint32_t base, uint32_t frame, uint32_t line)
{
    struct pprof_slots *table = &number->location_slots;
    if (slots_room(table, number, location_hash) < 0) {
        number->failed = true;
        return 0;
    }
    uint64_t hash = tare_hash_mix(((uint64_t)base << 32 | frame) + (uint64_t)line * 0x9e3779b97f4a7c15u);
    uint32_t at = (uint32_t)hash & table->mask;
    for (; table->slots[at]; at = (at + 1) & table->mask) {
        const struct pprof_location *there = pprof_location_at(number, table->slots[at]);
        if (there->frame == frame && there->line == line && there->base == base)
            return table->slots[at];
    }
    struct pprof_location made = {.base = base, .frame = frame, .line = line};
    tare_buf_add(&number->locations, &made, sizeof made);
    if (number->locations.failed) {
        number->failed = true;
        return 0;
    }
    table->slots[at] = ++table->count;
    return table->count;
}

uint32_t pprof_number_function(struct pprof_number *number, uint32_t frame)
{
    if (number->function_of[frame])
        return number->function_of[frame];
    struct pprof_slots *table = &number->function_slots;
    if (slots_room(table, number, function_hash) < 0) {
        number->failed = true;
        return 0;
    }
    struct function_key key = function_key(number->profile, frame);
    uint32_t at = (uint32_t)tare_hash_bytes(&key, sizeof key) & table->mask;
    for (; table->slots[at]; at = (at + 1) & table->mask) {
        const uint32_t *frames = (const uint32_t *)(const void *)number->functions.data;
        struct function_key there = function_key(number->profile, frames[table->slots[at] - 1]);
        if (memcmp(&there, &key, sizeof key) == 0)
            return number->function_of[frame] = table->slots[at];
    }
    tare_buf_add(&number->functions, &frame, sizeof frame);
    if (number->functions.failed) {
        number->failed = true;
        return 0;
    }
    table->slots[at] = ++table->count;
    return number->function_of[frame] = table->count;
}
