/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ort_profile_scan.h"

#include <string.h>

/* More shapes of one node than this are hostile, not a model. */
enum { SHAPES_MAX = 4096 };

struct span {
    const char *at, *end;
};

static void skip_space(struct span *span)
{
    while (span->at < span->end && (*span->at == ' ' || *span->at == '\t'))
        span->at++;
}

static bool take(struct span *span, char c)
{
    skip_space(span);
    if (span->at == span->end || *span->at != c)
        return false;
    span->at++;
    return true;
}

/* Where a key and its value begin; false if the key is not there. ret_key may be NULL. */
static bool find_key_at(struct span text, const char *key, const char **ret_key, struct span *ret_value)
{
    size_t length = strlen(key);
    for (const char *at = text.at; (size_t)(text.end - at) > length + 2; at++) {
        at = memchr(at, '"', (size_t)(text.end - at));
        if (!at || (size_t)(text.end - at) <= length + 2)
            return false;
        if (memcmp(at + 1, key, length) != 0 || at[length + 1] != '"')
            continue;
        struct span value = {at + length + 2, text.end};
        if (!take(&value, ':'))
            continue;
        skip_space(&value);
        *ret_value = value;
        if (ret_key)
            *ret_key = at;
        return true;
    }
    return false;
}

static bool find_key(struct span text, const char *key, struct span *ret_value)
{
    return find_key_at(text, key, NULL, ret_value);
}

static bool read_int(struct span *span, int64_t *ret_value)
{
    skip_space(span);
    bool negative = span->at < span->end && *span->at == '-';
    if (negative)
        span->at++;
    const char *from = span->at;
    int64_t value = 0;
    for (; span->at < span->end && *span->at >= '0' && *span->at <= '9'; span->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *span->at - '0', &value))
            return false;
    if (span->at == from)
        return false;
    *ret_value = negative ? -value : value;
    return true;
}

static bool find_int(struct span text, const char *key, int64_t *ret_value)
{
    struct span value;
    if (!find_key(text, key, &value))
        return false;
    if (value.at < value.end && *value.at == '"')
        value.at++;
    return read_int(&value, ret_value);
}

