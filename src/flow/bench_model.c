/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/bench_model.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "bench/inputs.h"
#include "bench/model_facts.h"

/* Names of a refused choice, and how deep they are looked for: exports put theirs into a folder "onnx". */
enum { CHOICES_SHOWN = 6, DEPTH = 1 };

struct finding {
    struct tare_arena *arena;
    const char *paths[CHOICES_SHOWN];
    size_t count;
    bool weights; /* there is a model that is not ONNX */
};

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcasecmp(name + length - tail, end) == 0;
}

/* Names in alphabetical order, so that messages do not depend on the file system. */
static void offer(struct finding *finding, const char *path)
{
    finding->count++;
    for (size_t i = 0; i < CHOICES_SHOWN; i++) {
        if (!finding->paths[i]) {
            finding->paths[i] = path;
            return;
        }
        if (strcmp(path, finding->paths[i]) < 0) {
            const char *later = finding->paths[i];
            finding->paths[i] = path;
            path = later;
        }
    }
}

static void look_in(struct finding *finding, const char *folder, int depth)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    struct stat info;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        const char *path = tare_arena_printf(finding->arena, "%s/%s", folder, entry->d_name);
        if (ends_in(entry->d_name, ".onnx"))
            offer(finding, path);
        else if (ends_in(entry->d_name, ".safetensors") || ends_in(entry->d_name, ".bin") ||
                 ends_in(entry->d_name, ".pt"))
            finding->weights = true;
        else if (depth > 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
            look_in(finding, path, depth - 1);
    }
    if (dir)
        closedir(dir);
}

int tare_bench_find(const char *path, struct tare_arena *arena, const char **ret_path, struct tare_error *err)
{
    static const char *const other[] = {".pt", ".pth", ".safetensors", ".h5", ".keras", ".tflite", ".py"};
    struct finding finding = {.arena = arena};
    struct stat info;
    size_t length = strlen(path);
    if (stat(path, &info) == 0 && !S_ISDIR(info.st_mode)) {
        if (ends_in(path, ".py"))
            return tare_fail(err, TARE_E_USAGE, 0, "'%.100s' is a Python program: use tare run %.60s", path,
                             path);
        for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
            if (ends_in(path, other[i]))
                return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                                 "'%.100s' is not an ONNX model: export it first (torch.onnx.export, "
                                 "tf2onnx, or optimum-cli export onnx)",
                                 path);
    }
    if (stat(path, &info) < 0 || !S_ISDIR(info.st_mode)) {
        *ret_path = path;
        return 0;
    }
    while (length > 1 && path[length - 1] == '/')
        length--;
    const char *folder = tare_arena_text(arena, path, length);
    look_in(&finding, folder, DEPTH);
    if (finding.count == 1) {
        *ret_path = finding.paths[0];
        return tare_arena_check(arena, err);
    }
    if (finding.count == 0 && finding.weights)
        return tare_fail(err, TARE_E_INPUT, 0,
                         "'%.60s' holds no .onnx: make one with optimum-cli export onnx --model %.60s "
                         "%.60s/onnx",
                         folder, folder, folder);
    if (finding.count == 0)
        return tare_fail(err, TARE_E_INPUT, 0, "'%.150s' holds no .onnx: name a model's file", folder);
    struct tare_buf names;
    tare_buf_init(&names, 4096);
    for (size_t i = 0; i < CHOICES_SHOWN && finding.paths[i]; i++)
        tare_buf_printf(&names, "%s%s", i ? ", " : "", finding.paths[i] + strlen(folder) + 1);
    tare_fail(err, TARE_E_USAGE, 0, "'%.60s' holds %zu models: name one of them: %.130s", folder,
              finding.count, names.data);
    tare_buf_finish(&names);
    return -1;
}

/* Does any node quantise? Constants alone do not tell: the scales of an int8 model are floats. */
static bool quantised(const struct tare_model_graph *graph)
{
    static const char *const signs[] = {"DynamicQuantizeLinear", "QuantizeLinear", "MatMulInteger",
                                        "ConvInteger",           "QLinearConv",    "QLinearMatMul",
                                        "DynamicQuantizeMatMul", "QAttention"};
    for (size_t i = 0; i < graph->nodes_count; i++)
        for (size_t s = 0; s < sizeof signs / sizeof signs[0]; s++)
            if (tare_model_node_is(&graph->nodes[i], signs[s]))
                return true;
    return false;
}

static const char *precision_of(const struct tare_model *model)
{
    int64_t halves = 0, brains = 0, singles = 0, doubles = 0;
    if (quantised(&model->graph))
        return "int8";
    for (size_t i = 0; i < model->graph.initializers_count; i++) {
        const struct tare_model_tensor *tensor = &model->graph.initializers[i];
        halves += tensor->element == TARE_ELEMENT_F16 ? tensor->count : 0;
        brains += tensor->element == TARE_ELEMENT_BF16 ? tensor->count : 0;
        singles += tensor->element == TARE_ELEMENT_F32 ? tensor->count : 0;
        doubles += tensor->element == TARE_ELEMENT_F64 ? tensor->count : 0;
    }
    if (halves > singles && halves >= brains)
        return "fp16";
    if (brains > singles)
        return "bf16";
    return doubles > singles ? "fp64" : "fp32";
}

