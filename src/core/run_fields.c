/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run_fields.h"

/* Rows. T is the struct that the key's member lives in; a list's count is the member with _count. */
#define AT(T, member) .offset = offsetof(struct T, member)
#define TEXT(T, member)                                                                                      \
    {                                                                                                        \
        .key = #member, .kind = TARE_RUN_TEXT, AT(T, member)                                                 \
    }
#define INT(T, member)                                                                                       \
    {                                                                                                        \
        .key = #member, .kind = TARE_RUN_INT, AT(T, member)                                                  \
    }
#define REAL(T, member)                                                                                      \
    {                                                                                                        \
        .key = #member, .kind = TARE_RUN_REAL, AT(T, member)                                                 \
    }
#define FLAG(T, member)                                                                                      \
    {                                                                                                        \
        .key = #member, .kind = TARE_RUN_FLAG, AT(T, member)                                                 \
    }
#define OBJECT(T, member, of)                                                                                \
    {                                                                                                        \
        .key = #member, .kind = TARE_RUN_OBJECT, AT(T, member), .shape = &(of)                               \
    }
#define ESTIMATE(T, member) OBJECT(T, member, estimate)
#define MANY(T, member, as)                                                                                  \
    {                                                                                                        \
        .key = #member, .kind = (as), AT(T, member), .count_offset = offsetof(struct T, member##_count)      \
    }
