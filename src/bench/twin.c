/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/twin.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

enum { ROUNDS = 8, WARM_CALLS = 3 };
/* Threads of a pool that still spin would slow the next process. */
static const int64_t idle_wait_ns = 50000000;

struct samples {
    double *ns;
    size_t count, room;
};

/* Who takes turns: the plain one, the profiled one, the others. */
enum { PLAIN, PROFILED, PAIR, PARTIES = PAIR + TARE_TWIN_OTHERS };
struct party {
    struct tare_worker *worker;
    struct samples samples, warm;
};

static int keep(struct samples *samples, const int64_t *ns, size_t count, struct tare_error *err)
{
    if (samples->count + count > samples->room) {
        size_t room = (samples->count + count) * 2;
        double *more = reallocarray(samples->ns, room, sizeof *more);
        if (!more)
            return tare_fail_memory(err);
        samples->ns = more;
        samples->room = room;
    }
    for (size_t i = 0; i < count; i++)
        samples->ns[samples->count++] = (double)ns[i];
    return 0;
}

/* Samples of one round, which are kept; calls above 1 per sample cannot happen, because nobody warmed up. */
static int take(struct tare_worker *worker, bool spins, int64_t most, int64_t budget_ns,
                struct samples *samples, struct tare_error *err)
{
    struct tare_arena scratch;
    int64_t *ns;
    size_t count;
    const struct tare_harness_limits limits = {
        .min_samples = 1, .max_samples = most, .budget_ns = budget_ns > 0 ? budget_ns : 0};
    tare_arena_init(&scratch, 0);
    int rc = tare_worker_measure(worker, &limits, &scratch, &ns, &count, NULL, err);
    if (rc == 0)
        rc = keep(samples, ns, count, err);
    tare_arena_finish(&scratch);
    if (spins)
        tare_worker_idle(worker, idle_wait_ns);
    return rc;
}

/* The mean of the faster third of sorted values, without the fastest: it adds up, as a median does not. On a
 * busy machine long calls are disturbed more often than short ones, and only upwards. */
static double undisturbed(const double *sorted, size_t count)
{
    size_t cut = count / 20, end = count >= 6 ? count / 3 : (count + 1) / 2;
    return tare_stats_mean(sorted + cut, end - cut);
}

static int bound(const struct samples *samples, struct tare_interval *ret_interval, struct tare_error *err)
{
    struct tare_arena scratch;
    const struct tare_bootstrap options = {.seed = 1, .resamples = 400};
    tare_arena_init(&scratch, 0);
    int rc = 0;
    if (samples->count == 0 || !samples->ns)
        rc = tare_fail(err, TARE_E_INPUT, 0, "no samples were taken");
    else if (samples->count < 2)
        *ret_interval = (struct tare_interval){samples->ns[0], samples->ns[0], samples->ns[0], 1};
    else
        rc = tare_stats_bootstrap(samples->ns, samples->count, undisturbed, &options, &scratch, ret_interval,
                                  err);
    tare_arena_finish(&scratch);
    return rc;
}

static int read_profile(const char *path, size_t skip, struct tare_ort_profile **ret_profile,
                        struct tare_error *err)
{
    struct tare_in *in;
    if (tare_in_open(path, &in, err) < 0)
        return -1;
    int rc = tare_ort_profile_read(in, skip, ret_profile, err);
    tare_in_close(in);
    unlink(path);
    return rc;
}

static int open_party(struct party *party, const struct tare_worker_start *start,
                      const struct tare_worker_spec *spec, const struct tare_twin_others *feed,
                      struct tare_error *err)
{
    struct tare_worker_ready ready;
    if (tare_worker_open(start, spec, &party->worker, &ready, err) < 0)
        return -1;
    return feed && feed->inputs ? tare_worker_feed(party->worker, feed->inputs, feed->inputs_count, err) : 0;
}

static int open_all(struct party *parties, size_t count, const struct tare_worker_start *start,
                    const struct tare_worker_spec *spec, const struct tare_twin_others *others,
                    const char *prefix, struct tare_error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct tare_worker_spec own = i < PAIR || !others ? *spec : others->specs[i - PAIR];
        own.options.profile_prefix = i == PROFILED ? prefix : NULL;
        own.options.optimised_path = NULL;
        if (open_party(&parties[i], start, &own, i < PAIR ? NULL : others, err) < 0)
            return -1;
    }
    return 0;
}

int tare_twin_measure(const struct tare_worker_start *start, const struct tare_worker_spec *spec,
                      const struct tare_twin_others *others, const char *folder, int64_t max_calls,
                      int64_t budget_ns, struct tare_twin *ret_twin, struct tare_error *err)
{
    struct tare_arena arena;
    struct party parties[PARTIES] = {0};
    size_t more = others && others->count <= TARE_TWIN_OTHERS ? others->count : 0, count = PAIR + more;
    struct tare_twin twin = {0};
    const char *path;
    bool spins = spec->options.threads != 1 && !spec->options.no_spinning;
    int rc = -1;
    tare_arena_init(&arena, 0);
    const char *prefix = tare_arena_printf(&arena, "%s/twin", folder);
    if (open_all(parties, count, start, spec, others, prefix, err) < 0)
        goto out;
    for (size_t i = 0; i < count; i++)
        if (take(parties[i].worker, spins, WARM_CALLS, budget_ns / 10, &parties[i].warm, err) < 0)
            goto out;
    int64_t end_ns = tare_clock_ns() + budget_ns;
    int64_t each = max_calls / ROUNDS > 0 ? max_calls / ROUNDS : 1;
    for (int round = 0; round < ROUNDS && (round < 2 || tare_clock_ns() < end_ns); round++) {
        int64_t turn_ns = (end_ns - tare_clock_ns()) / (ROUNDS - round) / (int64_t)count;
        for (size_t k = 0; k < count; k++) {
            size_t i =
                round % 2 ? count - 1 - k : k; /* so that a drift meets the first as it does the last */
            if (take(parties[i].worker, spins, i == PROFILED ? each : each * 4, turn_ns, &parties[i].samples,
                     err) < 0)
                goto out;
        }
    }
    if (tare_worker_profile(parties[PROFILED].worker, 0, &arena, &path, err) < 0 ||
        read_profile(path, parties[PROFILED].warm.count, &twin.profile, err) < 0 ||
        bound(&parties[PLAIN].samples, &twin.plain_ns, err) < 0 ||
        bound(&parties[PROFILED].samples, &twin.profiled_ns, err) < 0)
        goto out;
    for (size_t i = PAIR; i < count; i++)
        if (bound(&parties[i].samples, &twin.others_ns[i - PAIR], err) < 0)
            goto out;
    twin.plain_count = parties[PLAIN].samples.count;
    *ret_twin = twin;
    twin.profile = NULL;
    rc = 0;
out:
    tare_ort_profile_destroy(twin.profile);
    for (size_t i = 0; i < count; i++) {
        tare_worker_close(parties[i].worker);
        free(parties[i].samples.ns);
        free(parties[i].warm.ns);
    }
    tare_arena_finish(&arena);
    return rc;
}

void tare_twin_finish(struct tare_twin *twin)
{
    tare_ort_profile_destroy(twin->profile);
    twin->profile = NULL;
}
