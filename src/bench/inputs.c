/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/inputs.h"

#include <string.h>

#include "base/suggest.h"
#include "bench/inputs_impl.h"
#include "bench/npz.h"

/* The arrays of the file or the caller, matched with the model's inputs. */
struct given {
    struct tare_tensor *tensors; /* one per input; data NULL where there is none */
    struct tare_tensor labels;
    int64_t samples;
};

static int fail_stranger(const struct tare_inputs_plan *plan, const char *path, const char *name,
                         struct tare_error *err)
{
    struct tare_suggest suggest = {0};
    for (size_t i = 0; i < plan->inputs_count; i++)
        tare_suggest_offer(&suggest, name, plan->inputs[i].value->name);
    const char *near = suggest.best ? suggest.best : plan->inputs_count ? plan->inputs[0].value->name : NULL;
    if (!near)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' holds '%.60s', but the model takes no input", path,
                         name);
    return tare_fail(err, TARE_E_INPUT, 0, "'%s' holds '%.60s', which the model does not take: %s '%.60s'",
                     path, name, suggest.best ? "did you mean" : "it takes", near);
}

static int match(struct tare_inputs_plan *plan, const char *path, struct tare_tensor tensor,
                 struct given *given, struct tare_error *err)
{
    if (strcmp(tensor.name, "labels") == 0) {
        given->labels = tensor;
        return 0;
    }
    for (size_t i = 0; i < plan->inputs_count; i++) {
        struct tare_input_plan *input = &plan->inputs[i];
        /* A bare .npy has no name: it is the first input that has no array yet. */
        if (*tensor.name ? strcmp(tensor.name, input->value->name) != 0 : input->given != NULL)
            continue;
        given->tensors[i] = tensor;
        input->given = &given->tensors[i];
        if (input->batch_axis >= 0 && (size_t)input->batch_axis < tensor.rank) {
            int64_t samples = tensor.dims[input->batch_axis];
            if (given->samples && samples != given->samples)
                return tare_fail(err, TARE_E_INPUT, 0,
                                 "the arrays of '%s' hold different numbers of samples: '%.60s' has %lld, "
                                 "another %lld",
                                 path, input->value->name, (long long)samples, (long long)given->samples);
            given->samples = samples;
        }
        return 0;
    }
    return fail_stranger(plan, path, tensor.name, err);
}

static int read_file(struct tare_inputs_plan *plan, const char *path, struct given *given,
                     struct tare_error *err)
{
    struct tare_npz *npz = NULL;
    int rc = -1;
    if (tare_npz_open(path, &npz, err) < 0)
        return -1;
    for (size_t i = 0; i < tare_npz_count(npz); i++) {
        struct tare_tensor tensor;
        if (tare_npz_read(npz, i, plan->arena, &tensor, err) < 0 || match(plan, path, tensor, given, err) < 0)
            goto out;
    }
    rc = 0;
    if (given->labels.data && given->samples &&
        (given->labels.rank == 0 || given->labels.dims[0] != given->samples))
        rc = tare_fail(err, TARE_E_INPUT, 0, "'labels' of '%s' has not one entry per sample (%lld)", path,
                       (long long)given->samples);
out:
    tare_npz_close(npz);
    return rc;
}

static int take_given(struct tare_inputs_plan *plan, const struct tare_inputs_ask *ask, struct given *given,
                      struct tare_error *err)
{
    given->tensors = tare_arena_array(plan->arena, plan->inputs_count, sizeof *given->tensors);
    if (!given->tensors)
        return tare_arena_check(plan->arena, err);
    if (ask->path && read_file(plan, ask->path, given, err) < 0)
        return -1;
    for (size_t i = 0; i < ask->given_count; i++) {
        struct tare_tensor tensor = ask->given[i];
        tensor.name = tensor.name ? tensor.name : "";
        if (match(plan, "input_data", tensor, given, err) < 0)
            return -1;
    }
    return 0;
}

/* Samples first, first+1... of from, into to, which has as many as it has; from its start again at its end.
 */
static void copy_samples(const struct tare_tensor *from, int axis, int64_t first,
                         const struct tare_tensor *to)
{
    if (axis < 0) {
        memcpy(to->data, from->data, to->bytes);
        return;
    }
    size_t outer = 1, inner = tare_element_bits(from->element) / 8;
    for (size_t k = 0; k < from->rank; k++) {
        if ((int)k < axis)
            outer *= (size_t)from->dims[k];
        if ((int)k > axis)
            inner *= (size_t)from->dims[k];
    }
    size_t have = (size_t)from->dims[axis], want = (size_t)to->dims[axis];
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < want; i++)
            memcpy((char *)to->data + (o * want + i) * inner,
                   (const char *)from->data + (o * have + ((size_t)first + i) % have) * inner, inner);
}

