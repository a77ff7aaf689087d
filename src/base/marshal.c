/* SPDX-License-Identifier: Apache-2.0 */
#include "base/marshal.h"

#include <string.h>

#include "base/units.h"
#include "base/utf8.h"

enum {
    FLAG_REF = 0x80,
    LONG_SHIFT = 15,
    LONG_DIGITS = 5, /* more cannot fit 64 bits */
    TEXT_CHUNK = 1 << 16,
    ESCAPED_BYTES = 3, /* of a surrogate */
};

/* The bytes of the character at text that Python takes: UTF-8, or a surrogate as Python writes it. 0: none.
 */
static size_t character(const char *text, size_t length)
{
    size_t size = tare_utf8_next(text, length, NULL);
    const unsigned char *at = (const unsigned char *)text;
    if (size == 0 && length >= 3 && at[0] == 0xed && at[1] >= 0xa0 && at[1] <= 0xbf && at[2] >= 0x80 &&
        at[2] <= 0xbf)
        size = 3;
    return size;
}

/* How long a text is once its stray bytes are escaped. */
static size_t escaped_length(const char *text, size_t length)
{
    size_t escaped = 0, size;
    for (size_t at = 0; at < length; at += size ? size : 1) {
        size = character(text + at, length - at);
        escaped += size ? size : ESCAPED_BYTES;
    }
    return escaped;
}

/* The next piece of a text: a character, or a stray byte as surrogateescape has it. Returns the bytes it took
 * of text. */
static size_t escape(const char *text, size_t length, unsigned char ret_piece[4], size_t *ret_size)
{
    size_t size = character(text, length);
    unsigned char byte = (unsigned char)text[0];
    if (size) {
        memcpy(ret_piece, text, size);
        *ret_size = size;
        return size;
    }
    ret_piece[0] = 0xed;
    ret_piece[1] = 0xb0 | byte >> 6;
    ret_piece[2] = 0x80 | (byte & 0x3f);
    *ret_size = ESCAPED_BYTES;
    return 1;
}

void tare_marshal_init(struct tare_marshal *marshal, struct tare_in *in)
{
    marshal->in = in;
    tare_buf_init(&marshal->text, TARE_MARSHAL_TEXT_MAX);
    tare_buf_init(&marshal->escaped, (size_t)TARE_MARSHAL_TEXT_MAX * ESCAPED_BYTES);
}

void tare_marshal_finish(struct tare_marshal *marshal)
{
    tare_buf_finish(&marshal->text);
    tare_buf_finish(&marshal->escaped);
}

/* Exactly length bytes. */
static int read_bytes(struct tare_marshal *marshal, void *data, size_t length, struct tare_error *err)
{
    unsigned char *at = data;
    while (length) {
        size_t n;
        if (tare_in_read(marshal->in, at, length, &n, err) < 0)
            return -1;
        if (n == 0)
            return tare_fail(err, TARE_E_INPUT, 0, "'%s' is cut short", tare_in_name(marshal->in));
        at += n;
        length -= n;
    }
    return 0;
}

/* A little-endian number of size bytes. */
static int read_number(struct tare_marshal *marshal, size_t size, uint64_t *ret_value, struct tare_error *err)
{
    unsigned char bytes[8];
    if (read_bytes(marshal, bytes, size, err) < 0)
        return -1;
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    *ret_value = value;
    return 0;
}

