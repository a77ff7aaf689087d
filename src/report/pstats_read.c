/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cProfile file: marshal of {(file, line, name): (cc, nc, tottime, cumtime, {caller: (nc, cc, tottime,
 * cumtime)})}, where nc are all calls and cc the primitive ones. The module profile, written in Python, has a
 * bare number of calls for each caller. Read token by token, expecting just this shape, so nothing in a file
 * can nest.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/marshal.h"
#include "core/functions.h"
#include "report/report.h"

enum ref_kind {
    REF_OPEN,  /* begun and not ended, or of no use to anybody */
    REF_TEXT,  /* index is a string */
    REF_INT,   /* integer */
    REF_REAL,  /* real */
    REF_KEY,   /* index is a function */
    REF_PAIR,  /* index is a pair, whose figures it is */
    REF_EMPTY, /* a dictionary of no callers */
};

/* An object that later ones may refer to. */
struct ref {
    enum ref_kind kind;
    uint32_t index;
    union {
        int64_t integer;
        double real;
    } value;
};

struct function {
    uint32_t file, line, name;
    uint32_t stamp;           /* 1 + the function whose callers last named this one */
    bool listed;              /* has an entry of its own */
    struct tare_figures rest; /* its figures less those of its pairs */
};

struct table {
    void *data;
    uint32_t count, room;
};

struct reader {
    struct tare_marshal marshal;
    struct tare_profile *profile;
    const char *name;
    uint32_t tilde;         /* the string "~", where the file of a builtin would be */
    struct table refs;      /* struct ref */
    struct table texts;     /* uint32_t: Python 2's interned strings */
    struct table functions; /* struct function */
    struct table pairs;     /* struct tare_function_pair */
    struct table listed;    /* uint32_t: functions in the order of their entries */
    uint32_t *slots;        /* function + 1, by what it is; a power of two, at most half full */
    uint32_t mask;
};

static struct function *function_at(const struct reader *reader, uint32_t index)
{
    return (struct function *)reader->functions.data + index;
}

static struct tare_function_pair *pair_at(const struct reader *reader, uint32_t index)
{
    return (struct tare_function_pair *)reader->pairs.data + index;
}

static struct ref *ref_at(const struct reader *reader, uint32_t index)
{
    return (struct ref *)reader->refs.data + index;
}

/* One more entry, zeroed; NULL on failure. */
static void *table_add(struct table *table, size_t size, struct tare_error *err)
{
    if (table->count == table->room) {
        if (table->room > TARE_NONE / 4) {
            tare_fail(err, TARE_E_LIMIT, 0, "the profile has more than %u entries", TARE_NONE / 4);
            return NULL;
        }
        uint32_t room = table->room ? table->room * 2 : 64;
        void *moved = realloc(table->data, room * size);
        if (!moved) {
            tare_fail_memory(err);
            return NULL;
        }
        table->data = moved;
        table->room = room;
    }
    void *entry = (char *)table->data + table->count++ * size;
    memset(entry, 0, size);
    return entry;
}

/* "it.prof: /a/b.py:12(name)": what an error is about. */
static int fail_at(const struct reader *reader, uint32_t function, const char *what, struct tare_error *err)
{
    const struct function *at = function_at(reader, function);
    return tare_fail(err, TARE_E_INPUT, 0, "'%s': %s:%u(%s) %s", reader->name,
                     tare_profile_text(reader->profile, at->file), at->line,
                     tare_profile_text(reader->profile, at->name), what);
}

static int fail_shape(const struct reader *reader, const char *expected, struct tare_error *err)
{
    return tare_fail(err, TARE_E_INPUT, 0, "'%s' is not a cProfile file: %s expected at byte %llu",
                     reader->name, expected, (unsigned long long)tare_in_position(reader->marshal.in));
}

/* The next token. One that may be referred to gets its number here; *ret_ref is that number, or TARE_NONE. */
static int next(struct reader *reader, struct tare_marshal_token *token, uint32_t *ret_ref,
                struct tare_error *err)
{
    if (tare_marshal_next(&reader->marshal, token, err) < 0)
        return -1;
    *ret_ref = TARE_NONE;
    if (token->keep) {
        *ret_ref = reader->refs.count;
        if (!table_add(&reader->refs, sizeof(struct ref), err))
            return -1;
    }
    return 0;
}

