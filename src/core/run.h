/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: one benchmark result. It says which machine, model and engine were measured and holds, for every
 * configuration, each raw sample with the number of the process it came from, and what was derived from them.
 * Its file is JSON of schema tare.run/1 (docs/run.md, docs/schema/tare.run-1.json); the rows of run_fields.c
 * name every key, and reading, writing and the schema test go by them.
 *
 * What is not known stays absent: numbers carry a `known` flag, so that zeroed memory means "not measured",
 * never 0. A text that is not known is NULL. Everything a run points to lives in its arena (or is constant)
 * and is freed with it. Pointers into a list are good until something is appended to that list. Not
 * thread-safe.
 */
#ifndef TARE_CORE_RUN_H
#define TARE_CORE_RUN_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "core/machine.h"

#define TARE_RUN_SCHEMA "tare.run/1"

struct tare_run_int {
    bool known;
    int64_t value;
};

struct tare_run_real {
    bool known;
    double value;
};

struct tare_run_flag {
    bool known, value;
};

/** A known whole number. */
static inline struct tare_run_int tare_run_int(int64_t value)
{
    return (struct tare_run_int){true, value};
}

/** A known number; NaN and infinities are not known. */
static inline struct tare_run_real tare_run_real(double value)
{
    return isfinite(value) ? (struct tare_run_real){true, value} : (struct tare_run_real){false, 0};
}

/** A known yes or no. */
static inline struct tare_run_flag tare_run_flag(bool value)
{
    return (struct tare_run_flag){true, value};
}

/* A key of a file of this schema that this version does not know: kept, and written again. */
struct tare_run_extra {
    const char *key;
    yyjson_val *value;
    struct tare_run_extra *next;
};

/* A value and how sure it is. When the data cannot bound it, supported is false and more_samples says how
 * many are missing. */
struct tare_run_estimate {
    struct tare_run_real value, lower, upper;
    struct tare_run_real effective; /* how many independent samples are behind it */
    struct tare_run_flag supported;
    struct tare_run_int more_samples;
    struct tare_run_extra *extra;
};

struct tare_run_dim {
    const char *name;
    int64_t value;
};

struct tare_run_label {
    const char *name, *value;
};

struct tare_run_parameters {
    const char *type; /* "float32" */
    struct tare_run_int count, bytes;
    struct tare_run_extra *extra;
};

struct tare_run_op {
    const char *op; /* "MatMul" */
    struct tare_run_int nodes, macs, flops;
    struct tare_run_flag counted; /* false: its operations are not in the totals */
    struct tare_run_extra *extra;
};

struct tare_run_tensor {
    const char *name, *type;
    const char *shape; /* as the model says it: "batch,seq,384" */
    struct tare_run_extra *extra;
};

struct tare_run_fusion {
    const char *name;
    struct tare_run_int found, possible;
    const char *text;
    struct tare_run_extra *extra;
};

struct tare_run_model {
    const char *label; /* how configurations refer to it; NULL for the main one */
    const char *name, *path, *format;
    const char *sha256; /* 64 hex digits, computed by the producer */
    const char *producer;
    struct tare_run_int opset, size_bytes, nodes;
    struct tare_run_int parameters; /* trained values; statistics such as BatchNorm's are in `buffers` */
    struct tare_run_int buffers;
    struct tare_run_int macs, flops, elementwise; /* of one item, at the first configuration's dimensions */
    struct tare_run_int optimised_nodes, optimised_parameters, optimised_macs;
    struct tare_run_parameters *parameters_by_type;
    size_t parameters_by_type_count;
    struct tare_run_op *ops;
    size_t ops_count;
    const char **not_counted;
    size_t not_counted_count;
    struct tare_run_tensor *inputs, *outputs;
    size_t inputs_count, outputs_count;
    struct tare_run_fusion *fusions;
    size_t fusions_count;
    struct tare_run_extra *extra;
};

struct tare_run_engine {
    const char *name, *version, *path;
    const char *device;   /* "cpu", "cuda": what system.device says */
    const char *provider; /* the one asked for; a configuration may name another */
    struct tare_run_label *options;
    size_t options_count;
    struct tare_run_extra *extra;
};

struct tare_run_git {
    const char *commit, *branch;
    struct tare_run_flag dirty;
    struct tare_run_extra *extra;
};

