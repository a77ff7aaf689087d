/* SPDX-License-Identifier: Apache-2.0 */
/* A machine as JSON: an object per group of the table, then "gpus" and "libraries". */
#include <math.h>
#include <string.h>

#include "core/machine_field.h"
#include "core/machine_file.h"

enum { MAX_ITEMS = 4096 };

static void write_field(const struct tare_machine *machine, const struct tare_machine_field *field,
                        struct tare_json *json)
{
    const struct tare_machine_list *list;
    switch (field->kind) {
    case TARE_MACHINE_KIND_TEXT:
        tare_json_put_text(json, field->name, *tare_machine_field_text(machine, field));
        break;
    case TARE_MACHINE_KIND_INT:
        tare_json_put_int(json, field->name, *tare_machine_field_int(machine, field));
        break;
    case TARE_MACHINE_KIND_BOOL:
        tare_json_put_bool(json, field->name, *tare_machine_field_int(machine, field) != 0);
        break;
    case TARE_MACHINE_KIND_REAL:
        tare_json_put_real(json, field->name, *tare_machine_field_real(machine, field));
        break;
    case TARE_MACHINE_KIND_LIST:
        list = tare_machine_field_list(machine, field);
        tare_json_key(json, field->name);
        tare_json_row(json);
        for (size_t i = 0; i < list->count; i++)
            tare_json_text(json, list->items[i]);
        tare_json_end(json);
        break;
    }
}

static void put_known(struct tare_json *json, const char *key, const char *text)
{
    if (text)
        tare_json_put_text(json, key, text);
}

static void write_gpus(const struct tare_machine *machine, struct tare_json *json)
{
    tare_json_key(json, "gpus");
    tare_json_array(json);
    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct tare_machine_gpu *gpu = &machine->gpus[i];
        tare_json_object(json);
        put_known(json, "vendor", gpu->vendor);
        put_known(json, "model", gpu->model);
        put_known(json, "pci_id", gpu->pci_id);
        put_known(json, "driver", gpu->driver);
        put_known(json, "address", gpu->address);
        tare_json_end(json);
    }
    tare_json_end(json);
}

void tare_machine_write(const struct tare_machine *machine, struct tare_json *json)
{
    char fingerprint[TARE_MACHINE_FINGERPRINT_SIZE];
    const char *open = NULL;
    tare_machine_fingerprint(machine, fingerprint);
    tare_json_object(json);
    tare_json_put_text(json, "fingerprint", fingerprint);
    for (const struct tare_machine_field *field = tare_machine_fields; field->group; field++) {
        if (!tare_machine_field_known(machine, field))
            continue;
        if (!open || strcmp(open, field->group) != 0) {
            if (open)
                tare_json_end(json);
            tare_json_key(json, field->group);
            tare_json_object(json);
            open = field->group;
        }
        write_field(machine, field, json);
    }
    if (open)
        tare_json_end(json);
    if (machine->gpu_count > 0)
        write_gpus(machine, json);
    if (machine->library_count > 0) {
        tare_json_key(json, "libraries");
        tare_json_object(json);
        for (size_t i = 0; i < machine->library_count; i++)
            tare_json_put_text(json, machine->libraries[i].name, machine->libraries[i].version);
        tare_json_end(json);
    }
    tare_json_end(json);
}

static int wrong(const struct tare_machine_field *field, const char *want, struct tare_error *err)
{
    return tare_fail(err, TARE_E_INPUT, 0, "machine: '%s.%s' is not %s", field->group, field->name, want);
}

static int read_list(yyjson_val *value, const struct tare_machine_field *field, struct tare_arena *arena,
                     struct tare_machine_list *ret_list, struct tare_error *err)
{
    size_t count = yyjson_arr_size(value);
    if (!yyjson_is_arr(value) || count > MAX_ITEMS)
        return wrong(field, "a list of strings", err);
    const char **items = count > 0 ? tare_arena_array(arena, count, sizeof *items) : NULL;
    if (count > 0 && !items)
        return tare_arena_check(arena, err);
    size_t index, max, kept = 0;
    yyjson_val *item;
    yyjson_arr_foreach(value, index, max, item)
    {
        if (!yyjson_is_str(item))
            return wrong(field, "a list of strings", err);
        const char *text = tare_machine_clean(arena, yyjson_get_str(item));
        if (text)
            items[kept++] = text;
    }
    *ret_list = (struct tare_machine_list){items, kept};
    return 0;
}

