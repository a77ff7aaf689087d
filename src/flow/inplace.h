/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring an engine in this process, into a configuration of a run: what the Python package does with the
 * caller's own objects, which no other process has. The timed loop is the harness's, as in a worker; memory
 * is this process's, and is looked at in calls of their own. One thread.
 */
#ifndef TARE_FLOW_INPLACE_H
#define TARE_FLOW_INPLACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "bench/engine.h"
#include "bench/worker.h"
#include "core/run.h"

/* warmup_runs: so many calls, the first of them cold; below 0 until it is stable, for at most warm_ns. */
struct tare_inplace_warming {
    int64_t warmup_runs, warm_ns;
};

/** Warm up; makes the configuration's process 0 and says how many calls make a sample. */
int tare_inplace_warm(struct tare_run *run, size_t config, struct tare_engine *engine,
                      const struct tare_clock *clock, const struct tare_inplace_warming *warming,
                      struct tare_error *err);

/** Take one round of samples, and what the process used meanwhile. */
int tare_inplace_sample(struct tare_run *run, size_t config, struct tare_engine *engine,
                        const struct tare_clock *clock, int64_t samples, int64_t budget_ns,
                        struct tare_error *err);

/** Run so many calls and note what memory they took. */
int tare_inplace_remember(struct tare_run *run, size_t config, struct tare_engine *engine, int64_t calls,
                          struct tare_error *err);

/** Add what was used to what is known of a configuration. */
void tare_run_resources_add(struct tare_run_resources *total, const struct tare_worker_use *use);

#endif
