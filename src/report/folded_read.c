/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks: `root;child;leaf COUNT` per line, as stackcollapse scripts, py-spy, Austin and
 * async-profiler write them. Blank lines and lines that begin with '#' are passed over. The file is read
 * twice: first to check every line and to see how many decimals the counts have, then to fill the profile.
 *
 * A frame's text is taken apart where it is clear what it says: `func (file.py:12)` (py-spy),
 * `file.py:func:12` (Austin), `file.py:12`. The number is where in the function a sample was, so it becomes
 * the node's line and the function's own first line stays unknown.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

enum {
    LINE_BYTES = 1 << 20, /* a stack 10,000 frames deep still fits */
    DEPTH_MAX = 16384,
    DECIMALS_MAX = 9,
    PEEK_BYTES = 4096,
};

/* One line taken apart; text belongs to the buffer it was read into. */
struct stack_line {
    const char *stack;
    size_t length;
    int64_t whole;     /* the count before its point, without its sign */
    int64_t fraction;  /* digits behind the point, as a number */
    unsigned decimals; /* how many digits those are */
    bool negative;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Digits at text as a number that fits; false if there are none or too many. */
static bool parse_digits(const char *text, size_t length, int64_t *ret_value)
{
    int64_t value = 0;
    if (length == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(text[i]) || value > (INT64_MAX - (text[i] - '0')) / 10)
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *ret_value = value;
    return true;
}

/* Split off the count. NULL, or what is wrong with the line. */
static const char *parse_line(const char *text, size_t length, struct stack_line *ret_line)
{
    struct stack_line line = {.stack = text};
    while (length && is_blank(text[length - 1]))
        length--;
    size_t at = length;
    while (at && !is_blank(text[at - 1]))
        at--;
    const char *count = text + at;
    size_t count_length = length - at;
    size_t lead = 0;
    while (at && is_blank(text[at - 1]))
        at--;
    while (lead < at && is_blank(text[lead]))
        lead++;
    line.stack += lead;
    line.length = at - lead;

    if (count_length && *count == '-') {
        line.negative = true;
        count++;
        count_length--;
    }
    const char *point = memchr(count, '.', count_length);
    size_t whole_length = point ? (size_t)(point - count) : count_length;
    for (size_t i = 0; i < count_length; i++)
        if (!is_digit(count[i]) && count + i != point)
            return "it does not end in a count";
    if (count_length == 0 || (point && count_length == 1))
        return "it does not end in a count";
    if (whole_length && !parse_digits(count, whole_length, &line.whole))
        return "its count is too large";
    if (point) {
        size_t decimals = count_length - whole_length - 1;
        while (decimals && point[decimals] == '0')
            decimals--;
        if (decimals > DECIMALS_MAX)
            decimals = DECIMALS_MAX;
        if (decimals && !parse_digits(point + 1, decimals, &line.fraction))
            return "it does not end in a count";
        line.decimals = (unsigned)decimals;
    }
    /* py-spy writes samples that it could not take apart as a space and a count. */
    if (line.length == 0 && !is_blank(*text))
        return "there is no stack before the count";
    *ret_line = line;
    return NULL;
}

/* Is there nothing to read on this line? */
static bool is_passed_over(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && is_blank(text[at]))
        at++;
    return at == length || text[at] == '#';
}

static const char estimated_mark[] = "# estimated from caller pairs";

struct folded {
    struct tare_in *in;
    struct tare_profile *profile;
    struct tare_buf line;
    uint64_t number; /* of the line, from 1 */
    uint32_t column;
    unsigned decimals; /* of the scale: 0, 3, 6 or 9 */
    bool estimated;
};

static int refuse(const struct folded *folded, const char *what, struct tare_error *err)
{
    return tare_fail(err, TARE_E_INPUT, 0, "'%s' line %" PRIu64 " is not a folded stack: %s",
                     tare_in_name(folded->in), folded->number, what);
}

