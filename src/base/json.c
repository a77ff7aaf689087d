/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"

void tare_json_init(struct tare_json *json, struct tare_out *out, unsigned indent)
{
    *json = (struct tare_json){.out = out, .indent = indent};
}

static void misuse(struct tare_json *json, const char *what)
{
    struct tare_error err;
    tare_fail(&err, TARE_E_USAGE, 0, "JSON written out of order: %s", what);
    tare_out_fail(json->out, &err);
}

static bool is_compact(const struct tare_json *json)
{
    return json->indent == 0 || (json->depth > 0 && json->compact[json->depth - 1]);
}

static void newline(struct tare_json *json)
{
    static const char spaces[] = "                                ";
    tare_out_add(json->out, "\n", 1);
    size_t left = (size_t)json->depth * json->indent;
    while (left) {
        size_t n = left < sizeof spaces - 1 ? left : sizeof spaces - 1;
        tare_out_add(json->out, spaces, n);
        left -= n;
    }
}

/* The comma and the place of the next element of the open container. */
static void element(struct tare_json *json)
{
    bool *filled = &json->filled[json->depth - 1];
    if (*filled)
        tare_out_add(json->out, ",", 1);
    if (!is_compact(json))
        newline(json);
    else if (*filled && json->indent)
        tare_out_add(json->out, " ", 1);
    *filled = true;
}

/* Whatever must stand before a value. False: the value must not be written. */
static bool before_value(struct tare_json *json)
{
    if (json->after_key) {
        json->after_key = false;
    } else if (json->depth > 0) {
        if (json->closer[json->depth - 1] == '}') {
            misuse(json, "a value without a key");
            return false;
        }
        element(json);
    }
    return !json->out->failed;
}

static void write_string(struct tare_json *json, const char *text, size_t length)
{
    struct tare_out *out = json->out;
    size_t plain = 0; /* start of the bytes that can be copied as they are */
    size_t i = 0;
    tare_out_add(out, "\"", 1);
    while (i < length) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            i++;
            continue;
        }
        if (c >= 0x80) {
            size_t n = tare_utf8_next(text + i, length - i, NULL);
            if (n) {
                i += n;
                continue;
            }
        }
        tare_out_add(out, text + plain, i - plain);
        plain = ++i;
        if (c >= 0x80)
            tare_out_text(out, TARE_UTF8_REPLACEMENT);
        else if (c == '"' || c == '\\')
            tare_out_printf(out, "\\%c", c);
        else if (c == '\n')
            tare_out_add(out, "\\n", 2);
        else if (c == '\t')
            tare_out_add(out, "\\t", 2);
        else
            tare_out_printf(out, "\\u%04x", c);
    }
    tare_out_add(out, text + plain, length - plain);
    tare_out_add(out, "\"", 1);
}

static void write_key(struct tare_json *json, const char *key, size_t length)
{
    if (json->depth == 0 || json->closer[json->depth - 1] != '}' || json->after_key) {
        misuse(json, "a key where none belongs");
        return;
    }
    element(json);
    write_string(json, key, length);
    tare_out_text(json->out, json->indent ? ": " : ":");
    json->after_key = true;
}

void tare_json_key(struct tare_json *json, const char *key)
{
    write_key(json, key, strlen(key));
}

static void open_container(struct tare_json *json, char closer, bool compact)
{
    if (!before_value(json))
        return;
    if (json->depth == TARE_JSON_DEPTH) {
        struct tare_error err;
        tare_fail(&err, TARE_E_LIMIT, 0, "JSON nested more than %d levels deep cannot be written",
                  TARE_JSON_DEPTH);
        tare_out_fail(json->out, &err);
        return;
    }
    compact = compact || is_compact(json);
    tare_out_add(json->out, closer == '}' ? "{" : "[", 1);
    json->filled[json->depth] = false;
    json->compact[json->depth] = compact;
    json->closer[json->depth] = closer;
    json->depth++;
}

void tare_json_object(struct tare_json *json)
{
    open_container(json, '}', false);
}

void tare_json_array(struct tare_json *json)
{
    open_container(json, ']', false);
}

void tare_json_row(struct tare_json *json)
{
    open_container(json, ']', true);
}

void tare_json_record(struct tare_json *json)
{
    open_container(json, '}', true);
}

void tare_json_end(struct tare_json *json)
{
    /* After a failure the levels are no longer counted, so that nothing here may be judged by them. */
    if (json->out->failed)
        return;
    if (json->depth == 0 || json->after_key) {
        misuse(json, json->depth == 0 ? "an end without a beginning" : "a key without a value");
        return;
    }
    json->depth--;
    if (json->filled[json->depth] && json->indent && !json->compact[json->depth])
        newline(json);
    tare_out_add(json->out, &json->closer[json->depth], 1);
}

void tare_json_span(struct tare_json *json, const char *text, size_t length)
{
    if (before_value(json))
        write_string(json, text, length);
}

void tare_json_text(struct tare_json *json, const char *text)
{
    if (text)
        tare_json_span(json, text, strlen(text));
    else
        tare_json_null(json);
}

void tare_json_int(struct tare_json *json, int64_t value)
{
    if (before_value(json))
        tare_out_printf(json->out, "%" PRId64, value);
}

void tare_json_uint(struct tare_json *json, uint64_t value)
{
    if (before_value(json))
        tare_out_printf(json->out, "%" PRIu64, value);
}

