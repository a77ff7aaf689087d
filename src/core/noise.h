/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine did while calls were recorded, and how much doubt that leaves. Two things are known: how
 * fast the processor was, from probes (work that is always the same, timed now and then), and how often and
 * how long the program had to wait for a processor, from the kernel. Both leave marks of their own on each
 * recording, so the doubt is that of the recording and no constant. Pure functions of their arguments.
 */
#ifndef TARE_CORE_NOISE_H
#define TARE_CORE_NOISE_H

#include <stdbool.h>

#include "core/profile.h"

struct tare_capture_info;

struct tare_noise {
    double probes;                  /* how many */
    double probe_ns, probe_squares; /* sums, of what they took and its square */
    double steps, step_squares;     /* from one probe to the next */
    double waited_ns;
    double waits; /* how often */
};

/** What a capture says of it; recorded_ns is all the time that was recorded. Returns how much longer the
 * waiting made everything; 0: not known, because the process did not end by itself. */
double tare_noise_find(const struct tare_profile *profile, const struct tare_capture_info *info,
                       double recorded_ns, struct tare_noise *ret_noise);

/** Add that of another capture. */
void tare_noise_add(struct tare_noise *sum, const struct tare_noise *other);

/** How much longer or shorter a run of that length might have taken at another time: the processor faster or
 * slower, waiting less or more. */
double tare_noise_time_doubt_ns(const struct tare_noise *noise, double left_ns);

/** How much waiting a function may have got too much or too little of. */
double tare_noise_share_doubt_ns(const struct tare_noise *noise);

#endif
