/* SPDX-License-Identifier: Apache-2.0 */
#include "run_samples.h"

#include <stdio.h>
#include <string.h>

#include "core/run_fields.h"

static void fill(struct tare_run *run, const struct tare_run_shape *shape, void *base, int64_t *next);

static void fill_many(struct tare_run *run, const struct tare_run_field *field, void *place, size_t *count,
                      int64_t *next)
{
    enum { TWO = 2 };
    struct tare_arena *arena = &run->arena;
    size_t size = field->kind == TARE_RUN_LIST     ? field->shape->size
                  : field->kind == TARE_RUN_DIMS   ? sizeof(struct tare_run_dim)
                  : field->kind == TARE_RUN_LABELS ? sizeof(struct tare_run_label)
                                                   : sizeof(int64_t);
    char *items = tare_arena_array(arena, TWO, size);
    if (!items)
        return;
    for (size_t i = 0; i < TWO; i++) {
        void *item = items + i * size;
        const char *word = tare_arena_printf(arena, "%s-%d", field->key, (int)(*next)++);
        if (field->kind == TARE_RUN_TEXTS)
            *(const char **)item = word;
        else if (field->kind == TARE_RUN_INTS)
            *(int64_t *)item = (*next)++;
        else if (field->kind == TARE_RUN_REALS)
            *(double *)item = (double)(*next)++ + 0.25;
        else if (field->kind == TARE_RUN_DIMS)
            *(struct tare_run_dim *)item = (struct tare_run_dim){word, (*next)++};
        else if (field->kind == TARE_RUN_LABELS)
            *(struct tare_run_label *)item = (struct tare_run_label){word, "a \"label\", with a comma"};
        else
            fill(run, field->shape, item, next);
    }
    memcpy(place, &items, sizeof items);
    *count = TWO;
}

static void fill(struct tare_run *run, const struct tare_run_shape *shape, void *base, int64_t *next)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct tare_run_field *field = &shape->fields[i];
        void *place = (char *)base + field->offset;
        switch (field->kind) {
        case TARE_RUN_TEXT:
            *(const char **)place = tare_arena_printf(&run->arena, "%s-%d", field->key, (int)(*next)++);
            break;
        case TARE_RUN_INT:
            *(struct tare_run_int *)place = tare_run_int((*next)++);
            break;
        case TARE_RUN_REAL:
            *(struct tare_run_real *)place = tare_run_real((double)(*next)++ + 0.125);
            break;
        case TARE_RUN_FLAG:
            *(struct tare_run_flag *)place = tare_run_flag((*next)++ % 2);
            break;
        case TARE_RUN_ENUM:
            *(unsigned *)place = 1;
            break;
        case TARE_RUN_OBJECT:
            fill(run, field->shape, place, next);
            break;
        case TARE_RUN_MACHINE:
        case TARE_RUN_DERIVED:
            break;
        default:
            fill_many(run, field, place, (size_t *)(void *)((char *)base + field->count_offset), next);
            break;
        }
    }
}