/* One line, without its end, goes to folded->line; *ret_last if the input ends with it. */
static int read_line(struct folded *folded, bool *ret_last, struct tare_error *err)
{
    tare_buf_clear(&folded->line);
    for (;;) {
        const uint8_t *data;
        size_t length;
        if (tare_in_peek(folded->in, PEEK_BYTES, &data, &length, err) < 0)
            return -1;
        const uint8_t *newline = length ? memchr(data, '\n', length) : NULL;
        size_t part = newline ? (size_t)(newline - data) : length;
        if (part && memchr(data, 0, part))
            return refuse(folded, "it holds a zero byte", err);
        if (part > LINE_BYTES - folded->line.length)
            return tare_fail(err, TARE_E_LIMIT, 0, "'%s' line %" PRIu64 " is longer than %d bytes",
                             tare_in_name(folded->in), folded->number, LINE_BYTES);
        tare_buf_add(&folded->line, data, part);
        if (tare_in_skip(folded->in, newline ? part + 1 : part, err) < 0)
            return -1;
        if (newline || length == 0) {
            *ret_last = length == 0;
            return tare_buf_check(&folded->line, err);
        }
    }
}

/* The next line that has something to read goes to folded->line. 1, 0 at the end, or -1. */
static int next_line(struct folded *folded, struct tare_error *err)
{
    for (;;) {
        bool last = false;
        folded->number++;
        if (read_line(folded, &last, err) < 0)
            return -1;
        const char *text = folded->line.data;
        if (folded->number == 1 && strncmp(text, "\xef\xbb\xbf", 3) == 0)
            memset(folded->line.data, ' ', 3); /* a byte order mark */
        if (!is_passed_over(text, folded->line.length))
            return 1;
        if (strncmp(text, estimated_mark, sizeof estimated_mark - 1) == 0)
            folded->estimated = true;
        if (last)
            return 0;
    }
}

/* The next stack, whose text belongs to folded->line. 1, 0 at the end, or -1. */
static int next_stack(struct folded *folded, struct stack_line *ret_line, struct tare_error *err)
{
    int rc = next_line(folded, err);
    const char *wrong = rc > 0 ? parse_line(folded->line.data, folded->line.length, ret_line) : NULL;
    return wrong ? refuse(folded, wrong, err) : rc;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t n = strlen(end);
    return length >= n && memcmp(text + length - n, end, n) == 0;
}

static bool is_python_file(const char *file, size_t length)
{
    return ends_with(file, length, ".py") || (length > 2 && file[0] == '<' && file[length - 1] == '>');
}

static bool is_library(const char *file, size_t length)
{
    return ends_with(file, length, ".so") || memmem(file, length, ".so.", 4);
}

/* A frame's parts; what is not known stays empty. */
struct parts {
    enum tare_frame_kind kind;
    const char *name, *file, *module;
    size_t name_length, file_length, module_length;
    uint32_t line;
};

/* `FILE:12`: where the number begins, or 0. */
static size_t line_number_at(const char *text, size_t length, uint32_t *ret_line)
{
    size_t at = length;
    int64_t number;
    while (at && is_digit(text[at - 1]))
        at--;
    if (at < 2 || text[at - 1] != ':' || !parse_digits(text + at, length - at, &number) ||
        number > UINT32_MAX - 1)
        return 0;
    *ret_line = (uint32_t)number;
    return at;
}

/* The bracket that the last one closes, with a space before it; 0 if there is none. */
static size_t bracket_at(const char *text, size_t length)
{
    if (length < 4 || text[length - 1] != ')')
        return 0;
    unsigned open = 0;
    for (size_t at = length; at-- > 2;) {
        if (text[at] == ')')
            open++;
        else if (text[at] == '(' && --open == 0)
            return text[at - 1] == ' ' ? at : 0;
    }
    return 0;
}

