/* SPDX-License-Identifier: Apache-2.0 */
/* Between the passes: ids and indices become frames and strings of the profile. */
#include "report/pprof_tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void pprof_tables_init(struct pprof_tables *tables, struct tare_profile *profile)
{
    memset(tables, 0, sizeof *tables);
    tables->profile = profile;
    tare_buf_init(&tables->strings, SIZE_MAX);
    tare_buf_init(&tables->mappings, SIZE_MAX);
    tare_buf_init(&tables->functions, SIZE_MAX);
    tare_buf_init(&tables->places, SIZE_MAX);
    tare_buf_init(&tables->lines, SIZE_MAX);
    tare_buf_init(&tables->comments, SIZE_MAX);
    pprof_ids_init(&tables->mapping_ids);
    pprof_ids_init(&tables->function_ids);
    pprof_ids_init(&tables->location_ids);
}

void pprof_tables_finish(struct pprof_tables *tables)
{
    tare_buf_finish(&tables->strings);
    tare_buf_finish(&tables->mappings);
    tare_buf_finish(&tables->functions);
    tare_buf_finish(&tables->places);
    tare_buf_finish(&tables->lines);
    tare_buf_finish(&tables->comments);
    pprof_ids_finish(&tables->mapping_ids);
    pprof_ids_finish(&tables->function_ids);
    pprof_ids_finish(&tables->location_ids);
}

int pprof_string(const struct pprof_tables *tables, uint64_t index, uint32_t *ret_string,
                 struct tare_error *err)
{
    const uint32_t *strings = (const uint32_t *)(const void *)tables->strings.data;
    size_t count = pprof_count(&tables->strings, sizeof *strings);
    if (index >= count)
        return tare_fail(err, TARE_E_INPUT, 0, "it refers to string %" PRIu64 " of %zu; it may be cut short",
                         index, count);
    *ret_string = strings[index];
    return 0;
}

/* The same in place. */
static int resolve_string(const struct pprof_tables *tables, uint32_t *string, struct tare_error *err)
{
    return pprof_string(tables, *string, string, err);
}

static int resolve_types(struct pprof_tables *tables, struct tare_error *err)
{
    struct tare_profile *profile = tables->profile;
    if (tables->type_count == 0 && tables->sample_count)
        return tare_fail(err, TARE_E_INPUT, 0, "it has samples, but does not say what they measure");
    for (uint32_t i = 0; i < tables->type_count; i++) {
        struct pprof_type *type = &tables->types[i];
        if (resolve_string(tables, &type->type, err) < 0 || resolve_string(tables, &type->unit, err) < 0)
            return -1;
        type->column = TARE_NONE;
        if (tare_profile_columns(profile) == TARE_COLUMNS_MAX)
            continue;
        /* Copies, because the profile's own text moves when a column is added. */
        char *name = strdup(tare_profile_text(profile, type->type));
        char *unit = strdup(tare_profile_text(profile, type->unit));
        uint32_t before = tare_profile_columns(profile);
        uint32_t column = name && unit ? tare_profile_add_column(profile, name, unit) : TARE_NONE;
        if (column == before)
            type->column = column;
        else if (column != TARE_NONE)
            tare_profile_note(profile, "dropped value %" PRIu32 ": it is called %s/%s like one before it",
                              i + 1, name, unit);
        bool failed = !name || !unit;
        free(name);
        free(unit);
        if (failed)
            return tare_fail_memory(err);
    }
    if (tables->type_count > TARE_COLUMNS_MAX)
        tare_profile_note(profile, "kept %d of the %" PRIu32 " values of each sample", TARE_COLUMNS_MAX,
                          tables->type_count);
    return 0;
}

