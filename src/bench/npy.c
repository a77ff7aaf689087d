/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/npy.h"

#include <stdlib.h>
#include <string.h>

/* The header's text, a Python dict of three keys, while it is read. */
struct text {
    const char *at, *end;
};

static void skip_space(struct text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t'))
        text->at++;
}

static bool take(struct text *text, char c)
{
    skip_space(text);
    if (text->at == text->end || *text->at != c)
        return false;
    text->at++;
    return true;
}

static bool take_word(struct text *text, const char *word)
{
    size_t length = strlen(word);
    skip_space(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
        return false;
    text->at += length;
    return true;
}

/* A quoted string without escapes, cut to size. */
static bool take_quoted(struct text *text, char *out, size_t size)
{
    skip_space(text);
    if (text->at == text->end || (*text->at != '\'' && *text->at != '"'))
        return false;
    char quote = *text->at++;
    size_t n = 0;
    while (text->at < text->end && *text->at != quote) {
        if (n + 1 == size)
            return false;
        out[n++] = *text->at++;
    }
    out[n] = '\0';
    return take(text, quote);
}

static bool take_number(struct text *text, int64_t *ret_number)
{
    skip_space(text);
    int64_t number = 0;
    const char *start = text->at;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9')
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *text->at++ - '0', &number))
            return false;
    /* Python 2 wrote long integers with an L. */
    bool any = text->at > start;
    if (any && text->at < text->end && *text->at == 'L')
        text->at++;
    *ret_number = number;
    return any;
}

static int take_shape(struct text *text, struct tare_npy *npy, struct tare_error *err)
{
    if (!take(text, '('))
        return tare_fail(err, TARE_E_INPUT, 0, "its shape is not a tuple");
    while (!take(text, ')')) {
        if (npy->rank == TARE_TENSOR_RANK_MAX)
            return tare_fail(err, TARE_E_UNSUPPORTED, 0, "it has more than %d dimensions",
                             TARE_TENSOR_RANK_MAX);
        if (!take_number(text, &npy->dims[npy->rank++]))
            return tare_fail(err, TARE_E_INPUT, 0, "its shape is not made of whole numbers");
        if (!take(text, ',') && !(text->at < text->end && *text->at == ')'))
            return tare_fail(err, TARE_E_INPUT, 0, "its shape is not a tuple");
    }
    return 0;
}

static int element_of(const char *descr, struct tare_npy *npy, struct tare_error *err)
{
    static const struct {
        char kind[4];
        enum tare_element element;
    } kinds[] = {
        {"f2", TARE_ELEMENT_F16}, {"f4", TARE_ELEMENT_F32}, {"f8", TARE_ELEMENT_F64},
        {"i1", TARE_ELEMENT_I8},  {"i2", TARE_ELEMENT_I16}, {"i4", TARE_ELEMENT_I32},
        {"i8", TARE_ELEMENT_I64}, {"u1", TARE_ELEMENT_U8},  {"u2", TARE_ELEMENT_U16},
        {"u4", TARE_ELEMENT_U32}, {"u8", TARE_ELEMENT_U64}, {"b1", TARE_ELEMENT_BOOL},
    };
    const char *kind = strchr("<>|=", *descr) && *descr ? descr + 1 : descr;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i].kind) == 0) {
            npy->element = kinds[i].element;
            npy->swapped = *descr == '>' && kind[1] != '1';
            return 0;
        }
    if (*kind == 'O')
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "it holds Python objects, not numbers");
    if (*kind == 'U' || *kind == 'S')
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "it holds texts, not numbers");
    return tare_fail(err, TARE_E_UNSUPPORTED, 0, "its type '%s' is not one that models take", descr);
}

