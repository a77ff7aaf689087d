/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model weighs before it runs: its file, its nodes, its parameters. A parameter is a trained value:
 * a floating-point or quantised tensor that the model computes with, stored as an initializer, a Constant
 * node, or a ConstantOfShape whose shape is constant, which counts as the tensor it makes; in subgraphs and
 * functions too, each once. Not parameters: the mean and variance of BatchNormalization and the scales and
 * zero points of quantisation, which are buffers; shapes, sizes and single numbers in arithmetic, which are
 * constants of the program.
 */
#ifndef TARE_BENCH_MODEL_FACTS_H
#define TARE_BENCH_MODEL_FACTS_H

#include "base/arena.h"
#include "base/error.h"
#include "bench/model.h"
#include "core/run.h"

/**
 * Fill in what the file alone tells: name, path, format, sha256 (of the model's own file), producer, opset,
 * sizes, nodes, parameters, inputs and outputs; ops with their numbers of nodes. Texts are in the arena.
 */
int tare_model_facts(const struct tare_model *model, struct tare_arena *arena,
                     struct tare_run_model *ret_facts, struct tare_error *err);

#endif