/* What the filler cannot know: names with a form, numbers that refer to each other. */
static void make_valid(struct tare_run *run)
{
    static const char hex[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    tare_run_stamp(run, 1769860800);
    run->unit = "pairs";
    run->machine = tare_arena_alloc(&run->arena, sizeof *run->machine);
    if (run->machine) {
        tare_machine_init(run->machine);
        run->machine->cpu_model = "A CPU";
        run->machine->cpu_affinity = 2;
        run->machine->kernel_release = "6.1.0";
    }
    run->model.sha256 = hex;
    for (size_t i = 0; i < run->other_models_count; i++)
        run->other_models[i].sha256 = hex;
    for (size_t i = 0; i < run->findings_count; i++)
        run->findings[i].configuration = tare_run_int((int64_t)i);
    run->findings[0].kind = "bottleneck";
    for (size_t i = 0; i < run->advice_count; i++) {
        run->advice[i].configuration = tare_run_int((int64_t)i);
        run->advice[i].instead_of = tare_run_int(0);
    }
    for (size_t i = 0; i < run->thresholds_count; i++)
        run->thresholds[i].configuration = tare_run_int((int64_t)i);
    for (size_t i = 0; i < run->configs_count; i++) {
        struct tare_run_config *config = &run->configs[i];
        config->keys.model = run->other_models[i].label;
        config->latency.confidence = tare_run_real(0.95);
        for (size_t p = 0; p < config->samples_count; p++)
            config->samples[p].rounds[0] = config->samples[p].rounds[1] = 1;
        for (size_t s = 0; s < config->stages_count; s++) {
            config->stages[s].latency.confidence = tare_run_real(0.95);
            for (size_t p = 0; p < config->stages[s].samples_count; p++)
                config->stages[s].samples[p].rounds[0] = config->stages[s].samples[p].rounds[1] = 1;
        }
    }
}

struct tare_run *run_sample_full(void)
{
    struct tare_run *run = NULL;
    int64_t next = 1;
    if (tare_run_create(0, &run, NULL))
        return NULL;
    fill(run, &tare_run_shape, run, &next);
    if (!tare_arena_check(&run->arena, NULL))
        make_valid(run);
    return run;
}

static void set(struct tare_run_estimate *estimate, double value, double slack)
{
    estimate->value = tare_run_real(value);
    estimate->lower = tare_run_real(value - slack);
    estimate->upper = tare_run_real(value + slack);
}

static void small_config(struct tare_run *run, int64_t batch, int64_t ms)
{
    struct tare_run_config *config =
        tare_run_append(run, &run->configs, &run->configs_count, sizeof *run->configs);
    if (!config)
        return;
    config->keys.batch = tare_run_int(batch);
    config->keys.threads = tare_run_int(2);
    config->keys.precision = "fp32";
    struct tare_run_dim *dim =
        tare_run_append(run, &config->keys.dims, &config->keys.dims_count, sizeof *config->keys.dims);
    if (dim)
        *dim = (struct tare_run_dim){"seq", 128};
    if (ms == 0) {
        config->reason = "the time was spent before its turn";
        return;
    }
    config->status = TARE_RUN_MEASURED;
    config->items_per_call = tare_run_real((double)batch);
    for (int process = 0; process < 2; process++) {
        struct tare_run_process *samples =
            tare_run_append(run, &config->samples, &config->samples_count, sizeof *config->samples);
        int64_t *ns = tare_arena_array(&run->arena, 3, sizeof *ns);
        if (!samples || !ns)
            return;
        for (int i = 0; i < 3; i++)
            ns[i] = ms * 1000000 + (i - 1) * 1000;
        *samples = (struct tare_run_process){.process = tare_run_int(process), .ns = ns, .ns_count = 3};
    }
    double mean = (double)ms * 1e6;
    config->latency.count = tare_run_int(6);
    set(&config->latency.mean_ns, mean, 1000);
    set(&config->latency.p50_ns, mean, 1000);
    config->latency.p99_ns.value = tare_run_real(mean + 1000);
    config->latency.p99_ns.supported = tare_run_flag(false);
    config->latency.p99_ns.more_samples = tare_run_int(656);
    set(&config->throughput_per_sec, (double)batch * 1000 / (double)ms, 0.5);
    config->memory.growth_bytes.value = tare_run_real(2800000);
    struct tare_run_accuracy *accuracy =
        tare_run_append(run, &config->accuracy, &config->accuracy_count, sizeof *config->accuracy);
    if (accuracy)
        *accuracy = (struct tare_run_accuracy){.name = "max_abs", .value = tare_run_real(2.5e-7)};
}

struct tare_run *run_sample_small(void)
{
    struct tare_run *run = NULL;
    if (tare_run_create(0, &run, NULL))
        return NULL;
    tare_run_stamp(run, 1769860800);
    run->unit = "pairs";
    run->model.name = "nli.onnx";
    run->engine.device = "cpu";
    small_config(run, 1, 10);
    small_config(run, 8, 40);
    small_config(run, 64, 0);
    struct tare_run_finding *finding =
        tare_run_append(run, &run->findings, &run->findings_count, sizeof *run->findings);
    if (finding)
        *finding = (struct tare_run_finding){.kind = "bottleneck", .text = "one core is idle"};
    struct tare_run_advice *advice =
        tare_run_append(run, &run->advice, &run->advice_count, sizeof *run->advice);
    if (advice)
        *advice = (struct tare_run_advice){
            .text = "batch 8", .tried = tare_run_flag(true), .helped = tare_run_flag(true)};
    advice = tare_run_append(run, &run->advice, &run->advice_count, sizeof *run->advice);
    if (advice)
        *advice = (struct tare_run_advice){
            .text = "spin less", .tried = tare_run_flag(true), .helped = tare_run_flag(false)};
    return run;
}
