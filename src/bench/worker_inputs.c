/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/worker_inputs.h"

#include <string.h>

#include "bench/inputs.h"
#include "core/stats_random.h"

/* A fake takes any input: one of floats, of shape batch x dimensions. */
static int make_fake(const struct tare_worker_spec *spec, struct tare_arena *arena, struct tare_tensor *input,
                     struct tare_error *err)
{
    *input = (struct tare_tensor){.name = "input", .element = TARE_ELEMENT_F32, .rank = 1};
    input->dims[0] = spec->batch ? spec->batch : 1;
    for (size_t i = 0; i < spec->dims_count; i++) {
        if (input->rank == TARE_TENSOR_RANK_MAX)
            return tare_fail(err, TARE_E_USAGE, 0, "a fake model takes at most %d dimensions",
                             TARE_TENSOR_RANK_MAX - 1);
        input->dims[input->rank++] = spec->dims[i].value;
    }
    if (tare_shape_bytes(input->element, input->dims, input->rank, &input->bytes, err))
        return -1;
    float *data = tare_arena_alloc(arena, input->bytes ? input->bytes : 1);
    if (!data)
        return tare_fail_memory(err);
    struct tare_random random;
    tare_random_init(&random, 1);
    for (size_t i = 0; i < input->bytes / sizeof *data; i++)
        data[i] = (float)tare_random_unit(&random);
    input->data = data;
    return 0;
}

static int make_from_model(const struct tare_worker_spec *spec, struct tare_arena *arena,
                           struct tare_inputs *inputs, struct tare_error *err)
{
    struct tare_model *model = NULL;
    struct tare_inputs_ask ask = {
        .batch = spec->batch, .dims = spec->dims, .dims_count = spec->dims_count, .path = spec->inputs_path};
    if (tare_model_open(spec->model_path, &model, err))
        return -1;
    int status = tare_inputs_make(model, &ask, arena, inputs, err);
    /* Texts may point into the model. */
    for (size_t i = 0; !status && i < inputs->count; i++)
        inputs->tensors[i].name = tare_arena_copy(arena, inputs->tensors[i].name);
    tare_model_close(model);
    return status ? -1 : tare_arena_check(arena, err);
}

int tare_worker_make_inputs(const struct tare_worker_spec *spec, struct tare_arena *arena,
                            struct tare_tensor **ret_inputs, size_t *ret_count, struct tare_error *err)
{
    struct tare_inputs inputs = {0};
    struct tare_tensor *input = tare_arena_alloc(arena, sizeof *input);
    bool fake = strcmp(spec->engine, tare_engine_fake.name) == 0;
    if (!input)
        return tare_fail_memory(err);
    if (fake ? make_fake(spec, arena, input, err) : make_from_model(spec, arena, &inputs, err))
        return -1;
    *ret_inputs = fake ? input : inputs.tensors;
    *ret_count = fake ? 1 : inputs.count;
    return 0;
}