static int make_tensor(const struct tare_inputs_plan *plan, const struct tare_input_plan *input,
                       int64_t first, bool with_data, struct tare_tensor *tensor, struct tare_error *err)
{
    const struct tare_model_value *value = input->value;
    *tensor = (struct tare_tensor){
        .name = tare_arena_copy(plan->arena, value->name), .element = value->element, .rank = value->rank};
    for (size_t k = 0; k < value->rank; k++)
        tensor->dims[k] =
            value->dims[k].value < 0 ? plan->slots[input->slots[k]].value : value->dims[k].value;
    struct tare_error inner = {0};
    if (tare_shape_bytes(tensor->element, tensor->dims, tensor->rank, &tensor->bytes, &inner) < 0)
        return tare_fail(err, inner.code, 0, "input '%.80s' cannot be made: %s", value->name, inner.msg);
    if (!with_data)
        return 0;
    if (input->given && first == 0 && input->given->bytes == tensor->bytes) {
        tensor->data = input->given->data;
        return 0;
    }
    tensor->data = tare_arena_alloc(plan->arena, tensor->bytes);
    if (!tensor->data)
        return tare_fail(err, TARE_E_MEMORY, 0, "there is no memory for input '%.80s' of %zu bytes",
                         value->name, tensor->bytes);
    if (input->given)
        copy_samples(input->given, input->batch_axis, first, tensor);
    else
        tare_inputs_fill(plan, input, first, tensor);
    return 0;
}

/* The free dimensions and which of them were assumed, for the result. */
static void list_dims(const struct tare_inputs_plan *plan, struct tare_inputs *inputs)
{
    inputs->dims = tare_arena_array(plan->arena, plan->slots_count, sizeof *inputs->dims);
    for (size_t i = 0; inputs->dims && i < plan->slots_count; i++) {
        const struct tare_input_slot *slot = &plan->slots[i];
        if (slot->kind == TARE_AXIS_BATCH)
            continue;
        inputs->dims[inputs->dims_count++] =
            (struct tare_run_dim){.name = tare_arena_copy(plan->arena, slot->shown), .value = slot->value};
        if (slot->assumed && inputs->dims_count <= 16)
            inputs->assumed =
                tare_arena_printf(plan->arena, "%s%s%s=%lld", inputs->assumed ? inputs->assumed : "",
                                  inputs->assumed ? ", " : "", slot->shown, (long long)slot->value);
    }
}

static bool is_ids(const struct tare_model_value *value)
{
    return tare_element_is_integer(value->element) && value->rank == 2 &&
           (tare_inputs_holds(value->name, "ids") || tare_inputs_holds(value->name, "token"));
}

static int build(const struct tare_model *model, const struct tare_inputs_ask *ask, bool with_data,
                 struct tare_arena *arena, struct tare_inputs *ret_inputs, struct tare_error *err)
{
    struct tare_inputs_plan plan;
    struct given given = {0};
    if (tare_inputs_look(model, arena, &plan, err) < 0 || take_given(&plan, ask, &given, err) < 0 ||
        tare_inputs_settle(&plan, ask, err) < 0)
        return -1;
    struct tare_inputs inputs = {.count = plan.inputs_count, .batch = plan.batch, .samples = given.samples};
    inputs.batch_fixed = plan.batch_fixed;
    inputs.tensors = tare_arena_array(arena, plan.inputs_count, sizeof *inputs.tensors);
    if (!inputs.tensors)
        return tare_arena_check(arena, err);
    for (size_t i = 0; i < plan.inputs_count; i++) {
        struct tare_tensor *tensor = &inputs.tensors[i];
        if (make_tensor(&plan, &plan.inputs[i], ask->first, with_data, tensor, err) < 0)
            return -1;
        if (inputs.sequence == 0 && is_ids(plan.inputs[i].value))
            inputs.sequence = tensor->dims[1];
    }
    if (given.labels.data && given.labels.rank && given.labels.dims[0] > 0) {
        inputs.labels = given.labels;
        size_t one = given.labels.bytes / (size_t)given.labels.dims[0];
        inputs.labels.dims[0] = plan.batch;
        inputs.labels.bytes = one * (size_t)plan.batch;
        inputs.labels.data = tare_arena_array(arena, (size_t)plan.batch, one);
        if (inputs.labels.data)
            copy_samples(&given.labels, 0, ask->first, &inputs.labels);
    }
    list_dims(&plan, &inputs);
    if (tare_arena_check(arena, err) < 0)
        return -1;
    *ret_inputs = inputs;
    return 0;
}

int tare_inputs_make(const struct tare_model *model, const struct tare_inputs_ask *ask,
                     struct tare_arena *arena, struct tare_inputs *ret_inputs, struct tare_error *err)
{
    return build(model, ask, true, arena, ret_inputs, err);
}

int tare_inputs_bind(const struct tare_model *model, const struct tare_inputs_ask *ask,
                     struct tare_arena *arena, struct tare_inputs *ret_inputs, struct tare_error *err)
{
    return build(model, ask, false, arena, ret_inputs, err);
}

bool tare_inputs_has_dim(const struct tare_model *model, const char *name)
{
    struct tare_arena arena;
    struct tare_inputs_plan plan;
    tare_arena_init(&arena, 0);
    bool has = tare_inputs_look(model, &arena, &plan, NULL) == 0 &&
               tare_inputs_find(&plan, name, 0) < plan.slots_count;
    tare_arena_finish(&arena);
    return has;
}

const char *tare_inputs_unit(const struct tare_model *model)
{
    struct tare_arena arena;
    struct tare_inputs_plan plan;
    const char *unit = "samples";
    tare_arena_init(&arena, 0);
    if (tare_inputs_look(model, &arena, &plan, NULL) == 0)
        for (size_t i = plan.inputs_count; i-- > 0;)
            unit = is_ids(plan.inputs[i].value) ? "texts" : plan.inputs[i].image ? "images" : unit;
    tare_arena_finish(&arena);
    return unit;
}
