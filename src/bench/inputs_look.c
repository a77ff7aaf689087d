/* SPDX-License-Identifier: Apache-2.0 */
/* What the free dimensions of a model mean, from their names, their places and the types around them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "bench/inputs_impl.h"

/* More dimensions than any real model has. */
enum { AXES_MAX = 4096 };

bool tare_inputs_holds(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text; text++)
        if (strncasecmp(text, part, length) == 0)
            return true;
    return false;
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(text, *words) == 0)
            return true;
    return false;
}

/* Names that exporters write when they have none. */
static const char *said_name(const char *name)
{
    static const char *const nothing[] = {"?", "None", "-1", "unk", "unknown", NULL};
    return name && *name && !is_one_of(name, nothing) ? name : NULL;
}

/* A lone letter says so only where the batch is wont to be: first, or behind the layers of a state. */
static bool is_batch_name(const char *name, size_t axis, size_t rank)
{
    static const char *const words[] = {"n", "b", "bs", NULL};
    bool usual = axis == 0 || (axis == 1 && rank == 3);
    return tare_inputs_holds(name, "batch") || (usual && is_one_of(name, words));
}

static bool is_sequence_name(const char *name)
{
    static const char *const words[] = {"t", "l", "s", "len", "time", "tokens", NULL};
    return tare_inputs_holds(name, "seq") || tare_inputs_holds(name, "length") ||
           tare_inputs_holds(name, "num_tokens") || tare_inputs_holds(name, "frames") ||
           is_one_of(name, words);
}

static bool is_state(const struct tare_model_value *value)
{
    static const char *const words[] = {"h", "c", "hn", "cn", "h0", "c0", "h_0", "c_0", NULL};
    const char *name = value->name;
    return tare_element_is_float(value->element) && value->rank >= 2 &&
           (is_one_of(name, words) || tare_inputs_holds(name, "state") || tare_inputs_holds(name, "past") ||
            tare_inputs_holds(name, "cache") || tare_inputs_holds(name, "hidden")) &&
           !tare_inputs_holds(name, "hidden_states");
}

/* Is this axis of an image how many colours it has? */
static bool is_channels(const struct tare_model_dim *dim)
{
    return dim->value == 1 || dim->value == 3 || dim->value == 4 ||
           (dim->value < 0 && dim->name && tare_inputs_holds(dim->name, "channel"));
}

static void look_image(struct tare_input_plan *input)
{
    const struct tare_model_value *value = input->value;
    bool pixels = tare_element_is_float(value->element) || value->element == TARE_ELEMENT_U8;
    if (value->rank != 4 || !pixels || input->state)
        return;
    bool first = is_channels(&value->dims[1]), last = is_channels(&value->dims[3]);
    input->image = first || last;
    input->channels_last = last && !first;
}

static enum tare_axis_kind kind_of(const struct tare_input_plan *input, size_t axis)
{
    const struct tare_model_value *value = input->value;
    const char *name = said_name(value->dims[axis].name);
    size_t height = input->channels_last ? 1 : 2, channels = input->channels_last ? 3 : 1;
    if (input->image && axis > 0)
        return axis == channels ? TARE_AXIS_CHANNELS : axis == height ? TARE_AXIS_HEIGHT : TARE_AXIS_WIDTH;
    if (name && strchr(name, '+'))
        return TARE_AXIS_SUM;
    if (name && (tare_inputs_holds(name, "past") || tare_inputs_holds(name, "cache")))
        return TARE_AXIS_PAST;
    if (name && is_batch_name(name, axis, value->rank))
        return TARE_AXIS_BATCH;
    if (name && is_sequence_name(name))
        return TARE_AXIS_SEQUENCE;
    if (axis == 0)
        return TARE_AXIS_BATCH;
    /* The layers of a recurrent state come first, then the batch. */
    if (axis == 1 && value->rank == 3 && value->dims[0].value > 0 && input->state)
        return TARE_AXIS_BATCH;
    if (axis == 1 && value->rank <= 3)
        return TARE_AXIS_SEQUENCE;
    return TARE_AXIS_OTHER;
}

