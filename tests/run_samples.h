/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs for tests: one in which every key of every table is filled, by walking the tables themselves, so that
 * a new key is tested from its first day; and a small one with figures that can be checked by hand. NULL when
 * memory ran out.
 */
#ifndef TARE_TESTS_RUN_SAMPLES_H
#define TARE_TESTS_RUN_SAMPLES_H

#include "core/run.h"

/** Every key known, every list with two elements, and no value twice where that can be. */
struct tare_run *run_sample_full(void);

/** Batch 1 and 8 in pairs: 10 ms and 40 ms a call; batch 64 not measured. */
struct tare_run *run_sample_small(void);

#endif