static int read_text(struct tare_marshal *marshal, size_t size, struct tare_marshal_token *token,
                     struct tare_error *err)
{
    uint64_t length;
    if (read_number(marshal, size, &length, err) < 0)
        return -1;
    if (length > TARE_MARSHAL_TEXT_MAX)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' has a text of %llu bytes; a name has at most %d",
                         tare_in_name(marshal->in), (unsigned long long)length, TARE_MARSHAL_TEXT_MAX);
    tare_buf_clear(&marshal->text);
    while (marshal->text.length < length) {
        size_t chunk = (size_t)length - marshal->text.length;
        if (chunk > TEXT_CHUNK)
            chunk = TEXT_CHUNK;
        char *where = tare_buf_reserve(&marshal->text, chunk);
        if (!where)
            return tare_buf_check(&marshal->text, err);
        if (read_bytes(marshal, where, chunk, err) < 0)
            return -1;
        marshal->text.length += chunk;
        where[chunk] = '\0';
    }
    token->kind = TARE_MARSHAL_TEXT;
    token->text = marshal->text.data;
    token->length = (size_t)length;
    if (escaped_length(token->text, token->length) == token->length)
        return 0;
    tare_buf_clear(&marshal->escaped);
    for (size_t at = 0; at < length;) {
        unsigned char piece[4];
        size_t piece_size;
        at += escape(marshal->text.data + at, (size_t)length - at, piece, &piece_size);
        tare_buf_add(&marshal->escaped, piece, piece_size);
    }
    token->text = marshal->escaped.data;
    token->length = marshal->escaped.length;
    return tare_buf_check(&marshal->escaped, err);
}

/* An integer of any size: a signed number of digits, then 15 bits each. */
static int read_long(struct tare_marshal *marshal, struct tare_marshal_token *token, struct tare_error *err)
{
    uint64_t field;
    if (read_number(marshal, 4, &field, err) < 0)
        return -1;
    int64_t digits = (int32_t)(uint32_t)field;
    bool negative = digits < 0;
    if (negative)
        digits = -digits;
    token->kind = TARE_MARSHAL_INT;
    if (digits > LONG_DIGITS) {
        token->huge = true;
        return tare_in_skip(marshal->in, (uint64_t)digits * 2, err);
    }
    uint64_t value = 0;
    for (int64_t i = 0; i < digits; i++) {
        if (read_number(marshal, 2, &field, err) < 0)
            return -1;
        if (field >> LONG_SHIFT)
            return tare_fail(err, TARE_E_INPUT, 0, "'%s' is damaged: an integer has an impossible digit",
                             tare_in_name(marshal->in));
        if (i == LONG_DIGITS - 1 && field >> (64 - LONG_SHIFT * (LONG_DIGITS - 1)))
            token->huge = true;
        value |= field << (LONG_SHIFT * i);
    }
    if (value > INT64_MAX)
        token->huge = true;
    if (!token->huge)
        token->integer = negative ? -(int64_t)value : (int64_t)value;
    return 0;
}

/* A float as text (versions 0 and 1). */
static int read_float_text(struct tare_marshal *marshal, struct tare_marshal_token *token,
                           struct tare_error *err)
{
    if (read_text(marshal, 1, token, err) < 0)
        return -1;
    token->kind = TARE_MARSHAL_REAL;
    struct tare_error inner;
    if (!token->text || memchr(token->text, '\0', token->length) ||
        tare_real_parse(token->text, &token->real, &inner) < 0)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' is damaged: a float cannot be read",
                         tare_in_name(marshal->in));
    return 0;
}

static int read_float(struct tare_marshal *marshal, struct tare_marshal_token *token, struct tare_error *err)
{
    uint64_t bits;
    if (read_number(marshal, 8, &bits, err) < 0)
        return -1;
    token->kind = TARE_MARSHAL_REAL;
    memcpy(&token->real, &bits, sizeof bits);
    return 0;
}

/* A token that is one number of size bytes. */
static int read_count(struct tare_marshal *marshal, enum tare_marshal_kind kind, size_t size,
                      struct tare_marshal_token *token, struct tare_error *err)
{
    uint64_t value;
    if (read_number(marshal, size, &value, err) < 0)
        return -1;
    token->kind = kind;
    token->number = (uint32_t)value;
    token->integer = size == 8 ? (int64_t)value : (int32_t)(uint32_t)value;
    return 0;
}

