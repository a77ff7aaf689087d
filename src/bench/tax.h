/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ONNX Runtime's profiler adds to the time of each node. It makes texts of all shapes and a table of
 * arguments while the node's clock is running, and writes the event down after stopping it. The first is the
 * tax, some microseconds a node whatever the node does; the second shows in the profile as a gap between one
 * node and the next. Both grow alike when caches are cold or the machine is slow, so what is calibrated is
 * their ratio, by chains of trivial nodes with known shapes, profiled and not; in the profile of a model each
 * node's own gap then tells its tax. That is how the tax differs between nodes; how much of it there is in a
 * model at hand, flow/layering_repeat.c finds out there. Nothing is scaled to make sums fit: what is left
 * over is shown.
 */
#ifndef TARE_BENCH_TAX_H
#define TARE_BENCH_TAX_H

#include <stdint.h>

#include "base/error.h"
#include "bench/ort_profile.h"
#include "bench/worker.h"
#include "core/stats.h"

/* Shares of the gap after a node that were inside it: so much for any node, for each input and output, for
 * each dimension of those, and for splitting the work among threads, which the profiler watches too. */
struct tare_tax {
    double base, input, output, dimension, split;
    double gap_ns; /* in the chains */
    double error;  /* how far off it may be, as a share of it */
};

/** Calibrate on a runtime, with the options of the session that will be profiled. Models and profiles are
 * written to the folder and removed. Takes about budget_ns, at least the time to load ten tiny models. */
int tare_tax_calibrate(const struct tare_worker_start *start, const struct tare_engine_options *options,
                       const char *folder, int64_t budget_ns, struct tare_tax *ret_tax,
                       struct tare_error *err);

/** The middle of the gaps of a profile: for nodes that have none, and against gaps that hold more than the
 * profiler's work. */
double tare_tax_gap(const struct tare_ort_profile *profile);

/** The tax of a node, in one call of the model; gap_ns is tare_tax_gap's answer. */
double tare_tax_of(const struct tare_tax *tax, const struct tare_ort_node *node, size_t calls, double gap_ns);

#endif