static int read_dict(struct text *text, struct tare_npy *npy, struct tare_error *err)
{
    bool descr_seen = false, order_seen = false, shape_seen = false;
    if (!take(text, '{'))
        return tare_fail(err, TARE_E_INPUT, 0, "its header is not a dict");
    while (!take(text, '}')) {
        char key[16], descr[32];
        if (!take_quoted(text, key, sizeof key) || !take(text, ':'))
            return tare_fail(err, TARE_E_INPUT, 0, "its header is damaged");
        if (strcmp(key, "descr") == 0 && !descr_seen) {
            if (!take_quoted(text, descr, sizeof descr))
                return tare_fail(err, TARE_E_UNSUPPORTED, 0, "it holds records, not numbers");
            if (element_of(descr, npy, err) < 0)
                return -1;
            descr_seen = true;
        } else if (strcmp(key, "fortran_order") == 0 && !order_seen) {
            npy->fortran = take_word(text, "True");
            if (!npy->fortran && !take_word(text, "False"))
                return tare_fail(err, TARE_E_INPUT, 0, "its fortran_order is neither True nor False");
            order_seen = true;
        } else if (strcmp(key, "shape") == 0 && !shape_seen) {
            if (take_shape(text, npy, err) < 0)
                return -1;
            shape_seen = true;
        } else {
            return tare_fail(err, TARE_E_INPUT, 0, "its header has an unexpected key '%s'", key);
        }
        take(text, ',');
    }
    if (!descr_seen || !order_seen || !shape_seen)
        return tare_fail(err, TARE_E_INPUT, 0, "its header lacks descr, fortran_order or shape");
    return 0;
}

int tare_npy_header(const uint8_t *data, size_t length, struct tare_npy *ret_npy, struct tare_error *err)
{
    struct tare_npy npy = {0};
    if (length < 12 || memcmp(data, "\x93NUMPY", 6) != 0)
        return tare_fail(err, TARE_E_INPUT, 0, "it is not a .npy array");
    if (data[6] < 1 || data[6] > 3)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "its .npy version is %d, not 1 to 3", data[6]);
    size_t start = data[6] == 1 ? 10 : 12;
    size_t size = (size_t)data[8] | (size_t)data[9] << 8;
    if (data[6] > 1)
        size |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (size > TARE_NPY_HEADER_MAX)
        return tare_fail(err, TARE_E_INPUT, 0, "its header is longer than %d bytes", TARE_NPY_HEADER_MAX);
    if (size > length - start)
        return tare_fail(err, TARE_E_INPUT, 0, "it ends inside its header");
    struct text text = {(const char *)data + start, (const char *)data + start + size};
    if (read_dict(&text, &npy, err) < 0 ||
        tare_shape_bytes(npy.element, npy.dims, npy.rank, &npy.bytes, err) < 0)
        return -1;
    npy.header = start + size;
    *ret_npy = npy;
    return 0;
}

/* Element i in C order lies here in Fortran order. */
static size_t fortran_index(const struct tare_npy *npy, size_t i)
{
    size_t index = 0, stride = 1, count = 1;
    for (size_t k = 0; k < npy->rank; k++)
        count *= (size_t)npy->dims[k];
    for (size_t k = 0; k < npy->rank; k++) {
        count /= (size_t)npy->dims[k];
        index += i / count * stride;
        i %= count;
        stride *= (size_t)npy->dims[k];
    }
    return index;
}

void tare_npy_copy(const struct tare_npy *npy, const uint8_t *data, void *out)
{
    uint8_t *to = out;
    if (npy->bytes == 0)
        return;
    if (!npy->fortran && !npy->swapped) {
        memcpy(to, data, npy->bytes);
        return;
    }
    size_t size = tare_element_bits(npy->element) / 8;
    for (size_t i = 0; i < npy->bytes / size; i++) {
        const uint8_t *from = data + (npy->fortran ? fortran_index(npy, i) : i) * size;
        for (size_t k = 0; k < size; k++)
            to[i * size + k] = from[npy->swapped ? size - 1 - k : k];
    }
}
