/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields differ, what that means, and the fingerprint of those that must not. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/machine_field.h"
#include "core/machine_part.h"

static const char *const unknown = "unknown";

struct differences {
    struct tare_arena *arena;
    struct tare_machine_difference *items;
    size_t count, size;
};

static void add(struct differences *differences, const char *field, enum tare_machine_weight weight,
                const char *a, const char *b)
{
    if (differences->count == differences->size) {
        size_t size = differences->size ? differences->size * 2 : 16;
        struct tare_machine_difference *items = tare_arena_array(differences->arena, size, sizeof *items);
        if (!items)
            return;
        if (differences->count)
            memcpy(items, differences->items, differences->count * sizeof *items);
        differences->items = items;
        differences->size = size;
    }
    /* What one side does not know cannot make it another machine. */
    if ((!a || !b) && weight == TARE_MACHINE_IDENTITY)
        weight = TARE_MACHINE_MARK;
    differences->items[differences->count++] =
        (struct tare_machine_difference){field, weight, a ? a : unknown, b ? b : unknown};
}

static const char *join(struct tare_arena *arena, const char *const *items, size_t count, const char *between)
{
    size_t length = 1;
    for (size_t i = 0; i < count; i++)
        length += strlen(items[i]) + strlen(between);
    char *text = tare_arena_alloc(arena, length);
    if (!text)
        return "";
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, length - at, "%s%s", i ? between : "", items[i]);
    return text;
}

/* For people; the fingerprint has a form of its own that must never change. */
static const char *show(struct tare_arena *arena, const struct tare_machine *machine,
                        const struct tare_machine_field *field)
{
    const struct tare_machine_list *list;
    if (!tare_machine_field_known(machine, field))
        return NULL;
    switch (field->kind) {
    case TARE_MACHINE_KIND_TEXT:
        return *tare_machine_field_text(machine, field);
    case TARE_MACHINE_KIND_INT:
        return tare_arena_printf(arena, "%" PRId64, *tare_machine_field_int(machine, field));
    case TARE_MACHINE_KIND_BOOL:
        return *tare_machine_field_int(machine, field) ? "on" : "off";
    case TARE_MACHINE_KIND_REAL:
        return tare_arena_printf(arena, "%.4g", *tare_machine_field_real(machine, field));
    case TARE_MACHINE_KIND_LIST:
        list = tare_machine_field_list(machine, field);
        return join(arena, list->items, list->count, " ");
    }
    return NULL;
}

static bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static bool same_list(const struct tare_machine_list *a, const struct tare_machine_list *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(a->items[i], b->items[i]) == 0;
    return same;
}

/* Both sides know the field. */
static bool same(const struct tare_machine *a, const struct tare_machine *b,
                 const struct tare_machine_field *field)
{
    switch (field->kind) {
    case TARE_MACHINE_KIND_TEXT:
        return strcmp(*tare_machine_field_text(a, field), *tare_machine_field_text(b, field)) == 0;
    case TARE_MACHINE_KIND_INT:
    case TARE_MACHINE_KIND_BOOL:
        return near((double)*tare_machine_field_int(a, field), (double)*tare_machine_field_int(b, field),
                    field->tolerance);
    case TARE_MACHINE_KIND_REAL:
        return near(*tare_machine_field_real(a, field), *tare_machine_field_real(b, field), field->tolerance);
    case TARE_MACHINE_KIND_LIST:
        return same_list(tare_machine_field_list(a, field), tare_machine_field_list(b, field));
    }
    return false;
}

static void compare_fields(struct differences *differences, const struct tare_machine *a,
                           const struct tare_machine *b)
{
    for (const struct tare_machine_field *field = tare_machine_fields; field->group; field++) {
        bool a_known = tare_machine_field_known(a, field), b_known = tare_machine_field_known(b, field);
        if ((!a_known && !b_known) || (a_known && b_known && same(a, b, field)))
            continue;
        enum tare_machine_weight weight = field->weight;
        /* No quota is not an unknown quota, as long as the group itself was seen. */
        bool quota = field->offset == offsetof(struct tare_machine, cgroup_cpus);
        bool unbound = quota && a->cgroup_version > 0 && b->cgroup_version > 0;
        const char *a_text = show(differences->arena, a, field), *b_text = show(differences->arena, b, field);
        if (unbound) {
            a_text = a_text ? a_text : "none";
            b_text = b_text ? b_text : "none";
        }
        add(differences, tare_arena_printf(differences->arena, "%s.%s", field->group, field->name), weight,
            a_text, b_text);
    }
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum gpu_view { GPU_KINDS, GPU_DRIVERS };

/* One line per device that says what it is, wherever it sits, in an order that does not depend on the bus. */
static const char *show_gpus(struct tare_arena *arena, const struct tare_machine *machine, enum gpu_view view,
                             const char *between)
{
    const char **lines = tare_arena_array(arena, machine->gpu_count ? machine->gpu_count : 1, sizeof *lines);
    if (!lines)
        return "";
    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct tare_machine_gpu *gpu = &machine->gpus[i];
        lines[i] = view == GPU_KINDS ? tare_arena_printf(arena, "%s %s [%s]", or_empty(gpu->vendor),
                                                         or_empty(gpu->model), or_empty(gpu->pci_id))
                                     : or_empty(gpu->driver);
    }
    qsort(lines, machine->gpu_count, sizeof *lines, compare_texts);
    return join(arena, lines, machine->gpu_count, between);
}