void tare_json_real(struct tare_json *json, double value)
{
    if (!isfinite(value)) {
        tare_json_null(json);
        return;
    }
    if (!before_value(json))
        return;
    /* yyjson finds the shortest digits whatever the locale; it works in this pool and never allocates. */
    char pool[1024];
    yyjson_alc alc;
    yyjson_mut_val number = {0};
    yyjson_set_real((yyjson_val *)&number, value);
    size_t length = 0;
    char *text = NULL;
    if (yyjson_alc_pool_init(&alc, pool, sizeof pool))
        text = yyjson_mut_val_write_opts(&number, YYJSON_WRITE_NOFLAG, &alc, &length, NULL);
    if (!text) {
        struct tare_error err;
        tare_fail_memory(&err);
        tare_out_fail(json->out, &err);
        return;
    }
    tare_out_add(json->out, text, length);
}

void tare_json_bool(struct tare_json *json, bool value)
{
    if (before_value(json))
        tare_out_text(json->out, value ? "true" : "false");
}

void tare_json_null(struct tare_json *json)
{
    if (before_value(json))
        tare_out_text(json->out, "null");
}

void tare_json_put_text(struct tare_json *json, const char *key, const char *text)
{
    tare_json_key(json, key);
    tare_json_text(json, text);
}

void tare_json_put_int(struct tare_json *json, const char *key, int64_t value)
{
    tare_json_key(json, key);
    tare_json_int(json, value);
}

void tare_json_put_uint(struct tare_json *json, const char *key, uint64_t value)
{
    tare_json_key(json, key);
    tare_json_uint(json, value);
}

void tare_json_put_real(struct tare_json *json, const char *key, double value)
{
    tare_json_key(json, key);
    tare_json_real(json, value);
}

void tare_json_put_bool(struct tare_json *json, const char *key, bool value)
{
    tare_json_key(json, key);
    tare_json_bool(json, value);
}

/* An array of nothing but plain values reads best on one line. */
static bool is_row(yyjson_val *array)
{
    size_t i, count;
    yyjson_val *item;
    yyjson_arr_foreach(array, i, count, item)
    {
        if (yyjson_is_ctn(item))
            return false;
    }
    return true;
}

/* Recursion ends with the writer's depth: opening one level too many fails the output. */
/* NOLINTNEXTLINE(misc-no-recursion) */
void tare_json_value(struct tare_json *json, yyjson_val *value)
{
    size_t i, count;
    yyjson_val *key, *item;
    if (json->out->failed)
        return;
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_BOOL:
        tare_json_bool(json, yyjson_get_bool(value));
        break;
    case YYJSON_TYPE_NUM:
        if (yyjson_is_uint(value))
            tare_json_uint(json, yyjson_get_uint(value));
        else if (yyjson_is_sint(value))
            tare_json_int(json, yyjson_get_sint(value));
        else
            tare_json_real(json, yyjson_get_real(value));
        break;
    case YYJSON_TYPE_STR:
        tare_json_span(json, yyjson_get_str(value), yyjson_get_len(value));
        break;
    case YYJSON_TYPE_ARR:
        open_container(json, ']', is_row(value));
        yyjson_arr_foreach(value, i, count, item)
        {
            tare_json_value(json, item);
        }
        tare_json_end(json);
        break;
    case YYJSON_TYPE_OBJ:
        tare_json_object(json);
        yyjson_obj_foreach(value, i, count, key, item)
        {
            if (json->out->failed)
                return;
            write_key(json, yyjson_get_str(key), yyjson_get_len(key));
            tare_json_value(json, item);
        }
        tare_json_end(json);
        break;
    default:
        tare_json_null(json);
    }
}

/* "at line 3, column 7", counted in characters as an editor does. */
static int fail_at(const char *data, size_t length, size_t where, const char *name, const char *what,
                   struct tare_error *err)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < where && i < length; i++) {
        if (data[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)data[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    return tare_fail(err, TARE_E_INPUT, 0, "'%s' is not valid JSON: %s at line %zu, column %zu", name, what,
                     line, column);
}

/* Where the text nests too deep, or length. Looked for before parsing, because a parsed value takes 16 bytes
 * for a text's one bracket. */
static size_t too_deep(const char *data, size_t length)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < length; i++) {
        char c = data[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > TARE_JSON_DEPTH)
                return i;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return length;
}

int tare_json_read(const char *data, size_t length, const char *name, yyjson_doc **ret_doc,
                   struct tare_error *err)
{
    /* A byte order mark is not JSON, but editors leave one. */
    if (length >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
        data += 3;
        length -= 3;
    }
    size_t deep = too_deep(data, length);
    if (deep < length)
        return fail_at(data, length, deep, name, "nested too deep", err);
    /* Without the in-situ flag yyjson does not write to its input; only its type says that it might. */
    yyjson_read_err problem;
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)data, length, YYJSON_READ_NOFLAG, NULL, &problem);
    if (doc) {
        *ret_doc = doc;
        return 0;
    }
    if (problem.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return tare_fail_memory(err);
    if (length == 0 || problem.code == YYJSON_READ_ERROR_EMPTY_CONTENT)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' is empty where JSON was expected", name);
    return fail_at(data, length, problem.pos, name, problem.msg, err);
}
