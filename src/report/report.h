/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers and writers, one file per format. A writer is a pure function of const data: it never checks its
 * output, which keeps the first failure. A reader recognises a file by its content and fills an empty
 * profile; it bounds and checks everything, and notes (tare_profile_note) whatever it had to drop.
 *
 * To add a format: write FORMAT_write.c or FORMAT_read.c with one const struct, declare it below, and add a
 * row to the table in formats.c.
 */
#ifndef TARE_REPORT_REPORT_H
#define TARE_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/in.h"
#include "base/out.h"
#include "core/profile.h"

struct tare_run;

/* How a profile is to be shown. All zero is a good view. */
struct tare_view {
    const char *column; /* which column; NULL: the profile's main one */
    const char *sort;   /* a pstats sort key ("cumulative", "tottime", "calls"...), several with commas; NULL:
                           the view's own */
    const char *match;  /* only functions whose "file:line(name)" contains this; NULL: all */
    const char *title;  /* NULL: the view's own */
    uint32_t rows;      /* most rows of a table; 0: all */
    bool reverse;       /* sort the other way round */
    bool strip_dirs;    /* file names without their folders */
};

/** The column a view asks for; TARE_NONE with a message if the profile has none of that name. */
uint32_t tare_view_column(const struct tare_view *view, const struct tare_profile *profile,
                          struct tare_error *err);

struct tare_writer {
    const char *name;       /* what -f takes */
    const char *extensions; /* ".svg", or several with spaces; NULL: none */
    const char *summary;
    bool binary; /* not for a terminal */
    void (*write)(const struct tare_profile *profile, const struct tare_view *view, struct tare_out *out);
};

struct tare_run_writer {
    const char *name;
    const char *extensions;
    const char *summary;
    void (*write)(const struct tare_run *run, struct tare_out *out);
};

struct tare_reader {
    const char *name;
    const char *summary;
    /* Do these first bytes (decompressed, up to 4096) look like it? whole: they are the entire file. */
    bool (*recognise)(const uint8_t *head, size_t length, bool whole);
    /* Fill an empty profile. The input is at its start. */
    int (*read)(struct tare_in *in, struct tare_profile *profile, struct tare_error *err);
};

extern const struct tare_writer tare_writer_table;      /* cProfile's table */
extern const struct tare_writer tare_writer_callers;    /* who calls each function */
extern const struct tare_writer tare_writer_callees;    /* whom each function calls */
extern const struct tare_writer tare_writer_folded;     /* folded stacks */
extern const struct tare_writer tare_writer_svg;        /* flame graph */
extern const struct tare_writer tare_writer_speedscope; /* speedscope JSON */
extern const struct tare_writer tare_writer_pprof;      /* pprof */
extern const struct tare_writer tare_writer_pstats;     /* pstats marshal */
extern const struct tare_writer tare_writer_json;       /* the profile as JSON */
extern const struct tare_writer tare_writer_diff;       /* the table of a difference */

extern const struct tare_reader tare_reader_pprof;
extern const struct tare_reader tare_reader_pstats;
extern const struct tare_reader tare_reader_folded;

/** All profile writers, readers and run writers, NULL-terminated. */
extern const struct tare_writer *const tare_writers[];
extern const struct tare_reader *const tare_readers[];
extern const struct tare_run_writer *const tare_run_writers[];

#endif
