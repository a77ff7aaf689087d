/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tare: what recording itself cost, taken off the recorded times. Recording a call makes the called
 * function's own time longer by the inner cost, and its caller's by the outer cost, which also holds what the
 * interpreter's own fast path for such a call would have saved. Both depend on the kind of call, and are
 * measured in the recorded process, on its interpreter, when recording starts (a calibration).
 *
 * A call keeps at least a nanosecond: what would go below is taken from its caller instead, because the
 * border between the two is the least sure.
 *
 * What a call itself takes, without recording - passing the arguments, making the frame - is counted as the
 * caller's. Pure functions of their arguments; nothing here is thread-safe on one profile.
 */
#ifndef TARE_CORE_OVERHEAD_H
#define TARE_CORE_OVERHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "core/noise.h"
#include "core/profile.h"

struct tare_capture_info;

/* Kinds of calls that cost differently. A frame has one of those before TARE_COST_FRAMES. To add one: a line
 * here, its name in overhead.c, and a loop that measures it in python/tare/calibrate.c. */
enum tare_cost {
    TARE_COST_NONE = 0,  /* not known: as an exact call */
    TARE_COST_EXACT,     /* a Python function without * and ** and keyword-only arguments */
    TARE_COST_METHOD,    /* the same with self or cls in front */
    TARE_COST_GENERAL,   /* any other Python function */
    TARE_COST_INIT,      /* __init__ */
    TARE_COST_SLOT,      /* other special methods: called by the interpreter, not by a call */
    TARE_COST_GENERATOR, /* generators and coroutines: each time they are taken up */
    TARE_COST_C_NOARGS,  /* C functions by calling convention */
    TARE_COST_C_O,
    TARE_COST_C_FAST,
    TARE_COST_C_FAST_KEYWORDS,
    TARE_COST_C_VARARGS,
    TARE_COST_M_NOARGS, /* methods of built-in types likewise */
    TARE_COST_M_O,
    TARE_COST_M_FAST,
    TARE_COST_M_FAST_KEYWORDS,
    TARE_COST_M_VARARGS,
    TARE_COST_LEN, /* those for which the interpreter has instructions of their own */
    TARE_COST_ISINSTANCE,
    TARE_COST_APPEND,
    TARE_COST_FRAMES,
    TARE_COST_FROM_C = TARE_COST_FRAMES, /* a Python function that C code calls */
    TARE_COST_UNWIND,                    /* what leaving by an exception costs more */
    TARE_COST_BLIND,                     /* a call of a type: reported, but not recorded */
    TARE_COSTS,
};

struct tare_cost_ns {
    double inner, outer; /* per call, in nanoseconds; outer may be negative */
    double error;        /* of their sum */
};

/* How far all costs together are trusted, relative to what is taken off: for the time that is left of a whole
 * run, and for the share of it that a function has. What nine of ten runs kept to (docs/performance.md). */
#define TARE_OVERHEAD_DOUBT       0.25
#define TARE_OVERHEAD_SHARE_DOUBT 0.12

struct tare_calibration {
    struct tare_cost_ns costs[TARE_COSTS];
    double dilation; /* how much longer Python code between calls takes while it is recorded; 1: no longer */
    double dilation_error;
    double scale_error; /* relative: how much all costs together vary with what else the machine does */
    double probe_ns;    /* what a probe took then: the costs are for a processor of that speed */
};

enum { TARE_OVERHEAD_DOUBTS = 3 };

/* A function whose own time is not known well. */
struct tare_overhead_doubt {
    char name[80];
    double own_ns, error_ns;
};

/* What was taken off. */
struct tare_overhead {
    double recorded_ns; /* all own times as recorded */
    double taken_ns;
    double moved_ns; /* of it: more than a function had, so taken from its caller instead */
    double error_ns; /* of what is left, in all, as far as it comes from the costs */
    struct tare_noise noise;
    unsigned uncalibrated; /* captures without a calibration, left as they were recorded */
    unsigned doubts;
    struct tare_overhead_doubt doubtful[TARE_OVERHEAD_DOUBTS]; /* those with most time first */
};

/** The name of a kind, as a calibration's text has it. */
const char *tare_cost_name(enum tare_cost cost);

/** A calibration as text, for a capture's metadata, and back; false if the text is none. Numbers are whole
 * thousandths, so that no locale changes them. */
void tare_calibration_write(const struct tare_calibration *calibration, struct tare_buf *buf);
bool tare_calibration_read(const char *text, struct tare_calibration *ret_calibration);

/** The same costs on a processor that is so fast that a probe takes that long. 0: not known, no change. */
void tare_calibration_adapt(struct tare_calibration *calibration, double probe_ns);

/** The same costs in a program that had to wait for a processor, so that all took that much longer: what
 * recording cost waited with it. Below 1: not known, no change. */
void tare_calibration_wait(struct tare_calibration *calibration, double longer);

/** The calibration that a capture brought along, in a comment of its profile; false if it has none. */
bool tare_calibration_find(const struct tare_profile *profile, struct tare_calibration *ret_calibration);

/**
 * Take the cost of recording off a profile that was just read from a capture. frame_errors, if not NULL, has
 * room for one value per frame: the error of a function's own time, in nanoseconds.
 */
int tare_overhead_remove(struct tare_profile *profile, const struct tare_capture_info *info,
                         const struct tare_calibration *calibration, double *frame_errors,
                         struct tare_overhead *ret_overhead, struct tare_error *err);

/** The whole of it: find the calibration, remove the overhead, and say so in a comment. Without a calibration
 * the times stay as they are. */
int tare_overhead_correct(struct tare_profile *profile, const struct tare_capture_info *info,
                          struct tare_overhead *ret_overhead, struct tare_error *err);

/** Add what was taken off another capture. */
void tare_overhead_add(struct tare_overhead *sum, const struct tare_overhead *other);

/** Find functions whose own time is mostly error; own_ns and error_ns are per frame. Add those of another
 * capture. Name them in a note. */
void tare_overhead_find_doubts(const struct tare_profile *profile, const double *own_ns,
                               const double *error_ns, struct tare_overhead *overhead);
void tare_overhead_add_doubts(struct tare_overhead *sum, const struct tare_overhead *other);
void tare_overhead_note_doubts(struct tare_profile *profile, const struct tare_overhead *overhead);

/** Say in a note of the profile what was taken off, and how sure the rest is. */
void tare_overhead_note(struct tare_profile *profile, const struct tare_overhead *overhead);

#endif
