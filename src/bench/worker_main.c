/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's side: read a question, do it, answer. One thread does the work; another waits for the parent's
 * end of the socket to close and then ends the process at once, whatever it is doing: a worker never outlives
 * its parent.
 */
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/worker_inputs.h"
#include "bench/worker_resident.h"
#include "bench/worker_use.h"
#include "bench/worker_wire.h"

/* The most samples of one question. */
enum { MOST_SAMPLES = 4 << 20 };

struct state {
    struct tare_arena arena;  /* what the spec points to */
    struct tare_arena shaped; /* the inputs */
    struct tare_worker_spec spec;
    struct tare_clock clock;
    struct tare_engine *engine;
    struct tare_tensor *inputs;
    size_t inputs_count;
    int64_t call_ns, calls_per_sample;
    int64_t *ns; /* samples */
    size_t ns_size;
};

static int check_open(const struct state *state, struct tare_error *err)
{
    return state->engine ? 0 : tare_fail(err, TARE_E_USAGE, 0, "a worker was asked before it had a model");
}

/* What loading left behind and freed is not what processing takes, and how much of it is still there is
 * chance: of one model it was 127 to 155 MB. */
static void give_back(void)
{
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

/* From here on these are the inputs; shaped holds them. */
static int use_inputs(struct state *state, struct tare_arena *shaped, struct tare_tensor *inputs,
                      size_t count, struct tare_error *err)
{
    if (state->engine && state->engine->kind->bind(state->engine, inputs, count, err)) {
        tare_arena_finish(shaped);
        return -1;
    }
    tare_arena_finish(&state->shaped);
    state->shaped = *shaped;
    state->inputs = inputs;
    state->inputs_count = count;
    state->call_ns = 0;
    state->calls_per_sample = 1;
    return 0;
}

static int shape(struct state *state, struct tare_error *err)
{
    struct tare_arena shaped;
    struct tare_tensor *inputs = NULL;
    size_t count = 0;
    tare_arena_init(&shaped, 0);
    if (tare_worker_make_inputs(&state->spec, &shaped, &inputs, &count, err)) {
        tare_arena_finish(&shaped);
        return -1;
    }
    return use_inputs(state, &shaped, inputs, count, err);
}

static int do_open(struct state *state, struct tare_wire_reader *reader, struct tare_buf *reply,
                   struct tare_error *err)
{
    struct tare_engine_about about;
    tare_worker_get_spec(reader, &state->arena, &state->spec);
    if (tare_wire_done(reader, err) || tare_arena_check(&state->arena, err))
        return -1;
    const struct tare_engine_kind *kind = tare_engine_find(state->spec.engine);
    if (!kind || state->engine)
        return tare_fail(err, TARE_E_USAGE, 0, "no engine '%.40s' for a worker", state->spec.engine);
    /* The inputs are made first: what reading the model for them took is then not taken for the engine's. */
    if (shape(state, err))
        return -1;
    give_back();
    int64_t before = tare_use_resident(), start = tare_clock_ns();
    if (kind->open(state->spec.model_path, &state->spec.options, &state->engine, err))
        return -1;
    int64_t load_ns = tare_clock_ns() - start, after = tare_use_resident();
    if (kind->bind(state->engine, state->inputs, state->inputs_count, err))
        return -1;
    kind->about(state->engine, &about);
    tare_wire_put_int(reply, load_ns);
    tare_wire_put_int(reply, before);
    tare_wire_put_int(reply, after);
    tare_wire_put_text(reply, about.name);
    tare_wire_put_text(reply, about.version);
    tare_wire_put_text(reply, about.path);
    return 0;
}

static int do_shape(struct state *state, struct tare_wire_reader *reader, struct tare_buf *reply,
                    struct tare_error *err)
{
    (void)reply;
    struct tare_worker_spec spec = state->spec;
    spec.batch = tare_wire_int_in(reader, 0, INT64_MAX);
    spec.dims = tare_worker_get_dims(reader, &state->arena, &spec.dims_count);
    if (tare_wire_done(reader, err) || tare_arena_check(&state->arena, err) || check_open(state, err))
        return -1;
    struct tare_worker_spec before = state->spec;
    state->spec = spec;
    if (shape(state, err)) {
        state->spec = before;
        return -1;
    }
    return 0;
}

static int do_feed(struct state *state, struct tare_wire_reader *reader, struct tare_buf *reply,
                   struct tare_error *err)
{
    (void)reply;
    struct tare_arena shaped;
    size_t count;
    tare_arena_init(&shaped, 0);
    struct tare_tensor *inputs = tare_wire_tensors(reader, &shaped, &count);
    if (tare_wire_done(reader, err) || tare_arena_check(&shaped, err) || check_open(state, err)) {
        tare_arena_finish(&shaped);
        return -1;
    }
    return use_inputs(state, &shaped, inputs, count, err);
}

static int do_warm(struct state *state, struct tare_wire_reader *reader, struct tare_buf *reply,
                   struct tare_error *err)
{
    struct tare_harness_warmup warmup;
    int64_t budget_ns = tare_wire_int_in(reader, 0, INT64_MAX);
    if (tare_wire_done(reader, err) || check_open(state, err) ||
        tare_harness_warm(state->engine, &state->clock, budget_ns, &warmup, err))
        return -1;
    /* Not sooner: the first call finds the heap as it would elsewhere. */
    give_back();
    state->call_ns = warmup.call_ns;
    state->calls_per_sample = warmup.calls_per_sample;
    tare_wire_put_int(reply, warmup.cold_ns);
    tare_wire_put_int(reply, warmup.calls);
    tare_wire_put_int(reply, warmup.ns);
    tare_wire_put_int(reply, warmup.stable);
    tare_wire_put_int(reply, warmup.calls_per_sample);
    tare_wire_put_int(reply, warmup.call_ns);
    return 0;
}

/* Room for as many samples as can be taken. When it is known how long a call takes, that is not more than
 * twice what the time allows. */
static int make_room(struct state *state, struct tare_harness_limits *limits, struct tare_error *err)
{
    int64_t most = limits->max_samples < MOST_SAMPLES ? limits->max_samples : MOST_SAMPLES;
    if (state->call_ns > 0) {
        int64_t fit = 2 * (limits->budget_ns / state->call_ns / state->calls_per_sample) + 64;
        fit = fit < limits->min_samples ? limits->min_samples : fit;
        most = most < fit ? most : fit;
    }
    if ((size_t)most > state->ns_size) {
        free(state->ns);
        state->ns_size = 0;
        state->ns = malloc((size_t)most * sizeof *state->ns);
        if (!state->ns)
            return tare_fail_memory(err);
        state->ns_size = (size_t)most;
    }
    limits->max_samples = most;
    return 0;
}

/* While it was parked others had the caches and its threads went to sleep: some calls bring both back. */
static int wake(struct state *state, struct tare_error *err)
{
    const int64_t long_ns = 100000000, wake_ns = 2000000;
    int status = 0;
    if (state->call_ns <= 0 || state->call_ns > long_ns)
        return 0;
    for (int64_t i = 0; i <= wake_ns / state->call_ns && !status; i++)
        status = state->engine->kind->run(state->engine, err);
    return status;
}

static int do_measure(struct state *state, struct tare_wire_reader *reader, struct tare_buf *reply,
                      struct tare_error *err)
{
    struct tare_use_moment before, after;
    struct tare_worker_use use;
    struct tare_harness_limits limits;
    size_t count = 0;
    limits.min_samples = tare_wire_int_in(reader, 0, INT64_MAX);
    limits.max_samples = tare_wire_int_in(reader, 0, INT64_MAX);
    limits.budget_ns = tare_wire_int_in(reader, 0, INT64_MAX / 4);
    bool wants_use = tare_wire_int_in(reader, 0, 1) == 1;
    if (tare_wire_done(reader, err) || check_open(state, err) || make_room(state, &limits, err))
        return -1;
    tare_clock_refine(&state->clock);
    if (wake(state, err))
        return -1;
    if (wants_use)
        tare_use_look(false, &before);
    if (tare_harness_measure(state->engine, &state->clock, &limits, state->calls_per_sample, state->ns,
                             &count, err))
        return -1;
    if (wants_use) {
        tare_use_look(true, &after);
        tare_use_between(&before, &after, &use);
        tare_worker_put_use(reply, &use);
    }
    tare_wire_put_int(reply, (int64_t)count);
    tare_wire_put_bytes(reply, state->ns, count * sizeof *state->ns);
    return 0;
}

/* Time-weighted: each look stands for the time until the next. */
static int64_t average(const int64_t *ns, const int64_t *bytes, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i + 1 < count; i++)
        sum += (double)bytes[i] * (double)(ns[i + 1] - ns[i]);
    if (count < 2 || ns[count - 1] <= ns[0])
        return count ? bytes[count - 1] : -1;
    return (int64_t)(sum / (double)(ns[count - 1] - ns[0]));
}

