/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of weighing a model share. Private to bench.c, sweep.c, weigh.c, layering.c, answers.c and
 * advise.c. */
#ifndef TARE_FLOW_BENCH_PART_H
#define TARE_FLOW_BENCH_PART_H

#include "core/verdict.h"
#include "flow/bench.h"

/* One weighing. configs[i] of the run belongs to specs[i]. */
struct tare_bench {
    const struct tare_bench_plan *plan;
    const struct tare_bench_watch *watch;
    struct tare_arena arena; /* paths, specs */
    struct tare_run *run;
    struct tare_worker_spec *specs;
    size_t specs_count;
    const char *library;      /* the runtime that was found; NULL for engines that need none */
    const char *folder;       /* for profiles and optimised graphs; removed at the end */
    int64_t start_ns, end_ns; /* of the whole command, on CLOCK_MONOTONIC */
    int64_t deadline_ns;      /* of the part that is running now: it leaves the rest to those after it */
};

/** Make the run and the specs of a plan; nothing has run yet. Plan and watch must live as long as the bench.
 */
int tare_bench_open(struct tare_bench *bench, const struct tare_bench_plan *plan,
                    const struct tare_bench_watch *watch, struct tare_error *err);

/** Free it, and remove its folder. */
void tare_bench_close(struct tare_bench *bench);

/** Time left for the part that is running, 0 when it is over or the user interrupted. */
int64_t tare_bench_left_ns(const struct tare_bench *bench);

/** Has the user interrupted? */
bool tare_bench_stopped(const struct tare_bench *bench);

/** Tell the watcher. */
void tare_bench_say(const struct tare_bench *bench, enum tare_bench_stage stage, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Add a sentence to the run's notes. */
void tare_bench_note(struct tare_bench *bench, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Make configurations and specs of the plan's lists; what is not given becomes a default, and is noted. */
int tare_bench_expand(struct tare_bench *bench, struct tare_error *err);

/* Kept free for everything else on the machine. */
#define TARE_BENCH_SPARE (INT64_C(256) << 20)

/** Bytes that a process holds; -1 when it is gone. */
int64_t tare_bench_resident(int pid);

/** Bytes that may be had on this machine and in this control group; -1 when nothing says so. */
int64_t tare_bench_available(void);

/** Start a worker for a spec, with the watcher's stop. */
int tare_bench_worker(const struct tare_bench *bench, const struct tare_worker_spec *spec,
                      struct tare_worker **ret_worker, struct tare_worker_ready *ret_ready,
                      struct tare_error *err);

/** What a spec asks of a model's inputs. */
struct tare_inputs_ask tare_bench_ask(const struct tare_bench *bench, const struct tare_worker_spec *spec);

/** The inputs of a spec, the caller's among them; NULL where the engine has no model file. */
int tare_bench_inputs(const struct tare_bench *bench, const struct tare_worker_spec *spec,
                      struct tare_arena *arena, struct tare_tensor **ret_inputs, size_t *ret_count,
                      struct tare_error *err);

struct tare_drift;

/** How far the answers of a spec are from the reference's, on one sample. */
int tare_bench_drift(struct tare_bench *bench, const struct tare_worker_spec *spec,
                     struct tare_drift *ret_drift, struct tare_error *err);

/* One side of bouts. A call handles so many items, and times are those of one. */
struct tare_bout_side {
    const struct tare_bench *bench;
    const struct tare_worker_spec *spec;
    double items;
    int64_t held; /* bytes that its last process held; 0 before the first, -1: not known */
};

struct tare_bout_figures {
    struct tare_verdict_process calls; /* ns; cost is their median */
    int64_t resident;                  /* as held */
};

/* A fresh process of each of two sides, measured in turn. */
struct tare_bout {
    struct tare_bout_figures sides[2];
    double log;    /* of B's time over A's */
    bool apart;    /* memory does not hold both, or one does not rest: measured one after the other */
    bool restless; /* a process was busy while the other was measured */
};

/** Have one, of about run_ns for each side once both are warm, but at least three rounds of four turns, or
 * one where calls are long. Every other bout should begin with B. */
int tare_bench_bout(struct tare_bout_side sides[2], bool b_first, int64_t run_ns, struct tare_bout *ret_bout,
                    struct tare_error *err);

/* Two specs in bouts, for a proof: the ratio of their times with bounds. */
/* Of two the bounds are so wide that they prove nothing: Student's factor is 12.7, of three 4.3. */
enum { TARE_DUEL_BOUTS_LEAST = 3 };

struct tare_bench_duel {
    struct tare_run_estimate ratio; /* time of a over time of b: above 1, b is faster */
    bool apart;                     /* as of a bout, of any */
};

/** Measure a against b in fresh processes, interleaved, for at most budget_ns. items scale the times: a call
 * of each handles so many items. */
int tare_bench_duel(struct tare_bench *bench, const struct tare_worker_spec *a, double a_items,
                    const struct tare_worker_spec *b, double b_items, int64_t budget_ns,
                    struct tare_bench_duel *ret_duel, struct tare_error *err);

int tare_bench_measure(struct tare_bench *bench, struct tare_error *err); /* sweep.c: times */
int tare_bench_here(struct tare_bench *bench, struct tare_error *err);   /* given.c: times, in this process */
int tare_bench_weigh(struct tare_bench *bench, struct tare_error *err);  /* weigh.c: memory, leaks */
int tare_bench_layers(struct tare_bench *bench, struct tare_error *err); /* layering.c: nodes, MACs, peaks */
int tare_bench_answers(struct tare_bench *bench, struct tare_error *err); /* answers.c: accuracy */
int tare_bench_advise(struct tare_bench *bench, struct tare_error *err);  /* advise.c: findings, advice */

#endif
