/* SPDX-License-Identifier: Apache-2.0 */
/* A plan's lists multiplied out into configurations, and what each of them runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/inputs.h"
#include "flow/bench_model.h"
#include "flow/ort_locate.h"

/* More are a mistake, and would each get too little time. */
enum { CONFIGS_MOST = 512 };

/* Batches that show where throughput stops growing, in little time. */
static const int64_t usual_batches[] = {1, 8, 32};

static const char *const usual_providers[] = {"cpu"};
static const enum tare_graph_level usual_levels[] = {TARE_GRAPH_ALL};

/* The lists with their defaults filled in. */
struct lists {
    const int64_t *batches;
    size_t batches_count;
    const int64_t *threads;
    size_t threads_count;
    const char *const *providers;
    size_t providers_count;
    const enum tare_graph_level *levels;
    size_t levels_count;
    size_t dims_combinations;
    int64_t one_batch, one_thread;
};

/* Cores that this process may really use: pools sized from the host are wrong in a container. */
static int64_t usable_cores(const struct tare_machine *machine)
{
    int64_t cores = machine && machine->cpu_affinity > 0 ? machine->cpu_affinity : 1;
    if (machine && machine->cpu_cores > 0 && machine->cpu_cores < cores)
        cores = machine->cpu_cores;
    if (machine && machine->cgroup_cpus > 0 && machine->cgroup_cpus < (double)cores)
        cores = (int64_t)ceil(machine->cgroup_cpus);
    return cores > 0 ? cores : 1;
}

static int fill_batches(struct tare_bench *bench, const struct tare_bench_models *models, struct lists *lists,
                        struct tare_error *err)
{
    const struct tare_bench_plan *plan = bench->plan;
    lists->batches = plan->batches;
    lists->batches_count = plan->batches_count;
    if (plan->batches_count)
        return 0;
    lists->batches = usual_batches;
    lists->batches_count = sizeof usual_batches / sizeof usual_batches[0];
    if (models->items[0].model) {
        struct tare_run_dim *dims = tare_arena_array(&bench->arena, plan->dims_count + 1, sizeof *dims);
        struct tare_inputs inputs;
        if (!dims)
            return tare_fail_memory(err);
        for (size_t i = 0; i < plan->dims_count; i++)
            dims[i] = (struct tare_run_dim){plan->dims[i].name, plan->dims[i].values[0]};
        struct tare_inputs_ask ask = {.dims = dims,
                                      .dims_count = plan->dims_count,
                                      .path = plan->inputs_path,
                                      .given = plan->given,
                                      .given_count = plan->given_count};
        if (tare_inputs_bind(models->items[0].model, &ask, &bench->arena, &inputs, err))
            return -1;
        if (inputs.batch_fixed || plan->inputs_path || plan->given_count) {
            lists->one_batch = inputs.batch;
            lists->batches = &lists->one_batch;
            lists->batches_count = 1;
            tare_bench_note(bench, "batch %lld: %s", (long long)inputs.batch,
                            inputs.batch_fixed  ? inputs.batch_fixed
                            : plan->inputs_path ? "as the inputs' file has it"
                                                : "as the given inputs have it");
            return 0;
        }
    }
    tare_bench_note(bench, "batches 1, 8 and 32, because --batch was not given");
    return 0;
}

static int fill(struct tare_bench *bench, const struct tare_bench_models *models, struct lists *lists,
                struct tare_error *err)
{
    const struct tare_bench_plan *plan = bench->plan;
    *lists = (struct lists){
        .threads = plan->threads,
        .threads_count = plan->threads_count,
        .providers = plan->providers_count ? plan->providers : usual_providers,
        .providers_count = plan->providers_count ? plan->providers_count : 1,
        .levels = plan->levels_count ? plan->levels : usual_levels,
        .levels_count = plan->levels_count ? plan->levels_count : 1,
        .dims_combinations = 1,
        .one_thread = usable_cores(bench->run->machine),
    };
    if (plan->threads_count == 0) {
        lists->threads = &lists->one_thread;
        lists->threads_count = 1;
    }
    if (plan->choices_count == 0 && fill_batches(bench, models, lists, err))
        return -1;
    size_t total = lists->batches_count * lists->threads_count * lists->providers_count *
                   lists->levels_count * models->count;
    for (size_t i = 0; i < plan->dims_count && total <= CONFIGS_MOST; i++) {
        lists->dims_combinations *= plan->dims[i].count;
        total *= plan->dims[i].count;
    }
    if (total > CONFIGS_MOST)
        return tare_fail(err, TARE_E_USAGE, 0, "that makes more than %d configurations: give fewer values",
                         CONFIGS_MOST);
    return 0;
}

