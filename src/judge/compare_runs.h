/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two runs held against each other, offline. Configurations are matched by their keys. Times are compared by
 * the medians of processes (judge/gate.h), figures that are the same in every run exactly, memory beyond an
 * allowance. Runs from machines that differ in a field that matters are not judged: every row says
 * inconclusive, and the fields are named.
 */
#ifndef TARE_JUDGE_COMPARE_RUNS_H
#define TARE_JUDGE_COMPARE_RUNS_H

#include "base/arena.h"
#include "base/error.h"
#include "core/run.h"
#include "core/verdict.h"
#include "judge/gate.h"

/* Memory of a fresh process varies by up to 3 % from one to the next: a single figure must differ by more
 * than three times that. */
#define TARE_COMPARE_MEMORY_ALLOWANCE 0.10

/** Compare b with its base a. name_a and name_b are what the user called them. */
int tare_compare_runs(const struct tare_run *a, const char *name_a, const struct tare_run *b,
                      const char *name_b, const struct tare_gate_rule *rule, struct tare_arena *arena,
                      struct tare_verdicts *ret_verdicts, struct tare_error *err);

/** Rows for what is the same in every run of a model: parameters, operations, nodes, size. */
int tare_compare_whole(const struct tare_run_model *a, const struct tare_run_model *b,
                       struct tare_verdicts *verdicts, struct tare_error *err);

/** A row of times: what the gate said of the cost of b over a, in a unit for people. */
void tare_compare_fill(struct tare_verdict *row, const struct tare_gate_result *result, double threshold,
                       struct tare_arena *arena);

/** What a configuration is called: its keys, in the arena. */
const char *tare_compare_name(const struct tare_run_config *config, struct tare_arena *arena);

/** Append a row; NULL when memory ran out. */
struct tare_verdict *tare_compare_add(struct tare_verdicts *verdicts);

/** Append a note; its text must live as long as they do. */
void tare_compare_note(struct tare_verdicts *verdicts, const char *text);

#endif