#define LIST(T, member, of)                                                                                  \
    {                                                                                                        \
        .key = #member, .kind = TARE_RUN_LIST, AT(T, member),                                                \
        .count_offset = offsetof(struct T, member##_count), .shape = &(of)                                   \
    }
#define ENUM(T, member, of)                                                                                  \
    {                                                                                                        \
        .key = #member, .kind = TARE_RUN_ENUM, AT(T, member), .names = (of)                                  \
    }
#define DERIVED(name, how)                                                                                   \
    {                                                                                                        \
        .key = (name), .kind = TARE_RUN_DERIVED, .derive = (how)                                             \
    }
/* The same, with flags; spelt out because most rows have none. */
#define NEEDED_TEXT(T, member)                                                                               \
    {                                                                                                        \
        .key = #member, .kind = TARE_RUN_TEXT, .flags = TARE_RUN_REQUIRED, AT(T, member)                     \
    }
#define SIGNED_REAL(T, member)                                                                               \
    {                                                                                                        \
        .key = #member, .kind = TARE_RUN_REAL, .flags = TARE_RUN_SIGNED, AT(T, member)                       \
    }
#define SHAPE(T, name_, rows)                                                                                \
    {                                                                                                        \
        .name = (name_), .size = sizeof(struct T), .extra_offset = offsetof(struct T, extra),                \
        .field_count = sizeof(rows) / sizeof(rows)[0], .fields = (rows)                                      \
    }

static const struct tare_run_field estimate_fields[] = {
    SIGNED_REAL(tare_run_estimate, value), SIGNED_REAL(tare_run_estimate, lower),
    SIGNED_REAL(tare_run_estimate, upper), REAL(tare_run_estimate, effective),
    FLAG(tare_run_estimate, supported),    INT(tare_run_estimate, more_samples),
};
static const struct tare_run_shape estimate = SHAPE(tare_run_estimate, "estimate", estimate_fields);

static const struct tare_run_field parameters_fields[] = {
    NEEDED_TEXT(tare_run_parameters, type),
    INT(tare_run_parameters, count),
    INT(tare_run_parameters, bytes),
};
static const struct tare_run_shape parameters = SHAPE(tare_run_parameters, "parameters", parameters_fields);

static const struct tare_run_field op_fields[] = {
    NEEDED_TEXT(tare_run_op, op), INT(tare_run_op, nodes),    INT(tare_run_op, macs),
    INT(tare_run_op, flops),      FLAG(tare_run_op, counted),
};
static const struct tare_run_shape op = SHAPE(tare_run_op, "op", op_fields);

static const struct tare_run_field tensor_fields[] = {
    NEEDED_TEXT(tare_run_tensor, name),
    TEXT(tare_run_tensor, type),
    TEXT(tare_run_tensor, shape),
};
static const struct tare_run_shape tensor = SHAPE(tare_run_tensor, "tensor", tensor_fields);

static const struct tare_run_field fusion_fields[] = {
    NEEDED_TEXT(tare_run_fusion, name),
    INT(tare_run_fusion, found),
    INT(tare_run_fusion, possible),
    TEXT(tare_run_fusion, text),
};
static const struct tare_run_shape fusion = SHAPE(tare_run_fusion, "fusion", fusion_fields);

static const struct tare_run_field model_fields[] = {
    TEXT(tare_run_model, label),
    TEXT(tare_run_model, name),
    TEXT(tare_run_model, path),
    TEXT(tare_run_model, format),
    TEXT(tare_run_model, sha256),
    TEXT(tare_run_model, producer),
    INT(tare_run_model, opset),
    INT(tare_run_model, size_bytes),
    INT(tare_run_model, nodes),
    INT(tare_run_model, parameters),
    INT(tare_run_model, buffers),
    INT(tare_run_model, macs),
    INT(tare_run_model, flops),
    INT(tare_run_model, elementwise),
    INT(tare_run_model, optimised_nodes),
    INT(tare_run_model, optimised_parameters),
    INT(tare_run_model, optimised_macs),
    LIST(tare_run_model, parameters_by_type, parameters),
    LIST(tare_run_model, ops, op),
    MANY(tare_run_model, not_counted, TARE_RUN_TEXTS),
    LIST(tare_run_model, inputs, tensor),
    LIST(tare_run_model, outputs, tensor),
    LIST(tare_run_model, fusions, fusion),
};
static const struct tare_run_shape model = SHAPE(tare_run_model, "model", model_fields);

static const struct tare_run_field engine_fields[] = {
    TEXT(tare_run_engine, name),     TEXT(tare_run_engine, version),
    TEXT(tare_run_engine, path),     TEXT(tare_run_engine, device),
    TEXT(tare_run_engine, provider), MANY(tare_run_engine, options, TARE_RUN_LABELS),
};
static const struct tare_run_shape engine = SHAPE(tare_run_engine, "engine", engine_fields);

static const struct tare_run_field git_fields[] = {
    TEXT(tare_run_git, commit),
    TEXT(tare_run_git, branch),
    FLAG(tare_run_git, dirty),
};
static const struct tare_run_shape git = SHAPE(tare_run_git, "git", git_fields);

static const struct tare_run_field procedure_fields[] = {
    TEXT(tare_run_procedure, order),         INT(tare_run_procedure, rounds),
    INT(tare_run_procedure, processes),      INT(tare_run_procedure, processes_at_once),
    INT(tare_run_procedure, time_limit_ns),  INT(tare_run_procedure, time_spent_ns),
    REAL(tare_run_procedure, clock_cost_ns), REAL(tare_run_procedure, clock_error_ns),
    FLAG(tare_run_procedure, interrupted),
};
static const struct tare_run_shape procedure = SHAPE(tare_run_procedure, "procedure", procedure_fields);

static const struct tare_run_field peaks_fields[] = {
    ESTIMATE(tare_run_peaks, flops_per_sec),
    ESTIMATE(tare_run_peaks, bytes_per_sec),
    TEXT(tare_run_peaks, method),
};
static const struct tare_run_shape peaks = SHAPE(tare_run_peaks, "peaks", peaks_fields);

static const struct tare_run_field keys_fields[] = {
    INT(tare_run_keys, batch),
    MANY(tare_run_keys, dims, TARE_RUN_DIMS),
    INT(tare_run_keys, threads),
    INT(tare_run_keys, inter_threads),
    TEXT(tare_run_keys, precision),
    TEXT(tare_run_keys, provider),
    TEXT(tare_run_keys, graph_level),
    TEXT(tare_run_keys, model),
    MANY(tare_run_keys, labels, TARE_RUN_LABELS),
};
static const struct tare_run_shape keys = SHAPE(tare_run_keys, "keys", keys_fields);

static const struct tare_run_field process_fields[] = {
    {.key = "process", .kind = TARE_RUN_INT, .flags = TARE_RUN_REQUIRED, AT(tare_run_process, process)},
    INT(tare_run_process, block),
    INT(tare_run_process, start_ns),
    INT(tare_run_process, load_ns),
    INT(tare_run_process, cold_ns),
    INT(tare_run_process, warmup_calls),
    MANY(tare_run_process, rounds, TARE_RUN_INTS),
    {.key = "ns",
     .kind = TARE_RUN_INTS,
     .flags = TARE_RUN_REQUIRED,
     AT(tare_run_process, ns),
     .count_offset = offsetof(struct tare_run_process, ns_count)},
};
static const struct tare_run_shape process = SHAPE(tare_run_process, "process", process_fields);

static const struct tare_run_field latency_fields[] = {
    TEXT(tare_run_latency, method),      REAL(tare_run_latency, confidence),
    INT(tare_run_latency, count),        REAL(tare_run_latency, effective_count),
    REAL(tare_run_latency, stddev_ns),   REAL(tare_run_latency, min_ns),
    ESTIMATE(tare_run_latency, mean_ns), ESTIMATE(tare_run_latency, p50_ns),
    ESTIMATE(tare_run_latency, p90_ns),  ESTIMATE(tare_run_latency, p95_ns),
    ESTIMATE(tare_run_latency, p99_ns),  ESTIMATE(tare_run_latency, p999_ns),
    ESTIMATE(tare_run_latency, max_ns),
};
static const struct tare_run_shape latency = SHAPE(tare_run_latency, "latency", latency_fields);

static const struct tare_run_field stage_fields[] = {
    NEEDED_TEXT(tare_run_stage, name),
    REAL(tare_run_stage, share),
    OBJECT(tare_run_stage, latency, latency),
    LIST(tare_run_stage, samples, process),
};
static const struct tare_run_shape stage = SHAPE(tare_run_stage, "stage", stage_fields);

static const struct tare_run_field warmup_fields[] = {
    INT(tare_run_warmup, calls),
    INT(tare_run_warmup, ns),
    FLAG(tare_run_warmup, stable),
    TEXT(tare_run_warmup, note),
};
static const struct tare_run_shape warmup = SHAPE(tare_run_warmup, "warmup", warmup_fields);

static const char *const growth_names[] = {NULL,   "none",      "plateau", "fragmentation",
                                           "leak", "undecided", NULL};

static const struct tare_run_field leak_fields[] = {
    TEXT(tare_run_leak, shapes), ENUM(tare_run_leak, verdict, growth_names),
    INT(tare_run_leak, calls),   ESTIMATE(tare_run_leak, bytes_per_call),
    TEXT(tare_run_leak, note),
};
static const struct tare_run_shape leak = SHAPE(tare_run_leak, "leak", leak_fields);

static const struct tare_run_field memory_fields[] = {
    INT(tare_run_memory, peak_bytes),
    INT(tare_run_memory, average_bytes),
    ESTIMATE(tare_run_memory, growth_bytes),
    ESTIMATE(tare_run_memory, per_item_bytes),
    INT(tare_run_memory, weights_bytes),
    INT(tare_run_memory, activations_bytes),
    INT(tare_run_memory, arena_requested_bytes),
    INT(tare_run_memory, arena_in_use_bytes),
    INT(tare_run_memory, arena_total_bytes),
    INT(tare_run_memory, arena_peak_bytes),
    REAL(tare_run_memory, fragmentation_inside),
    REAL(tare_run_memory, fragmentation_outside),
    INT(tare_run_memory, allocations),
    INT(tare_run_memory, deallocations),
    INT(tare_run_memory, largest_bytes),
    MANY(tare_run_memory, timeline_ns, TARE_RUN_INTS),
    MANY(tare_run_memory, timeline_bytes, TARE_RUN_INTS),
    LIST(tare_run_memory, leaks, leak),
};
static const struct tare_run_shape memory = SHAPE(tare_run_memory, "memory", memory_fields);

static const struct tare_run_field resources_fields[] = {
    INT(tare_run_resources, wall_ns),
    INT(tare_run_resources, cpu_user_ns),
    INT(tare_run_resources, cpu_system_ns),
    REAL(tare_run_resources, cpu_use),
    MANY(tare_run_resources, cpu_per_core, TARE_RUN_REALS),
    INT(tare_run_resources, switches_voluntary),
    INT(tare_run_resources, switches_involuntary),
    INT(tare_run_resources, steal_ns),
    INT(tare_run_resources, throttled_ns),
    INT(tare_run_resources, throttled_periods),
    INT(tare_run_resources, faults_minor),
    INT(tare_run_resources, faults_major),
    INT(tare_run_resources, disk_read_bytes),
    INT(tare_run_resources, disk_write_bytes),
    INT(tare_run_resources, net_receive_bytes),
    INT(tare_run_resources, net_send_bytes),
    REAL(tare_run_resources, gpu_use),
    INT(tare_run_resources, gpu_memory_bytes),
};
static const struct tare_run_shape resources = SHAPE(tare_run_resources, "resources", resources_fields);

static const struct tare_run_field layer_fields[] = {
    NEEDED_TEXT(tare_run_layer, name),
    TEXT(tare_run_layer, op),
    TEXT(tare_run_layer, group),
    TEXT(tare_run_layer, provider),
    TEXT(tare_run_layer, shape),
    INT(tare_run_layer, members),
    INT(tare_run_layer, calls),
    ESTIMATE(tare_run_layer, time_ns),
    REAL(tare_run_layer, raw_ns),
    SIGNED_REAL(tare_run_layer, share),
    INT(tare_run_layer, macs),
    INT(tare_run_layer, flops),
    INT(tare_run_layer, bytes),
    INT(tare_run_layer, memory_bytes),
    SIGNED_REAL(tare_run_layer, compute_share),
    SIGNED_REAL(tare_run_layer, bandwidth_share),
};
static const struct tare_run_shape layer = SHAPE(tare_run_layer, "layer", layer_fields);

static const struct tare_run_field layers_fields[] = {
    INT(tare_run_layers, calls),          ESTIMATE(tare_run_layers, tax_ns),
    SIGNED_REAL(tare_run_layers, sum_ns), SIGNED_REAL(tare_run_layers, residual_ns),
    LIST(tare_run_layers, groups, layer), LIST(tare_run_layers, nodes, layer),
};
static const struct tare_run_shape layers = SHAPE(tare_run_layers, "layers", layers_fields);

static const struct tare_run_field accuracy_fields[] = {
    NEEDED_TEXT(tare_run_accuracy, name),  SIGNED_REAL(tare_run_accuracy, value),
    SIGNED_REAL(tare_run_accuracy, lower), SIGNED_REAL(tare_run_accuracy, upper),
    SIGNED_REAL(tare_run_accuracy, limit), FLAG(tare_run_accuracy, passed),
    TEXT(tare_run_accuracy, reference),
};
static const struct tare_run_shape accuracy = SHAPE(tare_run_accuracy, "accuracy", accuracy_fields);

static const char *const status_names[] = {"not_measured", "measured", "unstable", NULL};
static const char *const stop_names[] = {NULL,   "sure",        "runs",    "duration",
                                         "time", "interrupted", "crashed", NULL};

static const struct tare_run_field config_fields[] = {
    {.key = "status",
     .kind = TARE_RUN_ENUM,
     .flags = TARE_RUN_REQUIRED,
     AT(tare_run_config, status),
     .names = status_names},
    TEXT(tare_run_config, reason),
    ENUM(tare_run_config, stop, stop_names),
    FLAG(tare_run_config, decided),
    OBJECT(tare_run_config, keys, keys),
    REAL(tare_run_config, items_per_call),
    INT(tare_run_config, calls_per_sample),
    INT(tare_run_config, macs),
    INT(tare_run_config, flops),
    ESTIMATE(tare_run_config, throughput_per_sec),
    OBJECT(tare_run_config, latency, latency),
    ESTIMATE(tare_run_config, cold_ns),
    ESTIMATE(tare_run_config, load_ns),
    OBJECT(tare_run_config, warmup, warmup),
    OBJECT(tare_run_config, memory, memory),
    OBJECT(tare_run_config, resources, resources),
    LIST(tare_run_config, accuracy, accuracy),
    LIST(tare_run_config, stages, stage),
    OBJECT(tare_run_config, layers, layers),
    LIST(tare_run_config, samples, process),
};
const struct tare_run_shape tare_run_config_shape = SHAPE(tare_run_config, "configuration", config_fields);

static const struct tare_run_field finding_fields[] = {
    NEEDED_TEXT(tare_run_finding, kind),  NEEDED_TEXT(tare_run_finding, text),
    INT(tare_run_finding, configuration), SIGNED_REAL(tare_run_finding, value),
    SIGNED_REAL(tare_run_finding, lower), SIGNED_REAL(tare_run_finding, upper),
    TEXT(tare_run_finding, unit),
};
static const struct tare_run_shape finding = SHAPE(tare_run_finding, "finding", finding_fields);

static const struct tare_run_field advice_fields[] = {
    TEXT(tare_run_advice, kind),         NEEDED_TEXT(tare_run_advice, text),
    INT(tare_run_advice, configuration), INT(tare_run_advice, instead_of),
    FLAG(tare_run_advice, tried),        FLAG(tare_run_advice, helped),
    ESTIMATE(tare_run_advice, gain),     ESTIMATE(tare_run_advice, memory_bytes),
    TEXT(tare_run_advice, accuracy),
};
static const struct tare_run_shape advice = SHAPE(tare_run_advice, "advice", advice_fields);

static const char *const bound_names[] = {NULL, "upper", "lower", NULL};
static const char *const verdict_names[] = {"inconclusive", "pass", "fail", NULL};

static const struct tare_run_field threshold_fields[] = {
    TEXT(tare_run_threshold, text),
    NEEDED_TEXT(tare_run_threshold, metric),
    INT(tare_run_threshold, configuration),
    ENUM(tare_run_threshold, bound, bound_names),
    SIGNED_REAL(tare_run_threshold, target),
    TEXT(tare_run_threshold, unit),
    ESTIMATE(tare_run_threshold, achieved),
    SIGNED_REAL(tare_run_threshold, ratio),
    {.key = "status",
     .kind = TARE_RUN_ENUM,
     .flags = TARE_RUN_REQUIRED,
     AT(tare_run_threshold, status),
     .names = verdict_names},
};
static const struct tare_run_shape threshold = SHAPE(tare_run_threshold, "threshold", threshold_fields);

static const struct tare_run_field run_fields[] = {
    TEXT(tare_run, tool_version),
    NEEDED_TEXT(tare_run, timestamp),
    TEXT(tare_run, benchmark),
    NEEDED_TEXT(tare_run, unit),
    MANY(tare_run, command, TARE_RUN_TEXTS),
    OBJECT(tare_run, git, git),
    DERIVED("system", tare_run_derive_system),
    DERIVED("batch_profiles", tare_run_derive_profiles),
    DERIVED("bottlenecks", tare_run_derive_bottlenecks),
    DERIVED("recommendations", tare_run_derive_recommendations),
    OBJECT(tare_run, model, model),
    LIST(tare_run, other_models, model),
    OBJECT(tare_run, engine, engine),
    {.key = "machine", .kind = TARE_RUN_MACHINE, AT(tare_run, machine)},
    OBJECT(tare_run, procedure, procedure),
    OBJECT(tare_run, peaks, peaks),
    LIST(tare_run, findings, finding),
    LIST(tare_run, advice, advice),
    LIST(tare_run, thresholds, threshold),
    MANY(tare_run, notes, TARE_RUN_TEXTS),
    {.key = "configurations",
     .kind = TARE_RUN_LIST,
     .flags = TARE_RUN_REQUIRED,
     AT(tare_run, configs),
     .count_offset = offsetof(struct tare_run, configs_count),
     .shape = &tare_run_config_shape},
};
const struct tare_run_shape tare_run_shape = SHAPE(tare_run, "run", run_fields);
