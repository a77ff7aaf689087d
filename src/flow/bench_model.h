/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The models of a weighing: the one that was named, found in its folder, and those of other precisions, given
 * or made with the runtime's own tools. What is known of them before anything runs goes into the run. Private
 * to bench.c, bench_plan.c, bench_model.c and precision.c.
 */
#ifndef TARE_FLOW_BENCH_MODEL_H
#define TARE_FLOW_BENCH_MODEL_H

#include "bench/model.h"
#include "flow/bench_part.h"

struct tare_bench_model {
    struct tare_model *model; /* NULL for an engine that has no file */
    const char *path;
    const char *precision; /* "fp32", "fp16", "int8"... */
    const char *label;     /* NULL for the main model */
};

struct tare_bench_models {
    struct tare_bench_model *items;
    size_t count;
};

/** Find, read and describe them: run->model, run->other_models, run->unit. */
int tare_bench_models_open(struct tare_bench *bench, struct tare_bench_models *ret_models,
                           struct tare_error *err);

void tare_bench_models_close(struct tare_bench_models *models);

/** The model in a folder; a file is itself. None or several are refused, naming the choice or the command
 * that makes one. */
int tare_bench_find(const char *path, struct tare_arena *arena, const char **ret_path,
                    struct tare_error *err);

/** Make a model of another precision in the bench's folder. Fails, with the remedy, where the tools for it
 * are not installed. */
int tare_bench_convert(struct tare_bench *bench, const char *path, const char *precision,
                       const char **ret_path, struct tare_error *err);

#endif