/* The dimensions of combination number n, the last one turning fastest. */
static const struct tare_run_dim *combine(struct tare_bench *bench, size_t n, struct tare_error *err)
{
    const struct tare_bench_plan *plan = bench->plan;
    struct tare_run_dim *dims = tare_arena_array(&bench->arena, plan->dims_count + 1, sizeof *dims);
    if (!dims) {
        tare_fail_memory(err);
        return NULL;
    }
    for (size_t i = plan->dims_count; i-- > 0;) {
        dims[i] = (struct tare_run_dim){plan->dims[i].name, plan->dims[i].values[n % plan->dims[i].count]};
        n /= plan->dims[i].count;
    }
    return dims;
}

/* Names and values as the model has them; items in the run's unit. */
static int bind_config(struct tare_bench *bench, const struct tare_bench_model *model,
                       struct tare_worker_spec *spec, struct tare_run_config *config, struct tare_error *err)
{
    struct tare_run *run = bench->run;
    bool tokens = strcmp(run->unit, "tokens") == 0;
    if (!model->model) {
        config->keys.batch = tare_run_int(spec->batch > 0 ? spec->batch : 1);
        config->items_per_call = tare_run_real((double)config->keys.batch.value);
        config->keys.dims = tare_arena_array(&run->arena, spec->dims_count + 1, sizeof *config->keys.dims);
        if (!config->keys.dims)
            return tare_fail_memory(err);
        for (size_t i = 0; i < spec->dims_count; i++)
            config->keys.dims[config->keys.dims_count++] =
                (struct tare_run_dim){tare_arena_copy(&run->arena, spec->dims[i].name), spec->dims[i].value};
        return 0;
    }
    struct tare_inputs inputs;
    struct tare_inputs_ask ask = tare_bench_ask(bench, spec);
    if (tare_inputs_bind(model->model, &ask, &run->arena, &inputs, err))
        return -1;
    if (tokens && inputs.sequence <= 0)
        return tare_fail(err, TARE_E_USAGE, 0,
                         "--unit tokens: '%.100s' has no input of token ids, so nothing says how many there "
                         "are; use samples",
                         model->path);
    config->keys.batch = tare_run_int(inputs.batch);
    config->keys.dims = inputs.dims;
    config->keys.dims_count = inputs.dims_count;
    config->items_per_call = tare_run_real((double)inputs.batch * (tokens ? (double)inputs.sequence : 1));
    if (inputs.assumed)
        tare_bench_note(bench, "%s, because --dim was not given", inputs.assumed);
    spec->batch = inputs.batch;
    spec->dims = inputs.dims;
    spec->dims_count = inputs.dims_count;
    return 0;
}

static int add_config(struct tare_bench *bench, const struct tare_bench_model *model,
                      const struct tare_worker_spec *spec, struct tare_error *err)
{
    struct tare_run *run = bench->run;
    struct tare_run_config *config =
        tare_run_append(run, &run->configs, &run->configs_count, sizeof *run->configs);
    if (!config)
        return tare_fail_memory(err);
    struct tare_worker_spec *into = &bench->specs[bench->specs_count++];
    *into = *spec;
    config->keys.threads = tare_run_int(spec->options.threads);
    config->keys.precision = model->precision;
    config->keys.provider = tare_arena_copy(&run->arena, spec->options.provider);
    config->keys.graph_level = tare_graph_level_name(spec->options.level);
    config->keys.model = model->label;
    return bind_config(bench, model, into, config, err);
}