static bool is(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* A name may hold quotes and anything else: it ends where the arguments begin, and not before. */
static bool split_name(struct span value, struct tare_ort_event *event)
{
    if (!take(&value, '"'))
        return false;
    const char *name = value.at;
    struct span rest = value, args;
    const char *at;
    while (find_key_at(rest, "args", &at, &args)) {
        const char *end = at;
        while (end > name && end[-1] == ' ')
            end--;
        if (end > name && end[-1] == ',') {
            end--;
            while (end > name && end[-1] == ' ')
                end--;
            if (end > name && end[-1] == '"') {
                event->name = name;
                event->name_length = (size_t)(end - 1 - name);
                event->args = args.at;
                event->args_length = (size_t)(args.end - args.at);
                return true;
            }
        }
        rest.at = at + 1;
    }
    return false;
}

enum tare_ort_line tare_ort_scan_line(const char *line, size_t length, struct tare_ort_event *ret_event)
{
    static const char suffix[] = "_kernel_time";
    *ret_event = (struct tare_ort_event){.name = "", .args = ""};
    struct span text = {line, line + length}, value, kind;
    skip_space(&text);
    if (text.at == text.end || *text.at == '[' || *text.at == ']' || *text.at == '\r')
        return TARE_ORT_LINE_NONE;
    if (*text.at != '{' || !find_key(text, "name", &value))
        return TARE_ORT_LINE_ODD;
    struct span head = {text.at, value.at};
    if (!find_key(head, "cat", &kind) || !find_int(head, "tid", &ret_event->thread) ||
        !find_int(head, "ts", &ret_event->start_us) || !find_int(head, "dur", &ret_event->length_us) ||
        !split_name(value, ret_event))
        return TARE_ORT_LINE_ODD;
    /* Half of what a number holds, so that a start and a length can be added. */
    if (ret_event->start_us < 0 || ret_event->length_us < 0 || ret_event->start_us > INT64_MAX / 2 ||
        ret_event->length_us > INT64_MAX / 2)
        return TARE_ORT_LINE_ODD;
    size_t kind_length = (size_t)(kind.end - kind.at);
    if (kind_length > 6 && memcmp(kind.at, "\"Node\"", 6) == 0) {
        size_t tail = sizeof suffix - 1;
        if (ret_event->name_length < tail ||
            memcmp(ret_event->name + ret_event->name_length - tail, suffix, tail) != 0)
            return TARE_ORT_LINE_OTHER;
        ret_event->name_length -= tail;
        return TARE_ORT_LINE_NODE;
    }
    if (kind_length > 9 && memcmp(kind.at, "\"Session\"", 9) == 0) {
        if (is(ret_event->name, ret_event->name_length, "model_run"))
            return TARE_ORT_LINE_CALL;
        if (is(ret_event->name, ret_event->name_length, "SequentialExecutor::Execute") ||
            is(ret_event->name, ret_event->name_length, "ParallelExecutor::Execute"))
            return TARE_ORT_LINE_EXECUTE;
    }
    return TARE_ORT_LINE_OTHER;
}

const char *tare_ort_scan_text(const struct tare_ort_event *event, const char *key, size_t *ret_length)
{
    struct span value;
    *ret_length = 0;
    if (!find_key((struct span){event->args, event->args + event->args_length}, key, &value) ||
        !take(&value, '"'))
        return "";
    const char *end = memchr(value.at, '"', (size_t)(value.end - value.at));
    if (!end)
        return "";
    *ret_length = (size_t)(end - value.at);
    return value.at;
}

int64_t tare_ort_scan_int(const struct tare_ort_event *event, const char *key)
{
    int64_t value;
    return find_int((struct span){event->args, event->args + event->args_length}, key, &value) ? value : -1;
}

bool tare_ort_scan_split(const struct tare_ort_event *event)
{
    struct span value;
    if (!find_key((struct span){event->args, event->args + event->args_length}, "block_size", &value) ||
        !take(&value, '['))
        return false;
    return !take(&value, ']');
}

/* The runtime's own words for types, where they are not numpy's. */
static enum tare_element element_of(const char *text, size_t length)
{
    static const struct {
        const char *word;
        enum tare_element element;
    } words[] = {
        {"float", TARE_ELEMENT_F32},
        {"double", TARE_ELEMENT_F64},
        {"float16", TARE_ELEMENT_F16},
        {"bfloat16", TARE_ELEMENT_BF16},
        {"int64", TARE_ELEMENT_I64},
        {"int32", TARE_ELEMENT_I32},
        {"int16", TARE_ELEMENT_I16},
        {"int8", TARE_ELEMENT_I8},
        {"uint8", TARE_ELEMENT_U8},
        {"uint16", TARE_ELEMENT_U16},
        {"uint32", TARE_ELEMENT_U32},
        {"uint64", TARE_ELEMENT_U64},
        {"bool", TARE_ELEMENT_BOOL},
        {"string", TARE_ELEMENT_STRING},
        {"Int4x2", TARE_ELEMENT_I4},
        {"UInt4x2", TARE_ELEMENT_U4},
        {"float8e4m3fn", TARE_ELEMENT_F8E4M3FN},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(text, length, words[i].word))
            return words[i].element;
    return TARE_ELEMENT_NONE;
}

/* {"float":[1,16,384]} */
static bool read_shape(struct span *span, struct tare_ort_shape *shape)
{
    *shape = (struct tare_ort_shape){.ranked = true};
    if (!take(span, '{') || !take(span, '"'))
        return false;
    const char *end = memchr(span->at, '"', (size_t)(span->end - span->at));
    if (!end)
        return false;
    shape->element = element_of(span->at, (size_t)(end - span->at));
    span->at = end + 1;
    if (!take(span, ':') || !take(span, '['))
        return false;
    for (bool first = true; !take(span, ']'); first = false) {
        int64_t dim;
        if ((!first && !take(span, ',')) || !read_int(span, &dim) || dim < 0)
            return false;
        if (shape->rank < TARE_TENSOR_RANK_MAX)
            shape->dims[shape->rank++] = dim;
        else
            shape->ranked = false;
    }
    return take(span, '}');
}

const struct tare_ort_shape *tare_ort_scan_shapes(const struct tare_ort_event *event, const char *key,
                                                  struct tare_arena *arena, size_t *ret_count)
{
    struct span value;
    *ret_count = 0;
    if (!find_key((struct span){event->args, event->args + event->args_length}, key, &value) ||
        !take(&value, '['))
        return NULL;
    struct span again = value;
    size_t count = 0;
    struct tare_ort_shape shape;
    for (; count < SHAPES_MAX && !take(&value, ']'); count++)
        if ((count > 0 && !take(&value, ',')) || !read_shape(&value, &shape))
            return NULL;
    struct tare_ort_shape *shapes = tare_arena_array(arena, count, sizeof *shapes);
    if (!shapes)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            take(&again, ',');
        read_shape(&again, &shapes[i]);
    }
    *ret_count = count;
    return shapes;
}
