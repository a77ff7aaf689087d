/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's marshal format, as far as data of plain numbers, texts, tuples and dictionaries goes: reading
 * token by token, and writing what every Python since 2.4 reads.
 *
 * The reader handles versions 0 to 5 and knows no structure: a caller that expects one shape takes token
 * after token without recursion, and keeps the objects that later tokens may refer to. Nothing is allocated
 * but one text at a time, in chunks as its bytes really arrive. Not thread-safe.
 */
#ifndef TARE_BASE_MARSHAL_H
#define TARE_BASE_MARSHAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/in.h"
#include "base/out.h"

enum { TARE_MARSHAL_TEXT_MAX = 1 << 20 }; /* longest text that is read, in bytes */

enum tare_marshal_kind {
    TARE_MARSHAL_END,  /* ends a dictionary */
    TARE_MARSHAL_DICT, /* keys and values follow until TARE_MARSHAL_END */
    TARE_MARSHAL_TUPLE,
    TARE_MARSHAL_TEXT,
    TARE_MARSHAL_INT,
    TARE_MARSHAL_REAL,
    TARE_MARSHAL_REF,      /* the object that was given this number */
    TARE_MARSHAL_TEXT_REF, /* the interned text of this number (Python 2) */
    TARE_MARSHAL_CODE,     /* compiled code; what follows cannot be read */
    TARE_MARSHAL_OTHER,    /* something else that cannot be read */
};

struct tare_marshal_token {
    enum tare_marshal_kind kind;
    bool keep;       /* REF may mean this object: it has the next number, counted from 0 */
    bool interned;   /* TEXT_REF may mean this text: it has the next number, counted from 0 */
    bool huge;       /* an INT that does not fit */
    uint32_t number; /* of a TUPLE its length, of a REF which */
    int64_t integer;
    double real;
    const char *text; /* UTF-8, and surrogates as Python writes them; valid until the next token */
    size_t length;
};

struct tare_marshal {
    struct tare_in *in;
    struct tare_buf text, escaped;
};

/** Read from in, which stays the caller's. */
void tare_marshal_init(struct tare_marshal *marshal, struct tare_in *in);

/** Free it. */
void tare_marshal_finish(struct tare_marshal *marshal);

/** The next token; an end of the input is an error. */
int tare_marshal_next(struct tare_marshal *marshal, struct tare_marshal_token *ret_token,
                      struct tare_error *err);

/* Writing; entries of a dictionary are put between dict and end, members of a tuple behind it. */
void tare_marshal_put_dict(struct tare_out *out);
void tare_marshal_put_end(struct tare_out *out);
void tare_marshal_put_tuple(struct tare_out *out, uint32_t length);
void tare_marshal_put_int(struct tare_out *out, int64_t value);
void tare_marshal_put_real(struct tare_out *out, double value);

/** A text. Bytes that are not UTF-8 become what Python's surrogateescape makes of them. */
void tare_marshal_put_text(struct tare_out *out, const char *text, size_t length);

#endif