static const char *alias_of(enum tare_axis_kind kind)
{
    switch (kind) {
    case TARE_AXIS_BATCH:
        return "batch";
    case TARE_AXIS_SEQUENCE:
        return "seq";
    case TARE_AXIS_CHANNELS:
        return "channels";
    case TARE_AXIS_HEIGHT:
        return "height";
    case TARE_AXIS_WIDTH:
        return "width";
    default:
        return NULL;
    }
}

/* Names made by a machine help nobody. */
static bool is_made_up(const char *name)
{
    return strncmp(name, "unk_", 4) == 0 || tare_inputs_holds(name, "DynamicDimension") ||
           strncmp(name, "dynamic_axes", 12) == 0;
}

static const char *shown_of(const struct tare_inputs_plan *plan, const struct tare_input_slot *slot)
{
    const char *alias = alias_of(slot->kind);
    bool pictured = slot->kind >= TARE_AXIS_CHANNELS;
    if (slot->name && !(alias && pictured && is_made_up(slot->name)))
        return slot->name;
    if (alias && pictured)
        return alias;
    return tare_arena_printf(plan->arena, "%s.%zu", plan->inputs[slot->input].value->name, slot->axis);
}

static size_t slot_for(struct tare_inputs_plan *plan, size_t index, size_t axis)
{
    const struct tare_input_plan *input = &plan->inputs[index];
    const char *name = said_name(input->value->dims[axis].name);
    for (size_t i = 0; name && i < plan->slots_count; i++)
        if (plan->slots[i].name && strcmp(plan->slots[i].name, name) == 0)
            return i;
    struct tare_input_slot slot = {
        .name = name, .kind = kind_of(input, axis), .input = index, .axis = axis, .value = -1};
    slot.shown = shown_of(plan, &slot);
    plan->slots[plan->slots_count] = slot;
    return plan->slots_count++;
}

static int check_value(const struct tare_model_value *value, struct tare_error *err)
{
    if (strcmp(value->kind, "tensor") != 0)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "input '%.80s' is a %s: only tensors can be fed",
                         value->name, value->kind);
    if (value->element == TARE_ELEMENT_STRING)
        return tare_fail(
            err, TARE_E_UNSUPPORTED, 0,
            "input '%.80s' takes texts (a tensor of strings), which cannot be fed: export the model "
            "without its tokenizer",
            value->name);
    if (tare_element_bits(value->element) < 8 || value->element == TARE_ELEMENT_C64 ||
        value->element == TARE_ELEMENT_C128)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "input '%.80s' is of type %s, which cannot be fed",
                         value->name, tare_element_name(value->element));
    if (value->rank > TARE_TENSOR_RANK_MAX)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "input '%.80s' has %zu dimensions, more than %d",
                         value->name, value->rank, TARE_TENSOR_RANK_MAX);
    if (!value->ranked)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "input '%.80s' has no shape in the model: export it with one", value->name);
    return 0;
}

/* "1x3x224x224" */
static const char *shape_text(struct tare_arena *arena, const struct tare_model_value *value)
{
    const char *text = "";
    for (size_t i = 0; i < value->rank; i++)
        text = value->dims[i].value < 0 ? tare_arena_printf(arena, "%s%s?", text, i ? "x" : "")
                                        : tare_arena_printf(arena, "%s%s%lld", text, i ? "x" : "",
                                                            (long long)value->dims[i].value);
    return value->rank ? text : "a scalar";
}

