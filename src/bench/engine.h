/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine runs a model: the user's own ONNX Runtime (engine_ort.c), a fake with a known truth
 * (engine_fake.c), a Python callable (in the extension). The harness knows only this. One struct of functions
 * per kind; an opened engine belongs to one thread at a time. What run() does is what is timed, so bind()
 * prepares all that can be prepared: names, shapes, buffers for inputs and outputs.
 */
#ifndef TARE_BENCH_ENGINE_H
#define TARE_BENCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "bench/tensor.h"

/* How far the engine may rewrite the graph, as ONNX Runtime names the levels. */
enum tare_graph_level {
    TARE_GRAPH_ALL, /* the default */
    TARE_GRAPH_OFF,
    TARE_GRAPH_BASIC,
    TARE_GRAPH_EXTENDED,
};

/* Zero means the engine's default, except threads: pools sized from the host are wrong in a container, so
 * whoever opens an engine sets them. */
struct tare_engine_options {
    const char *library;  /* the runtime to load; NULL: the one that is found */
    const char *provider; /* "cpu", "cuda"...; NULL is "cpu". One that cannot be had is an error */
    int threads, inter_threads;
    enum tare_graph_level level;
    bool no_spinning;           /* idle workers of the pool sleep at once */
    const char *profile_prefix; /* the engine's own profiler writes to PREFIX_something */
    const char *optimised_path; /* the graph as it is really run is written here */
};

/* What an engine is, for the run's file. Texts live as long as the engine. */
struct tare_engine_about {
    const char *name, *version, *path; /* "onnxruntime", "1.31.1", the library */
};

/* The engine's own allocator; -1 where it does not say. */
struct tare_engine_memory {
    int64_t requested, in_use, total, peak; /* bytes: asked for, given, held from the system, most in use */
    int64_t allocations, reserves, extensions, largest;
};

struct tare_engine;

struct tare_engine_kind {
    const char *name;
    /** Load the model. path is what the kind understands: a file, or a fake's description. */
    int (*open)(const char *path, const struct tare_engine_options *options, struct tare_engine **ret_engine,
                struct tare_error *err);
    void (*about)(const struct tare_engine *engine, struct tare_engine_about *ret_about);
    /** Use these inputs from now on. They must live until the next bind or close. */
    int (*bind)(struct tare_engine *engine, const struct tare_tensor *inputs, size_t count,
                struct tare_error *err);
    /** Run once. */
    int (*run)(struct tare_engine *engine, struct tare_error *err);
    /** Copies of the outputs of the last run. */
    int (*outputs)(struct tare_engine *engine, struct tare_arena *arena, struct tare_tensor **ret_outputs,
                   size_t *ret_count, struct tare_error *err);
    void (*memory)(struct tare_engine *engine, struct tare_engine_memory *ret_memory);
    /** End the engine's own profiler and say where its file is. */
    int (*profile_end)(struct tare_engine *engine, struct tare_arena *arena, const char **ret_path,
                       struct tare_error *err);
    void (*close)(struct tare_engine *engine);
};

/* Every opened engine begins with this. */
struct tare_engine {
    const struct tare_engine_kind *kind;
};

extern const struct tare_engine_kind tare_engine_ort;
extern const struct tare_engine_kind tare_engine_fake;

/** The kind of that name, "onnxruntime" or "fake"; NULL for none. */
const struct tare_engine_kind *tare_engine_find(const char *name);

/** "off", "basic", "extended", "all"; NULL for none of them. */
const char *tare_graph_level_name(enum tare_graph_level level);

#endif