static int describe(struct tare_run *run, const struct tare_bench_model *from, struct tare_run_model *into,
                    struct tare_error *err)
{
    if (!from->model) {
        into->path = tare_arena_copy(&run->arena, from->path);
        into->name = into->path;
    } else if (tare_model_facts(from->model, &run->arena, into, err)) {
        return -1;
    }
    into->label = from->label;
    return 0;
}

static int open_one(struct tare_bench *bench, const char *path, struct tare_bench_model *ret_model,
                    struct tare_error *err)
{
    const char *engine = bench->plan->engine;
    if (engine && strcmp(engine, "onnxruntime") != 0) {
        ret_model->path = path;
        return 0;
    }
    return tare_bench_find(path, &bench->arena, &ret_model->path, err) ||
                   tare_model_open(ret_model->path, &ret_model->model, err)
               ? -1
               : 0;
}

/* The model of a precision that the user asked for: the main one has it, it was given, or it is made. */
static int open_precision(struct tare_bench *bench, const struct tare_bench_model *main_model,
                          const struct tare_bench_precision *asked, struct tare_bench_model *ret_model,
                          struct tare_error *err)
{
    const char *path = asked->path;
    if (!path && !main_model->model)
        return tare_fail(err, TARE_E_USAGE, 0, "--precision %.40s: this engine has none", asked->name);
    if (!path && strcmp(asked->name, "fp32") == 0)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "--precision fp32: '%.100s' is %s; give the other model as fp32=PATH",
                         main_model->path, main_model->precision);
    if (!path && tare_bench_convert(bench, main_model->path, asked->name, &path, err))
        return -1;
    if (open_one(bench, path, ret_model, err))
        return -1;
    ret_model->label = ret_model->precision = tare_arena_copy(&bench->run->arena, asked->name);
    return 0;
}

static int open_all(struct tare_bench *bench, struct tare_bench_models *models, struct tare_error *err)
{
    const struct tare_bench_plan *plan = bench->plan;
    struct tare_run *run = bench->run;
    struct tare_bench_model main_model = {0};
    if (open_one(bench, plan->model_path, &main_model, err))
        return -1;
    main_model.precision = main_model.model ? precision_of(main_model.model) : NULL;
    bool main_used = plan->precisions_count == 0;
    models->items[models->count++] = main_model;
    for (size_t i = 0; i < plan->precisions_count; i++) {
        const struct tare_bench_precision *asked = &plan->precisions[i];
        if (!asked->path && main_model.precision && strcmp(asked->name, main_model.precision) == 0) {
            main_used = true;
            continue;
        }
        struct tare_bench_model *other = &models->items[models->count];
        if (open_precision(bench, &main_model, asked, other, err))
            return -1;
        models->count++;
        struct tare_run_model *described =
            tare_run_append(run, &run->other_models, &run->other_models_count, sizeof *run->other_models);
        if (!described)
            return tare_fail_memory(err);
        if (describe(run, other, described, err))
            return -1;
    }
    if (describe(run, &main_model, &run->model, err))
        return -1;
    if (!main_used) {
        /* It only lent its name: drop it from what is measured. */
        tare_model_close(main_model.model);
        models->count--;
        memmove(models->items, models->items + 1, models->count * sizeof *models->items);
    }
    return 0;
}

/* Tokens per second of a decoder are those that it generates, one call after another with a growing cache:
 * one call over a made-up cache says nothing about them. */
static int choose_unit(struct tare_bench *bench, const struct tare_model *model, struct tare_error *err)
{
    const char *unit = bench->plan->unit;
    bool tokens = unit && strcmp(unit, "tokens") == 0;
    for (size_t i = 0; tokens && model && i < model->graph.inputs_count; i++)
        if (strncmp(model->graph.inputs[i].name, "past_key", 8) == 0)
            return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                             "--unit tokens: '%.80s' is a decoder with a cache (input %.40s), whose tokens "
                             "per second are not measured yet; use --unit requests",
                             bench->plan->model_path, model->graph.inputs[i].name);
    if (tokens && !model)
        return tare_fail(err, TARE_E_USAGE, 0, "--unit tokens: this engine has none");
    bench->run->unit = unit    ? tare_arena_copy(&bench->run->arena, unit)
                       : model ? tare_inputs_unit(model)
                               : "samples";
    return 0;
}

int tare_bench_models_open(struct tare_bench *bench, struct tare_bench_models *ret_models,
                           struct tare_error *err)
{
    struct tare_bench_models models = {0};
    models.items = tare_arena_array(&bench->arena, bench->plan->precisions_count + 2, sizeof *models.items);
    if (!models.items)
        return tare_fail_memory(err);
    if (open_all(bench, &models, err) || choose_unit(bench, models.items[0].model, err)) {
        tare_bench_models_close(&models);
        return -1;
    }
    *ret_models = models;
    return 0;
}

void tare_bench_models_close(struct tare_bench_models *models)
{
    for (size_t i = 0; i < models->count; i++)
        tare_model_close(models->items[i].model);
    models->count = 0;
}
