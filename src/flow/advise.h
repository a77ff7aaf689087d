/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of advising share: looking at configurations of a run. Private to advise*.c. */
#ifndef TARE_FLOW_ADVISE_H
#define TARE_FLOW_ADVISE_H

#include "flow/bench_part.h"

/* Nothing of the kind. */
#define TARE_ADVISE_NONE ((size_t)-1)

/* The smallest batch within this of the best throughput is the balanced one, and more than that is worth
 * little. Written out in the findings' text. */
#define TARE_ADVISE_NEAR 0.90

/** Items per second; 0 when it was not measured. */
double tare_advise_rate(const struct tare_run_config *config);

/** Do two configurations differ in nothing but the batch? */
bool tare_advise_family(const struct tare_run_config *a, const struct tare_run_config *b);

/** The one of the same family with the most items per second, and the smallest batch among those that reach a
 * share of it: 1 gives the best itself. */
size_t tare_advise_best(const struct tare_run *run, size_t like, double share);

/** The one of the same family with the smallest measured batch. */
size_t tare_advise_smallest(const struct tare_run *run, size_t like);

/** The family that advice is about: the main model at its fastest among the first configurations' dimensions.
 */
size_t tare_advise_main(const struct tare_run *run);

/** Keys that vary in this run, and the batch: "batch=32 seq=128". In the run's arena. */
const char *tare_advise_name(struct tare_run *run, size_t config);

/** The same without the batch; "" when nothing else varies. */
const char *tare_advise_place(struct tare_run *run, size_t config);

/** "317 texts/s"; with bounds when they are known. */
const char *tare_advise_amount(struct tare_run *run, const struct tare_run_config *config);

/** Add a finding; text is in the run's arena. */
void tare_advise_find(struct tare_run *run, const char *kind, size_t config, double value, const char *unit,
                      const char *text);

/** Best, balanced, memory-efficient, diminishing returns, what small batches and long inputs lose. */
void tare_advise_sizes(struct tare_run *run);

/** Whether answers stay the same, across batches and against the reference. */
void tare_advise_answers(struct tare_run *run);

/** What holds it back: operators, threads, the machine. */
void tare_advise_limits(struct tare_run *run);

/** Recommendations, each tried. */
int tare_advise_try(struct tare_bench *bench, struct tare_error *err);

#endif