static int do_remember(struct state *state, struct tare_wire_reader *reader, struct tare_buf *reply,
                       struct tare_error *err)
{
    struct tare_worker_memory memory = {0};
    struct tare_resident *resident = NULL;
    const int64_t *ns, *bytes;
    int status = 0;
    int64_t calls = tare_wire_int_in(reader, 0, INT64_MAX);
    if (tare_wire_done(reader, err) || check_open(state, err) || tare_resident_start(&resident, err))
        return -1;
    give_back();
    bool reset = tare_use_reset_peak();
    memory.before = tare_use_resident();
    for (int64_t i = 0; i < calls && !status; i++)
        status = state->engine->kind->run(state->engine, err);
    memory.after = tare_use_resident();
    memory.peak = reset ? tare_use_peak() : memory.after;
    tare_resident_stop(resident);
    memory.count = tare_resident_table(resident, &ns, &bytes);
    /* The kernel's own high-water mark may lag behind what it tells at the moment. */
    for (size_t i = 0; i < memory.count; i++)
        memory.peak = bytes[i] > memory.peak ? bytes[i] : memory.peak;
    memory.average = average(ns, bytes, memory.count);
    state->engine->kind->memory(state->engine, &memory.engine);
    if (!status) {
        memory.ns = malloc(memory.count * sizeof *ns);
        memory.resident = malloc(memory.count * sizeof *bytes);
        status = memory.ns && memory.resident ? 0 : tare_fail_memory(err);
    }
    if (!status) {
        memcpy(memory.ns, ns, memory.count * sizeof *ns);
        memcpy(memory.resident, bytes, memory.count * sizeof *bytes);
        tare_worker_put_memory(reply, &memory);
    }
    free(memory.ns);
    free(memory.resident);
    tare_resident_destroy(resident);
    return status;
}

