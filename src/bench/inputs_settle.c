/* SPDX-License-Identifier: Apache-2.0 */
/* A value for every free dimension: asked for, given by the file, or a default that is stated. */
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "bench/inputs_impl.h"

/* Defaults. They are what such models are mostly run with, and always stated in the result. */
enum {
    TOKENS = 128,
    CHUNK = 576,      /* 512 samples and 64 of context: what voice detectors take at 16 kHz */
    AUDIO = 16000,    /* a second of sound */
    CLASSIFIER = 224, /* pixels, each way */
    DETECTOR = 640,
    LINE_HEIGHT = 48, /* a line of text, for recognisers */
    LINE_WIDTH = 320,
    COLOURS = 3,
    VALUE_MAX = 1 << 30,
    LISTED = 8, /* names in a message */
};

static int fail_unknown(const struct tare_inputs_plan *plan, const char *name, struct tare_error *err)
{
    struct tare_suggest suggest = {0};
    const char *list = "";
    for (size_t i = 0; i < plan->slots_count; i++) {
        const char *shown = plan->slots[i].shown;
        tare_suggest_offer(&suggest, name, shown);
        if (i < LISTED)
            list = tare_arena_printf(plan->arena, "%s%s%s", list, i ? ", " : "", shown);
    }
    if (plan->slots_count == 0)
        return tare_fail(err, TARE_E_USAGE, 0, "'%s' has no free dimension, so none is called '%s'",
                         plan->model->path, name);
    if (suggest.best)
        return tare_fail(err, TARE_E_USAGE, 0, "'%s' has no free dimension '%s'; did you mean '%s'?",
                         plan->model->path, name, suggest.best);
    return tare_fail(err, TARE_E_USAGE, 0, "'%s' has no free dimension '%s'; it has: %s", plan->model->path,
                     name, list);
}

/* What the user asked for. */
static int settle_asked(struct tare_inputs_plan *plan, const struct tare_inputs_ask *ask,
                        struct tare_error *err)
{
    for (size_t i = 0; i < ask->dims_count; i++) {
        const char *name = ask->dims[i].name;
        int64_t value = ask->dims[i].value;
        if (value < 0 || value > VALUE_MAX)
            return tare_fail(err, TARE_E_USAGE, 0, "dimension %s=%lld is out of range", name,
                             (long long)value);
        size_t slot = tare_inputs_find(plan, name, 0);
        if (slot == plan->slots_count)
            return fail_unknown(plan, name, err);
        for (; slot < plan->slots_count; slot = tare_inputs_find(plan, name, slot + 1)) {
            if (plan->slots[slot].kind == TARE_AXIS_BATCH) {
                if (plan->batch && plan->batch != value)
                    return tare_fail(err, TARE_E_USAGE, 0,
                                     "'%s' is the batch, which is asked to be both %lld and %lld", name,
                                     (long long)plan->batch, (long long)value);
                plan->batch = value;
                continue;
            }
            plan->slots[slot].value = value;
            plan->slots[slot].asked = true;
        }
    }
    return 0;
}

/* What the arrays of the file say. */
static int settle_given(struct tare_inputs_plan *plan, const struct tare_input_plan *input,
                        struct tare_error *err)
{
    const struct tare_model_value *value = input->value;
    const struct tare_tensor *given = input->given;
    if (given->element != value->element)
        return tare_fail(err, TARE_E_INPUT, 0,
                         "array '%.80s' is %s where the model takes %s: save it with .astype('%s')",
                         value->name, tare_element_name(given->element), tare_element_name(value->element),
                         tare_element_name(value->element));
    if (given->rank != value->rank)
        return tare_fail(err, TARE_E_INPUT, 0, "array '%.80s' has %zu dimensions where the model takes %zu",
                         value->name, given->rank, value->rank);
    for (size_t k = 0; k < given->rank; k++) {
        int64_t have = given->dims[k];
        if ((int)k == input->batch_axis) {
            if (have == 0)
                return tare_fail(err, TARE_E_INPUT, 0, "array '%.80s' is empty", value->name);
            if (plan->batch == 0)
                plan->batch = have;
            continue;
        }
        struct tare_input_slot *slot = value->dims[k].value < 0 ? &plan->slots[input->slots[k]] : NULL;
        int64_t want = slot ? slot->value : value->dims[k].value;
        if (want >= 0 && have != want)
            return tare_fail(err, TARE_E_INPUT, 0, "array '%.80s' has %lld along axis %zu where %s is %lld",
                             value->name, (long long)have, k, slot ? slot->shown : "the model's",
                             (long long)want);
        if (slot)
            slot->value = have;
    }
    return 0;
}

