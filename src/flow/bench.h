/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weighing a model: a plan becomes a run. The plan's lists are multiplied out into configurations; sweep.c
 * measures their time, weigh.c their memory, layering.c where the time goes inside, answers.c whether the
 * results stay the same, advise.c says what to make of it and tries it. bench.c calls them in that order
 * within the plan's time: each part does what the time left allows and says what it left out.
 */
#ifndef TARE_FLOW_BENCH_H
#define TARE_FLOW_BENCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/engine.h"
#include "bench/worker.h"
#include "core/run.h"
#include "judge/threshold.h"

/* A free dimension and the values to try. */
struct tare_bench_dim {
    const char *name;
    const int64_t *values;
    size_t count;
};

/* A precision and the model that has it; path NULL for "fp32" is the main model, for others: make it. */
struct tare_bench_precision {
    const char *name, *path;
};

/* One configuration, for those who want just these and not all combinations. 0 and NULL mean the default. */
struct tare_bench_choice {
    int64_t batch, threads;
    const char *precision, *provider;
    const struct tare_run_dim *dims;
    size_t dims_count;
};

/* What to do. Lists that are empty mean the default, which the run states. */
struct tare_bench_plan {
    const char *engine;     /* "onnxruntime"; "fake" for a known truth */
    const char *model_path; /* a file, or a folder with one .onnx in it */
    const char *inputs_path, *reference_path, *library;
    const int64_t *batches;
    size_t batches_count;
    const struct tare_bench_dim *dims;
    size_t dims_count;
    const int64_t *threads;
    size_t threads_count;
    const struct tare_bench_precision *precisions;
    size_t precisions_count;
    const char *const *providers;
    size_t providers_count;
    const enum tare_graph_level *levels;
    size_t levels_count;
    const char *const *groups; /* layer groups: patterns of node names, or op types */
    size_t groups_count;
    const struct tare_bench_choice *choices; /* in place of all combinations; precisions still names models */
    size_t choices_count;
    const struct tare_tensor *given; /* the caller's inputs; those without a name in the model's order */
    size_t given_count;
    bool in_process;  /* time it in this process, on the caller's own arrays */
    const char *unit; /* NULL: from the model */
    int64_t items;    /* items per configuration (--num-pairs); 0: not asked */
    double until;     /* half width of the median's bounds, relative; 0: not asked */
    int64_t runs, warmup_runs;
    int64_t duration_ns, time_ns; /* per configuration; the whole command */
    int64_t processes;            /* per configuration; 0 is 1 */
    int64_t memory_bytes;         /* most that all processes together may hold; 0: what the machine has */
    const char *python; /* whose tools make models of other precisions; NULL: the one that is found */
    const struct tare_threshold *thresholds; /* a configuration is measured until these are decided, too */
    size_t thresholds_count;
    bool no_memory, no_layers, no_answers, no_advice;
    bool reversed; /* the sweep's order turned round: a control */
};

enum tare_bench_stage {
    TARE_BENCH_LOADING,
    TARE_BENCH_MEASURING,
    TARE_BENCH_WEIGHING,
    TARE_BENCH_LAYERS,
    TARE_BENCH_ANSWERS,
    TARE_BENCH_ADVICE,
};

/* How the caller follows it. All may be NULL. */
struct tare_bench_watch {
    void *data;
    /** Called often; text says what is being done, left_ns how long it may still take at most. */
    void (*progress)(void *data, enum tare_bench_stage stage, const char *text, int64_t left_ns);
    /** Called when a configuration has its first figures. */
    void (*row)(void *data, const struct tare_run *run, size_t configuration);
    const volatile sig_atomic_t *stop;
    const char *const *worker_argv; /* how workers are started, see bench/worker.h */
};

/** Do it all. On Ctrl-C (*stop) what there is is returned, and the run says that it was interrupted. */
int tare_bench(const struct tare_bench_plan *plan, const struct tare_bench_watch *watch,
               struct tare_run **ret_run, struct tare_error *err);

#endif
