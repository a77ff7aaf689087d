/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `tare compare` and `tare check` have in common: how two things are run against each other, how large a
 * change matters, and where the verdicts go. A command's struct of values starts with struct
 * tare_gate_values, and its options with TARE_GATE_OPTIONS.
 */
#ifndef TARE_CMD_GATE_OPTIONS_H
#define TARE_CMD_GATE_OPTIONS_H

#include "cmd/bench_options.h"
#include "cmd/cmd.h"
#include "core/verdict.h"
#include "flow/versus.h"

struct tare_gate_values {
    struct tare_bench_values bench; /* of these only what TARE_GATE_OPTIONS names */
    const char *change;
    int64_t blocks;
    int format; /* -1: not given */
    struct tare_opt_list outputs;
    bool json;
};

#define TARE_GATE_DEFAULTS                                                                                   \
    {                                                                                                        \
        .bench = TARE_BENCH_DEFAULTS, .format = -1                                                           \
    }

/* clang-format off */
#define TARE_GATE_OPTIONS                                                                                    \
    {"change", 'c', TARE_OPT_TEXT, "PERCENT",                                                                \
     "The smallest change that matters (default: 5%; 10% where others use the machine too)",                 \
     .offset = offsetof(struct tare_gate_values, change)},                                                   \
    {"batch", 'b', TARE_OPT_TEXT, "N,...", "Models: samples per call (default: 1)",                          \
     .offset = offsetof(struct tare_gate_values, bench.batches)},                                            \
    {"dim", 'd', TARE_OPT_LIST, "NAME=N,...", "Models: values of a free dimension, such as seq=16",          \
     .offset = offsetof(struct tare_gate_values, bench.dims)},                                               \
    {"threads", 't', TARE_OPT_TEXT, "N,...", "Models: threads of the runtime",                               \
     .offset = offsetof(struct tare_gate_values, bench.threads)},                                            \
    {"provider", 0, TARE_OPT_TEXT, "NAME,...", "Models: where they run (default: cpu)",                      \
     .offset = offsetof(struct tare_gate_values, bench.providers)},                                          \
    {"graph-level", 0, TARE_OPT_TEXT, "NAME,...", "Models: off, basic, extended, all (the default)",         \
     .offset = offsetof(struct tare_gate_values, bench.levels)},                                             \
    {"inputs", 'i', TARE_OPT_TEXT, "FILE", "Models: inputs from a .npz",                                     \
     .offset = offsetof(struct tare_gate_values, bench.inputs)},                                             \
    {"memory", 0, TARE_OPT_SIZE, "SIZE",                                                                     \
     "Models: most that both may hold together (default: what the machine has)",                             \
     .offset = offsetof(struct tare_gate_values, bench.memory)},                                             \
    {"ort", 0, TARE_OPT_TEXT, "FILE", "Models: the ONNX Runtime library to use",                             \
     .offset = offsetof(struct tare_gate_values, bench.library)},                                            \
    {"engine", 0, TARE_OPT_CHOICE, "NAME", "What runs the models", .choices = tare_bench_engines,            \
     .offset = offsetof(struct tare_gate_values, bench.engine)},                                             \
    {"time", 0, TARE_OPT_DURATION, "TIME", "Bound of the whole command when it runs things (default: 5min)", \
     .offset = offsetof(struct tare_gate_values, bench.time_ns)},                                            \
    {"blocks", 0, TARE_OPT_INTEGER, "N", "At most so many blocks of four processes (default: 40)",           \
     .min = 2, .max = 1000, .offset = offsetof(struct tare_gate_values, blocks)},                            \
    {"format", 'f', TARE_OPT_CHOICE, "FORMAT", "What to print", .choice = tare_gate_format,                  \
     .offset = offsetof(struct tare_gate_values, format)},                                                   \
    {"output", 'o', TARE_OPT_LIST, "FILE",                                                                   \
     "Write the verdicts here too: .txt, .json, .md, .xml (JUnit); may be given several times",              \
     .offset = offsetof(struct tare_gate_values, outputs)},                                                  \
    {"json", 0, TARE_OPT_FLAG, NULL, "The same as -f json", .offset = offsetof(struct tare_gate_values, json)}
/* clang-format on */

/** Name of format number index; NULL after the last. */
const char *tare_gate_format(size_t index);

/** The rule of the options. */
int tare_gate_rule_make(const struct tare_gate_values *values, struct tare_gate_rule *ret_rule,
                        struct tare_error *err);

/** Can the outputs be written, and in which format? */
int tare_gate_outputs_check(const struct tare_gate_values *values, struct tare_error *err);

/** Is this a model: an .onnx file, a folder, or what the fake engine takes? */
bool tare_gate_is_model(const struct tare_gate_values *values, const char *path);

/** Run two models, or two commands, against each other. *ret_signal is the signal that ended it early, or 0.
 */
int tare_gate_fight(const struct tare_gate_values *values, const char *a, const char *b, bool commands,
                    struct tare_arena *arena, struct tare_verdicts *ret_verdicts, int *ret_signal,
                    struct tare_error *err);

/** Print the verdicts and write the files. */
int tare_gate_tell(const struct tare_cmd_call *call, const struct tare_gate_values *values,
                   const struct tare_verdicts *verdicts, struct tare_error *err);

#endif