/* All configurations of one model, the batch turning fastest. */
static int add_model(struct tare_bench *bench, const struct tare_bench_model *model,
                     const struct lists *lists, struct tare_error *err)
{
    const struct tare_bench_plan *plan = bench->plan;
    size_t total = lists->providers_count * lists->levels_count * lists->threads_count *
                   lists->dims_combinations * lists->batches_count;
    for (size_t n = 0; n < total; n++) {
        size_t rest = n;
        struct tare_worker_spec spec = {
            .engine = plan->engine ? plan->engine : "onnxruntime",
            .model_path = model->path,
            .inputs_path = plan->inputs_path,
            .dims_count = plan->dims_count,
            .options = {.library = bench->library},
        };
        spec.batch = lists->batches[rest % lists->batches_count];
        rest /= lists->batches_count;
        spec.dims = combine(bench, rest % lists->dims_combinations, err);
        rest /= lists->dims_combinations;
        spec.options.threads = (int)lists->threads[rest % lists->threads_count];
        rest /= lists->threads_count;
        spec.options.level = lists->levels[rest % lists->levels_count];
        rest /= lists->levels_count;
        spec.options.provider = lists->providers[rest];
        spec.options.inter_threads = 1;
        if (!spec.dims || add_config(bench, model, &spec, err))
            return -1;
    }
    return 0;
}

/* Every worker uses the same library, found once. */
static int find_library(struct tare_bench *bench, struct tare_error *err)
{
    const char *engine = bench->plan->engine;
    struct tare_ort_found found;
    bench->library = bench->plan->library;
    if (engine && strcmp(engine, "onnxruntime") != 0)
        return 0;
    if (tare_ort_locate(bench->plan->library, &bench->arena, &found, err))
        return -1;
    bench->library = found.path;
    return 0;
}

/* Just these, in their order. */
static int add_choices(struct tare_bench *bench, const struct tare_bench_models *models,
                       const struct lists *lists, struct tare_error *err)
{
    const struct tare_bench_plan *plan = bench->plan;
    if (plan->choices_count > CONFIGS_MOST)
        return tare_fail(err, TARE_E_USAGE, 0, "more than %d configurations: give fewer", CONFIGS_MOST);
    for (size_t i = 0; i < plan->choices_count; i++) {
        const struct tare_bench_choice *choice = &plan->choices[i];
        const struct tare_bench_model *model = NULL;
        for (size_t m = 0; m < models->count && !model; m++)
            if (!choice->precision || strcmp(models->items[m].precision, choice->precision) == 0)
                model = &models->items[m];
        if (!model)
            return tare_fail(err, TARE_E_USAGE, 0, "there is no model of precision '%.40s'",
                             choice->precision);
        struct tare_worker_spec spec = {
            .engine = plan->engine ? plan->engine : "onnxruntime",
            .model_path = model->path,
            .inputs_path = plan->inputs_path,
            .batch = choice->batch,
            .dims = choice->dims,
            .dims_count = choice->dims_count,
            .options = {.library = bench->library,
                        .provider = choice->provider ? choice->provider : lists->providers[0],
                        .threads = (int)(choice->threads > 0 ? choice->threads : lists->threads[0]),
                        .inter_threads = 1,
                        .level = lists->levels[0]},
        };
        if (add_config(bench, model, &spec, err))
            return -1;
    }
    return 0;
}

int tare_bench_expand(struct tare_bench *bench, struct tare_error *err)
{
    struct tare_bench_models models = {0};
    struct lists lists;
    int rc = -1;
    if (tare_bench_models_open(bench, &models, err) || find_library(bench, err) ||
        fill(bench, &models, &lists, err))
        goto out;
    bench->specs = tare_arena_array(&bench->arena, CONFIGS_MOST, sizeof *bench->specs);
    if (!bench->specs) {
        tare_fail_memory(err);
        goto out;
    }
    if (bench->plan->choices_count && add_choices(bench, &models, &lists, err))
        goto out;
    for (size_t i = 0; i < models.count && !bench->plan->choices_count; i++)
        if (add_model(bench, &models.items[i], &lists, err))
            goto out;
    bench->run->engine.provider = tare_arena_copy(&bench->run->arena, lists.providers[0]);
    bench->run->engine.device = bench->run->engine.provider;
    bench->run->benchmark = bench->run->model.name;
    rc = 0;
out:
    tare_bench_models_close(&models);
    return rc;
}
