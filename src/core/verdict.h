/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts: what came out of comparing two things, or of holding one against its thresholds. The judge makes
 * them, reports show them (text, JSON, Markdown, JUnit, annotations), and the exit status follows from the
 * worst. Rows are worst first. Texts live in the arena that the verdicts were made in. Plain data.
 */
#ifndef TARE_CORE_VERDICT_H
#define TARE_CORE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "core/machine.h"
#include "core/run.h"

/* Ordered by how bad it is. */
enum tare_verdict_kind {
    TARE_VERDICT_SAME,
    TARE_VERDICT_IMPROVED,
    TARE_VERDICT_PASSED,       /* of a threshold */
    TARE_VERDICT_INCONCLUSIVE, /* also of a threshold */
    TARE_VERDICT_REGRESSED,
    TARE_VERDICT_FAILED, /* of a threshold */
};

/* One process of a comparison. */
struct tare_verdict_process {
    double cost;           /* what is compared: of a latency the median of its calls */
    double calls;          /* how many; 0 where a process has no single calls */
    double mean, variance; /* of its calls; the latter NaN for a single one */
};

struct tare_verdict {
    enum tare_verdict_kind kind;
    const char *configuration;     /* all keys: "batch=32 seq=128 threads=2"; "" for the whole */
    const char *label;             /* those that tell it from the others: "batch=32 seq=128" */
    const char *metric;            /* "latency.p50" */
    const char *unit;              /* of a and b as they are shown: "ms" */
    const char *target;            /* of a threshold: "<= 100 ms"; NULL for a comparison */
    struct tare_run_estimate a, b; /* base and new; of a threshold, limit and achieved */
    double ratio, low, high;       /* cost of b over cost of a: above 1 is worse; NaN if not known */
    double p;                      /* NaN where there is no test */
    double detectable;             /* NaN where it makes no sense */
    size_t processes_a, processes_b;
    const struct tare_verdict_process *runs_a, *runs_b; /* in the unit, as they ran; NULL if not kept */
    const double *block_ratios;                         /* of costs, block by block; NULL if not kept */
    size_t blocks;
    bool exact;       /* the same in every run: compared as it is */
    const char *note; /* what would settle it, or what to know; may be NULL */
};

struct tare_verdicts {
    struct tare_arena *arena;
    const char *a, *b; /* what was compared: file, model or command */
    struct tare_verdict *rows;
    size_t count;
    struct tare_machine_comparison machine; /* of two runs measured apart */
    bool comparable;                        /* false: rows are marked, none is red */
    double threshold;                       /* 0.05 */
    const char **notes;
    size_t notes_count;
};

/** The worst kind of all rows; SAME when there are none. */
enum tare_verdict_kind tare_verdicts_worst(const struct tare_verdicts *verdicts);

/** Give every row its label: the batch, and the keys that not all rows share. */
void tare_verdicts_label(struct tare_verdicts *verdicts);

/** Put the worst first; of two alike the larger change. */
void tare_verdicts_sort(struct tare_verdicts *verdicts);

/** "regressed", "failed", ... */
const char *tare_verdict_word(enum tare_verdict_kind kind);

#endif
