/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ONNX Runtime's own profiler wrote: for every node that ran, its shapes and its times, call by call of
 * the model. The file is Chrome's JSON in name only, because node names are not escaped in it, so it is
 * scanned line by line and by hand; what is not understood is passed over and counted. Its times are whole
 * microseconds of wall time and hold the profiler's own work: see bench/tax.h for taking that off.
 *
 * The bodies of If, Loop and Scan run inside their node. They are nodes of their own here, marked nested, and
 * their time is taken out of the node that holds them, so that nothing is counted twice.
 *
 * Memory is bounded by the events read (at most TARE_ORT_PROFILE_EVENTS). Immutable once read.
 */
#ifndef TARE_BENCH_ORT_PROFILE_H
#define TARE_BENCH_ORT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/in.h"
#include "bench/tensor.h"

/* The profiler keeps so many events and drops the rest. */
enum { TARE_ORT_PROFILE_EVENTS = 1000000 };

/* A type and a shape as the runtime saw it. */
struct tare_ort_shape {
    enum tare_element element; /* NONE: a type that tare has no number for */
    bool ranked;               /* false: more dimensions than a tensor may have */
    size_t rank;
    int64_t dims[TARE_TENSOR_RANK_MAX];
};

struct tare_ort_node {
    const char *name, *op, *provider; /* never NULL */
    int64_t index;                    /* the runtime's number of it, -1 if not said */
    bool nested;                      /* in the body of an If, Loop or Scan */
    int64_t calls;                    /* in all the calls of the model */
    int64_t split;                    /* those whose work was split among threads, as the runtime says */
    /* Inputs that are absent, or whose weights were packed beforehand, are left out by the runtime: positions
     * say nothing. Outputs that are absent are left out too. */
    const struct tare_ort_shape *inputs, *outputs;
    size_t inputs_count, outputs_count;
    int64_t activation_bytes, parameter_bytes, output_bytes; /* -1 where not said */
    /* Of one call of the model, over the typical calls: */
    double ns;       /* as the profiler says, without bodies that ran inside and without stops */
    double error_ns; /* of ns, by how its calls differ */
    double low_ns;   /* a quarter of the calls took less */
    double gap_ns;   /* from its end to the next node's start: mostly the profiler writing down the event */
    bool has_gap;
};

struct tare_ort_profile {
    struct tare_arena arena;
    const struct tare_ort_node *nodes; /* in the order in which they first ran */
    size_t nodes_count;
    size_t calls;    /* complete calls of the model in the file */
    size_t typical;  /* those behind the figures: the middle half by their sum, after what was skipped */
    double sum_ns;   /* of the nodes' ns */
    bool full;       /* the profiler had dropped events by its limit */
    uint64_t events; /* lines that were events */
    uint64_t odd;    /* lines that were not understood */
};

/** Read a profile, leaving out the first `skip` calls of the model (warming up) when more than that many are
 * there. A file without one complete call is an error. */
int tare_ort_profile_read(struct tare_in *in, size_t skip, struct tare_ort_profile **ret_profile,
                          struct tare_error *err);

/** Free it; NULL is allowed. */
void tare_ort_profile_destroy(struct tare_ort_profile *profile);

/** Does the op run a body of nodes: If, Loop, Scan and their kin? */
bool tare_ort_profile_has_body(const char *op);

#endif