static int resolve_meta(struct pprof_tables *tables, struct tare_error *err)
{
    struct tare_profile_meta *meta = &tables->meta;
    uint32_t *strings[] = {&meta->period_type, &meta->period_unit, &meta->default_column,
                           &meta->drop_frames, &meta->keep_frames, &meta->doc_url};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        if (resolve_string(tables, strings[i], err) < 0)
            return -1;
    uint32_t *comments = (uint32_t *)(void *)tables->comments.data;
    for (size_t i = 0; i < pprof_count(&tables->comments, sizeof *comments); i++) {
        if (resolve_string(tables, &comments[i], err) < 0)
            return -1;
        const char *text = tare_profile_text(tables->profile, comments[i]);
        if (strcmp(text, PPROF_MARK_PAIRS) == 0)
            meta->kind = TARE_PROFILE_PAIRS;
        else if (strcmp(text, PPROF_MARK_DIFF) == 0)
            meta->kind = TARE_PROFILE_DIFF;
        else if (strcmp(text, PPROF_MARK_ESTIMATED) == 0)
            meta->estimated = 1;
        else {
            size_t length = tare_profile_text_length(tables->profile, comments[i]);
            char *copy = malloc(length + 1);
            if (!copy)
                return tare_fail_memory(err);
            memcpy(copy, text, length + 1);
            tare_profile_add_comment(tables->profile, copy, length);
            free(copy);
        }
    }
    *tare_profile_meta(tables->profile) = *meta;
    return 0;
}

static int resolve_mappings(struct pprof_tables *tables, struct tare_error *err)
{
    if (pprof_ids_seal(&tables->mapping_ids, "mapping", err) < 0)
        return -1;
    struct tare_mapping *mappings = (struct tare_mapping *)(void *)tables->mappings.data;
    for (uint32_t i = 0; i < tables->mapping_ids.count; i++) {
        if (resolve_string(tables, &mappings[i].file, err) < 0 ||
            resolve_string(tables, &mappings[i].build_id, err) < 0)
            return -1;
        tare_profile_add_mapping(tables->profile, &mappings[i]);
    }
    tare_buf_finish(&tables->mappings);
    return 0;
}

/* Which of the two names is which: see pprof.h. */
static void resolve_names(const struct pprof_tables *tables, struct pprof_function *function)
{
    struct tare_frame *frame = &function->frame;
    if (!function->has_kind)
        frame->kind = (uint8_t)tare_pprof_kind(tare_profile_text(tables->profile, frame->file),
                                               tare_profile_text_length(tables->profile, frame->file));
    if (function->has_qualname)
        return;
    frame->qualname = function->system_name;
    if (frame->kind == TARE_FRAME_PYTHON && function->system_name) {
        frame->qualname = frame->name;
        frame->name = function->system_name;
    }
}

static int by_function(const void *left, const void *right, void *context)
{
    const struct pprof_function *functions = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct pprof_function *x = &functions[a], *y = &functions[b];
    int order = memcmp(&x->frame, &y->frame, sizeof x->frame);
    if (order)
        return order;
    if (x->has_twin != y->has_twin)
        return x->has_twin ? -1 : 1;
    if (x->twin != y->twin)
        return x->twin < y->twin ? -1 : 1;
    return a < b ? -1 : 1;
}

/* Functions that are equal in all but their id stay apart: those that do not say which twin they are get the
 * numbers that are free, in file order. */
