/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who uses a value: every input of every node of a graph and of what is nested in it, by name. Built once,
 * then any question is a lookup. Names are taken as unique across a graph and its subgraphs, as ONNX asks.
 * Immutable once built; it must not outlive the model.
 */
#ifndef TARE_BENCH_MODEL_USES_H
#define TARE_BENCH_MODEL_USES_H

#include "bench/model.h"

struct tare_model_use {
    const struct tare_model_graph *graph; /* the one that the node is in */
    const struct tare_model_node *node;
    size_t input;
    const struct tare_model_use *next; /* another use of the same value */
};

struct tare_model_uses;

/** All uses in a graph. */
int tare_model_uses_create(const struct tare_model_graph *graph, struct tare_model_uses **ret_uses,
                           struct tare_error *err);

/** Free it; NULL is allowed. */
void tare_model_uses_destroy(struct tare_model_uses *uses);

/** The uses of a value, in the file's order; NULL if there is none. */
const struct tare_model_use *tare_model_uses_of(const struct tare_model_uses *uses, const char *name);

#endif
