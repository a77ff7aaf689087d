/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: one configuration in a process of its own, so that a runtime that crashes costs its configuration
 * only, memory is that of a fresh process, and the spinning threads of one session do not slow another. The
 * parent starts the command itself again (`tare` or `python -m tare`, with the hidden word .worker) and talks
 * to it over a socket; the worker does one thing when asked and sleeps in between. A worker whose parent is
 * gone ends by itself. When a worker dies, the call that was waiting fails, naming the signal and the last
 * line that the runtime wrote to standard error.
 *
 * A worker handle belongs to one thread. Waiting ends early, with TARE_E_LIMIT, when *stop becomes non-zero
 * or the deadline is over.
 */
#ifndef TARE_BENCH_WORKER_H
#define TARE_BENCH_WORKER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "bench/engine.h"
#include "bench/harness.h"
#include "core/run.h"

/* What a worker is to run. */
struct tare_worker_spec {
    const char *engine;      /* name of an engine kind: "onnxruntime", "fake" */
    const char *model_path;  /* what the engine opens */
    const char *inputs_path; /* .npz; NULL: inputs are generated from the model */
    int64_t batch;           /* 0: the model's own */
    const struct tare_run_dim *dims;
    size_t dims_count;
    struct tare_engine_options options;
};

/* How workers are started: the program and its arguments up to and with the hidden word, ended by NULL. */
struct tare_worker_start {
    const char *const *argv;
    const volatile sig_atomic_t *stop; /* NULL: never */
    int64_t deadline_ns;               /* on CLOCK_MONOTONIC: nothing is waited for any longer; 0: no end */
};

struct tare_worker_ready {
    int64_t load_ns;
    int64_t resident_before, resident_after; /* bytes, before and after the model was loaded */
    char name[32], version[32], path[1024];
};

/* What the process used between two moments, as the kernel counts it. Not known: -1. */
struct tare_worker_use {
    int64_t wall_ns, cpu_user_ns, cpu_system_ns;
    int64_t switches_voluntary, switches_involuntary, faults_minor, faults_major;
    int64_t disk_read, disk_write, net_receive, net_send;
    int64_t steal_ns, throttled_ns, throttled_periods;
    double per_core[256]; /* share of each core of the machine */
    size_t cores;
};

/* Memory while processing: resident size before the first call, then sampled by a thread of the worker. */
struct tare_worker_memory {
    int64_t before, after, peak, average; /* resident bytes */
    struct tare_engine_memory engine;     /* after the calls */
    int64_t *ns, *resident;               /* snapshots, in the arena */
    size_t count;
};

struct tare_worker;

/** Start a process and have it load the model. */
int tare_worker_open(const struct tare_worker_start *start, const struct tare_worker_spec *spec,
                     struct tare_worker **ret_worker, struct tare_worker_ready *ret_ready,
                     struct tare_error *err);

/** Did its process end, or must it be ended? Then every call fails, and only closing it is left. */
bool tare_worker_dead(const struct tare_worker *worker);

/** Its process id. */
int tare_worker_pid(const struct tare_worker *worker);

/** Generate or read the inputs for another batch and other dimensions, and use them from now on. */
int tare_worker_shape(struct tare_worker *worker, int64_t batch, const struct tare_run_dim *dims,
                      size_t dims_count, struct tare_error *err);

/** Use copies of these inputs from now on, until the next shape: all that the model has, by name. */
int tare_worker_feed(struct tare_worker *worker, const struct tare_tensor *inputs, size_t count,
                     struct tare_error *err);

/** Make a call of the current shape so often that it is warm; at most budget_ns. */
int tare_worker_warm(struct tare_worker *worker, int64_t budget_ns, struct tare_harness_warmup *ret_warmup,
                     struct tare_error *err);

/** Take samples; *ret_ns is in the arena. use may be NULL. */
int tare_worker_measure(struct tare_worker *worker, const struct tare_harness_limits *limits,
                        struct tare_arena *arena, int64_t **ret_ns, size_t *ret_count,
                        struct tare_worker_use *use, struct tare_error *err);

/** Run so many calls and say what memory they took. */
int tare_worker_remember(struct tare_worker *worker, int64_t calls, struct tare_arena *arena,
                         struct tare_worker_memory *ret_memory, struct tare_error *err);

/** Run once; copies of the inputs (when asked for) and the outputs are in the arena. */
int tare_worker_answer(struct tare_worker *worker, struct tare_arena *arena, struct tare_tensor **ret_inputs,
                       size_t *ret_inputs_count, struct tare_tensor **ret_outputs, size_t *ret_outputs_count,
                       struct tare_error *err);

/** Run so many calls under the engine's own profiler, end it, and give the path of its file. */
int tare_worker_profile(struct tare_worker *worker, int64_t calls, struct tare_arena *arena,
                        const char **ret_path, struct tare_error *err);

/** Is it parked: did it use no processor time for some milliseconds? Waits up to wait_ns for it. */
bool tare_worker_idle(const struct tare_worker *worker, int64_t wait_ns);

/** End it; NULL is allowed. Never hangs: a worker that does not go is killed. */
void tare_worker_close(struct tare_worker *worker);

/* Where a worker finds its socket. */
enum { TARE_WORKER_DESCRIPTOR = 3 };

/** The worker's own main, on the socket it was given. Returns only, with -1, if that is none. */
int tare_worker_main(int socket);

#endif
