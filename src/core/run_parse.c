/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a run, by the rows of run_fields.c. The text is hostile: every value is checked for its type and
 * range, its memory is bounded by the length of the text, and a message gives the JSON path of what is wrong.
 */
#include "core/run_fields.h"

#include <inttypes.h>
#include <stdarg.h>

/* A run needs less than this times its text; a text that claims more in fewer bytes is refused. */
enum { MEMORY_BASE = 4 << 20, MEMORY_PER_BYTE = 16 };

struct walk {
    struct tare_run *run;
    const char *name;
    struct tare_error *err;
    char path[128]; /* of the value being read: configurations[2].samples[0].ns */
    size_t length;
    bool kept; /* something points into the document */
};

static int bad(struct walk *walk, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int bad(struct walk *walk, const char *fmt, ...)
{
    char what[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return tare_fail(walk->err, TARE_E_INPUT, 0, "'%s': %s: %s", walk->name,
                     walk->length ? walk->path : "the file", what);
}

static size_t enter(struct walk *walk, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Go down one step; returns what leave needs to come back. */
static size_t enter(struct walk *walk, const char *fmt, ...)
{
    size_t before = walk->length;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(walk->path + before, sizeof walk->path - before, fmt, args);
    va_end(args);
    if (n > 0)
        walk->length += (size_t)n;
    if (walk->length >= sizeof walk->path)
        walk->length = sizeof walk->path - 1;
    return before;
}

static void leave(struct walk *walk, size_t before)
{
    walk->length = before;
    walk->path[before] = '\0';
}

static int wrong_type(struct walk *walk, yyjson_val *value, const char *want)
{
    const char *is = yyjson_is_obj(value)   ? "an object"
                     : yyjson_is_arr(value) ? "an array"
                     : yyjson_is_str(value) ? "a text"
                     : yyjson_is_num(value) ? "a number"
                                            : yyjson_get_type_desc(value); /* null, true, false */
    return bad(walk, "is %s where %s belongs", is, want);
}

static int too_large(struct walk *walk)
{
    struct tare_error err = {0};
    tare_arena_check(&walk->run->arena, &err);
    return tare_fail(walk->err, err.code, 0, "'%s': %s: %s", walk->name,
                     walk->length ? walk->path : "the file",
                     err.code == TARE_E_LIMIT ? "holds more than so short a file can mean" : err.msg);
}

static void *list_of(struct walk *walk, size_t count, size_t size)
{
    void *items = tare_arena_array(&walk->run->arena, count, size);
    if (!items)
        too_large(walk);
    return items;
}

static int read_text(struct walk *walk, yyjson_val *value, const char **ret_text)
{
    if (!yyjson_is_str(value))
        return wrong_type(walk, value, "a text");
    const char *text = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    if (memchr(text, '\0', length))
        return bad(walk, "holds a NUL character");
    *ret_text = tare_arena_text(&walk->run->arena, text, length);
    return 0;
}

static int read_int(struct walk *walk, yyjson_val *value, unsigned flags, int64_t *ret_number)
{
    int64_t number;
    if (yyjson_is_uint(value)) {
        if (yyjson_get_uint(value) > INT64_MAX)
            return bad(walk, "is %" PRIu64 ", more than 64 bits with a sign can hold",
                       yyjson_get_uint(value));
        number = (int64_t)yyjson_get_uint(value);
    } else if (yyjson_is_sint(value)) {
        number = yyjson_get_sint(value);
    } else if (yyjson_is_real(value)) {
        /* Some tools write every number as a real. Up to 2^53 nothing was lost by it. */
        double real = yyjson_get_real(value);
        if (!(fabs(real) <= 0x1p53) || real != floor(real))
            return bad(walk, "is %g where a whole number belongs", real);
        number = (int64_t)real;
    } else {
        return wrong_type(walk, value, "a whole number");
    }
    if (number < 0 && !(flags & TARE_RUN_SIGNED))
        return bad(walk, "is %" PRId64 ", below zero", number);
    *ret_number = number;
    return 0;
}

static int read_real(struct walk *walk, yyjson_val *value, unsigned flags, double *ret_real)
{
    if (!yyjson_is_num(value))
        return wrong_type(walk, value, "a number");
    double real = yyjson_get_num(value);
    if (!isfinite(real))
        return bad(walk, "is not a finite number");
    if (real < 0 && !(flags & TARE_RUN_SIGNED))
        return bad(walk, "is %g, below zero", real);
    *ret_real = real;
    return 0;
}

static int read_enum(struct walk *walk, yyjson_val *value, const char *const *names, unsigned *ret_value)
{
    if (!yyjson_is_str(value))
        return wrong_type(walk, value, "a text");
    for (unsigned i = names[0] ? 0 : 1; names[i]; i++) {
        if (yyjson_equals_str(value, names[i])) {
            *ret_value = i;
            return 0;
        }
    }
    char list[100] = "";
    size_t length = 0;
    for (unsigned i = names[0] ? 0 : 1; names[i] && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", length ? ", " : "", names[i]);
    return bad(walk, "is \"%.40s\" and not one of: %s", yyjson_get_str(value), list);
}

static int read_shape(struct walk *walk, const struct tare_run_shape *shape, yyjson_val *value, void *base);

static int read_array(struct walk *walk, const struct tare_run_field *field, yyjson_val *value,
                      void **ret_items, size_t *ret_count)
{
    static const size_t sizes[] = {[TARE_RUN_TEXTS] = sizeof(char *),
                                   [TARE_RUN_INTS] = sizeof(int64_t),
                                   [TARE_RUN_REALS] = sizeof(double)};
    if (!yyjson_is_arr(value))
        return wrong_type(walk, value, "an array");
    size_t count = yyjson_arr_size(value), i, most;
    size_t size = field->kind == TARE_RUN_LIST ? field->shape->size : sizes[field->kind];
    void *items = list_of(walk, count, size);
    if (!items)
        return -1;
    yyjson_val *item;
    yyjson_arr_foreach(value, i, most, item)
    {
        size_t before = enter(walk, "[%zu]", i);
        int failed;
        if (field->kind == TARE_RUN_TEXTS)
            failed = read_text(walk, item, (const char **)items + i);
        else if (field->kind == TARE_RUN_INTS)
            failed = read_int(walk, item, field->flags, (int64_t *)items + i);
        else if (field->kind == TARE_RUN_REALS)
            failed = read_real(walk, item, field->flags, (double *)items + i);
        else
            failed = read_shape(walk, field->shape, item, (char *)items + i * size);
        if (failed)
            return -1;
        leave(walk, before);
    }
    *ret_items = items;
    *ret_count = count;
    return 0;
}

/* A key as text of ours; it may become part of another key or of a path. */
static int read_key(struct walk *walk, yyjson_val *key, const char **ret_key)
{
    if (yyjson_get_len(key) == 0)
        return bad(walk, "holds a key without a name");
    return read_text(walk, key, ret_key);
}

/* An object whose keys are names of the user's own. */
static int read_map(struct walk *walk, const struct tare_run_field *field, yyjson_val *value,
                    void **ret_items, size_t *ret_count)
{
    if (!yyjson_is_obj(value))
        return wrong_type(walk, value, "an object");
    size_t count = yyjson_obj_size(value), i, most;
    bool dims = field->kind == TARE_RUN_DIMS;
    void *items = list_of(walk, count, dims ? sizeof(struct tare_run_dim) : sizeof(struct tare_run_label));
    if (!items)
        return -1;
    yyjson_val *key, *item;
    yyjson_obj_foreach(value, i, most, key, item)
    {
        struct tare_run_dim *dim = (struct tare_run_dim *)items + i;
        struct tare_run_label *label = (struct tare_run_label *)items + i;
        const char *name = NULL;
        if (read_key(walk, key, &name))
            return -1;
        size_t before = enter(walk, ".%s", name);
        if (dims ? read_int(walk, item, field->flags, &dim->value) : read_text(walk, item, &label->value))
            return -1;
        if (dims)
            dim->name = name;
        else
            label->name = name;
        leave(walk, before);
    }
    *ret_items = items;
    *ret_count = count;
    return 0;
}

static int read_machine(struct walk *walk, yyjson_val *value)
{
    struct tare_machine *machine = tare_arena_alloc(&walk->run->arena, sizeof *machine);
    if (!machine)
        return too_large(walk);
    if (!yyjson_is_obj(value))
        return wrong_type(walk, value, "an object");
    struct tare_error err;
    if (tare_machine_read(value, &walk->run->arena, machine, &err))
        return tare_fail(walk->err, err.code, 0, "'%s': %s", walk->name, err.msg);
    walk->run->machine = machine;
    walk->run->machine_source = value;
    walk->kept = true;
    return 0;
}

static int read_field(struct walk *walk, const struct tare_run_field *field, yyjson_val *value, void *base)
{
    void *place = (char *)base + field->offset;
    void *items = NULL;
    size_t count = 0;
    switch (field->kind) {
    case TARE_RUN_TEXT:
        return read_text(walk, value, place);
    case TARE_RUN_INT: {
        struct tare_run_int *number = place;
        number->known = true;
        return read_int(walk, value, field->flags, &number->value);
    }
    case TARE_RUN_REAL: {
        struct tare_run_real *real = place;
        real->known = true;
        return read_real(walk, value, field->flags, &real->value);
    }
    case TARE_RUN_FLAG:
        if (!yyjson_is_bool(value))
            return wrong_type(walk, value, "true or false");
        *(struct tare_run_flag *)place = tare_run_flag(yyjson_get_bool(value));
        return 0;
    case TARE_RUN_ENUM:
        return read_enum(walk, value, field->names, place);
    case TARE_RUN_OBJECT:
        return read_shape(walk, field->shape, value, place);
    case TARE_RUN_MACHINE:
        return read_machine(walk, value);
    case TARE_RUN_DERIVED:
        return 0;
    case TARE_RUN_DIMS:
    case TARE_RUN_LABELS:
        if (read_map(walk, field, value, &items, &count))
            return -1;
        break;
    default:
        if (read_array(walk, field, value, &items, &count))
            return -1;
        break;
    }
    memcpy(place, &items, sizeof items);
    *(size_t *)(void *)((char *)base + field->count_offset) = count;
    return 0;
}

/* Keep a key that this version does not know, behind those kept before. */
static int keep(struct walk *walk, yyjson_val *key, yyjson_val *value, struct tare_run_extra ***tail)
{
    struct tare_run_extra *extra = tare_arena_alloc(&walk->run->arena, sizeof *extra);
    if (!extra)
        return too_large(walk);
    if (read_key(walk, key, &extra->key))
        return -1;
    extra->value = value;
    **tail = extra;
    *tail = &extra->next;
    walk->kept = true;
    return 0;
}

static const struct tare_run_field *find(const struct tare_run_shape *shape, yyjson_val *key)
{
    for (size_t i = 0; i < shape->field_count; i++)
        if (yyjson_equals_str(key, shape->fields[i].key))
            return &shape->fields[i];
    return NULL;
}

/* Recursion ends with the tables, which are five levels deep. */
static int read_shape(struct walk *walk, const struct tare_run_shape *shape, yyjson_val *value, void *base)
{
    struct tare_run_extra **tail = (struct tare_run_extra **)(void *)((char *)base + shape->extra_offset);
    uint64_t seen = 0;
    size_t i, most;
    yyjson_val *key, *item;
    if (!yyjson_is_obj(value))
        return wrong_type(walk, value, "an object");
    yyjson_obj_foreach(value, i, most, key, item)
    {
        const struct tare_run_field *field = find(shape, key);
        if (!field) {
            if (shape == &tare_run_shape && yyjson_equals_str(key, "schema"))
                continue;
            if (keep(walk, key, item, &tail))
                return -1;
            continue;
        }
        size_t before = enter(walk, "%s%s", walk->length ? "." : "", field->key);
        uint64_t bit = UINT64_C(1) << (field - shape->fields);
        if (seen & bit)
            return bad(walk, "is given twice");
        seen |= bit;
        /* null says: not known. */
        if (yyjson_is_null(item) && (field->flags & TARE_RUN_REQUIRED))
            return bad(walk, "is null, and has to be known");
        if (!yyjson_is_null(item) && read_field(walk, field, item, base))
            return -1;
        leave(walk, before);
    }
    for (i = 0; i < shape->field_count; i++) {
        if ((shape->fields[i].flags & TARE_RUN_REQUIRED) && !(seen & UINT64_C(1) << i))
            return bad(walk, "lacks the key \"%s\"", shape->fields[i].key);
    }
    return 0;
}

/* Is it a run, and one that this version reads? */
static int check_schema(yyjson_val *root, const char *name, struct tare_error *err)
{
    const char *schema = yyjson_get_str(yyjson_obj_get(root, "schema"));
    if (!schema)
        return tare_fail(err, TARE_E_INPUT, 0,
                         "'%s' is not a run: it is JSON without \"schema\": \"" TARE_RUN_SCHEMA "\"", name);
    if (strcmp(schema, TARE_RUN_SCHEMA) == 0)
        return 0;
    if (strncmp(schema, "tare.run/", 9) == 0)
        return tare_fail(err, TARE_E_INPUT, 0,
                         "'%s' is a run of schema %.40s and this tare (%s) reads " TARE_RUN_SCHEMA
                         ": use the tare that wrote it, or a newer one",
                         name, schema, TARE_VERSION);
    return tare_fail(err, TARE_E_INPUT, 0,
                     "'%s' is not a run: its schema is \"%.60s\" and not " TARE_RUN_SCHEMA, name, schema);
}

int tare_run_read(const char *data, size_t length, const char *name, struct tare_run **ret_run,
                  struct tare_error *err)
{
    struct tare_run *run = NULL;
    yyjson_doc *doc = NULL;
    int result = -1;
    if (tare_json_read(data, length, name, &doc, err))
        goto out;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (check_schema(root, name, err))
        goto out;
    if (length > SIZE_MAX / MEMORY_PER_BYTE - MEMORY_BASE) {
        tare_fail(err, TARE_E_LIMIT, 0, "'%s' is too long to be read", name);
        goto out;
    }
    if (tare_run_create(MEMORY_BASE + length * MEMORY_PER_BYTE, &run, err))
        goto out;
    run->tool_version = NULL;
    struct walk walk = {.run = run, .name = name, .err = err};
    if (read_shape(&walk, &tare_run_shape, root, run))
        goto out;
    if (run->arena.failed) {
        too_large(&walk);
        goto out;
    }
    if (tare_run_check(run, name, err))
        goto out;
    if (walk.kept) {
        run->document = doc;
        doc = NULL;
    }
    *ret_run = run;
    run = NULL;
    result = 0;
out:
    tare_run_destroy(run);
    yyjson_doc_free(doc);
    return result;
}
