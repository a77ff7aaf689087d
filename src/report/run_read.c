/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of a run's file. What the JSON may say is the noun's business; this is about the file. */
#include "report/run_report.h"

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
    struct tare_buf text;
    tare_buf_init(&text, tare_in_compressed(in) ? TARE_RUN_COMPRESSED_MOST : TARE_RUN_FILE_MOST);
    if (tare_in_all(in, &text, err) == 0)
        result = tare_run_read(text.data, text.length, tare_in_name(in), ret_run, err);
    tare_buf_finish(&text);
    return result;
}
