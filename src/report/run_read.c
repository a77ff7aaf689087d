/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of a run's file. What the JSON may say is the noun's business; this is about the file. */
#include "report/run_report.h"

enum { SMALL = 1 << 20 };

static size_t skip_space(const uint8_t *data, size_t at, size_t length)
{
    while (at < length && (data[at] == ' ' || data[at] == '\t' || data[at] == '\n' || data[at] == '\r'))
        at++;
    return at;
}

static bool starts_with(const uint8_t *data, size_t at, size_t length, const char *text)
{
    size_t size = strlen(text);
    return size <= length - at && memcmp(data + at, text, size) == 0;
}

/* The key may stand anywhere (tools sort keys), but a value that merely mentions it must not count: it has to
 * follow from a key named schema. */
bool tare_run_recognise(const uint8_t *head, size_t length, bool whole)
{
    (void)whole;
    size_t at = starts_with(head, 0, length, "\xef\xbb\xbf") ? 3 : 0;
    at = skip_space(head, at, length);
    if (at == length || head[at] != '{')
        return false;
    for (; at < length; at++) {
        if (!starts_with(head, at, length, "\"schema\""))
            continue;
        size_t colon = skip_space(head, at + strlen("\"schema\""), length);
        if (colon == length || head[colon] != ':')
            continue;
        if (starts_with(head, skip_space(head, colon + 1, length), length, "\"tare.run/"))
            return true;
    }
    return false;
}

/* Looking for the value of the key "schema" at the top of an object, byte by byte. */
struct scan {
    unsigned depth;
    bool in_string, escaped, value; /* value: what follows is the value of a key, not a key */
    char text[32];                  /* the start of the string being read */
    size_t length;
    bool schema; /* the key was "schema" */
};

/* 1: it is a run, -1: it is not, 0: go on. */
static int scan_byte(struct scan *scan, uint8_t byte)
{
    if (scan->in_string) {
        if (scan->escaped || byte != '"') {
            scan->escaped = !scan->escaped && byte == '\\';
            if (scan->depth == 1 && scan->length < sizeof scan->text - 1)
                scan->text[scan->length++] = (char)byte;
            return 0;
        }
        scan->in_string = false;
        scan->text[scan->length] = '\0';
        if (scan->depth == 1 && scan->value && scan->schema)
            return strncmp(scan->text, "tare.run/", 9) == 0 ? 1 : -1;
        if (scan->depth == 1 && !scan->value)
            scan->schema = strcmp(scan->text, "schema") == 0;
        return 0;
    }
    if (byte == '"') {
        scan->in_string = true;
        scan->length = 0;
    } else if (byte == '{' || byte == '[') {
        scan->depth++;
    } else if (byte == '}' || byte == ']') {
        if (--scan->depth == 0)
            return -1;
    } else if (scan->depth == 1 && (byte == ':' || byte == ',')) {
        scan->value = byte == ':';
    }
    return 0;
}

/* How many of these bytes, which are not at the top, neither end nor begin anything. */
static size_t dull(const struct scan *scan, const uint8_t *data, size_t length)
{
    size_t i = 0;
    if (scan->escaped)
        return 0;
    if (scan->in_string)
        while (i < length && data[i] != '"' && data[i] != '\\')
            i++;
    else if (scan->depth > 1)
        while (i < length && (data[i] | 0x20) < '[' && data[i] != '"')
            i++;
    return i;
}

/* Refuse a large file of another kind before it is held in memory. The input starts with an object. */
static int look_for_schema(struct tare_in *in, struct tare_error *err)
{
    struct scan scan = {.depth = 0};
    uint8_t data[16384];
    size_t length;
    int found = 0;
    while (found == 0) {
        if (tare_in_read(in, data, sizeof data, &length, err))
            return -1;
        if (length == 0 || tare_in_position(in) > TARE_RUN_FILE_MOST)
            break;
        for (size_t i = 0; i < length && found == 0; i++) {
            /* Almost all bytes of a large file are deep inside and decide nothing. */
            if (scan.depth > 1 || scan.length == sizeof scan.text - 1)
                i += dull(&scan, data + i, length - i - 1);
            found = scan_byte(&scan, data[i]);
        }
    }
    /* What is small is worth being parsed, for a message that says where it is wrong. */
    if (found <= 0 && tare_in_position(in) > SMALL)
        return tare_fail(err, TARE_E_INPUT, 0,
                         "'%s' is not a run: it is JSON without \"schema\": \"" TARE_RUN_SCHEMA "\"",
                         tare_in_name(in));
    return tare_in_rewind(in, err);
}

int tare_run_load(struct tare_in *in, struct tare_run **ret_run, struct tare_error *err)
{
    const uint8_t *head;
    size_t length;
    int result = -1;
    if (tare_in_peek(in, 4096, &head, &length, err))
        return -1;
    /* Before anything large is read: whatever cannot be JSON is not worth its memory. */
    size_t start = starts_with(head, 0, length, "\xef\xbb\xbf") ? 3 : 0;
    start = skip_space(head, start, length);
    if (start == length && length < 4096)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' is empty where a run was expected", tare_in_name(in));
    if (start == length || head[start] != '{')
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' is not a run: it does not start with an object",
                         tare_in_name(in));
    if (look_for_schema(in, err))
        return -1;
    struct tare_buf text;
    tare_buf_init(&text, tare_in_compressed(in) ? TARE_RUN_COMPRESSED_MOST : TARE_RUN_FILE_MOST);
    if (tare_in_all(in, &text, err) == 0)
        result = tare_run_read(text.data, text.length, tare_in_name(in), ret_run, err);
    tare_buf_finish(&text);
    return result;
}