/* How it was measured. */
struct tare_run_procedure {
    const char *order; /* "interleaved", "abba", "sequential" */
    struct tare_run_int rounds, processes, processes_at_once;
    struct tare_run_int time_limit_ns, time_spent_ns;
    struct tare_run_real clock_cost_ns, clock_error_ns; /* subtracted from each sample, and how well known */
    struct tare_run_flag interrupted;
    struct tare_run_extra *extra;
};

/* What this machine can do at most, measured by tare itself. */
struct tare_run_peaks {
    struct tare_run_estimate flops_per_sec, bytes_per_sec;
    const char *method;
    struct tare_run_extra *extra;
};

/* What identifies a configuration. Equal keys mean: comparable with each other across runs. */
struct tare_run_keys {
    struct tare_run_int batch, threads, inter_threads;
    const char *precision, *provider, *graph_level;
    const char *model; /* label of one of other_models; NULL for the main model */
    struct tare_run_dim *dims;
    size_t dims_count;
    struct tare_run_label *labels; /* anything else that the user varied */
    size_t labels_count;
    struct tare_run_extra *extra;
};

/* One process and its samples, in the order in which they were taken. */
struct tare_run_process {
    struct tare_run_int process; /* its number in this configuration, rising */
    struct tare_run_int block;   /* ABBA block, when two sides were interleaved */
    struct tare_run_int start_ns, load_ns, cold_ns, warmup_calls;
    int64_t *rounds; /* samples in each round; they add up to ns_count */
    size_t rounds_count;
    int64_t *ns;
    size_t ns_count;
    struct tare_run_extra *extra;
};

/* Statistics of the time of one call. Percentiles are nearest rank on the raw samples. */
struct tare_run_latency {
    const char *method;
    struct tare_run_real confidence;
    struct tare_run_int count;
    struct tare_run_real effective_count; /* after autocorrelation; bounds rest on it */
    struct tare_run_real stddev_ns, min_ns;
    struct tare_run_estimate mean_ns, p50_ns, p90_ns, p95_ns, p99_ns, p999_ns, max_ns;
    struct tare_run_extra *extra;
};

struct tare_run_stage {
    const char *name; /* "preprocess", "inference", "postprocess" */
    struct tare_run_real share;
    struct tare_run_process *samples;
    size_t samples_count;
    struct tare_run_latency latency;
    struct tare_run_extra *extra;
};

struct tare_run_warmup {
    struct tare_run_int calls, ns;
    struct tare_run_flag stable;
    const char *note;
    struct tare_run_extra *extra;
};

enum tare_run_growth {
    TARE_RUN_GROWTH_UNKNOWN,
    TARE_RUN_GROWTH_NONE,
    TARE_RUN_GROWTH_PLATEAU,
    TARE_RUN_GROWTH_FRAGMENTATION,
    TARE_RUN_GROWTH_LEAK,
    TARE_RUN_GROWTH_UNDECIDED,
};

struct tare_run_leak {
    const char *shapes; /* "identical", "varied" */
    enum tare_run_growth verdict;
    struct tare_run_int calls;
    struct tare_run_estimate bytes_per_call;
    const char *note;
    struct tare_run_extra *extra;
};

struct tare_run_memory {
    struct tare_run_int peak_bytes, average_bytes;
    struct tare_run_estimate growth_bytes; /* resident memory gained while processing */
    struct tare_run_estimate per_item_bytes;
    struct tare_run_int weights_bytes, activations_bytes;
    struct tare_run_int arena_requested_bytes, arena_in_use_bytes, arena_total_bytes, arena_peak_bytes;
    struct tare_run_real fragmentation_inside, fragmentation_outside; /* shares of the arena */
    struct tare_run_int allocations, deallocations, largest_bytes;
    int64_t *timeline_ns, *timeline_bytes; /* snapshots: as many times as sizes */
    size_t timeline_ns_count, timeline_bytes_count;
    struct tare_run_leak *leaks;
    size_t leaks_count;
    struct tare_run_extra *extra;
};

/* What the process used while it was measured. */
struct tare_run_resources {
    struct tare_run_int wall_ns, cpu_user_ns, cpu_system_ns;
    struct tare_run_real cpu_use; /* cores kept busy */
    double *cpu_per_core;         /* share of each core */
    size_t cpu_per_core_count;
    struct tare_run_int switches_voluntary, switches_involuntary;
    struct tare_run_int steal_ns, throttled_ns, throttled_periods;
    struct tare_run_int faults_minor, faults_major;
    struct tare_run_int disk_read_bytes, disk_write_bytes, net_receive_bytes, net_send_bytes;
    struct tare_run_real gpu_use;
    struct tare_run_int gpu_memory_bytes;
    struct tare_run_extra *extra;
};

