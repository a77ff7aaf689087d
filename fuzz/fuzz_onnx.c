/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are read as an ONNX model or refused in one line; what was read can be weighed, counted and fed.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/inputs.h"
#include "bench/model_count.h"
#include "bench/model_facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(const struct tare_error *err)
{
    if (err->msg[0] == '\0' || strchr(err->msg, '\n'))
        abort();
}

/* As if every node had run and given one value of unknown rank. */
static void count_all(const struct tare_model *model, const struct tare_inputs *inputs,
                      struct tare_arena *arena)
{
    size_t count = model->graph.nodes_count;
    struct tare_ort_shape shape = {.element = TARE_ELEMENT_F32, .ranked = true, .rank = 2, .dims = {3, 5}};
    struct tare_ort_node *nodes = tare_arena_array(arena, count, sizeof *nodes);
    if (!nodes)
        return;
    for (size_t i = 0; i < count; i++)
        nodes[i] = (struct tare_ort_node){.name = model->graph.nodes[i].name,
                                          .op = model->graph.nodes[i].op,
                                          .calls = 1,
                                          .inputs = &shape,
                                          .outputs = &shape,
                                          .inputs_count = 1,
                                          .outputs_count = 1};
    struct tare_ort_profile profile = {.nodes = nodes, .nodes_count = count, .calls = 1};
    struct tare_model_count counted;
    struct tare_error err = {0};
    if (tare_model_count(model, &profile, inputs->tensors, inputs->count, arena, &counted, &err) < 0)
        check_message(&err);
    else if (counted.macs < 0 || counted.elementwise < 0 || counted.matched > count)
        abort();
}

static void feed(const struct tare_model *model, struct tare_arena *arena)
{
    struct tare_inputs_ask ask = {.batch = 2};
    struct tare_inputs inputs;
    struct tare_error err = {0};
    tare_inputs_unit(model);
    tare_inputs_has_dim(model, "seq");
    if (tare_inputs_bind(model, &ask, arena, &inputs, &err) < 0) {
        check_message(&err);
        return;
    }
    count_all(model, &inputs, arena);
    size_t bytes = 0;
    for (size_t i = 0; i < inputs.count; i++)
        bytes += inputs.tensors[i].bytes < 1 << 20 ? inputs.tensors[i].bytes : 1 << 20;
    if (bytes < 1 << 16 && tare_inputs_make(model, &ask, arena, &inputs, &err) < 0)
        check_message(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tare_model *model = NULL;
    struct tare_error err = {0};
    if (tare_model_open_memory(data, size, "fuzz", &model, &err) < 0) {
        check_message(&err);
        return 0;
    }
    struct tare_arena arena;
    struct tare_run_model facts;
    tare_arena_init(&arena, (size_t)256 << 20);
    if (tare_model_facts(model, &arena, &facts, &err) < 0)
        check_message(&err);
    else if (facts.parameters.value < 0 || facts.buffers.value < 0)
        abort();
    feed(model, &arena);
    tare_arena_finish(&arena);
    tare_model_close(model);
    return 0;
}
