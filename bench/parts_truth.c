/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What do models take beside each other? Each runs in a process of its own; they take turns of some
 * milliseconds, so that what the machine does meanwhile hits all alike, and start anew several times, because
 * processes differ too. Prints a line for each set of processes: the nanoseconds of a call
 * of each model, the median of its samples. Usage: parts_truth TARE LIBRARY THREADS SECONDS MODEL...
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bench/worker.h"
#include "core/stats.h"

enum { MODELS = 8, CALLS = 24, ROUNDS = 24, SETS_MOST = 100 };

static double samples[MODELS][CALLS * ROUNDS], temp[CALLS * ROUNDS];
static size_t counts[MODELS];

static int take(struct tare_worker *worker, size_t model, bool keep, struct tare_error *err)
{
    const struct tare_harness_limits limits = {.min_samples = CALLS, .max_samples = CALLS, .budget_ns = 1};
    struct tare_arena arena;
    int64_t *ns;
    size_t count;
    tare_arena_init(&arena, 0);
    int rc = tare_worker_measure(worker, &limits, &arena, &ns, &count, NULL, err);
    for (size_t i = 0; rc == 0 && keep && i < count && counts[model] < CALLS * ROUNDS; i++)
        samples[model][counts[model]++] = (double)ns[i];
    tare_arena_finish(&arena);
    return rc;
}

static int run_set(const struct tare_worker_start *start, const struct tare_worker_spec *specs, size_t count,
                   struct tare_error *err)
{
    struct tare_worker *workers[MODELS] = {NULL};
    struct tare_worker_ready ready;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        counts[i] = 0;
        rc = tare_worker_open(start, &specs[i], &workers[i], &ready, err);
    }
    for (int round = -1; rc == 0 && round < ROUNDS; round++) /* one to warm up */
        for (size_t k = 0; rc == 0 && k < count; k++) {
            size_t i = round % 2 ? count - 1 - k : k;
            rc = take(workers[i], i, round >= 0, err);
        }
    for (size_t i = 0; i < count; i++) {
        tare_worker_close(workers[i]);
        if (rc < 0)
            continue;
        tare_stats_sort(samples[i], counts[i], temp);
        printf("%.1f%s", tare_stats_median(samples[i], counts[i]), i + 1 < count ? " " : "\n");
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct tare_worker_spec specs[MODELS];
    struct tare_error err;
    if (argc < 6 || argc - 5 > MODELS) {
        fprintf(stderr, "Usage: parts_truth TARE LIBRARY THREADS SECONDS MODEL...\n");
        return 2;
    }
    const char *const program[] = {argv[1], ".worker", NULL};
    const struct tare_worker_start start = {.argv = program};
    size_t count = (size_t)argc - 5;
    for (size_t i = 0; i < count; i++)
        specs[i] = (struct tare_worker_spec){
            .engine = "onnxruntime",
            .model_path = argv[5 + i],
            .batch = 1,
            .options = {.library = argv[2],
                        .threads = (int)strtol(argv[3], NULL, 10),
                        .inter_threads = 1,
                        .level = TARE_GRAPH_ALL},
        };
    int64_t end_ns = tare_clock_ns() + (int64_t)(strtod(argv[4], NULL) * 1e9);
    for (int sets = 0; sets < SETS_MOST && (sets == 0 || tare_clock_ns() < end_ns); sets++)
        if (run_set(&start, specs, count, &err) < 0) {
            fprintf(stderr, "parts_truth: %s\n", err.msg);
            return 1;
        }
    return 0;
}