/* A node of the model, or a group of them. */
struct tare_run_layer {
    const char *name, *op, *group, *provider, *shape;
    struct tare_run_int members; /* nodes in it, for a group */
    struct tare_run_int calls;
    struct tare_run_estimate time_ns; /* of one call of the model, the profiler's tax removed */
    struct tare_run_real raw_ns;      /* as the engine's profiler said */
    struct tare_run_real share;
    struct tare_run_int macs, flops, bytes, memory_bytes;
    struct tare_run_real compute_share, bandwidth_share; /* of the measured peaks */
    struct tare_run_extra *extra;
};

struct tare_run_layers {
    struct tare_run_int calls;        /* profiled calls */
    struct tare_run_estimate tax_ns;  /* per node */
    struct tare_run_real sum_ns;      /* of the corrected times */
    struct tare_run_real residual_ns; /* unprofiled latency minus that sum */
    struct tare_run_layer *nodes, *groups;
    size_t nodes_count, groups_count;
    struct tare_run_extra *extra;
};

struct tare_run_accuracy {
    const char *name; /* "max_abs", "cosine", "top1_flips": the key in accuracy_metrics */
    struct tare_run_real value, lower, upper, limit;
    struct tare_run_flag passed;
    const char *reference; /* what it was compared with */
    struct tare_run_extra *extra;
};

enum tare_run_status { TARE_RUN_NOT_MEASURED, TARE_RUN_MEASURED, TARE_RUN_UNSTABLE };

enum tare_run_stop {
    TARE_RUN_STOP_UNKNOWN,
    TARE_RUN_STOP_SURE,
    TARE_RUN_STOP_RUNS,
    TARE_RUN_STOP_DURATION,
    TARE_RUN_STOP_TIME,
    TARE_RUN_STOP_INTERRUPTED,
    TARE_RUN_STOP_CRASHED,
};

struct tare_run_config {
    enum tare_run_status status;
    const char *reason; /* why not measured, or why unstable */
    enum tare_run_stop stop;
    struct tare_run_flag decided; /* false: stopped before it was sure enough */
    struct tare_run_keys keys;
    struct tare_run_real items_per_call;  /* in the run's unit */
    struct tare_run_int calls_per_sample; /* above 1 when calls are too short to be timed one by one */
    struct tare_run_int macs, flops;      /* of one call */
    struct tare_run_estimate throughput_per_sec;
    struct tare_run_latency latency;
    struct tare_run_estimate cold_ns, load_ns;
    struct tare_run_warmup warmup;
    struct tare_run_memory memory;
    struct tare_run_resources resources;
    struct tare_run_accuracy *accuracy;
    size_t accuracy_count;
    struct tare_run_stage *stages;
    size_t stages_count;
    struct tare_run_layers layers;
    struct tare_run_process *samples;
    size_t samples_count;
    struct tare_run_extra *extra;
};

/* Something seen in the data: "best_throughput", "balanced", "memory_efficient", "diminishing_returns",
 * "bottleneck", "leak"... Those of kind "bottleneck" are the file's bottlenecks[]. */
struct tare_run_finding {
    const char *kind, *text;
    struct tare_run_int configuration; /* which one, counted from 0 */
    struct tare_run_real value, lower, upper;
    const char *unit;
    struct tare_run_extra *extra;
};

/* A recommendation. Those that were not tried in vain are the file's recommendations[]. */
struct tare_run_advice {
    const char *kind, *text;
    struct tare_run_int configuration, instead_of;
    struct tare_run_flag tried, helped;
    struct tare_run_estimate gain; /* ratio of throughput: 1.2 is 20 % faster */
    struct tare_run_estimate memory_bytes;
    const char *accuracy; /* what it does to the answers, in words */
    struct tare_run_extra *extra;
};

enum tare_run_bound { TARE_RUN_BOUND_NONE, TARE_RUN_BOUND_UPPER, TARE_RUN_BOUND_LOWER };
enum tare_run_verdict { TARE_RUN_INCONCLUSIVE, TARE_RUN_PASS, TARE_RUN_FAIL };

