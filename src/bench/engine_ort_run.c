/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a session. Inputs are bound once per shape. Outputs are first bound to a device, because nobody
 * knows their shapes; what the first run made is bound as the place for all later ones, so that the timed
 * call allocates nothing for them.
 */
#include <stdio.h>
#include <string.h>

#include "bench/engine_ort.h"

static struct tare_ort_engine *of(struct tare_engine *engine)
{
    return (struct tare_ort_engine *)engine;
}

static void release_values(struct tare_ort_engine *engine, struct tare_ort_port *ports, size_t count)
{
    for (size_t i = 0; ports && i < count; i++) {
        if (ports[i].value)
            engine->api->ReleaseValue(ports[i].value);
        ports[i].value = NULL;
    }
}

void tare_ort_unbind(struct tare_ort_engine *engine)
{
    if (engine->binding)
        engine->api->ReleaseIoBinding(engine->binding);
    engine->binding = NULL;
    release_values(engine, engine->inputs, engine->inputs_count);
    release_values(engine, engine->outputs, engine->outputs_count);
    engine->runs = 0;
}

/* By name; a tensor without one goes by its place. */
static const struct tare_tensor *tensor_for(const struct tare_ort_engine *engine, size_t input,
                                            const struct tare_tensor *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tensors[i].name ? strcmp(tensors[i].name, engine->inputs[input].name) == 0 : i == input)
            return &tensors[i];
    return NULL;
}

static int bind_input(struct tare_ort_engine *engine, size_t i, const struct tare_tensor *tensors,
                      size_t count, struct tare_error *err)
{
    const OrtApi *api = engine->api;
    struct tare_ort_port *input = &engine->inputs[i];
    const struct tare_tensor *tensor = tensor_for(engine, i, tensors, count);
    char what[80];
    if (!tensor)
        return tare_fail(err, TARE_E_USAGE, 0, "the model's input '%.80s' was not given", input->name);
    if (tensor->element == TARE_ELEMENT_STRING)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "the model's input '%.80s' is of strings: not supported",
                         input->name);
    snprintf(what, sizeof what, "input '%.40s'", input->name);
    OrtStatus *status = api->CreateTensorWithDataAsOrtValue(
        engine->memory, tensor->data, tensor->bytes, tensor->dims, tensor->rank,
        (ONNXTensorElementDataType)tensor->element, &input->value);
    if (!status)
        status = api->BindInput(engine->binding, input->name, input->value);
    return tare_ort_check(engine, status, what, err);
}

int tare_ort_bind(struct tare_engine *base, const struct tare_tensor *inputs, size_t count,
                  struct tare_error *err)
{
    struct tare_ort_engine *engine = of(base);
    const OrtApi *api = engine->api;
    tare_ort_unbind(engine);
    if (tare_ort_check(engine, api->CreateIoBinding(engine->session, &engine->binding), "binding", err))
        return -1;
    for (size_t i = 0; i < engine->inputs_count; i++)
        if (bind_input(engine, i, inputs, count, err))
            return -1;
    for (size_t i = 0; i < engine->outputs_count; i++)
        if (tare_ort_check(engine,
                           api->BindOutputToDevice(engine->binding, engine->outputs[i].name, engine->memory),
                           "outputs", err))
            return -1;
    return 0;
}