static int read_field(yyjson_val *value, const struct tare_machine_field *field, struct tare_arena *arena,
                      struct tare_machine *machine, struct tare_error *err)
{
    void *slot = tare_machine_field_slot(machine, field);
    if (yyjson_is_null(value))
        return 0;
    switch (field->kind) {
    case TARE_MACHINE_KIND_TEXT:
        if (!yyjson_is_str(value))
            return wrong(field, "a string", err);
        *(const char **)slot = tare_machine_clean(arena, yyjson_get_str(value));
        return 0;
    case TARE_MACHINE_KIND_INT:
        if (!yyjson_is_uint(value) || yyjson_get_uint(value) > INT64_MAX)
            return wrong(field, "a whole number", err);
        *(int64_t *)slot = (int64_t)yyjson_get_uint(value);
        return 0;
    case TARE_MACHINE_KIND_BOOL:
        if (!yyjson_is_bool(value))
            return wrong(field, "true or false", err);
        *(int64_t *)slot = yyjson_get_bool(value);
        return 0;
    case TARE_MACHINE_KIND_REAL:
        if (!yyjson_is_num(value) || !(yyjson_get_num(value) >= 0) || !isfinite(yyjson_get_num(value)))
            return wrong(field, "a number from 0", err);
        *(double *)slot = yyjson_get_num(value);
        return 0;
    case TARE_MACHINE_KIND_LIST:
        return read_list(value, field, arena, slot, err);
    }
    return 0;
}

static int read_gpus(yyjson_val *value, struct tare_arena *arena, struct tare_machine *machine,
                     struct tare_error *err)
{
    size_t count = yyjson_arr_size(value);
    if (!yyjson_is_arr(value) || count > MAX_ITEMS)
        return tare_fail(err, TARE_E_INPUT, 0, "machine: 'gpus' is not a list of devices");
    if (count == 0)
        return 0;
    struct tare_machine_gpu *gpus = tare_arena_array(arena, count, sizeof *gpus);
    if (!gpus)
        return tare_arena_check(arena, err);
    size_t index, max;
    yyjson_val *item;
    yyjson_arr_foreach(value, index, max, item)
    {
        struct {
            const char *key, **text;
        } rows[] = {
            {"vendor", &gpus[index].vendor},   {"model", &gpus[index].model},
            {"pci_id", &gpus[index].pci_id},   {"driver", &gpus[index].driver},
            {"address", &gpus[index].address},
        };
        if (!yyjson_is_obj(item))
            return tare_fail(err, TARE_E_INPUT, 0, "machine: 'gpus' is not a list of devices");
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            yyjson_val *text = yyjson_obj_get(item, rows[i].key);
            if (text && !yyjson_is_null(text) && !yyjson_is_str(text))
                return tare_fail(err, TARE_E_INPUT, 0, "machine: '%s' of a GPU is not a string", rows[i].key);
            if (yyjson_is_str(text))
                *rows[i].text = tare_machine_clean(arena, yyjson_get_str(text));
        }
    }
    machine->gpus = gpus;
    machine->gpu_count = count;
    return 0;
}

static int read_libraries(yyjson_val *value, struct tare_arena *arena, struct tare_machine *machine,
                          struct tare_error *err)
{
    size_t index, max;
    yyjson_val *key, *item;
    if (!yyjson_is_obj(value) || yyjson_obj_size(value) > MAX_ITEMS)
        return tare_fail(err, TARE_E_INPUT, 0, "machine: 'libraries' is not an object of names and versions");
    yyjson_obj_foreach(value, index, max, key, item)
    {
        if (!yyjson_is_str(item))
            return tare_fail(err, TARE_E_INPUT, 0, "machine: the version of library '%.60s' is not a string",
                             yyjson_get_str(key));
        if (tare_machine_add_library(machine, arena, yyjson_get_str(key), yyjson_get_str(item), err) < 0)
            return -1;
    }
    return 0;
}

int tare_machine_read(yyjson_val *value, struct tare_arena *arena, struct tare_machine *ret_machine,
                      struct tare_error *err)
{
    struct tare_machine machine;
    tare_machine_init(&machine);
    if (!yyjson_is_obj(value))
        return tare_fail(err, TARE_E_INPUT, 0, "'machine' is not an object");
    for (const struct tare_machine_field *field = tare_machine_fields; field->group; field++) {
        yyjson_val *group = yyjson_obj_get(value, field->group);
        if (group && !yyjson_is_null(group) && !yyjson_is_obj(group))
            return tare_fail(err, TARE_E_INPUT, 0, "machine: '%s' is not an object", field->group);
        yyjson_val *item = yyjson_obj_get(group, field->name);
        if (item && read_field(item, field, arena, &machine, err) < 0)
            return -1;
    }
    yyjson_val *gpus = yyjson_obj_get(value, "gpus"), *libraries = yyjson_obj_get(value, "libraries");
    if (gpus && !yyjson_is_null(gpus) && read_gpus(gpus, arena, &machine, err) < 0)
        return -1;
    if (libraries && !yyjson_is_null(libraries) && read_libraries(libraries, arena, &machine, err) < 0)
        return -1;
    if (tare_arena_check(arena, err) < 0)
        return -1;
    *ret_machine = machine;
    return 0;
}