/* A row of the table Metric, Target, Achieved, Status. */
struct tare_run_threshold {
    const char *text;   /* as it was written: "latency.p99:250ms" */
    const char *metric; /* "latency.p99" */
    const char *unit;
    enum tare_run_bound bound;
    enum tare_run_verdict status;
    struct tare_run_int configuration;
    struct tare_run_real target, ratio;
    struct tare_run_estimate achieved;
    struct tare_run_extra *extra;
};

struct tare_run {
    struct tare_arena arena;
    yyjson_doc *document; /* kept while something points into it */
    const char *tool_version;
    const char *timestamp; /* RFC 3339, UTC: "2026-01-31T12:00:00Z" */
    const char *benchmark; /* a name that stays the same from run to run, for history */
    const char *unit;      /* what is counted, plural: "pairs" */
    const char **command;
    size_t command_count;
    struct tare_run_git git;
    struct tare_run_model model;
    struct tare_run_model *other_models;
    size_t other_models_count;
    struct tare_run_engine engine;
    struct tare_machine *machine; /* NULL if not known */
    yyjson_val *machine_source;   /* as it was read, so that keys which this version lacks are kept */
    struct tare_run_procedure procedure;
    struct tare_run_peaks peaks;
    struct tare_run_config *configs;
    size_t configs_count;
    struct tare_run_finding *findings;
    size_t findings_count;
    struct tare_run_advice *advice;
    size_t advice_count;
    struct tare_run_threshold *thresholds;
    size_t thresholds_count;
    const char **notes;
    size_t notes_count;
    struct tare_run_extra *extra;
};

/** An empty run by this tare: unit "samples" and no timestamp yet. cap bounds its memory, 0 for no bound. */
int tare_run_create(size_t cap, struct tare_run **ret_run, struct tare_error *err);

/** Free it and all that belongs to it; NULL is allowed. */
void tare_run_destroy(struct tare_run *run);

/**
 * Append a zeroed element to one of the run's lists and return it, NULL when memory ran out. items points to
 * the list's pointer: tare_run_append(run, &run->configs, &run->configs_count, sizeof *run->configs).
 */
void *tare_run_append(struct tare_run *run, void *items, size_t *count, size_t size);

/** Set the timestamp, from seconds since 1970. */
void tare_run_stamp(struct tare_run *run, int64_t seconds);

/** Is this fit to be part of a key: a lower-case letter, then letters, digits and _, at most 32? */
bool tare_run_unit_valid(const char *unit);

/** One of a unit: "pairs" gives "pair". out is cut to size. */
void tare_run_unit_singular(const char *unit, char *out, size_t size);

/** How many samples a configuration holds, in all its processes. */
size_t tare_run_config_samples(const struct tare_run_config *config);

/** Append the keys that identify a configuration: "batch=32 seq=128 threads=2". */
void tare_run_config_name(const struct tare_run_config *config, struct tare_buf *buf);

/** Cut names of configurations down to the batch and the keys that not all of them share; "" stays "". */
void tare_run_short_names(const char **names, size_t count, struct tare_arena *arena);

/**
 * Fill in what follows from the raw samples: latency, throughput, cold and load time, those of the stages
 * too. What was there before is replaced; where there are no samples it becomes unknown. Blocks of calls give
 * a mean and no percentiles.
 */
int tare_run_config_derive(struct tare_run_config *config, struct tare_error *err);

/** The same with bounds at another level than 95 %, for those who look several times while samples come
 * (tare_stats_look_level): the bounds then hold at 95 % whenever one stops, and that is what the
 * configuration says. */
int tare_run_config_derive_at(struct tare_run_config *config, double level, struct tare_error *err);

/** Time of one item, in nanoseconds, from the mean of a call: value and bounds, absent if not known. */
struct tare_run_estimate tare_run_config_item_ns(const struct tare_run_config *config);

/** Does it hold together: names, order of bounds, references? The message gives the JSON path of what does
 * not. name is for messages. */
int tare_run_check(const struct tare_run *run, const char *name, struct tare_error *err);

/** Write it as JSON of schema tare.run/1. */
void tare_run_write(const struct tare_run *run, struct tare_json *json);

/** Read JSON of schema tare.run/1. name is for messages, which give the JSON path of what is wrong. */
int tare_run_read(const char *data, size_t length, const char *name, struct tare_run **ret_run,
                  struct tare_error *err);

#endif
