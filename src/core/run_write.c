/* SPDX-License-Identifier: Apache-2.0 */
/* The run as JSON, by the rows of run_fields.c. */
#include "core/run_fields.h"

static const void *at(const void *base, size_t offset)
{
    return (const char *)base + offset;
}

static size_t count_of(const struct tare_run_field *field, const void *base)
{
    return *(const size_t *)at(base, field->count_offset);
}

static const char *enum_name(const struct tare_run_field *field, const void *place)
{
    /* An enum of ours has no negative values, so that the compiler stores it as an unsigned int. */
    return field->names[*(const unsigned *)place];
}

static bool known(const struct tare_run_field *field, const void *base)
{
    const void *place = at(base, field->offset);
    switch (field->kind) {
    case TARE_RUN_TEXT:
        return *(const char *const *)place != NULL;
    case TARE_RUN_INT:
        return ((const struct tare_run_int *)place)->known;
    case TARE_RUN_REAL:
        return ((const struct tare_run_real *)place)->known;
    case TARE_RUN_FLAG:
        return ((const struct tare_run_flag *)place)->known;
    case TARE_RUN_ENUM:
        return enum_name(field, place) != NULL;
    case TARE_RUN_OBJECT:
        return !tare_run_shape_empty(field->shape, place);
    case TARE_RUN_MACHINE:
        return *(struct tare_machine *const *)place != NULL;
    case TARE_RUN_DERIVED:
        return true;
    default:
        return count_of(field, base) > 0;
    }
}

bool tare_run_shape_empty(const struct tare_run_shape *shape, const void *base)
{
    for (size_t i = 0; i < shape->field_count; i++)
        if (known(&shape->fields[i], base))
            return false;
    return *(struct tare_run_extra *const *)at(base, shape->extra_offset) == NULL;
}

static void write_shape(const struct tare_run *run, const struct tare_run_shape *shape, const void *base,
                        struct tare_json *json);

static void write_real(struct tare_json *json, struct tare_run_real real)
{
    if (real.known)
        tare_json_real(json, real.value);
    else
        tare_json_null(json);
}

static void write_int(struct tare_json *json, struct tare_run_int number)
{
    if (number.known)
        tare_json_int(json, number.value);
    else
        tare_json_null(json);
}

static void write_many(const struct tare_run *run, const struct tare_run_field *field, const void *base,
                       struct tare_json *json)
{
    const void *items = *(const void *const *)at(base, field->offset);
    size_t count = count_of(field, base);
    if (field->kind == TARE_RUN_INTS || field->kind == TARE_RUN_REALS || field->kind == TARE_RUN_TEXTS)
        tare_json_row(json);
    else if (field->kind == TARE_RUN_LIST)
        tare_json_array(json);
    else
        tare_json_object(json);
    for (size_t i = 0; i < count; i++) {
        if (field->kind == TARE_RUN_INTS) {
            tare_json_int(json, ((const int64_t *)items)[i]);
        } else if (field->kind == TARE_RUN_REALS) {
            tare_json_real(json, ((const double *)items)[i]);
        } else if (field->kind == TARE_RUN_TEXTS) {
            tare_json_text(json, ((const char *const *)items)[i]);
        } else if (field->kind == TARE_RUN_DIMS) {
            const struct tare_run_dim *dim = (const struct tare_run_dim *)items + i;
            tare_json_put_int(json, dim->name, dim->value);
        } else if (field->kind == TARE_RUN_LABELS) {
            const struct tare_run_label *label = (const struct tare_run_label *)items + i;
            tare_json_put_text(json, label->name, label->value);
        } else {
            write_shape(run, field->shape, at(items, i * field->shape->size), json);
        }
    }
    tare_json_end(json);
}

static void write_field(const struct tare_run *run, const struct tare_run_field *field, const void *base,
                        struct tare_json *json)
{
    const void *place = at(base, field->offset);
    switch (field->kind) {
    case TARE_RUN_TEXT:
        tare_json_text(json, *(const char *const *)place);
        break;
    case TARE_RUN_INT:
        write_int(json, *(const struct tare_run_int *)place);
        break;
    case TARE_RUN_REAL:
        write_real(json, *(const struct tare_run_real *)place);
        break;
    case TARE_RUN_FLAG:
        tare_json_bool(json, ((const struct tare_run_flag *)place)->value);
        break;
    case TARE_RUN_ENUM:
        tare_json_text(json, enum_name(field, place));
        break;
    case TARE_RUN_OBJECT:
        write_shape(run, field->shape, place, json);
        break;
    case TARE_RUN_MACHINE:
        if (run->machine_source)
            tare_json_value(json, run->machine_source);
        else
            tare_machine_write(run->machine, json);
        break;
    case TARE_RUN_DERIVED:
        field->derive(run, json);
        break;
    default:
        write_many(run, field, base, json);
        break;
    }
}

static void write_keys(const struct tare_run *run, const struct tare_run_shape *shape, const void *base,
                       struct tare_json *json)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct tare_run_field *field = &shape->fields[i];
        if (!(field->flags & TARE_RUN_REQUIRED) && !known(field, base))
            continue;
        tare_json_key(json, field->key);
        write_field(run, field, base, json);
    }
    const struct tare_run_extra *extra = *(struct tare_run_extra *const *)at(base, shape->extra_offset);
    for (; extra; extra = extra->next) {
        tare_json_key(json, extra->key);
        tare_json_value(json, extra->value);
    }
}

/* Recursion ends with the tables, which are five levels deep. */
static void write_shape(const struct tare_run *run, const struct tare_run_shape *shape, const void *base,
                        struct tare_json *json)
{
    tare_json_object(json);
    write_keys(run, shape, base, json);
    tare_json_end(json);
}

void tare_run_write(const struct tare_run *run, struct tare_json *json)
{
    tare_json_object(json);
    tare_json_put_text(json, "schema", TARE_RUN_SCHEMA);
    write_keys(run, &tare_run_shape, run, json);
    tare_json_end(json);
}