/* Which axis counts the samples. Where no batch is free, the first axis of all inputs alike does. */
static void look_batch(struct tare_inputs_plan *plan)
{
    for (size_t i = 0; i < plan->inputs_count; i++) {
        struct tare_input_plan *input = &plan->inputs[i];
        input->batch_axis = -1;
        for (size_t k = 0; k < input->value->rank && input->batch_axis < 0; k++)
            if (input->value->dims[k].value < 0 && plan->slots[input->slots[k]].kind == TARE_AXIS_BATCH)
                input->batch_axis = (int)k;
        plan->batch_free = plan->batch_free || input->batch_axis >= 0;
    }
    if (plan->batch_free || plan->inputs_count == 0)
        return;
    const struct tare_model_value *first = plan->inputs[0].value;
    /* Images and rows of ids are samples; what the rows of other inputs are, nobody said. */
    bool rows = plan->inputs[0].image || (first->rank == 2 && tare_element_is_integer(first->element));
    plan->batch = rows && first->dims[0].value > 0 ? first->dims[0].value : 1;
    plan->batch_fixed =
        tare_arena_printf(plan->arena, "input '%.80s' is %s", first->name, shape_text(plan->arena, first));
    for (size_t i = 0; i < plan->inputs_count && plan->batch > 1; i++) {
        const struct tare_model_value *value = plan->inputs[i].value;
        if (value->rank && value->dims[0].value == plan->batch)
            plan->inputs[i].batch_axis = 0;
    }
}

int tare_inputs_look(const struct tare_model *model, struct tare_arena *arena, struct tare_inputs_plan *plan,
                     struct tare_error *err)
{
    const struct tare_model_graph *graph = &model->graph;
    size_t axes = 0;
    for (size_t i = 0; i < graph->inputs_count; i++) {
        if (check_value(&graph->inputs[i], err) < 0)
            return -1;
        axes += graph->inputs[i].rank + 1;
    }
    if (axes > AXES_MAX)
        return tare_fail(err, TARE_E_LIMIT, 0, "'%s' has %zu inputs, more than can be fed", model->path,
                         graph->inputs_count);
    *plan = (struct tare_inputs_plan){
        .model = model,
        .arena = arena,
        .inputs = tare_arena_array(arena, graph->inputs_count, sizeof *plan->inputs),
        .inputs_count = graph->inputs_count,
        .slots = tare_arena_array(arena, axes, sizeof *plan->slots),
    };
    if (!plan->inputs || !plan->slots)
        return tare_arena_check(arena, err);
    for (size_t i = 0; i < plan->inputs_count; i++) {
        struct tare_input_plan *input = &plan->inputs[i];
        input->value = &graph->inputs[i];
        input->state = is_state(input->value);
        plan->streaming = plan->streaming || input->state;
        look_image(input);
        for (size_t k = 0; k < input->value->rank; k++)
            if (input->value->dims[k].value < 0)
                input->slots[k] = slot_for(plan, i, k);
    }
    look_batch(plan);
    return tare_arena_check(arena, err);
}

/* "images.2": the slot of that very axis. */
static size_t find_place(const struct tare_inputs_plan *plan, const char *name)
{
    const char *dot = strrchr(name, '.');
    if (!dot || !isdigit((unsigned char)dot[1]) || dot[2])
        return plan->slots_count;
    size_t axis = (size_t)(dot[1] - '0'), length = (size_t)(dot - name);
    for (size_t i = 0; i < plan->inputs_count; i++) {
        const struct tare_model_value *value = plan->inputs[i].value;
        if (strlen(value->name) == length && memcmp(value->name, name, length) == 0 && axis < value->rank &&
            value->dims[axis].value < 0)
            return plan->inputs[i].slots[axis];
    }
    return plan->slots_count;
}

size_t tare_inputs_find(const struct tare_inputs_plan *plan, const char *name, size_t from)
{
    bool named = false;
    for (size_t i = 0; i < plan->slots_count; i++)
        if (plan->slots[i].name && strcmp(plan->slots[i].name, name) == 0) {
            if (i >= from)
                return i;
            named = true;
        }
    if (named)
        return plan->slots_count;
    size_t place = find_place(plan, name);
    if (place < plan->slots_count)
        return place >= from ? place : plan->slots_count;
    for (size_t i = from; i < plan->slots_count; i++) {
        const char *alias = alias_of(plan->slots[i].kind);
        if (alias && strcmp(alias, name) == 0)
            return i;
    }
    return plan->slots_count;
}
