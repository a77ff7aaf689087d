/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep: all configurations measured in turn, a little each, round after round, so that whatever drifts
 * on the machine hits all alike. The first pass gives each its first five samples, the cheapest first; then
 * rounds go on, there and back, until each is sure enough or the time is over. Processes are renewed while
 * that costs little, because the next process may be faster or slower than this one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "bench/stability.h"
#include "core/stats.h"
#include "flow/sweep_part.h"

#define WARM_MOST_NS   INT64_C(1000000000)
#define SLICE_LEAST_NS INT64_C(50000000)
#define SLICE_MOST_NS  INT64_C(2000000000)

/* Without a word from the user the median is to be known to 1 %. */
static const double usual_until = 0.01;

/* Rounds that the time is divided into, once all processes are there. */
enum { ROUNDS = 12, ROUNDS_WHEN_EVICTED = 3 };

/* Processes to hear before a median is called sure, where starting them is cheap. */
enum { PROCESSES = 5 };

/* A slice starts with so many calls, and doubles from cycle to cycle. */
enum { SLICE_CALLS = 40, CYCLE = 6 };

static double units_of(const struct tare_worker_spec *spec)
{
    double units = spec->batch > 0 ? (double)spec->batch : 1;
    for (size_t i = 0; i < spec->dims_count; i++)
        units *= spec->dims[i].value > 0 ? (double)spec->dims[i].value : 1;
    return units;
}

/* Cheapest first; equal ones as they were listed. */
static void arrange(struct tare_sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++) {
        size_t at = i;
        while (at > 0 && sweep->slots[sweep->order[at - 1]].units > sweep->slots[i].units) {
            sweep->order[at] = sweep->order[at - 1];
            at--;
        }
        sweep->order[at] = i;
    }
    for (size_t i = 0; sweep->bench->plan->reversed && i < sweep->count / 2; i++) {
        size_t other = sweep->order[sweep->count - 1 - i];
        sweep->order[sweep->count - 1 - i] = sweep->order[i];
        sweep->order[i] = other;
    }
}

static const char *name_of(const struct tare_sweep *sweep, size_t config)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 4096);
    tare_run_config_name(&sweep->bench->run->configs[config], &buf);
    const char *name = tare_arena_copy(&sweep->bench->arena, buf.data);
    tare_buf_finish(&buf);
    return name;
}

/* It cannot be measured (any more): say why. What was measured before stays. */
static void give_up(struct tare_sweep *sweep, size_t config, const struct tare_error *why)
{
    struct tare_run_config *into = &sweep->bench->run->configs[config];
    struct tare_sweep_slot *slot = &sweep->slots[config];
    bool stopped = tare_bench_stopped(sweep->bench);
    tare_sweep_stop(sweep, config);
    slot->done = true;
    into->stop = stopped                     ? TARE_RUN_STOP_INTERRUPTED
                 : why->code == TARE_E_LIMIT ? TARE_RUN_STOP_TIME
                                             : TARE_RUN_STOP_CRASHED;
    into->reason =
        stopped ? "interrupted before it had 5 runs" : tare_arena_copy(&sweep->bench->run->arena, why->msg);
    if (slot->samples >= TARE_SWEEP_LEAST && !stopped)
        tare_bench_note(sweep->bench, "%s ended early: %s", name_of(sweep, config), why->msg);
}

/* What the first five samples will take, judged by what is known of the others; 0 when nothing is. */
static int64_t first_cost_ns(const struct tare_sweep *sweep, size_t config)
{
    double per_unit = 0, units = 0;
    int64_t open = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        const struct tare_sweep_slot *slot = &sweep->slots[i];
        if (slot->samples == 0)
            continue;
        int64_t started = sweep->bench->run->configs[i].samples[0].load_ns.value;
        open = started > open ? started : open;
        if (slot->units > units) {
            units = slot->units;
            per_unit = (double)slot->sample_ns / slot->units;
        }
    }
    return open + (int64_t)((TARE_SWEEP_LEAST + 3) * per_unit * sweep->slots[config].units);
}

/* An error of this kind is not the configuration's but the user's: what was asked for cannot be had. */
static bool fatal(const struct tare_error *err)
{
    return err->code == TARE_E_UNSUPPORTED || err->code == TARE_E_USAGE;
}

