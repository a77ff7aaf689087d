/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine with a known truth: bench/fake.h says what a description means. A call really waits, by looking
 * at the clock, so that what the harness measures is what was drawn; memory is really taken and touched. The
 * answers are the mean of each sample of the first input, so that sample i gives the same alone and in a
 * batch, unless the description says that they are wrong.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/clock_now.h"
#include "bench/engine.h"
#include "bench/fake.h"

/* Kept memory comes in pieces of this size at least, so that a leak of few bytes is really resident. */
enum { PIECE = 4096, ANSWERS = 4 };

struct piece {
    struct piece *next;
    size_t size;
};

struct fake_engine {
    struct tare_engine base;
    struct tare_fake fake;
    struct tare_fake_series series;
    struct tare_clock clock;
    const struct tare_tensor *inputs;
    size_t inputs_count;
    int64_t batch;
    int threads;
    double base_ns, ticks_per_ns;
    double held, kept, calls, calls_of_shape;
    struct piece *pieces;
    char *activations;
    size_t activations_size;
    pthread_t thread;
    bool thread_started;
    atomic_bool ending;
    _Atomic uint64_t restless_until; /* ticks */
};

static struct fake_engine *of(struct tare_engine *engine)
{
    return (struct fake_engine *)engine;
}

/* What a pool that spins does: busy for a while after each call. */
static void *fidget(void *data)
{
    struct fake_engine *fake = data;
    while (!atomic_load(&fake->ending))
        if (tare_clock_now(&fake->clock) >= atomic_load(&fake->restless_until))
            usleep(5000);
    return NULL;
}

/* Take memory and touch it; it is freed with the engine. */
static int keep(struct fake_engine *fake, double bytes, struct tare_error *err)
{
    fake->held += bytes;
    if (fake->held - fake->kept < PIECE)
        return 0;
    size_t size = (size_t)(fake->held - fake->kept);
    struct piece *piece = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED)
        return tare_fail_memory(err);
    memset(piece, 1, size);
    *piece = (struct piece){.next = fake->pieces, .size = size};
    fake->pieces = piece;
    fake->kept += (double)size;
    return 0;
}

static void fake_close(struct tare_engine *engine)
{
    struct fake_engine *fake = of(engine);
    if (!fake)
        return;
    if (fake->thread_started) {
        atomic_store(&fake->ending, true);
        pthread_join(fake->thread, NULL);
    }
    while (fake->pieces) {
        struct piece *next = fake->pieces->next;
        munmap(fake->pieces, fake->pieces->size);
        fake->pieces = next;
    }
    free(fake->activations);
    free(fake);
}

static int fake_open(const char *path, const struct tare_engine_options *options,
                     struct tare_engine **ret_engine, struct tare_error *err)
{
    struct tare_fake description;
    if (tare_fake_parse(path, &description, err))
        return -1;
    if (options->provider && strcmp(options->provider, "cpu") != 0)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "a fake model runs on the provider cpu, not on '%.40s'",
                         options->provider);
    struct fake_engine *fake = calloc(1, sizeof *fake);
    if (!fake)
        return tare_fail_memory(err);
    fake->base.kind = &tare_engine_fake;
    fake->fake = description;
    fake->batch = 1;
    tare_clock_init(&fake->clock);
    fake->ticks_per_ns = fake->clock.frequency_hz / 1e9;
    fake->threads = options->threads;
    fake->base_ns = tare_fake_base_ns(&description, 1, 1, fake->threads);
    tare_fake_start(&fake->series, &description, 0);
    if (keep(fake, description.weights, err)) {
        fake_close(&fake->base);
        return -1;
    }
    if (description.restless_ns > 0)
        fake->thread_started = pthread_create(&fake->thread, NULL, fidget, fake) == 0;
    *ret_engine = &fake->base;
    return 0;
}

static void fake_about(const struct tare_engine *engine, struct tare_engine_about *ret_about)
{
    (void)engine;
    *ret_about = (struct tare_engine_about){.name = "fake", .version = TARE_VERSION, .path = ""};
}

static int fake_bind(struct tare_engine *engine, const struct tare_tensor *inputs, size_t count,
                     struct tare_error *err)
{
    struct fake_engine *fake = of(engine);
    int64_t elements = 1;
    fake->inputs = inputs;
    fake->inputs_count = count;
    fake->batch = count && inputs[0].rank ? inputs[0].dims[0] : 1;
    if (count && tare_shape_count(inputs[0].dims, inputs[0].rank, &elements))
        return tare_fail(err, TARE_E_INPUT, 0, "the input of a fake model is too large");
    fake->base_ns = tare_fake_base_ns(&fake->fake, (double)fake->batch, (double)elements, fake->threads);
    fake->calls_of_shape = 0;
    return 0;
}

