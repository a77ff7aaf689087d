/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two configurations against each other. A machine that others share is faster and slower from one tenth of a
 * second to the next, and by more than what is looked for: two processes measured one after the other differ
 * by that. So both live at the same time and take turns of a few calls, A B B A, A B B A; what is compared
 * is each round's own ratio, and the median of the rounds is the bout's.
 */
#include <math.h>

#include "core/stats.h"
#include "flow/bench_part.h"

/* Three rounds have a median that one disturbed round does not move. */
enum { ROUNDS_LEAST = 3, ROUNDS_MOST = 63, TURN_SAMPLES_MOST = 500, ALONE_LEAST = 5 };

/* Of calls that take longer there is one round only. */
#define CALL_LONG_NS INT64_C(500000000)

#define WARM_NS INT64_C(100000000)
#define PARK_NS INT64_C(300000000)

/* Short, so that both sides of a round see the same machine. Where the last side's pool has to come to rest
 * first, which takes a look of 10 ms, longer ones waste less. */
#define TURN_NS        INT64_C(10000000)
#define TURN_PARKED_NS INT64_C(30000000)

struct party {
    struct tare_bout_side *side;
    struct tare_worker *worker;
    struct tare_harness_warmup warmup;
    double *values; /* of all rounds, per item */
    size_t count, room;
    size_t round;  /* where this round's begin */
    bool spins;    /* it must be waited for before the other has its turn */
    bool restless; /* busy after a call for longer than can be waited for */
};

/* Of two models the message must say which. */
static int blame(const struct party *party, struct tare_error *err)
{
    struct tare_error why = *err;
    return tare_fail(err, why.code, 0, "'%s': %s", party->side->spec->model_path, why.msg);
}

static int begin(struct party *party, struct tare_error *err)
{
    struct tare_worker_ready ready;
    if (tare_bench_worker(party->side->bench, party->side->spec, &party->worker, &ready, err) ||
        tare_worker_warm(party->worker, WARM_NS, &party->warmup, err))
        return blame(party, err);
    /* Threads of a pool may go on spinning for a while after a call. */
    party->spins = !tare_worker_idle(party->worker, 0);
    party->restless = party->spins && !tare_worker_idle(party->worker, PARK_NS);
    return 0;
}

static void end(struct party *party)
{
    if (!party->worker)
        return;
    party->side->held = tare_bench_resident(tare_worker_pid(party->worker));
    tare_worker_close(party->worker);
    party->worker = NULL;
}

static int measure(struct party *party, int64_t least, int64_t budget_ns, struct tare_error *err)
{
    struct tare_harness_limits limits = {
        .min_samples = least, .max_samples = TURN_SAMPLES_MOST, .budget_ns = budget_ns};
    double per_sample = (double)party->warmup.calls_per_sample * party->side->items;
    struct tare_arena scratch;
    int64_t *ns;
    size_t count;
    tare_arena_init(&scratch, 0);
    int rc = tare_worker_measure(party->worker, &limits, &scratch, &ns, &count, NULL, err);
    /* A call that took no time at all is shorter than the clock can tell. */
    for (size_t i = 0; rc == 0 && i < count && party->count < party->room; i++)
        party->values[party->count++] = fmax((double)ns[i], 1) / per_sample;
    tare_arena_finish(&scratch);
    return rc ? blame(party, err) : 0;
}

static int turn(struct party *party, int64_t turn_ns, struct tare_error *err)
{
    if (measure(party, 1, turn_ns, err))
        return -1;
    if (party->spins && !tare_worker_idle(party->worker, PARK_NS))
        party->restless = true;
    return 0;
}

static int median_from(const struct party *party, size_t from, struct tare_arena *scratch, double *ret_median,
                       struct tare_error *err)
{
    const double *sorted;
    if (tare_stats_sorted(party->values + from, party->count - from, scratch, &sorted, err))
        return -1;
    *ret_median = tare_stats_median(sorted, party->count - from);
    return 0;
}

/* One round: the log of B's time over A's. */
static int go_round(struct party parties[2], bool b_first, int64_t turn_ns, struct tare_arena *scratch,
                    double *ret_log, struct tare_error *err)
{
    static const bool abba[] = {false, true, true, false};
    double medians[2];
    for (int i = 0; i < 2; i++)
        parties[i].round = parties[i].count;
    for (size_t i = 0; i < 4; i++)
        if (turn(&parties[abba[i] != b_first], turn_ns, err))
            return -1;
    for (int i = 0; i < 2; i++)
        if (median_from(&parties[i], parties[i].round, scratch, &medians[i], err))
            return -1;
    *ret_log = log(medians[1] / medians[0]);
    return 0;
}

/* Is there memory for a process of the other side beside this one? What that one holds is known from the last
 * bout, or taken to be as much. */
