/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/inplace.h"

#include <math.h>
#include <string.h>

#include "bench/harness.h"
#include "bench/worker_resident.h"
#include "bench/worker_use.h"

/* Shorter calls are timed in blocks of about this length, as the harness does. */
#define SHORTEST_NS 1000.0
#define BLOCK_NS    20000.0

/* Snapshots of memory that are kept in the file. */
enum { SNAPSHOTS = 500 };

static void add_known(struct tare_run_int *total, int64_t more)
{
    if (more >= 0)
        *total = tare_run_int((total->known ? total->value : 0) + more);
}

void tare_run_resources_add(struct tare_run_resources *total, const struct tare_worker_use *use)
{
    add_known(&total->wall_ns, use->wall_ns);
    add_known(&total->cpu_user_ns, use->cpu_user_ns);
    add_known(&total->cpu_system_ns, use->cpu_system_ns);
    add_known(&total->switches_voluntary, use->switches_voluntary);
    add_known(&total->switches_involuntary, use->switches_involuntary);
    add_known(&total->steal_ns, use->steal_ns);
    add_known(&total->throttled_ns, use->throttled_ns);
    add_known(&total->throttled_periods, use->throttled_periods);
    add_known(&total->faults_minor, use->faults_minor);
    add_known(&total->faults_major, use->faults_major);
    add_known(&total->disk_read_bytes, use->disk_read);
    add_known(&total->disk_write_bytes, use->disk_write);
    add_known(&total->net_receive_bytes, use->net_receive);
    add_known(&total->net_send_bytes, use->net_send);
    if (total->wall_ns.known && total->wall_ns.value > 0 && total->cpu_user_ns.known &&
        total->cpu_system_ns.known)
        total->cpu_use = tare_run_real((double)(total->cpu_user_ns.value + total->cpu_system_ns.value) /
                                       (double)total->wall_ns.value);
}

/* The configuration's one process. */
static struct tare_run_process *process_of(struct tare_run *run, struct tare_run_config *config)
{
    if (config->samples_count > 0)
        return &config->samples[0];
    struct tare_run_process *process =
        tare_run_append(run, &config->samples, &config->samples_count, sizeof *process);
    if (process) {
        process->process = tare_run_int(0);
        process->start_ns = tare_run_int(tare_clock_ns());
    }
    return process;
}

