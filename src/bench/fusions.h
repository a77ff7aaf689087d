/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime made one node of, and what it left in pieces though it has a node for it: the graph it
 * really runs against the model as its file says it. Patterns are looked for in the main graph, backward from
 * the node that ends them. To add a kind, write its two counts and add a row to the table in fusions.c.
 */
#ifndef TARE_BENCH_FUSIONS_H
#define TARE_BENCH_FUSIONS_H

#include "base/error.h"
#include "bench/model.h"
#include "core/run.h"

/** Append a row for every kind that the model has or could have. Texts are constant or in the run's arena. */
int tare_fusions_find(const struct tare_model *original, const struct tare_model *optimised,
                      struct tare_run *run, struct tare_run_model *facts, struct tare_error *err);

#endif