static void keep(const struct reader *reader, uint32_t ref, enum ref_kind kind, uint32_t index)
{
    if (ref == TARE_NONE)
        return;
    ref_at(reader, ref)->kind = kind;
    ref_at(reader, ref)->index = index;
}

/* What a token refers to; NULL if it is no reference, or one to nothing. */
static const struct ref *referred(const struct reader *reader, const struct tare_marshal_token *token)
{
    if (token->kind != TARE_MARSHAL_REF || token->number >= reader->refs.count)
        return NULL;
    return ref_at(reader, token->number);
}

static int read_text(struct reader *reader, uint32_t *ret_string, struct tare_error *err)
{
    struct tare_marshal_token token;
    uint32_t ref;
    if (next(reader, &token, &ref, err) < 0)
        return -1;
    const struct ref *to = referred(reader, &token);
    if (to && to->kind == REF_TEXT) {
        *ret_string = to->index;
        return 0;
    }
    if (token.kind == TARE_MARSHAL_TEXT_REF && token.number < reader->texts.count) {
        *ret_string = ((uint32_t *)reader->texts.data)[token.number];
        return 0;
    }
    if (token.kind == TARE_MARSHAL_CODE)
        return tare_fail(err, TARE_E_INPUT, 0,
                         "'%s' has code in place of a name, as 'python -m profile' writes it; use cProfile",
                         reader->name);
    if (token.kind != TARE_MARSHAL_TEXT)
        return fail_shape(reader, "a name", err);
    uint32_t string = tare_profile_string(reader->profile, token.text, token.length);
    if (string == TARE_NONE) {
        tare_profile_check(reader->profile, err);
        return -1;
    }
    keep(reader, ref, REF_TEXT, string);
    if (token.interned) {
        uint32_t *text = table_add(&reader->texts, sizeof *text, err);
        if (!text)
            return -1;
        *text = string;
    }
    *ret_string = string;
    return 0;
}

/* A number, as an integer or as a float, whichever the file has. */
struct number {
    bool real, huge;
    int64_t integer;
    double value;
};

/* Make a number of a token; false if it is none. */
static bool to_number(const struct reader *reader, const struct tare_marshal_token *token, uint32_t ref,
                      struct number *ret_number)
{
    const struct ref *to = referred(reader, token);
    *ret_number = (struct number){.huge = token->huge, .integer = token->integer, .value = token->real};
    if (to) {
        ret_number->real = to->kind == REF_REAL;
        if (to->kind == REF_REAL)
            ret_number->value = to->value.real;
        else
            ret_number->integer = to->value.integer;
        return to->kind == REF_REAL || to->kind == REF_INT;
    }
    if (token->kind == TARE_MARSHAL_REAL) {
        ret_number->real = true;
        keep(reader, ref, REF_REAL, 0);
        if (ref != TARE_NONE)
            ref_at(reader, ref)->value.real = token->real;
        return true;
    }
    if (token->kind != TARE_MARSHAL_INT)
        return false;
    if (!token->huge) {
        keep(reader, ref, REF_INT, 0);
        if (ref != TARE_NONE)
            ref_at(reader, ref)->value.integer = token->integer;
    }
    return true;
}

static int read_number(struct reader *reader, struct number *ret_number, struct tare_error *err)
{
    struct tare_marshal_token token;
    uint32_t ref;
    if (next(reader, &token, &ref, err) < 0)
        return -1;
    return to_number(reader, &token, ref, ret_number) ? 0 : fail_shape(reader, "a number", err);
}

static int check_count(const struct reader *reader, const struct number *number, uint32_t function,
                       int64_t *ret_count, struct tare_error *err)
{
    if (number->real || number->huge || number->integer < 0)
        return fail_at(reader, function, "has a number of calls that cannot be", err);
    *ret_count = number->integer;
    return 0;
}

