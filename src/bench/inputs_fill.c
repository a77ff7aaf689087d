/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up data that a model can make sense of. Each sample is made from its own number alone. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "bench/inputs_impl.h"
#include "core/stats_random.h"

enum role {
    ROLE_ONES,
    ROLE_ZEROS,
    ROLE_COUNT,    /* 0, 1, 2... along the last axis */
    ROLE_CONSTANT, /* one value everywhere */
    ROLE_IDS,      /* whole numbers below a bound */
    ROLE_PIXELS,
    ROLE_BYTES,
    ROLE_SOUND,
    ROLE_NORMAL,
};

struct recipe {
    enum role role;
    double value; /* the constant, or the bound */
};

static bool is_rate(const char *name)
{
    return strcasecmp(name, "sr") == 0 || tare_inputs_holds(name, "sample_rate") ||
           tare_inputs_holds(name, "sampling_rate");
}

/* The longest sequence that was settled on: what an input of lengths says. */
static double longest(const struct tare_inputs_plan *plan)
{
    int64_t length = 1;
    for (size_t i = 0; i < plan->inputs_count; i++) {
        const struct tare_input_plan *input = &plan->inputs[i];
        if (input->value->rank < 2)
            continue;
        int64_t value = input->value->dims[1].value;
        if (value < 0)
            value = plan->slots[input->slots[1]].value;
        length = value > length ? value : length;
    }
    return (double)length;
}

static struct recipe recipe_of(const struct tare_inputs_plan *plan, const struct tare_input_plan *input)
{
    const struct tare_model_value *value = input->value;
    const char *name = value->name;
    if (tare_inputs_holds(name, "mask"))
        return (struct recipe){.role = ROLE_ONES};
    if (is_rate(name))
        return (struct recipe){ROLE_CONSTANT, 16000};
    if (value->element == TARE_ELEMENT_BOOL)
        return (struct recipe){.role = ROLE_ZEROS};
    if (input->state)
        return (struct recipe){.role = ROLE_ZEROS};
    if (input->image)
        return (struct recipe){.role = value->element == TARE_ELEMENT_U8 ? ROLE_BYTES : ROLE_PIXELS};
    if (!tare_element_is_integer(value->element)) {
        bool sound = value->rank == 2 && plan->streaming;
        return (struct recipe){.role = sound ? ROLE_SOUND : ROLE_NORMAL};
    }
    if (tare_inputs_holds(name, "token_type") || tare_inputs_holds(name, "segment"))
        return (struct recipe){.role = ROLE_ZEROS};
    if (tare_inputs_holds(name, "position"))
        return (struct recipe){.role = ROLE_COUNT};
    if (value->rank <= 1 && tare_inputs_holds(name, "len"))
        return (struct recipe){ROLE_CONSTANT, longest(plan)};
    int64_t bound = tare_inputs_id_bound(plan->model, name);
    if (bound > 0)
        return (struct recipe){ROLE_IDS, (double)bound};
    if (tare_inputs_holds(name, "byte"))
        return (struct recipe){ROLE_IDS, 256};
    if (value->rank == 0)
        return (struct recipe){ROLE_CONSTANT, 1};
    /* Where nothing bounds them, 0 and 1 are the numbers that are least likely to be wrong. */
    return value->element == TARE_ELEMENT_U8 ? (struct recipe){.role = ROLE_BYTES}
                                             : (struct recipe){ROLE_IDS, 2};
}

/* A standard normal number, by Marsaglia's polar method: only sqrt and log, so nearly the same everywhere. */
static double normal(struct tare_random *random)
{
    for (;;) {
        double x = 2 * tare_random_unit(random) - 1, y = 2 * tare_random_unit(random) - 1;
        double square = x * x + y * y;
        if (square > 0 && square < 1)
            return x * sqrt(-2 * log(square) / square);
    }
}

static double one_of(struct tare_random *random, const struct recipe *recipe, int64_t at_last)
{
    double value;
    switch (recipe->role) {
    case ROLE_ONES:
        return 1;
    case ROLE_ZEROS:
        return 0;
    case ROLE_COUNT:
        return (double)at_last;
    case ROLE_CONSTANT:
        return recipe->value;
    case ROLE_IDS:
        return floor(tare_random_unit(random) * recipe->value);
    case ROLE_PIXELS:
        return tare_random_unit(random);
    case ROLE_BYTES:
        return tare_random_below(random, 256);
    case ROLE_SOUND:
        value = 0.1 * normal(random);
        return value < -1 ? -1 : value > 1 ? 1 : value;
    case ROLE_NORMAL:
        return normal(random);
    }
    return 0;
}

void tare_inputs_fill(const struct tare_inputs_plan *plan, const struct tare_input_plan *input, int64_t first,
                      const struct tare_tensor *tensor)
{
    struct recipe recipe = recipe_of(plan, input);
    size_t outer = 1, inner = 1, batch = 1;
    int64_t last = tensor->rank ? tensor->dims[tensor->rank - 1] : 1;
    for (size_t k = 0; k < tensor->rank; k++) {
        size_t size = (size_t)tensor->dims[k];
        if ((int)k == input->batch_axis)
            batch = size;
        else if ((int)k < input->batch_axis)
            outer *= size;
        else
            inner *= size;
    }
    uint64_t seed = 0;
    for (const char *c = tensor->name; *c; c++)
        seed = tare_hash_mix(seed ^ (unsigned char)*c);
    for (size_t sample = 0; sample < batch; sample++) {
        struct tare_random random;
        tare_random_init(&random, tare_hash_mix(seed ^ ((uint64_t)first + sample)));
        for (size_t o = 0; o < outer; o++)
            for (size_t i = 0; i < inner; i++) {
                size_t at = (o * batch + sample) * inner + i;
                tare_tensor_set(tensor, at, one_of(&random, &recipe, last > 0 ? (int64_t)i % last : 0));
            }
    }
}
