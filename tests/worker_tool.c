/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests/py/test_worker_ort.py calls: a worker does everything that it can with a model, and what came of
 * it is printed as JSON; or what is wrong, and status 2.
 *     worker_tool TARE ENGINE MODEL [library=PATH] [batch=N] [NAME=N] [threads=N] [provider=NAME] [level=N]
 *                 [inputs=PATH] [profile=PREFIX] [optimised=PATH] [no_spinning=1] [calls=N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/out.h"
#include "bench/worker.h"

enum { MOST_DIMS = 8 };

struct asked {
    struct tare_worker_spec spec;
    struct tare_run_dim dims[MOST_DIMS];
    long calls;
};

static void take(struct asked *asked, char *word)
{
    struct tare_worker_spec *spec = &asked->spec;
    struct tare_engine_options *options = &spec->options;
    char *value = strchr(word, '=');
    if (!value)
        return;
    *value++ = '\0';
    long number = strtol(value, NULL, 10);
    if (strcmp(word, "library") == 0)
        options->library = value;
    else if (strcmp(word, "batch") == 0)
        spec->batch = number;
    else if (strcmp(word, "threads") == 0)
        options->threads = (int)number;
    else if (strcmp(word, "provider") == 0)
        options->provider = value;
    else if (strcmp(word, "level") == 0)
        options->level = (enum tare_graph_level)number;
    else if (strcmp(word, "inputs") == 0)
        spec->inputs_path = value;
    else if (strcmp(word, "profile") == 0)
        options->profile_prefix = value;
    else if (strcmp(word, "optimised") == 0)
        options->optimised_path = value;
    else if (strcmp(word, "no_spinning") == 0)
        options->no_spinning = number != 0;
    else if (strcmp(word, "calls") == 0)
        asked->calls = number;
    else if (spec->dims_count < MOST_DIMS)
        asked->dims[spec->dims_count++] = (struct tare_run_dim){word, number};
}

static void put_tensors(struct tare_json *json, const char *key, const struct tare_tensor *tensors,
                        size_t count)
{
    tare_json_key(json, key);
    tare_json_object(json);
    for (size_t t = 0; t < count; t++) {
        int64_t elements = 0;
        tare_shape_count(tensors[t].dims, tensors[t].rank, &elements);
        tare_json_key(json, tensors[t].name);
        tare_json_object(json);
        tare_json_put_text(json, "type", tare_element_name(tensors[t].element));
        tare_json_key(json, "shape");
        tare_json_row(json);
        for (size_t d = 0; d < tensors[t].rank; d++)
            tare_json_int(json, tensors[t].dims[d]);
        tare_json_end(json);
        tare_json_key(json, "values");
        tare_json_row(json);
        for (int64_t i = 0; i < elements; i++)
            tare_json_real(json, tare_tensor_get(&tensors[t], (size_t)i));
        tare_json_end(json);
        tare_json_end(json);
    }
    tare_json_end(json);
}

static void put_memory(struct tare_json *json, const struct tare_worker_memory *memory)
{
    tare_json_key(json, "memory");
    tare_json_object(json);
    tare_json_put_int(json, "before", memory->before);
    tare_json_put_int(json, "after", memory->after);
    tare_json_put_int(json, "peak", memory->peak);
    tare_json_put_int(json, "average", memory->average);
    tare_json_put_int(json, "arena_in_use", memory->engine.in_use);
    tare_json_put_int(json, "arena_total", memory->engine.total);
    tare_json_put_int(json, "arena_peak", memory->engine.peak);
    tare_json_put_int(json, "arena_requested", memory->engine.requested);
    tare_json_put_int(json, "arena_allocations", memory->engine.allocations);
    tare_json_put_uint(json, "snapshots", memory->count);
    tare_json_end(json);
}

static int work(struct tare_worker *worker, const struct asked *asked, struct tare_arena *arena,
                struct tare_json *json, struct tare_error *err)
{
    struct tare_harness_warmup warmup;
    struct tare_harness_limits limits = {.min_samples = asked->calls, .max_samples = asked->calls};
    struct tare_worker_use use;
    struct tare_worker_memory memory;
    struct tare_tensor *inputs, *outputs;
    size_t count, inputs_count, outputs_count;
    int64_t *ns;
    const char *path = NULL;
    if (tare_worker_remember(worker, asked->calls, arena, &memory, err) ||
        tare_worker_answer(worker, arena, &inputs, &inputs_count, &outputs, &outputs_count, err) ||
        tare_worker_warm(worker, 100000000, &warmup, err) ||
        tare_worker_measure(worker, &limits, arena, &ns, &count, &use, err) ||
        (asked->spec.options.profile_prefix && tare_worker_profile(worker, asked->calls, arena, &path, err)))
        return -1;
    put_memory(json, &memory);
    put_tensors(json, "inputs", inputs, inputs_count);
    put_tensors(json, "outputs", outputs, outputs_count);
    tare_json_put_int(json, "cold_ns", warmup.cold_ns);
    tare_json_put_int(json, "call_ns", warmup.call_ns);
    tare_json_put_int(json, "calls_per_sample", warmup.calls_per_sample);
    tare_json_put_int(json, "wall_ns", use.wall_ns);
    tare_json_put_int(json, "cpu_ns", use.cpu_user_ns + use.cpu_system_ns);
    tare_json_key(json, "ns");
    tare_json_row(json);
    for (size_t i = 0; i < count; i++)
        tare_json_int(json, ns[i]);
    tare_json_end(json);
    tare_json_put_text(json, "profile", path);
    tare_json_put_bool(json, "idle", tare_worker_idle(worker, 5000000000));
    return 0;
}

int main(int argc, char **argv)
{
    struct asked asked = {.calls = 5};
    struct tare_worker *worker = NULL;
    struct tare_worker_ready ready;
    struct tare_error err = {0};
    struct tare_arena arena;
    struct tare_out out;
    struct tare_json json;
    int status = 2;
    if (argc < 4)
        return 2;
    const char *words[] = {argv[1], ".worker", NULL};
    struct tare_worker_start start = {.argv = words};
    asked.spec = (struct tare_worker_spec){
        .engine = argv[2], .model_path = argv[3], .dims = asked.dims, .options = {.threads = 1}};
    for (int i = 4; i < argc; i++)
        take(&asked, argv[i]);
    tare_arena_init(&arena, 0);
    tare_out_init_fd(&out, STDOUT_FILENO, "standard output");
    tare_json_init(&json, &out, 1);
    tare_json_object(&json);
    if (tare_worker_open(&start, &asked.spec, &worker, &ready, &err) == 0) {
        tare_json_put_text(&json, "engine", ready.name);
        tare_json_put_text(&json, "version", ready.version);
        tare_json_put_text(&json, "path", ready.path);
        tare_json_put_int(&json, "load_ns", ready.load_ns);
        tare_json_put_int(&json, "resident_before", ready.resident_before);
        tare_json_put_int(&json, "resident_after", ready.resident_after);
        if (work(worker, &asked, &arena, &json, &err) == 0)
            status = 0;
    }
    tare_json_end(&json);
    if (status == 0 && tare_out_commit(&out, &err))
        status = 2;
    if (status)
        fprintf(stderr, "worker_tool: %s\n", err.msg);
    tare_worker_close(worker);
    tare_out_finish(&out);
    tare_arena_finish(&arena);
    return status;
}