static int read_count(struct reader *reader, uint32_t function, int64_t *ret_count, struct tare_error *err)
{
    struct number number;
    if (read_number(reader, &number, err) < 0)
        return -1;
    return check_count(reader, &number, function, ret_count, err);
}

/* Seconds, to nanoseconds. */
static int read_time(struct reader *reader, uint32_t function, int64_t *ret_ns, struct tare_error *err)
{
    struct number number;
    if (read_number(reader, &number, err) < 0)
        return -1;
    double seconds = number.real ? number.value : (double)number.integer;
    double ns = round(seconds * 1e9);
    if (isnan(seconds))
        return fail_at(reader, function, "has a time that is not a number", err);
    if (ns < 0)
        return fail_at(reader, function, "has a negative time", err);
    if (number.huge || !(ns < 9.2e18))
        return fail_at(reader, function, "has a time of more than 290 years", err);
    *ret_ns = (int64_t)ns;
    return 0;
}

static uint64_t key_hash(uint32_t file, uint32_t line, uint32_t name)
{
    return tare_hash_mix(((uint64_t)file << 32 | name) + line * 0x9e3779b97f4a7c15u);
}

static int slots_grow(struct reader *reader, struct tare_error *err)
{
    uint32_t size = reader->slots ? (reader->mask + 1) * 2 : 256;
    uint32_t *slots = calloc(size, sizeof *slots);
    if (!slots)
        return tare_fail_memory(err);
    free(reader->slots);
    reader->slots = slots;
    reader->mask = size - 1;
    for (uint32_t i = 0; i < reader->functions.count; i++) {
        const struct function *function = function_at(reader, i);
        uint64_t at = key_hash(function->file, function->line, function->name) & reader->mask;
        while (slots[at])
            at = (at + 1) & reader->mask;
        slots[at] = i + 1;
    }
    return 0;
}

/* The function with this key, added if new. */
static int find_function(struct reader *reader, uint32_t file, uint32_t line, uint32_t name,
                         uint32_t *ret_function, struct tare_error *err)
{
    if ((!reader->slots || reader->functions.count >= reader->mask / 2) && slots_grow(reader, err) < 0)
        return -1;
    uint64_t at = key_hash(file, line, name) & reader->mask;
    for (; reader->slots[at]; at = (at + 1) & reader->mask) {
        const struct function *old = function_at(reader, reader->slots[at] - 1);
        if (old->file == file && old->line == line && old->name == name) {
            *ret_function = reader->slots[at] - 1;
            return 0;
        }
    }
    struct function *function = table_add(&reader->functions, sizeof *function, err);
    if (!function)
        return -1;
    function->file = file;
    function->line = line;
    function->name = name;
    reader->slots[at] = reader->functions.count;
    *ret_function = reader->functions.count - 1;
    return 0;
}

/* A key (file, line, name), or the end of the dictionary, when *ret_function is TARE_NONE. */
static int read_key(struct reader *reader, uint32_t *ret_function, struct tare_error *err)
{
    struct tare_marshal_token token;
    struct number line = {0};
    uint32_t ref, file = TARE_NONE, name = TARE_NONE;
    if (next(reader, &token, &ref, err) < 0)
        return -1;
    if (token.kind == TARE_MARSHAL_END) {
        *ret_function = TARE_NONE;
        return 0;
    }
    const struct ref *to = referred(reader, &token);
    if (to && to->kind == REF_KEY) {
        *ret_function = to->index;
        return 0;
    }
    if (token.kind != TARE_MARSHAL_TUPLE || token.number != 3)
        return fail_shape(reader, "a function (file, line, name)", err);
    if (read_text(reader, &file, err) < 0 || read_number(reader, &line, err) < 0 ||
        read_text(reader, &name, err) < 0)
        return -1;
    if (line.real || line.huge || line.integer < 0 || line.integer > UINT32_MAX)
        return fail_shape(reader, "a line number", err);
    if (find_function(reader, file, (uint32_t)line.integer, name, ret_function, err) < 0)
        return -1;
    keep(reader, ref, REF_KEY, *ret_function);
    return 0;
}

static int subtract(int64_t *from, int64_t value)
{
    return __builtin_sub_overflow(*from, value, from) ? -1 : 0;
}