static struct parts take_apart(const char *text, size_t length)
{
    struct parts parts = {.name = text, .name_length = length};
    uint32_t line = 0;
    size_t bracket = bracket_at(text, length);
    if (bracket) {
        const char *file = text + bracket + 1;
        size_t inside = length - bracket - 2;
        size_t number = line_number_at(file, inside, &line);
        size_t file_length = number ? number - 1 : inside;
        bool python = is_python_file(file, file_length);
        if (!number && is_library(file, inside)) {
            parts.kind = TARE_FRAME_NATIVE;
            parts.module = file;
            parts.module_length = inside;
            parts.name_length = bracket - 1;
        } else if (number || python) {
            parts.kind = python ? TARE_FRAME_PYTHON : TARE_FRAME_OTHER;
            parts.file = file;
            parts.file_length = file_length;
            parts.line = line;
            parts.name_length = bracket - 1;
        }
        return parts;
    }
    size_t number = line_number_at(text, length, &line);
    if (number) {
        size_t file_length = number - 1;
        if (is_python_file(text, file_length)) {
            parts.kind = TARE_FRAME_PYTHON;
            parts.file = text;
            parts.file_length = file_length;
            parts.line = line;
            return parts; /* no function is named: the text itself has to do */
        }
        size_t colon = file_length;
        while (colon && text[colon - 1] != ':')
            colon--;
        if (colon > 1 && colon < file_length && is_python_file(text, colon - 1)) {
            parts.kind = TARE_FRAME_PYTHON;
            parts.file = text;
            parts.file_length = colon - 1;
            parts.name = text + colon;
            parts.name_length = file_length - colon;
            parts.line = line;
        }
        return parts;
    }
    if (length > 11 && text[length - 1] == '>' &&
        (strncmp(text, "<built-in ", 10) == 0 || strncmp(text, "<method '", 9) == 0))
        parts.kind = TARE_FRAME_BUILTIN;
    else if (length == 8 && strncmp(text, "<module>", 8) == 0)
        parts.kind = TARE_FRAME_PYTHON;
    return parts;
}

static uint32_t add_frame(struct tare_profile *profile, uint32_t parent, const char *text, size_t length)
{
    while (length && is_blank(text[length - 1]))
        length--;
    while (length && is_blank(*text)) {
        text++;
        length--;
    }
    if (length == 0) {
        text = "[unknown]";
        length = strlen(text);
    }
    struct parts parts = take_apart(text, length);
    struct tare_frame frame = {
        .kind = (uint8_t)parts.kind,
        .name = tare_profile_string(profile, parts.name, parts.name_length),
        .file = tare_profile_string(profile, parts.file ? parts.file : "", parts.file_length),
        .module = tare_profile_string(profile, parts.module ? parts.module : "", parts.module_length),
    };
    return tare_profile_child(profile, parent, tare_profile_frame(profile, &frame), parts.line);
}

static int64_t power_of_ten(unsigned exponent)
{
    int64_t power = 1;
    while (exponent--)
        power *= 10;
    return power;
}

/* The count in units of 10^-decimals; false if that does not fit. */
static bool scaled_count(const struct stack_line *line, unsigned decimals, int64_t *ret_count)
{
    int64_t scale = power_of_ten(decimals);
    int64_t count;
    if (__builtin_mul_overflow(line->whole, scale, &count) ||
        __builtin_add_overflow(count, line->fraction * (scale / power_of_ten(line->decimals)), &count))
        return false;
    *ret_count = line->negative ? -count : count;
    return true;
}

static int start(struct folded *folded, struct tare_error *err)
{
    folded->number = 0;
    return tare_in_rewind(folded->in, err);
}

/* Check every line; find the scale. */
static int survey(struct folded *folded, struct tare_error *err)
{
    unsigned decimals = 0;
    uint64_t stacks = 0;
    struct stack_line line;
    int rc;
    while ((rc = next_stack(folded, &line, err)) > 0) {
        if (line.decimals > decimals)
            decimals = line.decimals;
        stacks++;
    }
    if (rc < 0)
        return -1;
    if (stacks == 0)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' holds no stack", tare_in_name(folded->in));
    folded->decimals = (decimals + 2) / 3 * 3;
    return 0;
}