/* How many samples a configuration is to have at most. */
static int64_t runs_asked(const struct tare_sweep *sweep, size_t config)
{
    const struct tare_bench_plan *plan = sweep->bench->plan;
    const struct tare_run_config *from = &sweep->bench->run->configs[config];
    int64_t runs = plan->runs;
    if (runs == 0 && plan->items > 0)
        runs = (int64_t)ceil((double)plan->items /
                             (from->items_per_call.known ? from->items_per_call.value : 1));
    if (runs > 0 && runs < TARE_SWEEP_LEAST)
        runs = TARE_SWEEP_LEAST;
    return runs;
}

/* Is it enough? Then say what ended it. */
static void settle(struct tare_sweep *sweep, size_t config)
{
    const struct tare_bench_plan *plan = sweep->bench->plan;
    struct tare_sweep_slot *slot = &sweep->slots[config];
    struct tare_run_config *into = &sweep->bench->run->configs[config];
    int64_t runs = runs_asked(sweep, config);
    bool only_until = runs == 0 && plan->duration_ns == 0;
    double until = plan->until > 0 ? plan->until : usual_until;
    bool sure = slot->half_width <= until;
    bool asked = plan->until > 0 || only_until;
    /* Nobody asked for an early end: go on until p99 can be told as well. */
    bool enough = sure && (plan->until > 0 || slot->tail_known || into->calls_per_sample.value > 1);
    enough = enough && (plan->thresholds_count == 0 || slot->decided);
    /* One process may be lucky for as long as it lives. */
    enough = enough && (int64_t)into->samples_count >= slot->wanted;
    if (plan->processes > (int64_t)into->samples_count)
        return;
    if (runs > 0 && (int64_t)slot->samples >= runs)
        into->stop = TARE_RUN_STOP_RUNS;
    else if (plan->duration_ns > 0 && slot->measured_ns >= plan->duration_ns)
        into->stop = TARE_RUN_STOP_DURATION;
    else if (asked && enough)
        into->stop = TARE_RUN_STOP_SURE;
    else if (slot->samples >= TARE_SWEEP_MOST)
        into->stop = sure ? TARE_RUN_STOP_SURE : TARE_RUN_STOP_RUNS;
    else
        return;
    slot->done = true;
    tare_sweep_stop(sweep, config);
}

static int first_samples(struct tare_sweep *sweep, size_t config, int64_t warm_ns, struct tare_error *err)
{
    struct tare_bench *bench = sweep->bench;
    struct tare_run_config *into = &bench->run->configs[config];
    struct tare_harness_limits limits = {
        .min_samples = TARE_SWEEP_LEAST, .max_samples = TARE_SWEEP_LEAST, .budget_ns = INT64_MAX / 8};
    if (tare_sweep_start(sweep, config, warm_ns, err) || tare_sweep_sample(sweep, config, &limits, err))
        return -1;
    if (sweep->slots[config].samples < TARE_SWEEP_LEAST)
        return tare_fail(err, TARE_E_LIMIT, 0, "it gave %zu samples of %d", sweep->slots[config].samples,
                         TARE_SWEEP_LEAST);
    into->status = TARE_RUN_MEASURED;
    into->reason = NULL;
    struct tare_sweep_slot *slot = &sweep->slots[config];
    int64_t share = (bench->deadline_ns - bench->start_ns) / (int64_t)(3 * sweep->count);
    slot->wanted = share / (slot->open_ns > 0 ? slot->open_ns : 1);
    slot->wanted = slot->wanted < 1 ? 1 : slot->wanted > PROCESSES ? PROCESSES : slot->wanted;
    if (tare_run_config_derive(into, err))
        return -1;
    if (bench->watch && bench->watch->row)
        bench->watch->row(bench->watch->data, bench->run, config);
    tare_sweep_park(sweep, config);
    settle(sweep, config);
    return 0;
}

