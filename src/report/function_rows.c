/* SPDX-License-Identifier: Apache-2.0 */
#include "report/function_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"

enum field { CALLS, PRIMITIVE, SELF, TOTAL, FILE_NAME, LINE, NAME, STANDARD };

enum { FIELDS_MAX = 3, KEYS_MAX = 16 };

/* pstats' keys, in the order in which a message lists them. */
static const struct sort_key {
    const char *name;
    const char *words; /* after "Ordered by: " */
    uint8_t count;
    uint8_t fields[FIELDS_MAX];
} sort_keys[] = {
    {"calls", "call count", 1, {CALLS}},
    {"cumtime", "cumulative time", 1, {TOTAL}},
    {"cumulative", "cumulative time", 1, {TOTAL}},
    {"filename", "file name", 1, {FILE_NAME}},
    {"line", "line number", 1, {LINE}},
    {"module", "file name", 1, {FILE_NAME}},
    {"name", "function name", 1, {NAME}},
    {"ncalls", "call count", 1, {CALLS}},
    {"nfl", "name/file/line", 3, {NAME, FILE_NAME, LINE}},
    {"pcalls", "primitive call count", 1, {PRIMITIVE}},
    {"stdname", "standard name", 1, {STANDARD}},
    {"time", "internal time", 1, {SELF}},
    {"tottime", "internal time", 1, {SELF}},
};

enum { SORT_KEYS = sizeof sort_keys / sizeof *sort_keys };

struct sorting {
    const struct tare_function_rows *rows;
    uint8_t fields[KEYS_MAX * FIELDS_MAX];
    uint32_t count;
};

/* "calls, cumtime or cumulative": the keys that begin with a text. */
static void list_keys(struct tare_buf *buf, const char *prefix, size_t length)
{
    int left = 0;
    for (int i = 0; i < SORT_KEYS; i++)
        left += strncmp(sort_keys[i].name, prefix, length) == 0;
    for (int i = 0; i < SORT_KEYS; i++) {
        if (strncmp(sort_keys[i].name, prefix, length) != 0)
            continue;
        left--;
        tare_buf_printf(buf, "%s%s", sort_keys[i].name, left > 1 ? ", " : left == 1 ? " or " : "");
    }
}

/* A key or an abbreviation that can mean only one thing. */
static const struct sort_key *find_key(const char *text, size_t length, struct tare_error *err)
{
    const struct sort_key *found = NULL;
    bool ambiguous = false;
    for (int i = 0; i < SORT_KEYS && length; i++) {
        if (strncmp(sort_keys[i].name, text, length) != 0)
            continue;
        if (strlen(sort_keys[i].name) == length)
            return &sort_keys[i];
        ambiguous = ambiguous || (found && strcmp(found->words, sort_keys[i].words) != 0);
        found = &sort_keys[i];
    }
    if (found && !ambiguous)
        return found;
    struct tare_buf names;
    tare_buf_init(&names, 200);
    list_keys(&names, ambiguous ? text : "", ambiguous ? length : 0);
    tare_fail(err, TARE_E_USAGE, 0,
              ambiguous ? "sort key '%.*s' could mean %s" : "unknown sort key '%.*s'; use %s",
              length > 40 ? 40 : (int)length, text, names.data);
    tare_buf_finish(&names);
    return NULL;
}

/* Read "key,key" into sorting, and their words into the message. */
static int parse_sort(struct tare_function_rows *rows, const char *sort, struct sorting *sorting,
                      struct tare_error *err)
{
    if (!sort || !*sort)
        sort = "cumulative";
    tare_buf_add_text(&rows->message, "   Ordered by: ");
    for (int keys = 0;; keys++) {
        size_t length = strcspn(sort, ",");
        const struct sort_key *key = find_key(sort, length, err);
        if (!key)
            return -1;
        if (keys == KEYS_MAX)
            return tare_fail(err, TARE_E_USAGE, 0, "more than %d sort keys", KEYS_MAX);
        for (uint8_t i = 0; i < key->count; i++)
            sorting->fields[sorting->count++] = key->fields[i];
        if (!rows->functions.has_calls && (key->fields[0] == CALLS || key->fields[0] == PRIMITIVE))
            return tare_fail(
                err, TARE_E_USAGE, 0,
                "cannot sort by '%s': this profile does not count calls; use cumulative or tottime",
                key->name);
        tare_buf_printf(&rows->message, "%s%s", keys ? ", " : "", key->words);
        if (sort[length] == '\0')
            break;
        sort += length + 1;
    }
    tare_buf_add_text(&rows->message, "\n");
    return 0;
}

