/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model is fed. Free dimensions get a value, then every input gets an array: from a .npz file, or made
 * up so that it makes sense to the model: ids within the table they are looked up in, masks of ones, images
 * in range, sample rates, recurrent state of zeros. The same question gives the same bytes on every machine.
 * Sample i of a batch is the same whatever the batch, so that answers can be compared across batches. A file
 * that holds fewer samples than the batch is gone through again from its start.
 *
 * A free dimension is named as the model names it; also, and where the model gives no name, as INPUT.AXIS
 * ("images.2"); and those of an image as height and width. What was not given and is well known by its name
 * gets a default, which is stated; else the message names the flag to give. Not thread-safe over one arena.
 */
#ifndef TARE_BENCH_INPUTS_H
#define TARE_BENCH_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "bench/model.h"
#include "bench/tensor.h"
#include "core/run.h"

/* What is asked for. */
struct tare_inputs_ask {
    int64_t batch; /* samples per call; 0: the model's own, 1 where it is free */
    const struct tare_run_dim *dims;
    size_t dims_count;
    const char *path; /* .npz; NULL: all are made up. Those that the file lacks are made up too */
    int64_t first;    /* begin with this sample, not with sample 0 */
    /* Arrays that the caller has, used as they are; without a name they are the model's inputs in order. */
    const struct tare_tensor *given;
    size_t given_count;
};

/* All in the arena that was given. */
struct tare_inputs {
    struct tare_tensor *tensors; /* in the model's order */
    size_t count;
    int64_t batch;             /* samples per call */
    int64_t sequence;          /* tokens per sample of an id input, 0 if there is none */
    struct tare_run_dim *dims; /* every free dimension but the batch, and its value */
    size_t dims_count;
    const char *assumed;       /* the defaults that were taken: "seq=128"; NULL if none */
    const char *batch_fixed;   /* why the batch cannot be changed; NULL if it can */
    int64_t samples;           /* how many the file holds, 0 without a file */
    struct tare_tensor labels; /* the file's `labels`, for this batch; data NULL if it has none */
};

/** Bind the dimensions and make the inputs. */
int tare_inputs_make(const struct tare_model *model, const struct tare_inputs_ask *ask,
                     struct tare_arena *arena, struct tare_inputs *ret_inputs, struct tare_error *err);

/** Only bind the dimensions: as above, but tensors have no data. Cheap, for checking a plan. */
int tare_inputs_bind(const struct tare_model *model, const struct tare_inputs_ask *ask,
                     struct tare_arena *arena, struct tare_inputs *ret_inputs, struct tare_error *err);

/** Does this dimension mean something to the model: is it a name that `dims` may use? */
bool tare_inputs_has_dim(const struct tare_model *model, const char *name);

/** What one sample of this model is called: "texts", "images" or "samples". */
const char *tare_inputs_unit(const struct tare_model *model);

#endif