static void compare_gpus(struct differences *differences, const struct tare_machine *a,
                         const struct tare_machine *b)
{
    static const struct {
        const char *field;
        enum gpu_view view;
        enum tare_machine_weight weight;
    } rows[] = {{"gpus", GPU_KINDS, TARE_MACHINE_IDENTITY}, {"gpus.driver", GPU_DRIVERS, TARE_MACHINE_MARK}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *a_text = show_gpus(differences->arena, a, rows[i].view, ", ");
        const char *b_text = show_gpus(differences->arena, b, rows[i].view, ", ");
        if (strcmp(a_text, b_text) != 0)
            add(differences, rows[i].field, rows[i].weight, *a_text ? a_text : "none",
                *b_text ? b_text : "none");
    }
}

/* Both lists are sorted: walk them together. */
static void compare_libraries(struct differences *differences, const struct tare_machine *a,
                              const struct tare_machine *b)
{
    size_t i = 0, j = 0;
    while (i < a->library_count || j < b->library_count) {
        int order = i == a->library_count   ? 1
                    : j == b->library_count ? -1
                                            : strcmp(a->libraries[i].name, b->libraries[j].name);
        const char *name = order <= 0 ? a->libraries[i].name : b->libraries[j].name;
        const struct tare_machine_library *left = order <= 0 ? &a->libraries[i++] : NULL;
        const struct tare_machine_library *right = order >= 0 ? &b->libraries[j++] : NULL;
        if (left && right && strcmp(left->version, right->version) == 0)
            continue;
        add(differences, tare_arena_printf(differences->arena, "libraries.%s", name), TARE_MACHINE_MARK,
            left ? left->version : NULL, right ? right->version : NULL);
    }
}

int tare_machine_compare(const struct tare_machine *a, const struct tare_machine *b, struct tare_arena *arena,
                         struct tare_machine_comparison *ret_comparison, struct tare_error *err)
{
    struct differences found = {.arena = arena}, sorted = {.arena = arena};
    struct tare_machine_comparison comparison = {0};
    compare_fields(&found, a, b);
    compare_gpus(&found, a, b);
    compare_libraries(&found, a, b);
    for (int weight = TARE_MACHINE_IDENTITY; weight <= TARE_MACHINE_STATE; weight++)
        for (size_t i = 0; i < found.count; i++)
            if ((int)found.items[i].weight == weight)
                add(&sorted, found.items[i].field, found.items[i].weight, found.items[i].a, found.items[i].b);
    if (tare_arena_check(arena, err) < 0)
        return -1;
    for (size_t i = 0; i < sorted.count; i++) {
        comparison.identities += sorted.items[i].weight == TARE_MACHINE_IDENTITY;
        comparison.marks += sorted.items[i].weight == TARE_MACHINE_MARK;
    }
    comparison.items = sorted.items;
    comparison.count = sorted.count;
    comparison.comparable = comparison.identities == 0;
    *ret_comparison = comparison;
    return 0;
}

static uint64_t hash_int(uint64_t hash, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    return tare_machine_fnv(hash, text);
}

static uint64_t hash_field(uint64_t hash, const struct tare_machine *machine,
                           const struct tare_machine_field *field)
{
    const struct tare_machine_list *list;
    hash = tare_machine_fnv(hash, field->group);
    hash = tare_machine_fnv(hash, ".");
    hash = tare_machine_fnv(hash, field->name);
    hash = tare_machine_fnv(hash, "=");
    switch (field->kind) {
    case TARE_MACHINE_KIND_TEXT:
        hash = tare_machine_fnv(hash, *tare_machine_field_text(machine, field));
        break;
    case TARE_MACHINE_KIND_INT:
    case TARE_MACHINE_KIND_BOOL:
        hash = hash_int(hash, *tare_machine_field_int(machine, field));
        break;
    case TARE_MACHINE_KIND_REAL:
        hash = hash_int(hash, (int64_t)llround(fmin(*tare_machine_field_real(machine, field), 1e12) * 1000));
        break;
    case TARE_MACHINE_KIND_LIST:
        list = tare_machine_field_list(machine, field);
        for (size_t i = 0; i < list->count; i++) {
            hash = tare_machine_fnv(hash, i ? "," : "");
            hash = tare_machine_fnv(hash, list->items[i]);
        }
        break;
    }
    return tare_machine_fnv(hash, "\n");
}

static uint64_t hash_gpu(const struct tare_machine_gpu *gpu)
{
    uint64_t hash = tare_machine_fnv(TARE_MACHINE_FNV, or_empty(gpu->vendor));
    hash = tare_machine_fnv(hash, "|");
    hash = tare_machine_fnv(hash, or_empty(gpu->model));
    hash = tare_machine_fnv(hash, "|");
    return tare_machine_fnv(hash, or_empty(gpu->pci_id));
}

void tare_machine_fingerprint(const struct tare_machine *machine,
                              char ret_text[TARE_MACHINE_FINGERPRINT_SIZE])
{
    uint64_t hash = tare_machine_fnv(TARE_MACHINE_FNV, "tare.machine/1\n");
    for (const struct tare_machine_field *field = tare_machine_fields; field->group; field++)
        if (field->weight == TARE_MACHINE_IDENTITY && tare_machine_field_known(machine, field))
            hash = hash_field(hash, machine, field);
    /* A sum does not depend on the order in which the bus was walked. */
    uint64_t gpus = 0;
    for (size_t i = 0; i < machine->gpu_count; i++)
        gpus += hash_gpu(&machine->gpus[i]);
    if (machine->gpu_count > 0) {
        char text[48];
        snprintf(text, sizeof text, "gpus=%016" PRIx64 "\n", gpus);
        hash = tare_machine_fnv(hash, text);
    }
    snprintf(ret_text, TARE_MACHINE_FINGERPRINT_SIZE, "m1-%016" PRIx64, hash);
}