static int compare_int(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_text(const char *a, uint32_t a_length, const char *b, uint32_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : compare_int(a_length, b_length);
}

static int compare_field(const struct tare_function_rows *rows, enum field field, uint32_t left,
                         uint32_t right)
{
    const struct tare_function *a = &rows->functions.items[left], *b = &rows->functions.items[right];
    switch (field) {
    case CALLS:
        return compare_int(b->figures.calls, a->figures.calls);
    case PRIMITIVE:
        return compare_int(b->figures.primitive, a->figures.primitive);
    case SELF:
        return compare_int(b->figures.self, a->figures.self);
    case TOTAL:
        return compare_int(b->figures.total, a->figures.total);
    case FILE_NAME:
        return compare_text(a->file, a->file_length, b->file, b->file_length);
    case LINE:
        return compare_int(a->line, b->line);
    case NAME:
        return compare_text(a->name, a->name_length, b->name, b->name_length);
    case STANDARD:
        break;
    }
    return strcmp(tare_function_rows_label(rows, left), tare_function_rows_label(rows, right));
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct sorting *sorting = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    for (uint32_t i = 0; i < sorting->count; i++) {
        int order = compare_field(sorting->rows, (enum field)sorting->fields[i], a, b);
        if (order)
            return order;
    }
    return compare_int(a, b); /* equal ones keep the profile's order, as in Python */
}

/* A text with nothing in it that would disturb a terminal. */
static void add_clean(struct tare_buf *buf, const char *text, size_t length)
{
    size_t size;
    for (size_t at = 0; at < length; at += size) {
        unsigned char byte = (unsigned char)text[at];
        size = tare_utf8_next(text + at, length - at, NULL);
        if (size == 0) {
            /* A surrogate that Python wrote is one character, of three bytes. */
            bool surrogate = byte == 0xed && length - at >= 3 && (unsigned char)text[at + 1] >= 0xa0;
            size = surrogate ? 3 : 1;
            tare_buf_add_text(buf, TARE_UTF8_REPLACEMENT);
        } else if (byte < 0x20 || byte == 0x7f) {
            tare_buf_printf(buf, "\\x%02x", byte);
        } else {
            tare_buf_add(buf, text + at, size);
        }
    }
}

static void add_label(struct tare_buf *buf, const struct tare_function *item)
{
    const char *name = item->name;
    size_t length = item->name_length;
    if (item->bare) {
        add_clean(buf, name, length);
    } else if (item->line == 0 && item->file_length == 1 && item->file[0] == '~') {
        if (length >= 2 && name[0] == '<' && name[length - 1] == '>') {
            tare_buf_add_text(buf, "{");
            add_clean(buf, name + 1, length - 2);
            tare_buf_add_text(buf, "}");
        } else {
            add_clean(buf, name, length);
        }
    } else {
        add_clean(buf, item->file, item->file_length);
        tare_buf_printf(buf, ":%u(", item->line);
        add_clean(buf, name, length);
        tare_buf_add_text(buf, ")");
    }
    tare_buf_add_byte(buf, '\0');
}

static int make_labels(struct tare_function_rows *rows, struct tare_error *err)
{
    uint32_t count = rows->functions.count;
    rows->label_at = malloc(((size_t)count + 1) * sizeof *rows->label_at);
    rows->order = malloc(((size_t)count + 1) * sizeof *rows->order);
    if (!rows->label_at || !rows->order)
        return tare_fail_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        rows->label_at[i] = rows->labels.length;
        add_label(&rows->labels, &rows->functions.items[i]);
        if (!rows->functions.items[i].unlisted)
            rows->order[rows->count++] = i;
    }
    return tare_buf_check(&rows->labels, err);
}

/* A text as Python's repr shows it. */
static void add_repr(struct tare_buf *buf, const char *text)
{
    char quote = strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'';
    tare_buf_add_byte(buf, (uint8_t)quote);
    size_t length = strlen(text), size;
    for (size_t at = 0; at < length; at += size) {
        size = tare_utf8_next(text + at, length - at, NULL);
        size = size ? size : 1;
        if (text[at] == quote || text[at] == '\\')
            tare_buf_add_byte(buf, '\\');
        add_clean(buf, text + at, size);
    }
    tare_buf_add_byte(buf, (uint8_t)quote);
}

