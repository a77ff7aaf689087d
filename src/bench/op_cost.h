/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator computes, from its shapes. Contractions (products of matrices, convolutions, recurrent
 * layers, attention) count multiply-accumulates: one MAC is two FLOPs. The rest counts apart, one for each
 * element it makes (or takes, where it reduces; or looks at, where it pools), whatever the function costs.
 * Moving and converting data is no arithmetic and costs nothing here. What the table does not know is not
 * counted, and is said. Pure functions; any thread.
 */
#ifndef TARE_BENCH_OP_COST_H
#define TARE_BENCH_OP_COST_H

#include "bench/model.h"
#include "bench/ort_profile.h"

/* Why there is no figure. */
enum tare_op_counted {
    TARE_OP_COUNTED,
    TARE_OP_UNKNOWN,   /* the operator is not in the table */
    TARE_OP_SHAPELESS, /* its shapes are not known */
    TARE_OP_NOT_RUN,   /* it did not run: a branch that was not taken */
};

struct tare_op_cost {
    enum tare_op_counted counted;
    int64_t macs, elementwise; /* of one run of it; 0 unless counted */
};

/* A node and the shapes that it met; those that are not known are not ranked. */
struct tare_op_view {
    const struct tare_model_node *node;
    const struct tare_ort_shape *inputs, *outputs; /* one per input and output of the node */
};

/** What it costs to run once. */
struct tare_op_cost tare_op_cost(const struct tare_op_view *view);

/** Is it a contraction: does it count in MACs? */
bool tare_op_is_contraction(const struct tare_model_node *node);

#endif
