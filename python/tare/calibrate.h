/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calibration: what recording a call costs, by kind of call, on this interpreter and machine, with the
 * hooks that record. Short loops run with the hooks on and off by turns, in code that exists only for this;
 * nothing of the program runs, and nothing is left behind.
 */
#ifndef TARE_PYTHON_CALIBRATE_H
#define TARE_PYTHON_CALIBRATE_H

#include "core_module.h"

#include <stdbool.h>

#include "core/overhead.h"
#include "instrument/recorder.h"

/**
 * Measure. The hooks are installed and off, and record into a scratch recorder that has the clock. Takes
 * about 50 ms. -1 with an exception: it was interrupted.
 */
int calibrate_run(const struct tare_clock *clock, bool c_functions, struct tare_calibration *ret_calibration);

/* How long this thread ran, and how long it was ready but had to wait for a processor. */
struct calibrate_waiting {
    double ran_ns, waited_ns;
    double turns; /* how often it was let run */
};

/** Ask the kernel; false where it does not say. */
bool calibrate_waiting_now(struct calibrate_waiting *ret_now);

/** What came since then; all 0 where it is not known. */
struct calibrate_waiting calibrate_waiting_since(const struct calibrate_waiting *then);

/** How much longer everything took because of waiting; 1: no longer. */
double calibrate_waiting_factor(const struct calibrate_waiting *since);

#endif