static int add_stack(struct folded *folded, const struct stack_line *line, struct tare_error *err)
{
    int64_t count;
    if (!scaled_count(line, folded->decimals, &count))
        return refuse(folded, "its count is too large", err);
    const char *text = line->stack, *end = text + line->length;
    uint32_t node = 0, depth = 0;
    while (text <= end && line->length) {
        const char *semicolon = memchr(text, ';', (size_t)(end - text));
        const char *stop = semicolon ? semicolon : end;
        if (++depth > DEPTH_MAX)
            return tare_fail(err, TARE_E_LIMIT, 0, "'%s' line %" PRIu64 " is a stack of more than %d frames",
                             tare_in_name(folded->in), folded->number, DEPTH_MAX);
        /* A line may end in a semicolon without naming one more frame. */
        if (stop > text || stop < end || depth == 1)
            node = add_frame(folded->profile, node, text, (size_t)(stop - text));
        text = stop + 1;
    }
    tare_profile_add(folded->profile, node, folded->column, count);
    return 0;
}

static int fill(struct folded *folded, struct tare_error *err)
{
    static const char *const units[] = {"count", "count/1000", "count/1000000", "count/1000000000"};
    folded->column = tare_profile_add_column(folded->profile, "samples", units[folded->decimals / 3]);
    if (folded->decimals)
        tare_profile_note(folded->profile, "the counts have decimals: values are in units of 1/%" PRId64,
                          power_of_ten(folded->decimals));
    struct stack_line line;
    int rc;
    while ((rc = next_stack(folded, &line, err)) > 0)
        if (add_stack(folded, &line, err) < 0 || tare_profile_check(folded->profile, err) < 0)
            return -1;
    if (rc < 0)
        return -1;
    tare_profile_meta(folded->profile)->estimated = folded->estimated;
    return tare_profile_check(folded->profile, err);
}

static int folded_read(struct tare_in *in, struct tare_profile *profile, struct tare_error *err)
{
    struct folded folded = {.in = in, .profile = profile};
    tare_buf_init(&folded.line, LINE_BYTES);
    int rc = start(&folded, err) < 0 || survey(&folded, err) < 0 || start(&folded, err) < 0 ||
                     fill(&folded, err) < 0
                 ? -1
                 : 0;
    tare_buf_finish(&folded.line);
    return rc;
}

/* Could this be a line of a folded file, and not of a table, of JSON or of a text? */
static bool looks_folded(const struct stack_line *line)
{
    if (line->length == 0)
        return true;
    char first = line->stack[0], last = line->stack[line->length - 1];
    if (memchr(line->stack, ';', line->length))
        return !((first == '"' || first == '{') && last == ':'); /* "a;b": 12 */
    return first != '{' && first != '"' && last != ',' && last != ':' && last != '=' && last != '|';
}

static bool folded_recognise(const uint8_t *head, size_t length, bool whole)
{
    const char *text = (const char *)head, *end = text + length;
    bool semicolon = false, comment = false, plain = true;
    size_t stacks = 0;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    if (memchr(text, 0, (size_t)(end - text)))
        return false;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        size_t line_length = (size_t)(stop - text);
        struct stack_line line;
        if (!newline && !whole) {
            /* Cut off in the middle. As the only line it is a deep stack, or nothing of ours. */
            if (stacks == 0)
                return line_length > 1000 && memchr(text, ';', line_length) && *text != '{' && *text != '[';
            break;
        }
        if (is_passed_over(text, line_length)) {
            comment = comment || memchr(text, '#', line_length);
        } else {
            if (parse_line(text, line_length, &line) || !looks_folded(&line))
                return false;
            semicolon = semicolon || memchr(line.stack, ';', line.length);
            plain = plain && !memchr(line.stack, ' ', line.length) && !memchr(line.stack, '{', line.length);
            stacks += line.length > 0;
        }
        text = stop + 1;
    }
    /* Without one semicolon, `word NUMBER` lines could be metrics or a list; metrics carry comments. */
    return stacks > 0 && (semicolon || (plain && !comment));
}

const struct tare_reader tare_reader_folded = {
    .name = "folded",
    .summary = "folded stacks: root;child;leaf COUNT",
    .recognise = folded_recognise,
    .read = folded_read,
};