/* Every configuration's first samples, or why there are none. Nothing else may use up the time before. */
static int first_pass(struct tare_sweep *sweep, struct tare_error *err)
{
    struct tare_bench *bench = sweep->bench;
    for (size_t i = 0; i < sweep->count; i++) {
        size_t config = sweep->order[i];
        struct tare_run_config *into = &bench->run->configs[config];
        int64_t left = bench->end_ns - tare_clock_ns(), cost = first_cost_ns(sweep, config);
        if (tare_bench_stopped(bench)) {
            into->reason = "interrupted before its turn";
            into->stop = TARE_RUN_STOP_INTERRUPTED;
            sweep->slots[config].done = true;
            continue;
        }
        if (cost > left) {
            char need[TARE_UNITS_TEXT], have[TARE_UNITS_TEXT];
            into->reason = tare_arena_printf(
                &bench->run->arena, "5 runs would take about %s, and %s are left: raise --time",
                tare_duration_format(need, sizeof need, (double)cost),
                tare_duration_format(have, sizeof have, left > 0 ? (double)left : 0));
            into->stop = TARE_RUN_STOP_TIME;
            sweep->slots[config].done = true;
            continue;
        }
        tare_bench_say(bench, TARE_BENCH_MEASURING, "%zu of %zu: %s", i + 1, sweep->count,
                       name_of(sweep, config));
        int64_t share = tare_bench_left_ns(bench) / (int64_t)(4 * (sweep->count - i));
        struct tare_error why;
        if (first_samples(sweep, config, share < WARM_MOST_NS ? share : WARM_MOST_NS, &why) == 0)
            continue;
        if (fatal(&why) || why.code == TARE_E_MEMORY) {
            *err = why;
            return -1;
        }
        give_up(sweep, config, &why);
    }
    return 0;
}

/* Samples that each process is to give where the user said how many of both there are to be; 0 if not. */
static int64_t runs_each(const struct tare_sweep *sweep, size_t config)
{
    int64_t runs = runs_asked(sweep, config), processes = sweep->bench->plan->processes;
    return runs > 0 && processes > 1 ? (runs + processes - 1) / processes : 0;
}

/* Samples of the process that it has now. */
static int64_t own_samples(const struct tare_sweep *sweep, size_t config)
{
    const struct tare_run_config *from = &sweep->bench->run->configs[config];
    return from->samples_count ? (int64_t)from->samples[from->samples_count - 1].ns_count : 0;
}

/* Is it time for another process? The user says how many; or a few at once, and then more as long as starting
 * them takes at most a third of the time. */
static bool renewal_due(const struct tare_sweep *sweep, size_t config)
{
    const struct tare_bench_plan *plan = sweep->bench->plan;
    const struct tare_sweep_slot *slot = &sweep->slots[config];
    int64_t processes = (int64_t)sweep->bench->run->configs[config].samples_count;
    if (plan->processes > 0) {
        int64_t each = runs_each(sweep, config);
        bool served = each > 0 ? own_samples(sweep, config) >= each : slot->rounds >= 2;
        return served && processes < plan->processes;
    }
    if (processes < slot->wanted)
        return slot->rounds > (processes == 1); /* the first round of the first process is the first pass */
    return slot->rounds >= 2 && 2 * slot->opening_ns <= slot->measured_ns;
}

/* The most of one slice: a few calls at first, more from cycle to cycle, but never so much that the rounds
 * become few. */
static struct tare_harness_limits slice_of(const struct tare_sweep *sweep, size_t config, size_t active)
{
    const struct tare_bench_plan *plan = sweep->bench->plan;
    const struct tare_sweep_slot *slot = &sweep->slots[config];
    const struct tare_run_config *from = &sweep->bench->run->configs[config];
    int64_t rounds = sweep->evicted ? ROUNDS_WHEN_EVICTED : ROUNDS;
    int64_t left = tare_bench_left_ns(sweep->bench);
    int64_t parts = rounds > sweep->rounds ? rounds - sweep->rounds : 1;
    int64_t share = left / ((int64_t)active * parts);
    int64_t cycle = sweep->rounds / CYCLE < 16 ? sweep->rounds / CYCLE : 16;
    int64_t calls = (int64_t)SLICE_CALLS << cycle;
    int64_t first = slot->sample_ns < INT64_MAX / calls ? slot->sample_ns * calls : INT64_MAX;
    int64_t budget = first > SLICE_LEAST_NS ? first : SLICE_LEAST_NS;
    int64_t cap = share > SLICE_LEAST_NS ? share : SLICE_LEAST_NS;
    if (sweep->evicted == 0 && cap > SLICE_MOST_NS)
        cap = SLICE_MOST_NS;
    budget = budget < cap ? budget : cap;
    budget = budget < left ? budget : left;
    int64_t most = TARE_SWEEP_MOST - (int64_t)slot->samples, runs = runs_asked(sweep, config);
    if (most > TARE_SWEEP_MOST / ROUNDS)
        most = TARE_SWEEP_MOST / ROUNDS;
    if (runs > 0 && runs - (int64_t)slot->samples < most)
        most = runs - (int64_t)slot->samples;
    if (plan->duration_ns > 0 && plan->duration_ns - slot->measured_ns < budget)
        budget = plan->duration_ns - slot->measured_ns;
    int64_t each = runs_each(sweep, config) - own_samples(sweep, config);
    if (runs_each(sweep, config) > 0 && (int64_t)from->samples_count < plan->processes && each < most)
        most = each;
    return (struct tare_harness_limits){
        .min_samples = 1, .max_samples = most > 0 ? most : 1, .budget_ns = budget > 0 ? budget : 0};
}

