/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests/py/test_models.py: `model_tool facts MODEL`, `model_tool inputs MODEL [NAME=N]...` and
 * `model_tool count MODEL PROFILE [NAME=N]...` print what tare knows of a model as JSON; NAME is a dimension
 * or batch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/inputs.h"
#include "bench/model_count.h"
#include "bench/model_facts.h"

static int show_facts(const struct tare_model *model, struct tare_arena *arena, struct tare_error *err)
{
    struct tare_run_model facts;
    if (tare_model_facts(model, arena, &facts, err) < 0)
        return -1;
    printf("{\"parameters\": %lld, \"buffers\": %lld, \"nodes\": %lld, \"size\": %lld, \"sha256\": \"%s\"}\n",
           (long long)facts.parameters.value, (long long)facts.buffers.value, (long long)facts.nodes.value,
           (long long)facts.size_bytes.value, facts.sha256);
    return 0;
}

static int show_inputs(const struct tare_model *model, const struct tare_inputs_ask *ask,
                       struct tare_arena *arena, struct tare_error *err)
{
    struct tare_inputs inputs;
    if (tare_inputs_make(model, ask, arena, &inputs, err) < 0)
        return -1;
    printf("{\"unit\": \"%s\", \"batch\": %lld, \"inputs\": {", tare_inputs_unit(model),
           (long long)inputs.batch);
    for (size_t i = 0; i < inputs.count; i++) {
        const struct tare_tensor *tensor = &inputs.tensors[i];
        size_t count = tensor->bytes / (tare_element_bits(tensor->element) / 8);
        double low = count ? tare_tensor_get(tensor, 0) : 0, high = low;
        for (size_t k = 0; k < count; k++) {
            double value = tare_tensor_get(tensor, k);
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        printf("%s\"%s\": {\"low\": %.17g, \"high\": %.17g, \"shape\": [", i ? ", " : "", tensor->name, low,
               high);
        for (size_t k = 0; k < tensor->rank; k++)
            printf("%s%lld", k ? ", " : "", (long long)tensor->dims[k]);
        printf("]}");
    }
    printf("}}\n");
    return 0;
}

static int show_count(const struct tare_model *model, const struct tare_inputs_ask *ask, const char *path,
                      struct tare_arena *arena, struct tare_error *err)
{
    struct tare_inputs inputs;
    struct tare_in *in = NULL;
    struct tare_ort_profile *profile = NULL;
    struct tare_model_count count;
    int rc = -1;
    if (tare_inputs_bind(model, ask, arena, &inputs, err) < 0 || tare_in_open(path, &in, err) < 0 ||
        tare_ort_profile_read(in, 0, &profile, err) < 0 ||
        tare_model_count(model, profile, inputs.tensors, inputs.count, arena, &count, err) < 0)
        goto out;
    printf("{\"macs\": %lld, \"elementwise\": %lld, \"matched\": %zu, \"ran\": %zu, \"not_counted\": %zu}\n",
           (long long)count.macs, (long long)count.elementwise, count.matched, profile->nodes_count,
           count.not_counted_count);
    rc = 0;
out:
    tare_ort_profile_destroy(profile);
    tare_in_close(in);
    return rc;
}

int main(int argc, char **argv)
{
    struct tare_model *model = NULL;
    struct tare_error err = {0};
    struct tare_arena arena;
    struct tare_run_dim dims[8];
    struct tare_inputs_ask ask = {.dims = dims};
    bool counting = argc > 3 && strcmp(argv[1], "count") == 0;
    int rc = -1;
    if (argc < 3)
        return 2;
    for (int i = counting ? 4 : 3; i < argc && ask.dims_count < 8; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals)
            return 2;
        *equals = '\0';
        if (strcmp(argv[i], "batch") == 0)
            ask.batch = strtoll(equals + 1, NULL, 10);
        else
            dims[ask.dims_count++] = (struct tare_run_dim){argv[i], strtoll(equals + 1, NULL, 10)};
    }
    tare_arena_init(&arena, 0);
    if (tare_model_open(argv[2], &model, &err) == 0)
        rc = counting                         ? show_count(model, &ask, argv[3], &arena, &err)
             : strcmp(argv[1], "inputs") == 0 ? show_inputs(model, &ask, &arena, &err)
                                              : show_facts(model, &arena, &err);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.msg);
    tare_model_close(model);
    tare_arena_finish(&arena);
    return rc < 0;
}
