/* SPDX-License-Identifier: Apache-2.0 */
/* What sweep.c (who is measured when, and when it is enough) and sweep_slot.c (one configuration's processes
 * and samples) share. Private to them. */
#ifndef TARE_FLOW_SWEEP_PART_H
#define TARE_FLOW_SWEEP_PART_H

#include "flow/bench_part.h"

/* Every configuration that counts as measured has at least so many samples. */
enum { TARE_SWEEP_LEAST = 5 };

/* Raw samples are kept in the file, so their number is bounded: three times what p99.9 needs. */
enum { TARE_SWEEP_MOST = 20000 };

/* A configuration while it is measured. */
struct tare_sweep_slot {
    struct tare_worker *worker; /* NULL while it has no process */
    struct tare_harness_warmup warmup;
    double units; /* how much work one call is, to guess the cost of the others */
    int64_t resident;
    int64_t used_ns;     /* when it was measured last */
    int64_t open_ns;     /* what starting and warming up took the last time */
    int64_t opening_ns;  /* and all times together */
    int64_t measured_ns; /* in samples */
    int64_t sample_ns;   /* what one takes, roughly */
    size_t samples;      /* in all processes */
    size_t ns_room, rounds_room;
    size_t rounds;  /* in this process */
    int64_t wanted; /* processes to hear before it is called sure */
    size_t look, next_look;
    size_t looked;     /* samples at the last look */
    double half_width; /* of the median's bounds at the last look, relative; infinite when unbounded */
    double lower_ns, upper_ns;
    bool tail_known; /* the data suffice for p99 */
    bool decided;    /* as far as samples can decide the thresholds about it */
    bool done, started;
    double core_ns[256];
    size_t cores;
};

struct tare_sweep {
    struct tare_bench *bench;
    struct tare_sweep_slot *slots;
    size_t *order; /* cheapest first */
    size_t count;
    size_t live, live_most; /* processes now, and at most */
    size_t evicted;         /* processes closed for want of memory */
    size_t restless;        /* times that a parked process was still busy */
    int64_t rounds;
};

/** A process for the configuration, warmed up, with room made for it. Fails with what is wrong with it. */
int tare_sweep_start(struct tare_sweep *sweep, size_t config, int64_t warm_ns, struct tare_error *err);

/** Take samples into the configuration. */
int tare_sweep_sample(struct tare_sweep *sweep, size_t config, const struct tare_harness_limits *limits,
                      struct tare_error *err);

/** Wait until its process is idle. */
void tare_sweep_park(struct tare_sweep *sweep, size_t config);

/** End its process. */
void tare_sweep_stop(struct tare_sweep *sweep, size_t config);

/** Look at the data, if there is enough new data for a look: how sure is the median, and are the thresholds
 * decided? */
int tare_sweep_look(struct tare_sweep *sweep, size_t config, struct tare_error *err);

#endif
