/* SPDX-License-Identifier: Apache-2.0 */
/* One configuration of a sweep: its processes, its samples, and how sure they are. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/stats.h"
#include "flow/inplace.h"
#include "flow/sweep_part.h"

#define PARK_NS INT64_C(300000000)

/* Looks are few: each comes when there is half as much again. */
enum { FIRST_LOOK = 16 };

int64_t tare_bench_resident(int pid)
{
    char path[64];
    long long pages = -1;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    if (fscanf(file, "%*s %lld", &pages) != 1)
        pages = -1;
    fclose(file);
    return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

int64_t tare_bench_available(void)
{
    struct tare_arena arena;
    struct tare_machine machine;
    int64_t available = -1;
    tare_arena_init(&arena, 0);
    if (tare_machine_collect("", &arena, &machine, NULL) == 0) {
        available = machine.memory_available_bytes;
        int64_t left = machine.cgroup_memory_limit_bytes - machine.cgroup_memory_bytes;
        if (machine.cgroup_memory_limit_bytes > 0 && machine.cgroup_memory_bytes >= 0 &&
            (available < 0 || left < available))
            available = left > 0 ? left : 0;
    }
    tare_arena_finish(&arena);
    return available;
}

/* What a process of this configuration will hold: as it did before, or as others do, scaled by the work. */
static int64_t expected_bytes(const struct tare_sweep *sweep, size_t config)
{
    const struct tare_sweep_slot *slot = &sweep->slots[config];
    int64_t expected = slot->resident;
    for (size_t i = 0; i < sweep->count && slot->resident == 0; i++) {
        const struct tare_sweep_slot *other = &sweep->slots[i];
        double scale = other->units > 0 && slot->units > other->units ? slot->units / other->units : 1;
        /* The weights do not grow with the batch, so half of the growth is a fair guess; and it is only one.
         */
        int64_t guess = (int64_t)((double)other->resident * fmin(1 + 0.5 * (scale - 1), 16));
        expected = guess > expected ? guess : expected;
    }
    return expected;
}

static bool has_room(const struct tare_sweep *sweep, int64_t need)
{
    int64_t available = tare_bench_available(), cap = sweep->bench->plan->memory_bytes, held = 0;
    for (size_t i = 0; i < sweep->count; i++)
        held += sweep->slots[i].worker ? sweep->slots[i].resident : 0;
    if (cap > 0 && held + need > cap)
        return false;
    return available < 0 || need + TARE_BENCH_SPARE <= available;
}

/* End the processes that were not used for the longest time until another one fits. */
static int make_room(struct tare_sweep *sweep, size_t config, struct tare_error *err)
{
    int64_t need = expected_bytes(sweep, config);
    while (!has_room(sweep, need)) {
        size_t oldest = sweep->count;
        for (size_t i = 0; i < sweep->count; i++)
            if (sweep->slots[i].worker &&
                (oldest == sweep->count || sweep->slots[i].used_ns < sweep->slots[oldest].used_ns))
                oldest = i;
        if (oldest == sweep->count && need + TARE_BENCH_SPARE > tare_bench_available())
            return tare_fail(err, TARE_E_LIMIT, 0,
                             "it would take about %.0f MB of memory, and %.0f MB are available",
                             (double)need / 1e6, (double)tare_bench_available() / 1e6);
        if (oldest == sweep->count)
            return 0;
        tare_sweep_stop(sweep, oldest);
        sweep->evicted++;
    }
    return 0;
}

void tare_sweep_stop(struct tare_sweep *sweep, size_t config)
{
    struct tare_sweep_slot *slot = &sweep->slots[config];
    if (!slot->worker)
        return;
    tare_worker_close(slot->worker);
    slot->worker = NULL;
    sweep->live--;
}

void tare_sweep_park(struct tare_sweep *sweep, size_t config)
{
    struct tare_sweep_slot *slot = &sweep->slots[config];
    if (slot->worker && sweep->live > 1 && !tare_worker_idle(slot->worker, PARK_NS))
        sweep->restless++;
}

/* The figures of a process that has just started. */
static int add_process(struct tare_sweep *sweep, size_t config, const struct tare_worker_ready *ready,
                       int64_t start_ns, struct tare_error *err)
{
    struct tare_run *run = sweep->bench->run;
    struct tare_sweep_slot *slot = &sweep->slots[config];
    struct tare_run_config *into = &run->configs[config];
    struct tare_run_process *process =
        tare_run_append(run, &into->samples, &into->samples_count, sizeof *into->samples);
    if (!process)
        return tare_fail_memory(err);
    process->process = tare_run_int((int64_t)into->samples_count - 1);
    process->start_ns = tare_run_int(start_ns - sweep->bench->start_ns);
    process->load_ns = tare_run_int(ready->load_ns);
    process->cold_ns = tare_run_int(slot->warmup.cold_ns);
    process->warmup_calls = tare_run_int(slot->warmup.calls);
    if (!into->calls_per_sample.known)
        into->calls_per_sample = tare_run_int(slot->warmup.calls_per_sample);
    into->warmup = (struct tare_run_warmup){
        .calls = tare_run_int(slot->warmup.calls),
        .ns = tare_run_int(slot->warmup.ns),
        .stable = tare_run_flag(slot->warmup.stable),
    };
    slot->ns_room = slot->rounds_room = 0;
    slot->rounds = 0;
    slot->started = true;
    if (!run->engine.version && ready->version[0]) {
        run->engine.version = tare_arena_copy(&run->arena, ready->version);
        run->engine.path = ready->path[0] ? tare_arena_copy(&run->arena, ready->path) : NULL;
    }
    return 0;
}

int tare_sweep_start(struct tare_sweep *sweep, size_t config, int64_t warm_ns, struct tare_error *err)
{
    struct tare_sweep_slot *slot = &sweep->slots[config];
    struct tare_worker_ready ready;
    int64_t start = tare_clock_ns();
    if (make_room(sweep, config, err) ||
        tare_bench_worker(sweep->bench, &sweep->bench->specs[config], &slot->worker, &ready, err))
        return -1;
    sweep->live++;
    sweep->live_most = sweep->live > sweep->live_most ? sweep->live : sweep->live_most;
    if (tare_worker_warm(slot->worker, warm_ns, &slot->warmup, err))
        return -1;
    int64_t extra = sweep->bench->plan->warmup_runs - slot->warmup.calls;
    if (extra > 0) {
        struct tare_arena scratch;
        struct tare_harness_limits limits = {.min_samples = extra, .max_samples = extra};
        int64_t *ns;
        size_t count;
        tare_arena_init(&scratch, 0);
        int rc = tare_worker_measure(slot->worker, &limits, &scratch, &ns, &count, NULL, err);
        tare_arena_finish(&scratch);
        if (rc)
            return -1;
        slot->warmup.calls += extra * slot->warmup.calls_per_sample;
    }
    int64_t resident = tare_bench_resident(tare_worker_pid(slot->worker));
    slot->resident = resident > slot->resident ? resident : slot->resident;
    slot->sample_ns = slot->warmup.call_ns * slot->warmup.calls_per_sample;
    slot->open_ns = tare_clock_ns() - start;
    slot->opening_ns += slot->open_ns;
    slot->used_ns = tare_clock_ns();
    return add_process(sweep, config, &ready, start, err);
}

static void add_use(struct tare_sweep *sweep, size_t config, const struct tare_worker_use *use)
{
    struct tare_sweep_slot *slot = &sweep->slots[config];
    tare_run_resources_add(&sweep->bench->run->configs[config].resources, use);
    size_t cores = use->cores < sizeof slot->core_ns / sizeof *slot->core_ns
                       ? use->cores
                       : sizeof slot->core_ns / sizeof *slot->core_ns;
    for (size_t i = 0; i < cores; i++)
        slot->core_ns[i] += use->per_core[i] * (double)use->wall_ns;
    slot->cores = cores > slot->cores ? cores : slot->cores;
}

/* Room for count more numbers in a list of the run's; what is there is kept. */
static int grow(struct tare_arena *arena, int64_t **list, size_t used, size_t *room, size_t count,
                struct tare_error *err)
{
    if (used + count <= *room)
        return 0;
    size_t larger = *room * 2 > used + count ? *room * 2 : used + count;
    int64_t *fresh = tare_arena_array(arena, larger, sizeof *fresh);
    if (!fresh)
        return tare_fail_memory(err);
    if (used)
        memcpy(fresh, *list, used * sizeof *fresh);
    *list = fresh;
    *room = larger;
    return 0;
}

int tare_sweep_sample(struct tare_sweep *sweep, size_t config, const struct tare_harness_limits *limits,
                      struct tare_error *err)
{
    struct tare_run *run = sweep->bench->run;
    struct tare_sweep_slot *slot = &sweep->slots[config];
    struct tare_run_config *into = &run->configs[config];
    struct tare_run_process *process = &into->samples[into->samples_count - 1];
    struct tare_arena scratch;
    struct tare_worker_use use;
    int64_t *ns;
    size_t count = 0;
    tare_arena_init(&scratch, 0);
    int rc = tare_worker_measure(slot->worker, limits, &scratch, &ns, &count, &use, err);
    if (rc == 0 && count > 0) {
        rc = grow(&run->arena, &process->ns, process->ns_count, &slot->ns_room, count, err) ||
                     grow(&run->arena, &process->rounds, process->rounds_count, &slot->rounds_room, 1, err)
                 ? -1
                 : 0;
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        /* Another process may have been timed in blocks of another length. */
        double scale = (double)into->calls_per_sample.value / (double)slot->warmup.calls_per_sample;
        process->ns[process->ns_count++] = (int64_t)((double)ns[i] * scale + 0.5);
        slot->measured_ns += ns[i];
    }
    if (rc == 0 && count > 0) {
        process->rounds[process->rounds_count++] = (int64_t)count;
        slot->samples += count;
        slot->rounds++;
        slot->sample_ns = slot->measured_ns / (int64_t)slot->samples;
        add_use(sweep, config, &use);
    }
    slot->used_ns = tare_clock_ns();
    tare_arena_finish(&scratch);
    return rc;
}

int tare_sweep_look(struct tare_sweep *sweep, size_t config, struct tare_error *err)
{
    struct tare_sweep_slot *slot = &sweep->slots[config];
    const struct tare_bench_plan *plan = sweep->bench->plan;
    struct tare_run_config *from = &sweep->bench->run->configs[config];
    struct tare_percentile median, tail;
    struct tare_interval between;
    struct tare_arena scratch;
    size_t at = 0;
    /* Looking again at what was seen would only make the bounds wider. */
    if (slot->samples < FIRST_LOOK || slot->samples < slot->next_look || slot->samples == slot->looked ||
        (int64_t)from->samples_count < slot->wanted)
        return 0;
    tare_arena_init(&scratch, 0);
    double *values = tare_arena_array(&scratch, slot->samples, sizeof *values);
    uint32_t *process = tare_arena_array(&scratch, slot->samples, sizeof *process);
    if (!values || !process) {
        tare_arena_finish(&scratch);
        return tare_fail_memory(err);
    }
    for (size_t p = 0; p < from->samples_count; p++) {
        for (size_t i = 0; i < from->samples[p].ns_count; i++, at++) {
            values[at] = (double)from->samples[p].ns[i] / (double)from->calls_per_sample.value;
            process[at] = (uint32_t)p;
        }
    }
    struct tare_series series = {.values = values, .process = process, .count = at};
    slot->look++;
    slot->looked = slot->samples;
    slot->next_look = slot->samples + slot->samples / 2;
    double level = tare_stats_look_level(0.95, slot->look);
    int rc = tare_stats_percentile_at(&series, 50, level, &scratch, &median, err);
    if (rc == 0)
        rc = tare_stats_percentile_at(&series, 99, 0.95, &scratch, &tail, err);
    if (rc == 0)
        rc = tare_stats_median_bounds(&series, level, &scratch, &between, err);
    if (rc == 0) {
        bool several = isfinite(between.low) && isfinite(between.high);
        slot->lower_ns = several ? between.low : median.has_low ? median.low : NAN;
        slot->upper_ns = several ? between.high : median.has_high ? median.high : NAN;
        double width = slot->upper_ns - slot->lower_ns;
        slot->half_width = isfinite(width) && median.value > 0 ? 0.5 * width / median.value : INFINITY;
        slot->tail_known = tail.supported;
    }
    if (rc == 0 && plan->thresholds_count) {
        rc = tare_run_config_derive_at(from, level, err);
        slot->decided =
            tare_threshold_decided(plan->thresholds, plan->thresholds_count, sweep->bench->run, from);
    }
    tare_arena_finish(&scratch);
    return rc;
}
