/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of a model in which some nodes run more than once. By how much a call of the copy is longer than one
 * of the model is what those nodes take, among the caches and neighbours that they really have, and no
 * profiler was there to disturb them.
 */
#ifndef TARE_BENCH_MODEL_REPEAT_H
#define TARE_BENCH_MODEL_REPEAT_H

#include <stdbool.h>

#include "bench/model.h"

/** May this node be repeated? One with a body may not: what its body reads would have to be renamed too. */
bool tare_model_repeat_can(const struct tare_model_node *node);

/**
 * Write a copy to path. chosen has a flag for each node of the model's outermost graph; these run `times`
 * times more (0: the copy is the model). A repeated node reads what the repeated ones before it made, so that
 * chains stay chains, and nothing reads what the last of them make. Data outside the file is looked for
 * beside path.
 */
int tare_model_repeat(const struct tare_model *model, const bool *chosen, int times, const char *path,
                      struct tare_error *err);

#endif