/* Is this a tensor whose bytes we may copy and write over? */
static bool is_plain(const OrtApi *api, const OrtValue *value)
{
    int is_tensor = 0, has_value = 0;
    OrtTensorTypeAndShapeInfo *info = NULL;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    OrtStatus *status = api->HasValue(value, &has_value);
    if (!status)
        status = api->IsTensor(value, &is_tensor);
    if (!status && is_tensor && has_value)
        status = api->GetTensorTypeAndShape(value, &info);
    if (!status && info)
        status = api->GetTensorElementType(info, &type);
    if (info)
        api->ReleaseTensorTypeAndShapeInfo(info);
    if (status)
        api->ReleaseStatus(status);
    return !status && info && type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING &&
           type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

/* The outputs of the last run. The array is the runtime's, to be given back with free_array; the values in it
 * are the caller's. */
static int take_values(struct tare_ort_engine *engine, OrtValue ***ret_values, struct tare_error *err)
{
    size_t count = 0;
    OrtValue **values = NULL;
    if (tare_ort_check(engine,
                       engine->api->GetBoundOutputValues(engine->binding, engine->allocator, &values, &count),
                       "outputs", err))
        return -1;
    if (count != engine->outputs_count) {
        for (size_t i = 0; i < count; i++)
            engine->api->ReleaseValue(values[i]);
        if (values)
            engine->allocator->Free(engine->allocator, values);
        return tare_fail(err, TARE_E_INPUT, 0, "the runtime gave %zu outputs of %zu", count,
                         engine->outputs_count);
    }
    *ret_values = values;
    return 0;
}

/* After the first run: its outputs are the place for those of the next. */
static int settle_outputs(struct tare_ort_engine *engine, struct tare_error *err)
{
    OrtValue **values;
    int status = 0;
    if (take_values(engine, &values, err))
        return -1;
    for (size_t i = 0; i < engine->outputs_count; i++) {
        if (!status && is_plain(engine->api, values[i])) {
            engine->outputs[i].value = values[i];
            status = tare_ort_check(
                engine, engine->api->BindOutput(engine->binding, engine->outputs[i].name, values[i]),
                "outputs", err);
        } else {
            engine->api->ReleaseValue(values[i]);
        }
    }
    engine->allocator->Free(engine->allocator, values);
    return status;
}

int tare_ort_run(struct tare_engine *base, struct tare_error *err)
{
    struct tare_ort_engine *engine = of(base);
    if (__builtin_expect(engine->runs < 2, 0)) {
        if (!engine->binding)
            return tare_fail(err, TARE_E_USAGE, 0, "a model was run before it had inputs");
        if (engine->runs == 1 && settle_outputs(engine, err))
            return -1;
        engine->runs++;
    }
    OrtStatus *status = engine->api->RunWithBinding(engine->session, engine->run_options, engine->binding);
    return __builtin_expect(status != NULL, 0) ? tare_ort_check(engine, status, "running it failed", err) : 0;
}

static int copy_value(struct tare_ort_engine *engine, OrtValue *value, struct tare_arena *arena,
                      struct tare_tensor *tensor, struct tare_error *err)
{
    const OrtApi *api = engine->api;
    OrtTensorTypeAndShapeInfo *info = NULL;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    void *data = NULL;
    OrtStatus *status = api->GetTensorTypeAndShape(value, &info);
    if (!status)
        status = api->GetTensorElementType(info, &type);
    if (!status)
        status = api->GetDimensionsCount(info, &tensor->rank);
    bool fits = tensor->rank <= TARE_TENSOR_RANK_MAX;
    if (!status && fits)
        status = api->GetDimensions(info, tensor->dims, tensor->rank);
    if (!status)
        status = api->GetTensorMutableData(value, &data);
    if (info)
        api->ReleaseTensorTypeAndShapeInfo(info);
    if (tare_ort_check(engine, status, "outputs", err))
        return -1;
    if (!fits)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "output '%.80s' has %zu dimensions; tare takes %d",
                         tensor->name, tensor->rank, TARE_TENSOR_RANK_MAX);
    tensor->element = (enum tare_element)type;
    if (tare_shape_bytes(tensor->element, tensor->dims, tensor->rank, &tensor->bytes, err))
        return -1;
    tensor->data = tare_arena_alloc(arena, tensor->bytes ? tensor->bytes : 1);
    if (!tensor->data)
        return tare_fail_memory(err);
    if (tensor->bytes && data)
        memcpy(tensor->data, data, tensor->bytes);
    return 0;
}

int tare_ort_outputs(struct tare_engine *base, struct tare_arena *arena, struct tare_tensor **ret_outputs,
                     size_t *ret_count, struct tare_error *err)
{
    struct tare_ort_engine *engine = of(base);
    struct tare_tensor *tensors = tare_arena_array(arena, engine->outputs_count + 1, sizeof *tensors);
    OrtValue **values;
    size_t count = 0;
    int status = 0;
    if (!tensors)
        return tare_fail_memory(err);
    if (engine->runs == 0)
        return tare_fail(err, TARE_E_USAGE, 0, "a model has no outputs before it ran");
    if (take_values(engine, &values, err))
        return -1;
    for (size_t i = 0; i < engine->outputs_count; i++) {
        if (!status && is_plain(engine->api, values[i])) {
            tensors[count].name = tare_arena_copy(arena, engine->outputs[i].name);
            status = copy_value(engine, values[i], arena, &tensors[count++], err);
        }
        engine->api->ReleaseValue(values[i]);
    }
    engine->allocator->Free(engine->allocator, values);
    if (status)
        return -1;
    *ret_outputs = tensors;
    *ret_count = count;
    return 0;
}
