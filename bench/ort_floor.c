/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much does the harness add? The same session with the same binding is run by tare's timed loop and by a
 * bare loop that reads the clock before and after each call and does nothing else, in turn, so that what the
 * machine does meanwhile hits both alike. Prints both medians and the median of the differences of the
 * rounds, with 95 % bounds. Usage: ort_floor LIBRARY MODEL [THREADS [ROUNDS [BATCH [NAME=VALUE]...]]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engine_ort.h"
#include "bench/harness.h"
#include "bench/inputs.h"
#include "core/stats.h"

enum { MOST = 100000, MOST_ROUNDS = 400, MOST_DIMS = 8 };
#define ROUND_NS INT64_C(100000000)

static int64_t ns[MOST];
static double values[MOST], temp[MOST];

static double median_of(size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (double)ns[i];
    tare_stats_sort(values, count, temp);
    return tare_stats_median(values, count);
}

/* The bare loop: as short as it can be written. */
static int run_bare(struct tare_ort_engine *engine, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t start = tare_clock_ns();
        OrtStatus *status =
            engine->api->RunWithBinding(engine->session, engine->run_options, engine->binding);
        ns[i] = tare_clock_ns() - start;
        if (status)
            return -1;
    }
    return 0;
}

static int compare(struct tare_engine *engine, size_t rounds, struct tare_error *err)
{
    static double bare[MOST_ROUNDS], harness[MOST_ROUNDS], differences[MOST_ROUNDS];
    struct tare_clock clock;
    struct tare_harness_warmup warmup;
    struct tare_interval bounds;
    struct tare_arena arena;
    tare_clock_init(&clock);
    if (tare_harness_warm(engine, &clock, INT64_C(3000000000), &warmup, err))
        return -1;
    int64_t calls = ROUND_NS / (warmup.call_ns + 1) + 5;
    calls = calls < MOST ? calls : MOST;
    struct tare_harness_limits limits = {calls, calls, INT64_MAX / 4};
    for (size_t r = 0; r < rounds; r++) {
        for (int turn = 0; turn < 2; turn++) {
            size_t count = (size_t)calls;
            bool ours = (turn + (int)r) % 2 == 0;
            if (ours ? tare_harness_measure(engine, &clock, &limits, 1, ns, &count, err)
                     : run_bare((struct tare_ort_engine *)engine, count))
                return -1;
            (ours ? harness : bare)[r] = median_of(count);
        }
        differences[r] = harness[r] - bare[r];
    }
    tare_arena_init(&arena, 0);
    int status = tare_stats_bootstrap(differences, rounds, tare_stats_median,
                                      &(struct tare_bootstrap){.seed = 1}, &arena, &bounds, err);
    tare_arena_finish(&arena);
    if (status)
        return -1;
    tare_stats_sort(bare, rounds, temp);
    tare_stats_sort(harness, rounds, temp);
    double floor_ns = tare_stats_median(bare, rounds);
    printf("calls per round %lld, rounds %zu of each\n", (long long)calls, rounds);
    printf("bare loop   %12.0f ns\n", floor_ns);
    printf("harness     %12.0f ns\n", tare_stats_median(harness, rounds));
    printf("difference  %12.0f ns [%.0f, %.0f]  %+.3f %% [%+.3f, %+.3f]\n", bounds.estimate, bounds.low,
           bounds.high, 100 * bounds.estimate / floor_ns, 100 * bounds.low / floor_ns,
           100 * bounds.high / floor_ns);
    return 0;
}

int main(int argc, char **argv)
{
    struct tare_error err = {0};
    struct tare_arena arena;
    struct tare_model *model = NULL;
    struct tare_inputs inputs = {0};
    struct tare_engine *engine = NULL;
    struct tare_run_dim dims[MOST_DIMS];
    struct tare_inputs_ask ask = {.dims = dims};
    int status = 2;
    if (argc < 3) {
        fprintf(stderr, "usage: ort_floor LIBRARY MODEL [THREADS [ROUNDS [BATCH [NAME=VALUE]...]]]\n");
        return 2;
    }
    struct tare_engine_options options = {.library = argv[1],
                                          .threads = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 1};
    size_t rounds = argc > 4 ? strtoul(argv[4], NULL, 10) : 40;
    rounds = rounds < 2 ? 2 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    ask.batch = argc > 5 ? strtol(argv[5], NULL, 10) : 0;
    for (int i = 6; i < argc && ask.dims_count < MOST_DIMS; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals)
            continue;
        *equals = '\0';
        dims[ask.dims_count++] = (struct tare_run_dim){argv[i], strtol(equals + 1, NULL, 10)};
    }
    tare_arena_init(&arena, 0);
    if (tare_model_open(argv[2], &model, &err) || tare_inputs_make(model, &ask, &arena, &inputs, &err) ||
        tare_engine_ort.open(argv[2], &options, &engine, &err) ||
        tare_engine_ort.bind(engine, inputs.tensors, inputs.count, &err) || compare(engine, rounds, &err))
        fprintf(stderr, "ort_floor: %s\n", err.msg);
    else
        status = 0;
    if (engine)
        tare_engine_ort.close(engine);
    tare_model_close(model);
    tare_arena_finish(&arena);
    return status;
}