/* As an arena does: grow to what the largest shape needed, and stay there. */
static int use_memory(struct fake_engine *fake, struct tare_error *err)
{
    size_t needed = (size_t)(fake->fake.memory * (double)fake->batch);
    if (needed > fake->activations_size) {
        free(fake->activations);
        fake->activations_size = 0;
        fake->activations = malloc(needed);
        if (!fake->activations)
            return tare_fail_memory(err);
        memset(fake->activations, 1, needed);
        fake->activations_size = needed;
    }
    if (fake->fake.plateau > 0 && fake->fake.settle > 0 && fake->calls <= fake->fake.settle &&
        keep(fake, fake->fake.plateau / fake->fake.settle, err))
        return -1;
    return fake->fake.leak > 0 ? keep(fake, fake->fake.leak, err) : 0;
}

static int fake_run(struct tare_engine *engine, struct tare_error *err)
{
    struct fake_engine *fake = of(engine);
    uint64_t start = tare_clock_now(&fake->clock);
    double ns = tare_fake_next(&fake->series, &fake->fake, fake->base_ns);
    if (fake->fake.tide > 0)
        ns *= tare_fake_tide(&fake->fake, tare_clock_ns());
    fake->calls++;
    if (fake->calls_of_shape++ == 0 && fake->fake.cold > 0)
        ns *= fake->fake.cold;
    if (fake->calls == fake->fake.crash) {
        fprintf(stderr, "fake: call %.0f ends the process, as its description says\n", fake->calls);
        abort();
    }
    if (fake->calls == fake->fake.fail)
        return tare_fail(err, TARE_E_INPUT, 0, "fake: call %.0f fails, as its description says", fake->calls);
    while (fake->calls == fake->fake.hang)
        pause();
    if (use_memory(fake, err))
        return -1;
    uint64_t end = start + (uint64_t)(ns * fake->ticks_per_ns);
    while (tare_clock_now(&fake->clock) < end)
        ;
    if (fake->thread_started)
        atomic_store(&fake->restless_until, end + (uint64_t)(fake->fake.restless_ns * fake->ticks_per_ns));
    return 0;
}

static float answer_of(const struct fake_engine *fake, int64_t sample, int part)
{
    const struct tare_tensor *input = fake->inputs;
    int64_t elements = 0;
    double sum = 0;
    if (!input || !input->data || tare_shape_count(input->dims, input->rank, &elements) || elements == 0)
        return (float)part;
    int64_t each = elements / fake->batch;
    for (int64_t i = part; i < each; i += ANSWERS)
        sum += tare_tensor_get(input, (size_t)(sample * each + i));
    double mean = each ? sum / (double)each : 0;
    return (float)(fake->batch > 1 ? mean * (1 + fake->fake.wrong) : mean);
}

static int fake_outputs(struct tare_engine *engine, struct tare_arena *arena,
                        struct tare_tensor **ret_outputs, size_t *ret_count, struct tare_error *err)
{
    struct fake_engine *fake = of(engine);
    struct tare_tensor *output = tare_arena_alloc(arena, sizeof *output);
    float *data = tare_arena_array(arena, (size_t)fake->batch, ANSWERS * sizeof *data);
    if (!output || (!data && fake->batch > 0))
        return tare_fail_memory(err);
    for (int64_t i = 0; i < fake->batch; i++)
        for (int part = 0; part < ANSWERS; part++)
            data[i * ANSWERS + part] = answer_of(fake, i, part);
    *output = (struct tare_tensor){
        .name = "output",
        .element = TARE_ELEMENT_F32,
        .dims = {fake->batch, ANSWERS},
        .rank = 2,
        .data = data,
        .bytes = (size_t)fake->batch * ANSWERS * sizeof *data,
    };
    *ret_outputs = output;
    *ret_count = 1;
    return 0;
}

static void fake_memory(struct tare_engine *engine, struct tare_engine_memory *ret_memory)
{
    struct fake_engine *fake = of(engine);
    int64_t bytes = (int64_t)fake->kept + (int64_t)fake->activations_size;
    *ret_memory = (struct tare_engine_memory){
        .requested = (int64_t)fake->held + (int64_t)fake->activations_size,
        .in_use = bytes,
        .total = bytes,
        .peak = bytes,
        .allocations = -1,
        .reserves = -1,
        .extensions = -1,
        .largest = -1,
    };
}

static int fake_profile_end(struct tare_engine *engine, struct tare_arena *arena, const char **ret_path,
                            struct tare_error *err)
{
    (void)engine;
    (void)arena;
    (void)ret_path;
    return tare_fail(err, TARE_E_UNSUPPORTED, 0, "a fake model has no layers to profile");
}

const struct tare_engine_kind tare_engine_fake = {
    .name = "fake",
    .open = fake_open,
    .about = fake_about,
    .bind = fake_bind,
    .run = fake_run,
    .outputs = fake_outputs,
    .memory = fake_memory,
    .profile_end = fake_profile_end,
    .close = fake_close,
};
