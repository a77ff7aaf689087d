/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that the pprof writer gives to strings, locations and functions as it meets them, so that a file
 * holds those that are used and nothing else, each once. Additions that fail are remembered and return 0:
 * check once, at the end.
 */
#ifndef TARE_REPORT_PPROF_NUMBER_H
#define TARE_REPORT_PPROF_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "core/profile.h"

struct pprof_text {
    const char *text;
    size_t length;
};

struct pprof_location {
    uint32_t base; /* the location that the frame is inlined into; 0: none */
    uint32_t frame;
    uint32_t line;
    uint32_t used; /* 1: to be written */
};

/* A search table of numbers: open addressing, 0 for empty. */
struct pprof_slots {
    uint32_t *slots;
    uint32_t mask, count;
};

struct pprof_number {
    const struct tare_profile *profile;
    uint32_t *string_of;       /* by the profile's string: its index in the file, 0: not used yet */
    uint32_t *function_of;     /* by the profile's frame: its function, 0: none yet */
    struct tare_buf strings;   /* struct pprof_text; the first is "" */
    struct tare_buf locations; /* struct pprof_location; number 1 is the first */
    struct tare_buf functions; /* uint32_t: a frame of each function; number 1 is the first */
    struct pprof_slots location_slots, function_slots;
    bool failed;
};

/** Ready for a profile. */
int pprof_number_init(struct pprof_number *number, const struct tare_profile *profile,
                      struct tare_error *err);

/** Free it. */
void pprof_number_finish(struct pprof_number *number);

/** 0 if everything was numbered. */
int pprof_number_check(const struct pprof_number *number, struct tare_error *err);

/** The index of a string of the profile. */
uint32_t pprof_number_string(struct pprof_number *number, uint32_t string);

/** The index of a text that stays where it is; a new one at each call. */
uint32_t pprof_number_text(struct pprof_number *number, const char *text);

/** The location of a frame at a line, inlined into the location base unless that is 0. */
uint32_t pprof_number_location(struct pprof_number *number, uint32_t base, uint32_t frame, uint32_t line);

/** The function of a frame. */
uint32_t pprof_number_function(struct pprof_number *number, uint32_t frame);

/** A location, by its number from 1. */
struct pprof_location *pprof_location_at(const struct pprof_number *number, uint32_t location);

uint32_t pprof_number_locations(const struct pprof_number *number); /**< How many. */

#endif
