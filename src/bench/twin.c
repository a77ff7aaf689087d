/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/twin.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

enum { ROUNDS = 8, WARM_CALLS = 3 };
/* Threads of a pool that spin would slow the other process. */
static const int64_t idle_wait_ns = 50000000;

struct samples {
    double *ns;
    size_t count, room;
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
    if (spins)
        tare_worker_idle(worker, idle_wait_ns);
    tare_arena_init(&scratch, 0);
    int rc = tare_worker_measure(worker, &limits, &scratch, &ns, &count, NULL, err);
    if (rc == 0)
        rc = keep(samples, ns, count, err);
    tare_arena_finish(&scratch);
    return rc;
}

/* The mean of the middle half of sorted values: as robust as the median, and it adds up. */
static double middle(const double *sorted, size_t count)
{
    size_t cut = count >= 4 ? count / 4 : 0;
    return tare_stats_mean(sorted + cut, count - 2 * cut);
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
        rc = tare_stats_bootstrap(samples->ns, samples->count, middle, &options, &scratch, ret_interval, err);
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

int tare_twin_measure(const struct tare_worker_start *start, const struct tare_worker_spec *spec,
                      const char *folder, int64_t max_calls, int64_t budget_ns, struct tare_twin *ret_twin,
                      struct tare_error *err)
{
    struct tare_arena arena;
    struct tare_worker *plain = NULL, *profiled = NULL;
    struct tare_worker_ready ready;
    struct samples plain_ns = {0}, profiled_ns = {0}, plain_warm = {0}, profiled_warm = {0};
    struct tare_twin twin = {0};
    const char *path;
    bool spins = spec->options.threads != 1 && !spec->options.no_spinning;
    int rc = -1;
    tare_arena_init(&arena, 0);
    struct tare_worker_spec spec_plain = *spec, spec_profiled = *spec;
    spec_plain.options.profile_prefix = spec_plain.options.optimised_path = NULL;
    spec_profiled.options.optimised_path = NULL;
    spec_profiled.options.profile_prefix = tare_arena_printf(&arena, "%s/twin", folder);
    if (tare_worker_open(start, &spec_plain, &plain, &ready, err) < 0 ||
        tare_worker_open(start, &spec_profiled, &profiled, &ready, err) < 0 ||
        take(plain, spins, WARM_CALLS, budget_ns / 10, &plain_warm, err) < 0 ||
        take(profiled, spins, WARM_CALLS, budget_ns / 10, &profiled_warm, err) < 0)
        goto out;
    int64_t end_ns = tare_clock_ns() + budget_ns;
    int64_t each = max_calls / ROUNDS > 0 ? max_calls / ROUNDS : 1;
    for (int round = 0; round < ROUNDS && (round < 2 || tare_clock_ns() < end_ns); round++) {
        int64_t turn_ns = (end_ns - tare_clock_ns()) / (ROUNDS - round) / 2;
        if (take(plain, spins, each * 4, turn_ns, &plain_ns, err) < 0 ||
            take(profiled, spins, each, turn_ns, &profiled_ns, err) < 0)
            goto out;
    }
    if (tare_worker_profile(profiled, 0, &arena, &path, err) < 0 ||
        read_profile(path, profiled_warm.count, &twin.profile, err) < 0 ||
        bound(&plain_ns, &twin.plain_ns, err) < 0 || bound(&profiled_ns, &twin.profiled_ns, err) < 0)
        goto out;
    twin.plain_count = plain_ns.count;
    *ret_twin = twin;
    twin.profile = NULL;
    rc = 0;
out:
    tare_ort_profile_destroy(twin.profile);
    tare_worker_close(plain);
    tare_worker_close(profiled);
    free(plain_ns.ns);
    free(profiled_ns.ns);
    free(plain_warm.ns);
    free(profiled_warm.ns);
    tare_arena_finish(&arena);
    return rc;
}

void tare_twin_finish(struct tare_twin *twin)
{
    tare_ort_profile_destroy(twin->profile);
    twin->profile = NULL;
}