/* "past_sequence_length + 1": names and numbers, added. -1 while a part is not known. */
static int64_t sum_of(const struct tare_inputs_plan *plan, const char *text)
{
    int64_t sum = 0;
    while (*text) {
        text += strspn(text, " +");
        size_t length = strcspn(text, " +");
        if (length == 0)
            break;
        char part[64] = {0};
        if (length >= sizeof part)
            return -1;
        memcpy(part, text, length);
        text += length;
        char *end;
        long long number = strtoll(part, &end, 10);
        if (*end) {
            size_t slot = tare_inputs_find(plan, part, 0);
            if (slot == plan->slots_count || plan->slots[slot].value < 0)
                return -1;
            number = plan->slots[slot].value;
        }
        if (number < 0 || number > VALUE_MAX)
            return -1;
        sum += number;
    }
    return sum <= VALUE_MAX ? sum : -1;
}

/* The side of an image when the model does not say: from what its maker noted, or from what it gives. */
static int64_t image_side(const struct tare_model *model, bool height)
{
    for (size_t i = 0; i < model->metadata_count; i++) {
        const char *value = model->metadata[i].value;
        if (strcmp(model->metadata[i].key, "imgsz") != 0)
            continue;
        value += strspn(value, "[( ");
        char *end;
        long long first = strtoll(value, &end, 10);
        end += strspn(end, ", ");
        long long second = strtoll(end, &end, 10);
        int64_t side = height || second <= 0 ? first : second;
        if (side > 0 && side <= 8192)
            return side;
    }
    const struct tare_model_graph *graph = &model->graph;
    if (graph->outputs_count == 0)
        return CLASSIFIER;
    const struct tare_model_value *output = &graph->outputs[0];
    if (output->rank <= 2)
        return CLASSIFIER;
    /* Probabilities of characters along a line. */
    const struct tare_model_node *last = tare_model_producer(graph, output->name);
    if (output->rank == 3 && output->dims[2].value > 0 && last && tare_model_node_is(last, "Softmax"))
        return height ? LINE_HEIGHT : LINE_WIDTH;
    return DETECTOR;
}

/* -1 if there is no sensible one. */
static int64_t default_of(const struct tare_inputs_plan *plan, const struct tare_input_slot *slot)
{
    const struct tare_model_value *value = plan->inputs[slot->input].value;
    bool sound = slot->axis == 1 && value->rank == 2 && tare_element_is_float(value->element);
    switch (slot->kind) {
    case TARE_AXIS_PAST:
        return 0;
    case TARE_AXIS_CHANNELS:
        return COLOURS;
    case TARE_AXIS_HEIGHT:
    case TARE_AXIS_WIDTH:
        return image_side(plan->model, slot->kind == TARE_AXIS_HEIGHT);
    case TARE_AXIS_SEQUENCE:
        return !sound ? TOKENS : plan->streaming ? CHUNK : AUDIO;
    case TARE_AXIS_SUM:
        return sum_of(plan, slot->name);
    default:
        return -1;
    }
}

static int settle_batch(struct tare_inputs_plan *plan, int64_t asked, struct tare_error *err)
{
    if (asked == 0 || (!plan->batch_free && asked == plan->batch))
        return 0;
    if (asked < 0 || asked > VALUE_MAX)
        return tare_fail(err, TARE_E_USAGE, 0, "a batch of %lld is out of range", (long long)asked);
    if (!plan->batch_free)
        return tare_fail(err, TARE_E_USAGE, 0,
                         "the batch of '%s' is fixed at %lld (%s): to run it at batch %lld, export it with a "
                         "free first dimension",
                         plan->model->path, (long long)plan->batch,
                         plan->batch_fixed ? plan->batch_fixed : "it has no inputs", (long long)asked);
    plan->batch = asked;
    return 0;
}

int tare_inputs_settle(struct tare_inputs_plan *plan, const struct tare_inputs_ask *ask,
                       struct tare_error *err)
{
    if (!plan->batch_free && plan->batch == 0)
        plan->batch = 1;
    if (settle_batch(plan, ask->batch, err) < 0 || settle_asked(plan, ask, err) < 0)
        return -1;
    for (size_t i = 0; i < plan->inputs_count; i++)
        if (plan->inputs[i].given && settle_given(plan, &plan->inputs[i], err) < 0)
            return -1;
    if (plan->batch == 0)
        plan->batch = 1;
    const char *missing = "";
    size_t listed = 0;
    /* Sums last: they rest on the others. */
    for (int sums = 0; sums < 2; sums++)
        for (size_t i = 0; i < plan->slots_count; i++) {
            struct tare_input_slot *slot = &plan->slots[i];
            if (slot->kind == TARE_AXIS_BATCH)
                slot->value = plan->batch;
            if (slot->value >= 0 || (slot->kind == TARE_AXIS_SUM) != (sums == 1))
                continue;
            slot->value = default_of(plan, slot);
            slot->assumed = slot->value >= 0;
            if (!slot->assumed && listed++ < LISTED)
                missing = tare_arena_printf(plan->arena, "%s --dim %s=N", missing, slot->shown);
        }
    if (*missing)
        return tare_fail(err, TARE_E_USAGE, 0, "'%s' leaves sizes open: give%s", plan->model->path, missing);
    return 0;
}