/* So many calls, each timed: the first is the cold one, the last tell how long a call takes. */
static int warm_by_count(struct tare_arena *scratch, struct tare_engine *engine,
                         const struct tare_clock *clock, int64_t calls,
                         struct tare_harness_warmup *ret_warmup, struct tare_error *err)
{
    struct tare_harness_warmup warmup = {.calls = calls, .calls_per_sample = 1, .stable = true};
    struct tare_harness_limits limits = {.min_samples = calls, .max_samples = calls};
    int64_t *ns = tare_arena_array(scratch, (size_t)calls, sizeof *ns), least = 0;
    size_t count = 0;
    if (!ns)
        return tare_fail_memory(err);
    if (tare_harness_measure(engine, clock, &limits, 1, ns, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        warmup.ns += ns[i];
        least = i == 0 || ns[i] < least ? ns[i] : least;
    }
    warmup.cold_ns = ns[0];
    warmup.call_ns = least;
    if ((double)least < SHORTEST_NS && calls > 2)
        warmup.calls_per_sample = (int64_t)ceil(BLOCK_NS / fmax((double)least, 1));
    *ret_warmup = warmup;
    return 0;
}

int tare_inplace_warm(struct tare_run *run, size_t config, struct tare_engine *engine,
                      const struct tare_clock *clock, const struct tare_inplace_warming *warming,
                      struct tare_error *err)
{
    struct tare_run_config *into = &run->configs[config];
    struct tare_run_process *process = process_of(run, into);
    struct tare_harness_warmup warmup = {.calls_per_sample = 1};
    struct tare_arena scratch;
    int rc = 0;
    if (!process)
        return tare_fail_memory(err);
    tare_arena_init(&scratch, 0);
    if (warming->warmup_runs < 0)
        rc = tare_harness_warm(engine, clock, warming->warm_ns, &warmup, err);
    else if (warming->warmup_runs > 0)
        rc = warm_by_count(&scratch, engine, clock, warming->warmup_runs, &warmup, err);
    tare_arena_finish(&scratch);
    if (rc < 0)
        return -1;
    into->calls_per_sample = tare_run_int(warmup.calls_per_sample);
    into->warmup.calls = tare_run_int(warmup.calls);
    into->warmup.ns = tare_run_int(warmup.ns);
    if (warming->warmup_runs < 0)
        into->warmup.stable = tare_run_flag(warmup.stable);
    process->warmup_calls = tare_run_int(warmup.calls);
    if (warmup.calls > 0)
        process->cold_ns = tare_run_int(warmup.cold_ns);
    run->procedure.clock_cost_ns = tare_run_real(clock->read_ns);
    return 0;
}

int tare_inplace_sample(struct tare_run *run, size_t config, struct tare_engine *engine,
                        const struct tare_clock *clock, int64_t samples, int64_t budget_ns,
                        struct tare_error *err)
{
    struct tare_run_config *into = &run->configs[config];
    struct tare_run_process *process = process_of(run, into);
    int64_t calls = into->calls_per_sample.known ? into->calls_per_sample.value : 1;
    struct tare_harness_limits limits = {.max_samples = samples};
    struct tare_use_moment before, after;
    struct tare_worker_use use;
    size_t taken = 0;
    if (budget_ns > 0)
        limits.budget_ns = budget_ns;
    else
        limits.min_samples = samples;
    int64_t *ns =
        process ? tare_arena_array(&run->arena, process->ns_count + (size_t)samples, sizeof *ns) : NULL;
    int64_t *rounds =
        process ? tare_arena_array(&run->arena, process->rounds_count + 1, sizeof *rounds) : NULL;
    if (!ns || !rounds)
        return tare_fail_memory(err);
    if (process->ns_count > 0)
        memcpy(ns, process->ns, process->ns_count * sizeof *ns);
    if (process->rounds_count > 0)
        memcpy(rounds, process->rounds, process->rounds_count * sizeof *rounds);
    tare_use_look(false, &before);
    int rc = tare_harness_measure(engine, clock, &limits, calls, ns + process->ns_count, &taken, err);
    tare_use_look(true, &after);
    if (rc < 0)
        return -1;
    tare_use_between(&before, &after, &use);
    tare_run_resources_add(&into->resources, &use);
    rounds[process->rounds_count] = (int64_t)taken;
    process->ns = ns;
    process->ns_count += taken;
    process->rounds = rounds;
    process->rounds_count++;
    into->status = TARE_RUN_MEASURED;
    return 0;
}

/* Snapshots, thinned out to what a file should carry. */
static void keep_timeline(struct tare_run *run, struct tare_run_memory *memory, const int64_t *ns,
                          const int64_t *bytes, size_t count)
{
    size_t step = count / SNAPSHOTS + 1, kept = 0;
    memory->timeline_ns = tare_arena_array(&run->arena, count / step + 1, sizeof *ns);
    memory->timeline_bytes = tare_arena_array(&run->arena, count / step + 1, sizeof *bytes);
    if (!memory->timeline_ns || !memory->timeline_bytes)
        return;
    for (size_t i = 0; i < count; i += step, kept++) {
        memory->timeline_ns[kept] = ns[i];
        memory->timeline_bytes[kept] = bytes[i];
    }
    memory->timeline_ns_count = memory->timeline_bytes_count = kept;
}

int tare_inplace_remember(struct tare_run *run, size_t config, struct tare_engine *engine, int64_t calls,
                          struct tare_error *err)
{
    struct tare_run_config *into = &run->configs[config];
    struct tare_run_memory *memory = &into->memory;
    struct tare_resident *resident = NULL;
    const int64_t *ns, *bytes;
    int rc = 0;
    bool reset = tare_use_reset_peak();
    int64_t before = tare_use_resident();
    if (tare_resident_start(&resident, err) < 0)
        return -1;
    for (int64_t i = 0; i < calls && rc == 0; i++)
        rc = engine->kind->run(engine, err);
    tare_resident_stop(resident);
    size_t count = tare_resident_table(resident, &ns, &bytes);
    if (rc == 0) {
        double sum = 0;
        int64_t peak = reset ? tare_use_peak() : -1;
        for (size_t i = 0; i < count; i++) {
            sum += (double)bytes[i];
            peak = bytes[i] > peak ? bytes[i] : peak;
        }
        if (count > 0)
            memory->average_bytes = tare_run_int(llround(sum / (double)count));
        if (peak >= 0)
            memory->peak_bytes = tare_run_int(peak);
        if (peak >= 0 && before >= 0) {
            double growth = (double)(peak > before ? peak - before : 0);
            memory->growth_bytes.value = tare_run_real(growth);
            if (into->items_per_call.known && into->items_per_call.value > 0)
                memory->per_item_bytes.value = tare_run_real(growth / into->items_per_call.value);
        }
        keep_timeline(run, memory, ns, bytes, count);
    }
    tare_resident_destroy(resident);
    return rc;
}
