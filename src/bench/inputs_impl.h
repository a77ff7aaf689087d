/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that make inputs share. Private to inputs*.c. */
#ifndef TARE_BENCH_INPUTS_IMPL_H
#define TARE_BENCH_INPUTS_IMPL_H

#include "bench/inputs.h"

/* What a free dimension means. */
enum tare_axis_kind {
    TARE_AXIS_OTHER,
    TARE_AXIS_BATCH,
    TARE_AXIS_SEQUENCE,
    TARE_AXIS_PAST, /* what a decoder remembers */
    TARE_AXIS_SUM,  /* "past_sequence_length + 1" */
    TARE_AXIS_CHANNELS,
    TARE_AXIS_HEIGHT,
    TARE_AXIS_WIDTH,
};

/* A free dimension. Axes of the same name are one; those without a name are each their own. */
struct tare_input_slot {
    const char *name;  /* the model's; NULL if it has none that says anything */
    const char *shown; /* what the user calls it */
    enum tare_axis_kind kind;
    size_t input, axis; /* where it was first seen */
    int64_t value;      /* -1: not yet known */
    bool asked, assumed;
};

/* One input while its shape is found. */
struct tare_input_plan {
    const struct tare_model_value *value;
    const struct tare_tensor *given; /* from the file, or NULL */
    bool image, state;
    bool channels_last;
    int batch_axis;                     /* -1: none */
    size_t slots[TARE_TENSOR_RANK_MAX]; /* of the free axes */
};

struct tare_inputs_plan {
    const struct tare_model *model;
    struct tare_arena *arena;
    struct tare_input_plan *inputs;
    size_t inputs_count;
    struct tare_input_slot *slots;
    size_t slots_count;
    int64_t batch; /* 0: not yet known */
    bool batch_free, streaming;
    const char *batch_fixed;
};

/** Does one text hold the other, whatever the case? */
bool tare_inputs_holds(const char *text, const char *part);

/** Look at a model's inputs: what is free, and what it means. */
int tare_inputs_look(const struct tare_model *model, struct tare_arena *arena, struct tare_inputs_plan *plan,
                     struct tare_error *err);

/** The slot that a name of the user's means, from slot `from` on; slots_count if there is none. */
size_t tare_inputs_find(const struct tare_inputs_plan *plan, const char *name, size_t from);

/** Give every free dimension a value; an error names the flags that are missing. */
int tare_inputs_settle(struct tare_inputs_plan *plan, const struct tare_inputs_ask *ask,
                       struct tare_error *err);

/** How large ids of this input may be, so that every lookup they reach stays inside its table: ids are below
 * it. 0 if it is not looked up anywhere. */
int64_t tare_inputs_id_bound(const struct tare_model *model, const char *name);

/** Make up the data of a tensor, whose samples lie along batch_axis (-1: it is one sample). */
void tare_inputs_fill(const struct tare_inputs_plan *plan, const struct tare_input_plan *input, int64_t first,
                      const struct tare_tensor *tensor);

#endif
