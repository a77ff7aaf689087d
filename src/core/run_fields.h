/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a run's file, one row each: where the value lives in the struct and what it may be. Reading,
 * writing and the test of the schema all walk these tables, so that a key cannot be written and not read.
 *
 * To add a key: a member in core/run.h, a row in run_fields.c, a property in docs/schema/tare.run-1.json and
 * a line in docs/run.md. Only add: what exists keeps its meaning for as long as the schema is tare.run/1.
 * Constant data; safe everywhere.
 */
#ifndef TARE_CORE_RUN_FIELDS_H
#define TARE_CORE_RUN_FIELDS_H

#include "core/run.h"

enum tare_run_kind {
    TARE_RUN_TEXT,    /* const char * */
    TARE_RUN_INT,     /* struct tare_run_int */
    TARE_RUN_REAL,    /* struct tare_run_real */
    TARE_RUN_FLAG,    /* struct tare_run_flag */
    TARE_RUN_ENUM,    /* an enum, by its names */
    TARE_RUN_TEXTS,   /* const char ** and a count: an array */
    TARE_RUN_INTS,    /* int64_t * and a count */
    TARE_RUN_REALS,   /* double * and a count */
    TARE_RUN_DIMS,    /* struct tare_run_dim * and a count: an object of whole numbers */
    TARE_RUN_LABELS,  /* struct tare_run_label * and a count: an object of texts */
    TARE_RUN_OBJECT,  /* a struct inside, described by shape */
    TARE_RUN_LIST,    /* an array of such structs and a count */
    TARE_RUN_MACHINE, /* struct tare_machine *, which reads and writes itself */
    TARE_RUN_DERIVED, /* written from the rest of the run, passed over when read */
};

enum {
    TARE_RUN_REQUIRED = 1, /* a file without it is refused */
    TARE_RUN_SIGNED = 2,   /* numbers may be below zero */
};

struct tare_run_shape;

struct tare_run_field {
    const char *key;
    enum tare_run_kind kind;
    unsigned flags;
    size_t offset;
    size_t count_offset;                /* of arrays */
    const char *const *names;           /* of an enum; a NULL first name means: not known, left out */
    const struct tare_run_shape *shape; /* of OBJECT and LIST */
    void (*derive)(const struct tare_run *run, struct tare_json *json); /* writes the value */
};

struct tare_run_shape {
    const char *name;
    size_t size;         /* of the struct */
    size_t extra_offset; /* of its list of unknown keys */
    size_t field_count;  /* at most 64 */
    const struct tare_run_field *fields;
};

/** The whole file, but for its first key, "schema". */
extern const struct tare_run_shape tare_run_shape;

/** One configuration. */
extern const struct tare_run_shape tare_run_config_shape;

/** Is nothing in this struct known? Then it is left out of the file. */
bool tare_run_shape_empty(const struct tare_run_shape *shape, const void *base);

/* The keys that scripts index, derived from configurations, findings and advice (run_derived.c). */
void tare_run_derive_system(const struct tare_run *run, struct tare_json *json);
void tare_run_derive_profiles(const struct tare_run *run, struct tare_json *json);
void tare_run_derive_bottlenecks(const struct tare_run *run, struct tare_json *json);
void tare_run_derive_recommendations(const struct tare_run *run, struct tare_json *json);

#endif