/* The figures of a pair, (nc, cc, tottime, cumtime) or a bare number of calls. */
static int read_pair(struct reader *reader, uint32_t caller, uint32_t callee, struct tare_error *err)
{
    struct tare_marshal_token token;
    struct tare_function_pair pair = {.caller = caller, .callee = callee};
    struct tare_figures *figures = &pair.figures;
    struct number number;
    uint32_t ref;
    if (next(reader, &token, &ref, err) < 0)
        return -1;
    const struct ref *to = referred(reader, &token);
    if (to && to->kind == REF_PAIR) {
        *figures = pair_at(reader, to->index)->figures;
    } else if (token.kind == TARE_MARSHAL_TUPLE && token.number == 4) {
        if (read_count(reader, callee, &figures->calls, err) < 0 ||
            read_count(reader, callee, &figures->primitive, err) < 0 ||
            read_time(reader, callee, &figures->self, err) < 0 ||
            read_time(reader, callee, &figures->total, err) < 0)
            return -1;
        keep(reader, ref, REF_PAIR, reader->pairs.count);
    } else if (!to_number(reader, &token, ref, &number)) {
        return fail_shape(reader, "a caller's figures", err);
    } else if (check_count(reader, &number, callee, &figures->calls, err) < 0) {
        return -1;
    }
    struct tare_figures *rest = &function_at(reader, callee)->rest;
    if (subtract(&rest->calls, figures->calls) < 0 || subtract(&rest->primitive, figures->primitive) < 0 ||
        subtract(&rest->self, figures->self) < 0 || subtract(&rest->total, figures->total) < 0)
        return fail_at(reader, callee, "has callers whose figures are too large", err);
    struct tare_function_pair *added = table_add(&reader->pairs, sizeof pair, err);
    if (!added)
        return -1;
    *added = pair;
    return 0;
}

static int read_callers(struct reader *reader, uint32_t callee, struct tare_error *err)
{
    struct tare_marshal_token token;
    uint32_t ref, caller;
    if (next(reader, &token, &ref, err) < 0)
        return -1;
    const struct ref *to = referred(reader, &token);
    if (to && to->kind == REF_EMPTY)
        return 0;
    if (token.kind != TARE_MARSHAL_DICT)
        return fail_shape(reader, "a dictionary of callers", err);
    uint32_t before = reader->pairs.count;
    for (;;) {
        if (read_key(reader, &caller, err) < 0)
            return -1;
        if (caller == TARE_NONE)
            break;
        if (function_at(reader, caller)->stamp == callee + 1)
            return fail_at(reader, callee, "names a caller twice", err);
        function_at(reader, caller)->stamp = callee + 1;
        if (read_pair(reader, caller, callee, err) < 0)
            return -1;
    }
    if (reader->pairs.count == before)
        keep(reader, ref, REF_EMPTY, 0);
    return 0;
}

/* (cc, nc, tottime, cumtime, callers) */
static int read_function(struct reader *reader, uint32_t function, struct tare_error *err)
{
    struct tare_marshal_token token;
    struct tare_figures figures = {0};
    uint32_t ref;
    uint32_t *listed = table_add(&reader->listed, sizeof *listed, err);
    if (!listed)
        return -1;
    *listed = function;
    if (function_at(reader, function)->listed)
        return fail_at(reader, function, "appears twice", err);
    function_at(reader, function)->listed = true;
    if (next(reader, &token, &ref, err) < 0)
        return -1;
    if (token.kind != TARE_MARSHAL_TUPLE || token.number != 5)
        return fail_shape(reader, "a function's figures", err);
    if (read_count(reader, function, &figures.primitive, err) < 0 ||
        read_count(reader, function, &figures.calls, err) < 0 ||
        read_time(reader, function, &figures.self, err) < 0 ||
        read_time(reader, function, &figures.total, err) < 0)
        return -1;
    function_at(reader, function)->rest = figures;
    return read_callers(reader, function, err);
}

