/* SPDX-License-Identifier: Apache-2.0 */
/* tare profile: bench under the names that scripts in CI use, with dated files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/bench_options.h"
#include "cmd/threshold_options.h"
#include "flow/result.h"

struct values {
    struct tare_bench_values bench;
    struct tare_threshold_values limits;
    const char *model, *folder;
};

static const struct values defaults = {.bench = TARE_BENCH_DEFAULTS};

static const struct tare_opt options[] = {
    {"model-path", 'm', TARE_OPT_TEXT, "FILE", "The model: a file, or a folder with one .onnx in it",
     .offset = offsetof(struct values, model)},
    {"output-dir", 'o', TARE_OPT_TEXT, "DIR",
     "Where MODEL_profile_DATE.json and .csv go; made if it is not there (default: profiling_results)",
     .offset = offsetof(struct values, folder)},
    TARE_BENCH_OPTIONS,
    TARE_THRESHOLD_OPTIONS(struct values, limits),
    {.name = NULL},
};

/* Files of the same second get a number; nothing is ever replaced. Two commands at once may ask for the same
 * name, so the name is taken by making the file. */
static const char *fresh_name(const struct tare_cmd_call *call, const char *folder,
                              const struct tare_run *run, struct tare_error *err)
{
    const char *name = run->model.name ? run->model.name : "model";
    struct tare_buf stem;
    tare_buf_init(&stem, 4096);
    tare_buf_printf(&stem, "%s/", folder);
    for (const char *c = name; *c; c++)
        tare_buf_add_byte(&stem, (uint8_t)(strchr("/:,%= ", *c) ? '_' : *c));
    tare_buf_add_text(&stem, "_profile_");
    /* 2026-01-31T12:00:00Z as 20260131T120000Z: sorts, and no colon troubles anybody. */
    for (const char *c = run->timestamp; *c; c++)
        if (*c != '-' && *c != ':')
            tare_buf_add_byte(&stem, (uint8_t)*c);
    const char *text = tare_arena_copy(call->arena, stem.data);
    tare_buf_finish(&stem);
    for (int number = 1; number < 1000; number++) {
        const char *tail = number > 1 ? tare_arena_printf(call->arena, "-%d", number) : "";
        const char *path = tare_arena_printf(call->arena, "%s%s", text, tail);
        const char *json = tare_arena_printf(call->arena, "%s.json", path);
        if (access(tare_arena_printf(call->arena, "%s.csv", path), F_OK) == 0)
            continue;
        int fd = open(json, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            close(fd);
            return path;
        }
        if (errno != EEXIST) {
            tare_fail(err, TARE_E_IO, errno, "cannot write '%.150s'", json);
            return NULL;
        }
    }
    tare_fail(err, TARE_E_LIMIT, 0, "'%.150s' holds 999 results of this second", folder);
    return NULL;
}

static int make_folder(const char *folder, struct tare_error *err)
{
    struct stat info;
    if (mkdir(folder, 0777) < 0 && errno != EEXIST)
        return tare_fail(err, TARE_E_IO, errno, "cannot make the folder '%.150s'", folder);
    if (stat(folder, &info) < 0 || !S_ISDIR(info.st_mode))
        return tare_fail(err, TARE_E_IO, ENOTDIR, "cannot write into '%.150s'", folder);
    if (access(folder, W_OK) < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot write into '%.150s'", folder);
    return 0;
}

static int save(const struct tare_cmd_call *call, const struct tare_result *result, const char *folder,
                struct tare_error *err)
{
    static const char *const extensions[] = {"json", "csv"};
    struct tare_view view = {.column = NULL};
    const char *stem = fresh_name(call, folder, result->run, err);
    for (size_t i = 0; stem && i < sizeof extensions / sizeof extensions[0]; i++) {
        const char *path = tare_arena_printf(call->arena, "%s.%s", stem, extensions[i]);
        if (tare_result_save(result, path, NULL, &view, err))
            return -1;
        fprintf(stderr, "tare profile: wrote %s\n", path);
    }
    return stem ? 0 : -1;
}

static int profile_run(const struct tare_cmd_call *call, struct tare_error *err)
{
    const struct values *values = call->values;
    const char *folder = values->folder ? values->folder : "profiling_results";
    struct tare_bench_plan plan;
    struct tare_threshold *thresholds;
    struct tare_result result = {0};
    int caught = 0;
    if (!values->model && call->operand_count == 0)
        return tare_fail(err, TARE_E_USAGE, 0, "needs --model-path FILE");
    if (values->model && call->operand_count)
        return tare_fail(err, TARE_E_USAGE, 0, "one model too many: '%.60s'", call->operands[0]);
    const char *model = values->model ? values->model : call->operands[0];
    size_t length = strlen(model);
    if (length > 3 && strcasecmp(model + length - 3, ".py") == 0)
        return tare_fail(err, TARE_E_USAGE, 0, "'%.100s' is a Python program: use tare run %.100s", model,
                         model);
    if (tare_bench_plan_make(&values->bench, model, call->arena, &plan, err) ||
        tare_threshold_values_read(&values->limits, call->arena, &thresholds, &plan.thresholds_count, err) ||
        make_folder(folder, err))
        return -1;
    plan.thresholds = thresholds;
    if (tare_bench_follow(&plan, &result.run, &caught, err))
        return caught ? 128 + caught : -1;
    int rc = save(call, &result, folder, err);
    if (rc == 0)
        rc = tare_threshold_tell(&values->limits, call, &result, values->bench.json, caught, err);
    tare_result_finish(&result);
    return rc;
}

const struct tare_cmd tare_cmd_profile = {
    .name = "profile",
    .args = "--model-path FILE",
    .summary = "The same as bench, with dated files, for CI",
    .about = "Measures a model as 'tare bench' does, prints the same tables, and writes "
             "MODEL_profile_DATE.json and .csv into a folder. An existing file is never replaced.\n\n"
             "  tare profile --model-path model.onnx --output-dir results\n"
             "  tare profile --model-path model.onnx --threshold latency:100ms throughput:1000samples/s\n\n"
             "A Python program is profiled with 'tare run'.",
    .options = options,
    .values_size = sizeof(struct values),
    .defaults = &defaults,
    .max_operands = 1,
    .run = profile_run,
};