/* Leave out what the view does not ask for. */
static void select_rows(struct tare_function_rows *rows, const struct tare_view *view)
{
    uint32_t all = rows->count;
    if (view->match) {
        rows->count = 0;
        for (uint32_t i = 0; i < all; i++)
            if (strstr(tare_function_rows_label(rows, rows->order[i]), view->match))
                rows->order[rows->count++] = rows->order[i];
        if (rows->count < all) {
            tare_buf_printf(&rows->message, "   List reduced from %u to %u due to restriction <", all,
                            rows->count);
            add_repr(&rows->message, view->match);
            tare_buf_add_text(&rows->message, ">\n");
        }
    }
    if (view->rows && view->rows < rows->count) {
        tare_buf_printf(&rows->message, "   List reduced from %u to %u due to restriction <%u>\n",
                        rows->count, view->rows, view->rows);
        rows->count = view->rows;
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        size_t width = tare_function_rows_width(tare_function_rows_label(rows, rows->order[i]));
        if (width > rows->width)
            rows->width = width;
    }
}

int tare_function_rows_init(struct tare_function_rows *rows, const struct tare_profile *profile,
                            const struct tare_view *view, struct tare_error *err)
{
    struct tare_function_rows made = {0};
    struct sorting sorting = {.rows = &made};
    tare_buf_init(&made.message, SIZE_MAX / 2);
    tare_buf_init(&made.labels, SIZE_MAX / 2);
    uint32_t column = TARE_NONE;
    if (view->column && (column = tare_view_column(view, profile, err)) == TARE_NONE)
        goto failed;
    if (tare_functions_init(&made.functions, profile, column, view->strip_dirs, err) < 0 ||
        make_labels(&made, err) < 0)
        goto failed;
    made.seconds = tare_functions_seconds(&made.functions);
    if (tare_profile_meta_const(profile)->estimated)
        tare_buf_add_text(&made.message, "   Stacks are estimated from caller pairs\n");
    if (parse_sort(&made, view->sort, &sorting, err) < 0)
        goto failed;
    qsort_r(made.order, made.count, sizeof *made.order, compare_rows, &sorting);
    for (uint32_t i = 0; view->reverse && i < made.count / 2; i++) {
        uint32_t swapped = made.order[i];
        made.order[i] = made.order[made.count - 1 - i];
        made.order[made.count - 1 - i] = swapped;
    }
    select_rows(&made, view);
    if (tare_buf_check(&made.message, err) < 0)
        goto failed;
    *rows = made;
    return 0;
failed:
    tare_function_rows_finish(&made);
    return -1;
}

void tare_function_rows_finish(struct tare_function_rows *rows)
{
    tare_functions_finish(&rows->functions);
    free(rows->order);
    free(rows->label_at);
    tare_buf_finish(&rows->message);
    tare_buf_finish(&rows->labels);
}

const char *tare_function_rows_label(const struct tare_function_rows *rows, uint32_t function)
{
    return rows->labels.data + rows->label_at[function];
}

size_t tare_function_rows_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

const char *tare_function_rows_seconds(char *text, size_t size, double seconds)
{
    char made[TARE_FUNCTION_ROWS_TEXT];
    int length = snprintf(made, sizeof made, "%.3f", seconds);
    /* Between the digits stands the locale's decimal point, of any length. */
    int whole = (int)strspn(made, "-0123456789");
    if (length < 0 || length >= (int)sizeof made || whole >= length - 3)
        snprintf(text, size, "%g", seconds);
    else
        snprintf(text, size, "%.*s.%s", whole, made, made + length - 3);
    return text;
}

const char *tare_function_rows_value(const struct tare_function_rows *rows, char *text, size_t size,
                                     int64_t value)
{
    const char *unit = tare_profile_column_unit(rows->functions.profile, rows->functions.column);
    if (rows->seconds > 0)
        return tare_duration_format(text, size, (double)value * rows->seconds * 1e9);
    if (strcmp(unit, "bytes") == 0)
        return tare_size_format(text, size, (double)value);
    if (value >= 0)
        return tare_count_format(text, size, (uint64_t)value);
    snprintf(text, size, "%lld", (long long)value);
    return text;
}

void tare_function_rows_right(struct tare_out *out, const char *text, size_t width)
{
    for (size_t used = tare_function_rows_width(text); used < width; used++)
        tare_out_add(out, " ", 1);
    tare_out_text(out, text);
}