int tare_marshal_next(struct tare_marshal *marshal, struct tare_marshal_token *ret_token,
                      struct tare_error *err)
{
    unsigned char code;
    if (read_bytes(marshal, &code, 1, err) < 0)
        return -1;
    struct tare_marshal_token token = {.kind = TARE_MARSHAL_OTHER, .keep = code & FLAG_REF};
    int rc = 0;
    switch (code & ~FLAG_REF) {
    case '0':
        token.kind = TARE_MARSHAL_END;
        break;
    case '{':
        token.kind = TARE_MARSHAL_DICT;
        break;
    case '(':
        rc = read_count(marshal, TARE_MARSHAL_TUPLE, 4, &token, err);
        break;
    case ')':
        rc = read_count(marshal, TARE_MARSHAL_TUPLE, 1, &token, err);
        break;
    case 'i':
        rc = read_count(marshal, TARE_MARSHAL_INT, 4, &token, err);
        break;
    case 'I':
        rc = read_count(marshal, TARE_MARSHAL_INT, 8, &token, err);
        break;
    case 'l':
        rc = read_long(marshal, &token, err);
        break;
    case 'g':
        rc = read_float(marshal, &token, err);
        break;
    case 'f':
        rc = read_float_text(marshal, &token, err);
        break;
    case 't': /* interned; Python 2 gives it a number of its own, later ones set FLAG_REF instead */
        token.interned = true;
        rc = read_text(marshal, 4, &token, err);
        break;
    case 's':
    case 'u':
    case 'a':
    case 'A':
        rc = read_text(marshal, 4, &token, err);
        break;
    case 'z':
    case 'Z':
        rc = read_text(marshal, 1, &token, err);
        break;
    case 'r':
        rc = read_count(marshal, TARE_MARSHAL_REF, 4, &token, err);
        break;
    case 'R':
        rc = read_count(marshal, TARE_MARSHAL_TEXT_REF, 4, &token, err);
        break;
    case 'c':
        token.kind = TARE_MARSHAL_CODE;
        break;
    default:
        break;
    }
    if (rc == 0)
        *ret_token = token;
    return rc;
}

/* A type code and a little-endian number of size bytes. */
static void put(struct tare_out *out, char code, uint64_t value, size_t size)
{
    unsigned char bytes[9] = {(unsigned char)code};
    for (size_t i = 0; i < size; i++)
        bytes[1 + i] = (unsigned char)(value >> (8 * i));
    tare_out_add(out, bytes, 1 + size);
}

void tare_marshal_put_dict(struct tare_out *out)
{
    put(out, '{', 0, 0);
}

void tare_marshal_put_end(struct tare_out *out)
{
    put(out, '0', 0, 0);
}

void tare_marshal_put_tuple(struct tare_out *out, uint32_t length)
{
    put(out, '(', length, 4);
}

void tare_marshal_put_int(struct tare_out *out, int64_t value)
{
    if (value >= INT32_MIN && value <= INT32_MAX) {
        put(out, 'i', (uint64_t)value, 4);
        return;
    }
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    unsigned char bytes[2 * LONG_DIGITS];
    int32_t digits = 0;
    for (; left; left >>= LONG_SHIFT, digits++) {
        bytes[2 * digits] = (unsigned char)left;
        bytes[2 * digits + 1] = (unsigned char)(left >> 8 & 0x7f);
    }
    put(out, 'l', (uint64_t)(value < 0 ? -digits : digits), 4);
    tare_out_add(out, bytes, (size_t)digits * 2);
}

void tare_marshal_put_real(struct tare_out *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(out, 'g', bits, 8);
}

void tare_marshal_put_text(struct tare_out *out, const char *text, size_t length)
{
    size_t escaped = escaped_length(text, length), size;
    put(out, 'u', escaped, 4);
    if (escaped == length) {
        tare_out_add(out, text, length);
        return;
    }
    unsigned char piece[4];
    for (size_t at = 0; at < length;) {
        at += escape(text + at, length - at, piece, &size);
        tare_out_add(out, piece, size);
    }
}
