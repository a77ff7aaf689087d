/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a pprof file that is being read: everything but its samples. What refers to what is only
 * known at the end of the file, because tables come in any order; so the first pass collects indices and ids
 * as they are (pprof_collect.c), then they are checked against each other and put in the profile
 * (pprof_tables.c), and the second pass looks locations up here (pprof_read.c). Only src/report/pprof*.c
 * includes this.
 */
#ifndef TARE_REPORT_PPROF_TABLES_H
#define TARE_REPORT_PPROF_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/in.h"
#include "base/pb.h"
#include "core/profile.h"
#include "report/pprof.h"
#include "report/pprof_ids.h"

/* One line of a location: a frame, and where in it. */
struct pprof_line {
    uint64_t function; /* an id; 0 for a location that the file gave no lines */
    uint32_t line;
    uint32_t frame; /* the profile's, once resolved */
};

/* A function. Strings are indices of the file until resolved. */
struct pprof_function {
    struct tare_frame frame; /* as far as a function tells; twin is 0 until twins are told apart */
    uint32_t system_name;
    uint32_t twin;
    bool has_kind, has_qualname, has_twin;
};

struct pprof_place {
    uint64_t mapping; /* an id */
    uint64_t address;
    uint32_t first, count; /* of lines, the outermost first */
};

struct pprof_type {
    uint32_t type, unit; /* indices of the file */
    uint32_t column;     /* the profile's, once resolved; TARE_NONE if it is not kept */
};

/* What is in the file and not in the profile. */
struct pprof_dropped {
    uint64_t columns, folded, lines, labels, fields;
};

struct pprof_tables {
    struct tare_profile *profile;
    struct tare_buf strings;   /* uint32_t: the profile's string */
    struct tare_buf mappings;  /* struct tare_mapping, with indices of the file */
    struct tare_buf functions; /* struct pprof_function */
    struct tare_buf places;    /* struct pprof_place: the locations */
    struct tare_buf lines;     /* struct pprof_line */
    struct tare_buf comments;  /* uint32_t: indices of the file */
    struct pprof_ids mapping_ids, function_ids, location_ids;
    struct pprof_type types[PPROF_TYPES_MAX];
    uint32_t type_count;
    uint64_t sample_count;
    struct tare_profile_meta meta; /* strings are indices of the file */
    struct pprof_dropped dropped;
};

/** Empty tables for a profile. */
void pprof_tables_init(struct pprof_tables *tables, struct tare_profile *profile);

/** Free them. */
void pprof_tables_finish(struct pprof_tables *tables);

/** Collect one top-level field that is no sample. */
int pprof_collect(struct pprof_tables *tables, const struct tare_pb_field *field, struct tare_error *err);

/** The file is through: check everything that refers to something, and fill the profile with columns,
 * mappings, frames, comments and meta. */
int pprof_tables_resolve(struct pprof_tables *tables, struct tare_error *err);

/** The profile's string for an index of the file. */
int pprof_string(const struct pprof_tables *tables, uint64_t index, uint32_t *ret_string,
                 struct tare_error *err);

/** The lines of a location, the outermost first; NULL if there is no location of that id. */
const struct pprof_line *pprof_lines(const struct pprof_tables *tables, uint64_t id, uint32_t *ret_count);

/** A field of this message has not the type that it must have. */
int pprof_wrong_type(struct tare_error *err, const char *what);

/** How many entries of size bytes. */
static inline size_t pprof_count(const struct tare_buf *buf, size_t size)
{
    return buf->length / size;
}

#endif
