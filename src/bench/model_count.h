/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a model computes in one call. The shapes are those that a run really had, from the runtime's own
 * profile: exact, where guessing them from the graph is not. Profile a session with graph rewriting off for
 * the model as its file says it; profile the optimised graph, and read the file that the runtime wrote of it,
 * for what is really run. Nodes are found by name; those without one by the number that the runtime gives
 * them. The bodies of If, Loop and Scan count as often as they ran; a branch that was not taken is listed as
 * not counted.
 */
#ifndef TARE_BENCH_MODEL_COUNT_H
#define TARE_BENCH_MODEL_COUNT_H

#include "base/arena.h"
#include "base/error.h"
#include "bench/model.h"
#include "bench/op_cost.h"
#include "bench/ort_profile.h"
#include "core/run.h"

/* Of one call of the model. All in the arena that was given. */
struct tare_model_count {
    int64_t macs, elementwise;  /* FLOPs are 2 × macs */
    size_t matched;             /* nodes of the model that the profile has */
    struct tare_op_cost *nodes; /* one for each of profile->nodes, of one call of the model */
    struct tare_run_op *ops;    /* by operator, the largest first */
    size_t ops_count;
    const char **not_counted; /* "NonMaxSuppression: 2 nodes, not known" */
    size_t not_counted_count;
};

/** Count. inputs are what the profiled session was fed, for their shapes (see tare_inputs_bind). */
int tare_model_count(const struct tare_model *model, const struct tare_ort_profile *profile,
                     const struct tare_tensor *inputs, size_t inputs_count, struct tare_arena *arena,
                     struct tare_model_count *ret_count, struct tare_error *err);

#endif
