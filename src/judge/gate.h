/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's rule: did B get slower than A? What is compared is processes, never single calls, and the ratio
 * is B over A in the direction of cost (a throughput's is turned round by the caller), so above 1 is worse. A
 * verdict needs three things at once: a ratio beyond the threshold, bounds that leave 1 out, and a rank test
 * below 1 %. When the bounds lie inside the threshold both are the same. All else is inconclusive, and the
 * smallest effect that such data would have shown is given. Pure functions; the same data give the same
 * answer.
 */
#ifndef TARE_JUDGE_GATE_H
#define TARE_JUDGE_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

enum tare_gate_verdict {
    TARE_GATE_INCONCLUSIVE,
    TARE_GATE_SAME,
    TARE_GATE_IMPROVED,
    TARE_GATE_REGRESSED,
};

/* Zero means the default. */
struct tare_gate_rule {
    double threshold; /* 0.05: five per cent */
    double p;         /* 0.01 */
    double allowance; /* TARE_GATE_ALLOWANCE */
};

struct tare_gate_result {
    enum tare_gate_verdict verdict;
    double ratio, low, high; /* cost of B over cost of A, and its 95 % bounds */
    double p;                /* two-sided; adjusted for the number of metrics by tare_gate_holm */
    double detectable; /* the true effect that would be called in 80 % of such comparisons: 0.07 is 7 % */
    size_t a, b;       /* processes on each side */
    size_t blocks;     /* blocks; 0 when the two sides were measured apart */
    bool exact;        /* the figures are the same in every run: compared as they are */
    double allowance;  /* too few processes: called only beyond this; else 0 */
};

/* Fewer processes than this on a side tell nothing of how processes differ. */
enum { TARE_GATE_PROCESSES = 10 };

/* So a difference must pass what processes of one program have been seen to differ by: 4 standard deviations
 * of 6 %, the most that was met. */
#define TARE_GATE_ALLOWANCE 0.24

/* Where others wanted the processor meanwhile, up to 64 % was met. */
#define TARE_GATE_ALLOWANCE_BUSY 1.0

/* How many blocks are looked at: at the first where something can be said, it is said. */
enum { TARE_GATE_LOOKS = 3 };
extern const size_t tare_gate_looks[TARE_GATE_LOOKS];

/** Compare by blocks of fresh processes, run in turn: log ratios of the costs of at least two. */
int tare_gate_blocks(const double *logs, size_t count, const struct tare_gate_rule *rule,
                     struct tare_arena *scratch, struct tare_gate_result *ret_result, struct tare_error *err);

/** Compare process medians that were measured apart, at least one a side, all above 0. */
int tare_gate_sides(const double *a, size_t a_count, const double *b, size_t b_count,
                    const struct tare_gate_rule *rule, struct tare_arena *scratch,
                    struct tare_gate_result *ret_result, struct tare_error *err);

/** Compare two figures that do not vary: any difference is one. A cost of 0 is allowed. */
void tare_gate_exact(double a, double b, struct tare_gate_result *ret_result);

/** Having looked at several metrics: adjust their p (Holm) and take back verdicts that no longer hold. */
int tare_gate_holm(struct tare_gate_result *results, size_t count, const struct tare_gate_rule *rule,
                   struct tare_arena *scratch, struct tare_error *err);

/** "regressed", "improved", "same", "inconclusive". */
const char *tare_gate_word(enum tare_gate_verdict verdict);

#endif
