/* SPDX-License-Identifier: Apache-2.0 */
#include "core/machine.h"

#include <stdlib.h>
#include <string.h>

#include "core/machine_field.h"
#include "core/machine_file.h"
#include "core/machine_part.h"

void tare_machine_init(struct tare_machine *machine)
{
    memset(machine, 0, sizeof *machine);
    for (const struct tare_machine_field *field = tare_machine_fields; field->group; field++) {
        void *slot = tare_machine_field_slot(machine, field);
        if (field->kind == TARE_MACHINE_KIND_INT || field->kind == TARE_MACHINE_KIND_BOOL)
            *(int64_t *)slot = -1;
        else if (field->kind == TARE_MACHINE_KIND_REAL)
            *(double *)slot = -1;
    }
}

int tare_machine_collect(const char *root, struct tare_arena *arena, struct tare_machine *ret_machine,
                         struct tare_error *err)
{
    struct tare_machine machine;
    struct tare_machine_files files = {.root = root, .arena = arena};
    tare_machine_init(&machine);
    int hypervisor = tare_machine_collect_cpu(&files, &machine);
    tare_machine_collect_frequency(&files, &machine);
    tare_machine_collect_cgroup(&files, &machine);
    tare_machine_collect_system(&files, &machine);
    tare_machine_collect_virtual(&files, hypervisor, &machine);
    tare_machine_collect_gpu(&files, &machine);
    if (tare_arena_check(arena, err) < 0)
        return -1;
    *ret_machine = machine;
    return 0;
}

int tare_machine_add_library(struct tare_machine *machine, struct tare_arena *arena, const char *name,
                             const char *version, struct tare_error *err)
{
    const char *clean_name = tare_machine_clean(arena, name);
    const char *clean_version = tare_machine_clean(arena, version);
    if (!clean_name || !clean_version)
        return tare_fail(err, TARE_E_USAGE, 0, "a library needs a name and a version");
    size_t place = 0, count = machine->library_count;
    while (place < count && strcmp(machine->libraries[place].name, clean_name) < 0)
        place++;
    if (place < count && strcmp(machine->libraries[place].name, clean_name) == 0) {
        machine->libraries[place].version = clean_version;
        return tare_arena_check(arena, err);
    }
    /* The array has room for the next power of two; only then is it moved. */
    if ((count & (count - 1)) == 0) {
        struct tare_machine_library *grown = tare_arena_array(arena, count ? count * 2 : 1, sizeof *grown);
        if (!grown)
            return tare_arena_check(arena, err);
        if (count)
            memcpy(grown, machine->libraries, count * sizeof *grown);
        machine->libraries = grown;
    }
    memmove(machine->libraries + place + 1, machine->libraries + place,
            (count - place) * sizeof *machine->libraries);
    machine->libraries[place] = (struct tare_machine_library){clean_name, clean_version};
    machine->library_count++;
    return tare_arena_check(arena, err);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void tare_machine_list_make(struct tare_arena *arena, const char **texts, size_t count,
                            struct tare_machine_list *ret_list)
{
    *ret_list = (struct tare_machine_list){0};
    const char **items = count > 0 ? tare_arena_array(arena, count, sizeof *items) : NULL;
    if (!items)
        return;
    qsort(texts, count, sizeof *texts, compare_texts);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(texts[i], items[kept - 1]) != 0)
            items[kept++] = texts[i];
    *ret_list = (struct tare_machine_list){items, kept};
}

uint64_t tare_machine_fnv(uint64_t state, const char *text)
{
    for (; *text; text++)
        state = (state ^ (unsigned char)*text) * 0x100000001b3u;
    return state;
}