static int one_turn(struct tare_sweep *sweep, size_t config, size_t active, struct tare_error *err)
{
    struct tare_sweep_slot *slot = &sweep->slots[config];
    struct tare_error why;
    if (renewal_due(sweep, config))
        tare_sweep_stop(sweep, config);
    /* Starting must leave time for something to be measured. */
    if (!slot->worker && slot->open_ns + slot->sample_ns > tare_bench_left_ns(sweep->bench))
        return 0;
    if (!slot->worker && tare_sweep_start(sweep, config, WARM_MOST_NS / 2, &why)) {
        give_up(sweep, config, &why);
        return 0;
    }
    struct tare_harness_limits limits = slice_of(sweep, config, active);
    if (tare_sweep_sample(sweep, config, &limits, &why)) {
        give_up(sweep, config, &why);
        return 0;
    }
    if (tare_sweep_look(sweep, config, err))
        return -1;
    tare_sweep_park(sweep, config);
    settle(sweep, config);
    return 0;
}

static int go_round(struct tare_sweep *sweep, struct tare_error *err)
{
    struct tare_bench *bench = sweep->bench;
    for (;;) {
        size_t active = 0, turns = 0;
        for (size_t i = 0; i < sweep->count; i++)
            active += !sweep->slots[i].done;
        if (active == 0 || tare_bench_left_ns(bench) == 0)
            return 0;
        sweep->rounds++;
        for (size_t i = 0; i < sweep->count; i++) {
            size_t config = sweep->order[sweep->rounds % 2 ? sweep->count - 1 - i : i];
            struct tare_sweep_slot *slot = &sweep->slots[config];
            if (slot->done || slot->sample_ns > tare_bench_left_ns(bench))
                continue;
            tare_bench_say(bench, TARE_BENCH_MEASURING, "round %lld: %s", (long long)sweep->rounds,
                           name_of(sweep, config));
            int64_t before = (int64_t)slot->samples;
            if (one_turn(sweep, config, active, err))
                return -1;
            turns += (int64_t)slot->samples > before || slot->done;
            if (tare_bench_stopped(bench))
                return 0;
        }
        if (turns == 0)
            return 0;
    }
}

/* Is one number enough to stand for it? */
static int judge(struct tare_sweep *sweep, size_t config, struct tare_error *err)
{
    struct tare_run *run = sweep->bench->run;
    struct tare_run_config *into = &run->configs[config];
    struct tare_sweep_slot *slot = &sweep->slots[config];
    struct tare_stability_verdict verdict;
    struct tare_arena scratch;
    size_t at = 0;
    tare_arena_init(&scratch, 0);
    int64_t *ns = tare_arena_array(&scratch, slot->samples + 1, sizeof *ns);
    for (size_t p = 0; ns && p < into->samples_count; p++)
        for (size_t i = 0; i < into->samples[p].ns_count; i++)
            ns[at++] = into->samples[p].ns[i];
    struct tare_stability_facts facts = {
        .ns = ns,
        .count = at,
        .wall_ns = into->resources.wall_ns.known ? into->resources.wall_ns.value : -1,
        .throttled_ns = into->resources.throttled_ns.known ? into->resources.throttled_ns.value : -1,
        .steal_ns = into->resources.steal_ns.known ? into->resources.steal_ns.value : -1,
        .cores = slot->cores,
    };
    int rc = ns ? tare_stability_judge(&facts, &scratch, &verdict, err) : tare_fail_memory(err);
    if (rc == 0 && verdict.kind != TARE_STABLE) {
        into->status = TARE_RUN_UNSTABLE;
        into->reason = tare_arena_copy(&run->arena, verdict.reason);
    }
    tare_arena_finish(&scratch);
    return rc;
}