static int resolve_twins(struct pprof_function *functions, uint32_t count, struct tare_error *err)
{
    uint32_t *order = malloc((size_t)count * sizeof *order + 1);
    if (!order)
        return tare_fail_memory(err);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, by_function, functions);
    for (uint32_t first = 0, end; first < count; first = end) {
        uint32_t said = first, free_twin = 0;
        for (end = first; end < count; end++) {
            struct pprof_function *function = &functions[order[end]];
            if (memcmp(&functions[order[first]].frame, &function->frame, sizeof function->frame) != 0)
                break;
            if (function->has_twin)
                continue;
            for (; said < end && functions[order[said]].has_twin; said++) {
                if (functions[order[said]].twin > free_twin)
                    break;
                if (functions[order[said]].twin == free_twin)
                    free_twin++;
            }
            function->twin = free_twin++;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        functions[i].frame.twin = functions[i].twin;
    free(order);
    return 0;
}

static int resolve_functions(struct pprof_tables *tables, struct tare_error *err)
{
    if (pprof_ids_seal(&tables->function_ids, "function", err) < 0)
        return -1;
    struct pprof_function *functions = (struct pprof_function *)(void *)tables->functions.data;
    uint32_t count = tables->function_ids.count;
    for (uint32_t i = 0; i < count; i++) {
        struct tare_frame *frame = &functions[i].frame;
        if (resolve_string(tables, &frame->name, err) < 0 ||
            resolve_string(tables, &functions[i].system_name, err) < 0 ||
            resolve_string(tables, &frame->qualname, err) < 0 ||
            resolve_string(tables, &frame->file, err) < 0 || resolve_string(tables, &frame->module, err) < 0)
            return -1;
        resolve_names(tables, &functions[i]);
    }
    return resolve_twins(functions, count, err);
}

static int resolve_place(struct pprof_tables *tables, const struct pprof_place *place, struct tare_error *err)
{
    const struct pprof_function *functions =
        (const struct pprof_function *)(const void *)tables->functions.data;
    struct pprof_line *lines = (struct pprof_line *)(void *)tables->lines.data + place->first;
    uint32_t mapping = 0;
    if (place->mapping) {
        mapping = pprof_ids_find(&tables->mapping_ids, place->mapping);
        if (mapping == TARE_NONE)
            return tare_fail(err, TARE_E_INPUT, 0, "a location is in mapping %" PRIu64 ", which is missing",
                             place->mapping);
        mapping++;
    }
    for (uint32_t i = 0; i < place->count; i++) {
        struct tare_frame frame = {.kind = TARE_FRAME_NATIVE};
        if (lines[i].function) {
            uint32_t function = pprof_ids_find(&tables->function_ids, lines[i].function);
            if (function == TARE_NONE)
                return tare_fail(err, TARE_E_INPUT, 0,
                                 "a location is in function %" PRIu64 ", which is missing",
                                 lines[i].function);
            frame = functions[function].frame;
        }
        frame.mapping = mapping;
        frame.address = place->address;
        frame.flags = i ? TARE_FRAME_INLINED : 0;
        lines[i].frame = tare_profile_frame(tables->profile, &frame);
    }
    return 0;
}

static int resolve_places(struct pprof_tables *tables, struct tare_error *err)
{
    if (pprof_ids_seal(&tables->location_ids, "location", err) < 0)
        return -1;
    const struct pprof_place *places = (const struct pprof_place *)(const void *)tables->places.data;
    for (uint32_t i = 0; i < tables->location_ids.count; i++)
        if (resolve_place(tables, &places[i], err) < 0 || tare_profile_check(tables->profile, err) < 0)
            return -1;
    tare_buf_finish(&tables->functions);
    return 0;
}

int pprof_tables_resolve(struct pprof_tables *tables, struct tare_error *err)
{
    const struct tare_buf *bufs[] = {&tables->strings, &tables->mappings, &tables->functions,
                                     &tables->places,  &tables->lines,    &tables->comments};
    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++)
        if (tare_buf_check(bufs[i], err) < 0)
            return -1;
    if (tables->strings.length == 0)
        return tare_fail(err, TARE_E_INPUT, 0, "it has no string table");
    if (resolve_types(tables, err) < 0 || resolve_meta(tables, err) < 0 ||
        resolve_mappings(tables, err) < 0 || resolve_functions(tables, err) < 0 ||
        resolve_places(tables, err) < 0)
        return -1;
    return tare_profile_check(tables->profile, err);
}

const struct pprof_line *pprof_lines(const struct pprof_tables *tables, uint64_t id, uint32_t *ret_count)
{
    uint32_t entry = pprof_ids_find(&tables->location_ids, id);
    if (entry == TARE_NONE)
        return NULL;
    const struct pprof_place *place = (const struct pprof_place *)(const void *)tables->places.data + entry;
    *ret_count = place->count;
    return (const struct pprof_line *)(const void *)tables->lines.data + place->first;
}
