/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one JSON writer, and reading through yyjson. The writer keeps track of commas and nesting, so that
 * callers only name what they write; its failures are those of its output. Numbers are written so that
 * reading gives the same value back; NaN and infinities become null, because JSON has none. Invalid UTF-8 in
 * a string is replaced, never passed on. Nesting beyond TARE_JSON_DEPTH fails the output, and so does a call
 * out of order (a key in an array, an end too many). No newline follows the last value: that is the caller's.
 */
#ifndef TARE_BASE_JSON_H
#define TARE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/error.h"
#include "base/out.h"

enum { TARE_JSON_DEPTH = 64 };

struct tare_json {
    struct tare_out *out;
    unsigned indent; /* spaces per level; 0 for one line */
    unsigned depth;
    bool after_key;
    bool filled[TARE_JSON_DEPTH];  /* this level has an element already */
    bool compact[TARE_JSON_DEPTH]; /* this level is written on one line */
    char closer[TARE_JSON_DEPTH];  /* what ends this level */
};

/** Write to out. indent 0 writes everything on one line. */
void tare_json_init(struct tare_json *json, struct tare_out *out, unsigned indent);

/** The name of the next value, inside an object. */
void tare_json_key(struct tare_json *json, const char *key);

void tare_json_object(struct tare_json *json); /**< Open an object. */
void tare_json_array(struct tare_json *json);  /**< Open an array. */
void tare_json_row(struct tare_json *json); /**< Open an array that is written on one line (many numbers). */
void tare_json_record(struct tare_json *json); /**< Open an object that is written on one line. */
void tare_json_end(struct tare_json *json);    /**< Close whatever was opened last. */

void tare_json_text(struct tare_json *json, const char *text); /**< A string; NULL gives null. */
void tare_json_span(struct tare_json *json, const char *text, size_t length); /**< A string by length. */
void tare_json_int(struct tare_json *json, int64_t value);
void tare_json_uint(struct tare_json *json, uint64_t value);
void tare_json_real(struct tare_json *json, double value); /**< The shortest text that reads back equal. */
void tare_json_bool(struct tare_json *json, bool value);
void tare_json_null(struct tare_json *json);

/* A key and its value in one call: what most callers want. */
void tare_json_put_text(struct tare_json *json, const char *key, const char *text);
void tare_json_put_int(struct tare_json *json, const char *key, int64_t value);
void tare_json_put_uint(struct tare_json *json, const char *key, uint64_t value);
void tare_json_put_real(struct tare_json *json, const char *key, double value);
void tare_json_put_bool(struct tare_json *json, const char *key, bool value);

/** Copy a value that was read, whole, so that what we do not know is kept. */
void tare_json_value(struct tare_json *json, yyjson_val *value);

/** Parse a document, which may start with a byte order mark and nests at most TARE_JSON_DEPTH deep; name is
 * for messages, which give the line and column of what is wrong. Free with yyjson_doc_free. */
int tare_json_read(const char *data, size_t length, const char *name, yyjson_doc **ret_doc,
                   struct tare_error *err);

#endif