static void add_figures(struct tare_profile *profile, uint32_t node, const struct tare_figures *figures)
{
    tare_profile_add(profile, node, 0, figures->calls);
    tare_profile_add(profile, node, 1, figures->primitive);
    tare_profile_add(profile, node, 2, figures->self);
    tare_profile_add(profile, node, 3, figures->total);
}

static uint32_t frame_of(const struct reader *reader, uint32_t index)
{
    const struct function *function = function_at(reader, index);
    bool builtin = function->line == 0 && function->file == reader->tilde;
    struct tare_frame frame = {
        .kind = !function->listed ? TARE_FRAME_OTHER
                : builtin         ? TARE_FRAME_BUILTIN
                                  : TARE_FRAME_PYTHON,
        .name = function->name,
        .file = function->file,
        .first_line = function->line,
    };
    return tare_profile_frame(reader->profile, &frame);
}

/* All functions first, in the order of their entries, so that views keep it. */
static void build(const struct reader *reader)
{
    struct tare_profile *profile = reader->profile;
    tare_profile_add_column(profile, "calls", "count");
    tare_profile_add_column(profile, "primitive_calls", "count");
    tare_profile_add_column(profile, "tottime", "nanoseconds");
    tare_profile_add_column(profile, "cumtime", "nanoseconds");
    tare_profile_meta(profile)->kind = TARE_PROFILE_PAIRS;
    uint32_t column = tare_profile_intern(profile, "tottime");
    tare_profile_meta(profile)->default_column = column == TARE_NONE ? 0 : column;
    for (uint32_t i = 0; i < reader->listed.count; i++) {
        uint32_t function = ((const uint32_t *)reader->listed.data)[i];
        add_figures(profile, tare_profile_child(profile, 0, frame_of(reader, function), 0),
                    &function_at(reader, function)->rest);
    }
    for (uint32_t i = 0; i < reader->pairs.count; i++) {
        const struct tare_function_pair *pair = pair_at(reader, i);
        uint32_t caller = tare_profile_child(profile, 0, frame_of(reader, pair->caller), 0);
        uint32_t node = tare_profile_child(profile, caller, frame_of(reader, pair->callee), 0);
        add_figures(profile, node, &pair->figures);
    }
}

static int pstats_read(struct tare_in *in, struct tare_profile *profile, struct tare_error *err)
{
    struct reader reader = {.profile = profile, .name = tare_in_name(in)};
    reader.tilde = tare_profile_intern(profile, "~");
    struct tare_marshal_token token;
    uint32_t ref, function;
    int rc = -1, byte;
    tare_marshal_init(&reader.marshal, in);
    if (next(&reader, &token, &ref, err) < 0)
        goto out;
    if (token.kind != TARE_MARSHAL_DICT) {
        rc = fail_shape(&reader, "a dictionary", err);
        goto out;
    }
    for (;;) {
        if (read_key(&reader, &function, err) < 0)
            goto out;
        if (function == TARE_NONE)
            break;
        if (read_function(&reader, function, err) < 0)
            goto out;
    }
    build(&reader);
    if (tare_in_byte(in, &byte, err) < 0)
        goto out;
    if (byte >= 0)
        tare_profile_note(profile, "'%s' goes on after the profile; the rest was ignored", reader.name);
    rc = tare_profile_check(profile, err);
out:
    tare_marshal_finish(&reader.marshal);
    free(reader.refs.data);
    free(reader.texts.data);
    free(reader.functions.data);
    free(reader.pairs.data);
    free(reader.listed.data);
    free(reader.slots);
    return rc;
}

/* A dictionary whose first key is a tuple of three, or an empty one. */
static bool pstats_recognise(const uint8_t *head, size_t length, bool whole)
{
    if (length < 2 || (head[0] & 0x7f) != '{')
        return false;
    if (head[1] == '0')
        return whole && length == 2;
    if ((head[1] & 0x7f) == ')')
        return length >= 3 && head[2] == 3;
    return (head[1] & 0x7f) == '(' && length >= 6 && memcmp(head + 2, "\3\0\0", 4) == 0;
}

const struct tare_reader tare_reader_pstats = {
    .name = "pstats",
    .summary = "cProfile's .prof",
    .recognise = pstats_recognise,
    .read = pstats_read,
};