/* What is now known of a configuration, and how it ended. */
static int conclude(struct tare_sweep *sweep, size_t config, struct tare_error *err)
{
    const struct tare_bench_plan *plan = sweep->bench->plan;
    struct tare_sweep_slot *slot = &sweep->slots[config];
    struct tare_run *run = sweep->bench->run;
    struct tare_run_config *into = &run->configs[config];
    double until = plan->until > 0 ? plan->until : usual_until;
    if (slot->samples < TARE_SWEEP_LEAST) {
        into->status = TARE_RUN_NOT_MEASURED;
        if (!into->reason)
            into->reason = "interrupted before it had 5 runs";
        into->samples_count = 0;
        return 0;
    }
    if (into->stop == TARE_RUN_STOP_UNKNOWN)
        into->stop = tare_bench_stopped(sweep->bench) ? TARE_RUN_STOP_INTERRUPTED : TARE_RUN_STOP_TIME;
    into->status = TARE_RUN_MEASURED;
    into->reason = NULL;
    /* How sure it is now, whatever the last look said. */
    slot->next_look = 0;
    slot->wanted = 0;
    if (tare_sweep_look(sweep, config, err))
        return -1;
    /* Where thresholds may have ended it, all bounds have to hold at every look. */
    double level = plan->thresholds_count ? tare_stats_look_level(0.95, slot->look ? slot->look : 1) : 0.95;
    if (tare_run_config_derive_at(into, level, err))
        return -1;
    bool watched = plan->until > 0 || (plan->runs == 0 && plan->items == 0 && plan->duration_ns == 0);
    if (watched)
        into->decided = tare_run_flag(slot->half_width <= until);
    /* Where the median's bounds ended it, those that allow for every look are the ones to show. */
    if (into->stop == TARE_RUN_STOP_SURE && into->latency.p50_ns.lower.known &&
        into->latency.p50_ns.upper.known && isfinite(slot->half_width)) {
        into->latency.p50_ns.lower = tare_run_real(fmin(slot->lower_ns, into->latency.p50_ns.lower.value));
        into->latency.p50_ns.upper = tare_run_real(fmax(slot->upper_ns, into->latency.p50_ns.upper.value));
    }
    if (slot->cores && into->resources.wall_ns.known && into->resources.wall_ns.value > 0) {
        into->resources.cpu_per_core = tare_arena_array(&run->arena, slot->cores, sizeof(double));
        for (size_t i = 0; into->resources.cpu_per_core && i < slot->cores; i++)
            into->resources.cpu_per_core[i] = slot->core_ns[i] / (double)into->resources.wall_ns.value;
        into->resources.cpu_per_core_count = into->resources.cpu_per_core ? slot->cores : 0;
    }
    return judge(sweep, config, err);
}

static void conclude_all(struct tare_sweep *sweep)
{
    struct tare_bench *bench = sweep->bench;
    struct tare_run_procedure *procedure = &bench->run->procedure;
    procedure->order = "interleaved";
    procedure->rounds = tare_run_int(sweep->rounds + 1);
    procedure->processes_at_once = tare_run_int((int64_t)sweep->live_most);
    int64_t processes = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        int64_t here = (int64_t)bench->run->configs[i].samples_count;
        processes = here > processes ? here : processes;
    }
    procedure->processes = tare_run_int(processes);
    if (sweep->evicted)
        tare_bench_note(bench,
                        "memory allows %zu of the %zu configurations at once: %zu processes were ended and "
                        "started again for their next turn",
                        sweep->live_most, sweep->count, sweep->evicted);
    if (sweep->restless)
        tare_bench_note(bench, "parked processes were still busy %zu times when the next one was measured",
                        sweep->restless);
}

int tare_bench_measure(struct tare_bench *bench, struct tare_error *err)
{
    struct tare_sweep sweep = {.bench = bench, .count = bench->specs_count};
    int rc = -1;
    sweep.slots = calloc(sweep.count, sizeof *sweep.slots);
    sweep.order = calloc(sweep.count, sizeof *sweep.order);
    if (!sweep.slots || !sweep.order) {
        tare_fail_memory(err);
        goto out;
    }
    for (size_t i = 0; i < sweep.count; i++) {
        sweep.slots[i].units = units_of(&bench->specs[i]);
        sweep.slots[i].half_width = INFINITY;
    }
    arrange(&sweep);
    rc = first_pass(&sweep, err);
    if (rc == 0)
        rc = go_round(&sweep, err);
    for (size_t i = 0; i < sweep.count; i++) {
        tare_sweep_stop(&sweep, i);
        if (rc == 0)
            rc = conclude(&sweep, i, err);
    }
    if (rc == 0)
        conclude_all(&sweep);
out:
    for (size_t i = 0; sweep.slots && i < sweep.count; i++)
        tare_sweep_stop(&sweep, i);
    free(sweep.slots);
    free(sweep.order);
    return rc;
}