static int do_answer(struct state *state, struct tare_wire_reader *reader, struct tare_buf *reply,
                     struct tare_error *err)
{
    struct tare_arena arena;
    struct tare_tensor *outputs;
    size_t count;
    bool wants_inputs = tare_wire_int_in(reader, 0, 1) == 1;
    if (tare_wire_done(reader, err) || check_open(state, err) || state->engine->kind->run(state->engine, err))
        return -1;
    tare_arena_init(&arena, 0);
    int status = state->engine->kind->outputs(state->engine, &arena, &outputs, &count, err);
    if (!status) {
        tare_wire_put_tensors(reply, state->inputs, wants_inputs ? state->inputs_count : 0);
        tare_wire_put_tensors(reply, outputs, count);
    }
    tare_arena_finish(&arena);
    return status;
}

static int do_profile(struct state *state, struct tare_wire_reader *reader, struct tare_buf *reply,
                      struct tare_error *err)
{
    struct tare_arena arena;
    const char *path;
    int64_t calls = tare_wire_int_in(reader, 0, INT64_MAX);
    int status = tare_wire_done(reader, err) || check_open(state, err) ? -1 : 0;
    for (int64_t i = 0; i < calls && !status; i++)
        status = state->engine->kind->run(state->engine, err);
    if (status)
        return -1;
    tare_arena_init(&arena, 0);
    status = state->engine->kind->profile_end(state->engine, &arena, &path, err);
    if (!status)
        tare_wire_put_text(reply, path);
    tare_arena_finish(&arena);
    return status;
}

static int do_message(struct state *state, uint32_t kind, struct tare_wire_reader *reader,
                      struct tare_buf *reply, struct tare_error *err)
{
    switch ((enum tare_worker_message)kind) {
    case TARE_WORKER_OPEN:
        return do_open(state, reader, reply, err);
    case TARE_WORKER_SHAPE:
        return do_shape(state, reader, reply, err);
    case TARE_WORKER_FEED:
        return do_feed(state, reader, reply, err);
    case TARE_WORKER_WARM:
        return do_warm(state, reader, reply, err);
    case TARE_WORKER_MEASURE:
        return do_measure(state, reader, reply, err);
    case TARE_WORKER_REMEMBER:
        return do_remember(state, reader, reply, err);
    case TARE_WORKER_ANSWER:
        return do_answer(state, reader, reply, err);
    case TARE_WORKER_PROFILE:
        return do_profile(state, reader, reply, err);
    case TARE_WORKER_DONE:
    case TARE_WORKER_FAILED:
        break;
    }
    return tare_fail(err, TARE_E_INPUT, 0, "a worker was asked something unknown (%u)", kind);
}

/* Ends the process when the parent is gone. */
static void *watch_parent(void *data)
{
    const int *socket = data;
    struct pollfd pollfd = {.fd = *socket, .events = POLLRDHUP};
    while (poll(&pollfd, 1, -1) <= 0)
        ;
    _exit(0);
}

static int watch(int *socket)
{
    pthread_t thread;
    pthread_attr_t small;
    sigset_t all, before;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&thread, &small, watch_parent, socket);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
    return rc;
}

int tare_worker_main(int socket)
{
    struct state state = {.calls_per_sample = 1};
    struct tare_buf asked, reply;
    int type, status = 0;
    uint32_t kind;
    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof type}) < 0 || watch(&socket))
        return -1;
    tare_arena_init(&state.arena, 0);
    tare_arena_init(&state.shaped, 0);
    tare_buf_init(&asked, TARE_WIRE_CAP);
    tare_buf_init(&reply, TARE_WIRE_CAP);
    tare_clock_init(&state.clock);
    while (status == 0) {
        struct tare_error err = {0};
        if (tare_wire_receive(socket, NULL, NULL, &kind, &asked, &err))
            break;
        struct tare_wire_reader reader = {.data = asked.data, .left = asked.length};
        tare_buf_clear(&reply);
        int rc = do_message(&state, kind, &reader, &reply, &err);
        if (rc == 0)
            rc = tare_buf_check(&reply, &err);
        if (rc) {
            tare_buf_clear(&reply);
            tare_wire_put_int(&reply, err.code);
            tare_wire_put_int(&reply, err.sys);
            tare_wire_put_text(&reply, err.msg);
        }
        status = tare_wire_send(socket, rc ? TARE_WORKER_FAILED : TARE_WORKER_DONE, &reply, &err);
    }
    /* Nobody listens any more. The runtime's own clean-up could only hang or crash. */
    _exit(0);
}
