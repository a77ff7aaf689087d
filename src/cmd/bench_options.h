/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `tare bench` and `tare profile` have in common: the options of a weighing, the plan they make, running
 * it with progress on a terminal, and Ctrl-C. A command's own struct of values starts with struct
 * tare_bench_values, and its table of options with TARE_BENCH_OPTIONS.
 */
#ifndef TARE_CMD_BENCH_OPTIONS_H
#define TARE_CMD_BENCH_OPTIONS_H

#include "cmd/cmd.h"
#include "flow/bench.h"

struct tare_bench_values {
    const char *batches, *batch_sizes, *threads, *precisions, *providers, *levels;
    struct tare_opt_list dims, groups;
    const char *inputs, *reference, *library, *python;
    int engine, unit; /* unit -1: from the model */
    const char *until;
    int64_t items, runs, warmup_runs, duration_ns, time_ns, processes;
    uint64_t memory;
    bool validate_accuracy, layers, no_memory, no_layers, no_answers, no_advice, reversed, json;
};

extern const char *const tare_bench_engines[];
extern const char *const tare_bench_units[];

#define TARE_BENCH_OPTIONS                                                                                   \
    {"batch",                                                                                                \
     'b',                                                                                                    \
     TARE_OPT_TEXT,                                                                                          \
     "N,...",                                                                                                \
     "Samples per call (default: 1,8,32)",                                                                   \
     .offset = offsetof(struct tare_bench_values, batches)},                                                 \
        {"batch-sizes",         0,                                                                           \
         TARE_OPT_TEXT,         "N,...",                                                                     \
         "The same as --batch", .offset = offsetof(struct tare_bench_values, batch_sizes)},                  \
        {"dim",                                                                                              \
         'd',                                                                                                \
         TARE_OPT_LIST,                                                                                      \
         "NAME=N,...",                                                                                       \
         "Values of a free dimension, such as seq=16,128; may be given several times",                       \
         .offset = offsetof(struct tare_bench_values, dims)},                                                \
        {"threads",                                                                                          \
         't',                                                                                                \
         TARE_OPT_TEXT,                                                                                      \
         "N,...",                                                                                            \
         "Threads of the runtime (default: the cores it may use)",                                           \
         .offset = offsetof(struct tare_bench_values, threads)},                                             \
        {"precision",                                                                                        \
         'p',                                                                                                \
         TARE_OPT_TEXT,                                                                                      \
         "NAME[=PATH],...",                                                                                  \
         "fp32, fp16, int8: of the model, given as PATH, or made with onnxruntime's own tools",              \
         .offset = offsetof(struct tare_bench_values, precisions)},                                          \
        {"provider",                                                                                         \
         0,                                                                                                  \
         TARE_OPT_TEXT,                                                                                      \
         "NAME,...",                                                                                         \
         "Where it runs: cpu (the default), cuda...",                                                        \
         .offset = offsetof(struct tare_bench_values, providers)},                                           \
        {"graph-level",                                                                                      \
         0,                                                                                                  \
         TARE_OPT_TEXT,                                                                                      \
         "NAME,...",                                                                                         \
         "How far the runtime may rewrite the graph: off, basic, extended, all (the default)",               \
         .offset = offsetof(struct tare_bench_values, levels)},                                              \
        {"inputs",                                                                                           \
         'i',                                                                                                \
         TARE_OPT_TEXT,                                                                                      \
         "FILE",                                                                                             \
         "Inputs from a .npz, instead of made-up ones",                                                      \
         .offset = offsetof(struct tare_bench_values, inputs)},                                              \
        {"reference",                                                                                        \
         0,                                                                                                  \
         TARE_OPT_TEXT,                                                                                      \
         "FILE",                                                                                             \
         "The model whose answers are right (default: this one)",                                            \
         .offset = offsetof(struct tare_bench_values, reference)},                                           \
        {"validate-accuracy",                                                                                \
         0,                                                                                                  \
         TARE_OPT_FLAG,                                                                                      \
         NULL,                                                                                               \
         "Check that answers stay the same (done anyway, unless left out)",                                  \
         .offset = offsetof(struct tare_bench_values, validate_accuracy)},                                   \
        {"unit",                                                                                             \
         'u',                                                                                                \
         TARE_OPT_CHOICE,                                                                                    \
         "UNIT",                                                                                             \
         "What is counted",                                                                                  \
         .choices = tare_bench_units,                                                                        \
         .offset = offsetof(struct tare_bench_values, unit)},                                                \
        {"num-pairs",                                                                                        \
         0,                                                                                                  \
         TARE_OPT_INTEGER,                                                                                   \
         "N",                                                                                                \
         "Items per configuration: ends after so many",                                                      \
         .min = 1,                                                                                           \
         .max = 1e12,                                                                                        \
         .offset = offsetof(struct tare_bench_values, items)},                                               \
        {"until",                                                                                            \
         0,                                                                                                  \
         TARE_OPT_TEXT,                                                                                      \
         "PERCENT",                                                                                          \
         "End a configuration when its median is known to this (default: 1%, and p99 known)",                \
         .offset = offsetof(struct tare_bench_values, until)},                                               \
        {"runs",                                                                                             \
         'n',                                                                                                \
         TARE_OPT_INTEGER,                                                                                   \
         "N",                                                                                                \
         "End a configuration after so many runs",                                                           \
         .min = 1,                                                                                           \
         .max = 20000,                                                                                       \
         .offset = offsetof(struct tare_bench_values, runs)},                                                \
        {"warmup-runs",                                                                                      \
         0,                                                                                                  \
         TARE_OPT_INTEGER,                                                                                   \
         "N",                                                                                                \
         "Warm up with at least so many runs",                                                               \
         .min = 0,                                                                                           \
         .max = 1e9,                                                                                         \
         .offset = offsetof(struct tare_bench_values, warmup_runs)},                                         \
        {"duration",                                                                                         \
         0,                                                                                                  \
         TARE_OPT_DURATION,                                                                                  \
         "TIME",                                                                                             \
         "End a configuration after so much measured time",                                                  \
         .offset = offsetof(struct tare_bench_values, duration_ns)},                                         \
        {"time",                                                                                             \
         0,                                                                                                  \
         TARE_OPT_DURATION,                                                                                  \
         "TIME",                                                                                             \
         "Bound of the whole command (default: 60s)",                                                        \
         .offset = offsetof(struct tare_bench_values, time_ns)},                                             \
        {"processes",                                                                                        \
         0,                                                                                                  \
         TARE_OPT_INTEGER,                                                                                   \
         "N",                                                                                                \
         "Processes per configuration (default: as many as are cheap to start)",                             \
         .min = 1,                                                                                           \
         .max = 1000,                                                                                        \
         .offset = offsetof(struct tare_bench_values, processes)},                                           \
        {"memory",                                                                                           \
         0,                                                                                                  \
         TARE_OPT_SIZE,                                                                                      \
         "SIZE",                                                                                             \
         "Most that the processes may hold together (default: what the machine has)",                        \
         .offset = offsetof(struct tare_bench_values, memory)},                                              \
        {"group",                                                                                            \
         'g',                                                                                                \
         TARE_OPT_LIST,                                                                                      \
         "PATTERN",                                                                                          \
         "A group of layers, by name or operator; may be given several times",                               \
         .offset = offsetof(struct tare_bench_values, groups)},                                              \
        {"ort",                                                                                              \
         0,                                                                                                  \
         TARE_OPT_TEXT,                                                                                      \
         "FILE",                                                                                             \
         "The ONNX Runtime library to use",                                                                  \
         .offset = offsetof(struct tare_bench_values, library)},                                             \
        {"python",                                                                                           \
         0,                                                                                                  \
         TARE_OPT_TEXT,                                                                                      \
         "PATH",                                                                                             \
         "The interpreter whose tools convert precisions",                                                   \
         .offset = offsetof(struct tare_bench_values, python)},                                              \
        {"engine",                                                                                           \
         0,                                                                                                  \
         TARE_OPT_CHOICE,                                                                                    \
         "NAME",                                                                                             \
         "What runs the model",                                                                              \
         .choices = tare_bench_engines,                                                                      \
         .offset = offsetof(struct tare_bench_values, engine)},                                              \
        {"no-memory",        0,                                                                              \
         TARE_OPT_FLAG,      NULL,                                                                           \
         "Leave memory out", .offset = offsetof(struct tare_bench_values, no_memory)},                       \
        {"no-layers",        0,                                                                              \
         TARE_OPT_FLAG,      NULL,                                                                           \
         "Leave layers out", .offset = offsetof(struct tare_bench_values, no_layers)},                       \
        {"no-answers",                                                                                       \
         0,                                                                                                  \
         TARE_OPT_FLAG,                                                                                      \
         NULL,                                                                                               \
         "Do not compare answers",                                                                           \
         .offset = offsetof(struct tare_bench_values, no_answers)},                                          \
        {"no-advice",                                                                                        \
         0,                                                                                                  \
         TARE_OPT_FLAG,                                                                                      \
         NULL,                                                                                               \
         "Give no advice, and try none",                                                                     \
         .offset = offsetof(struct tare_bench_values, no_advice)},                                           \
        {"reversed",                                                                                         \
         0,                                                                                                  \
         TARE_OPT_FLAG,                                                                                      \
         NULL,                                                                                               \
         "Measure in the opposite order: a control",                                                         \
         .offset = offsetof(struct tare_bench_values, reversed)},                                            \
    {                                                                                                        \
        "json", 0, TARE_OPT_FLAG, NULL, "Print JSON instead of tables",                                      \
            .offset = offsetof(struct tare_bench_values, json)                                               \
    }

/* What the two commands start from. */
#define TARE_BENCH_DEFAULTS                                                                                  \
    {                                                                                                        \
        .unit = -1                                                                                           \
    }

/** Make a plan of the options; lists live in the call's arena. Values that make no sense are refused with
 * the reason. */
int tare_bench_plan_make(const struct tare_bench_values *values, const char *model, struct tare_arena *arena,
                         struct tare_bench_plan *ret_plan, struct tare_error *err);

/** Run a plan, with progress on a terminal. *ret_signal is the signal that interrupted it, or 0. */
int tare_bench_follow(const struct tare_bench_plan *plan, struct tare_run **ret_run, int *ret_signal,
                      struct tare_error *err);

/** Can this file be written, and in which format? Found out before an hour of measuring. */
int tare_bench_output_check(const char *path, struct tare_error *err);

#endif