static bool fits_beside(const struct party *party, const struct party *other)
{
    int64_t cap = party->side->bench->plan->memory_bytes, available = tare_bench_available();
    int64_t held = tare_bench_resident(tare_worker_pid(party->worker));
    int64_t need = other->side->held > 0 ? other->side->held : held;
    return (cap <= 0 || held + need <= cap) && (available < 0 || need + TARE_BENCH_SPARE <= available);
}

/* Counted beforehand: where others want the processor rounds take longer, and need to be no fewer. */
static size_t count_rounds(const struct party parties[2], int64_t run_ns, int64_t *turn_ns)
{
    int64_t call = 0;
    for (int i = 0; i < 2; i++) {
        int64_t sample = parties[i].warmup.call_ns * parties[i].warmup.calls_per_sample;
        call = sample > call ? sample : call;
    }
    if (call > CALL_LONG_NS)
        return 1;
    /* A turn ends with its time or with its samples, and takes one call at least. */
    int64_t each = call < *turn_ns / TURN_SAMPLES_MOST ? TURN_SAMPLES_MOST * (call + 1) : *turn_ns;
    int64_t rounds = run_ns / (2 * (call > each ? call : each));
    if (rounds > ROUNDS_MOST) {
        *turn_ns = run_ns / (2 * (int64_t)ROUNDS_MOST);
        return ROUNDS_MOST;
    }
    return rounds > ROUNDS_LEAST ? (size_t)rounds : ROUNDS_LEAST;
}

static int together(struct party parties[2], bool b_first, int64_t run_ns, struct tare_arena *scratch,
                    double *ret_log, struct tare_error *err)
{
    double logs[ROUNDS_MOST];
    const double *sorted;
    int64_t turn_ns = parties[0].spins || parties[1].spins ? TURN_PARKED_NS : TURN_NS;
    size_t rounds = count_rounds(parties, run_ns, &turn_ns);
    for (size_t i = 0; i < rounds; i++)
        if (go_round(parties, b_first, turn_ns, scratch, &logs[i], err))
            return -1;
    if (tare_stats_sorted(logs, rounds, scratch, &sorted, err))
        return -1;
    *ret_log = tare_stats_median(sorted, rounds);
    return 0;
}

/* All of it at once, nobody else being alive, and then end it. */
static int alone(struct party *party, int64_t run_ns, struct tare_error *err)
{
    if (measure(party, ALONE_LEAST, run_ns, err))
        return -1;
    end(party);
    return 0;
}

static int fight(struct party parties[2], bool b_first, int64_t run_ns, struct tare_arena *scratch,
                 struct tare_bout *bout, struct tare_error *err)
{
    struct party *first = &parties[b_first], *second = &parties[!b_first];
    if (begin(first, err))
        return -1;
    bout->apart = first->restless || !fits_beside(first, second);
    if (bout->apart && alone(first, run_ns, err))
        return -1;
    if (begin(second, err))
        return -1;
    if (!bout->apart && !second->restless)
        return together(parties, b_first, run_ns, scratch, &bout->log, err);
    if (alone(second, run_ns, err) || (!bout->apart && alone(first, run_ns, err)))
        return -1;
    bout->apart = true;
    return 0;
}

static int conclude(struct party parties[2], struct tare_arena *scratch, struct tare_bout *bout,
                    struct tare_error *err)
{
    for (int i = 0; i < 2; i++) {
        struct tare_bout_figures *figures = &bout->sides[i];
        const struct party *party = &parties[i];
        end(&parties[i]);
        figures->resident = party->side->held;
        figures->calls = (struct tare_verdict_process){
            .calls = (double)party->count,
            .mean = tare_stats_mean(party->values, party->count),
            .variance = party->count > 1 ? tare_stats_variance(party->values, party->count) : NAN};
        if (median_from(party, 0, scratch, &figures->calls.cost, err))
            return -1;
        bout->restless = bout->restless || party->restless;
    }
    if (bout->apart)
        bout->log = log(bout->sides[1].calls.cost / bout->sides[0].calls.cost);
    return 0;
}

int tare_bench_bout(struct tare_bout_side sides[2], bool b_first, int64_t run_ns, struct tare_bout *ret_bout,
                    struct tare_error *err)
{
    struct party parties[2] = {{.side = &sides[0]}, {.side = &sides[1]}};
    struct tare_bout bout = {0};
    struct tare_arena scratch;
    int rc = 0;
    tare_arena_init(&scratch, 0);
    for (int i = 0; i < 2; i++) {
        parties[i].room = (size_t)2 * ROUNDS_MOST * TURN_SAMPLES_MOST;
        parties[i].values = tare_arena_array(&scratch, parties[i].room, sizeof *parties[i].values);
        if (!parties[i].values)
            rc = tare_fail_memory(err);
    }
    if (rc == 0)
        rc = fight(parties, b_first, run_ns, &scratch, &bout, err) || conclude(parties, &scratch, &bout, err)
                 ? -1
                 : 0;
    for (int i = 0; i < 2; i++)
        tare_worker_close(parties[i].worker);
    tare_arena_finish(&scratch);
    if (rc == 0)
        *ret_bout = bout;
    return rc;
}
