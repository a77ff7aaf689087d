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

#endif
