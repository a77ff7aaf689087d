/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics that a threshold or a comparison can name. Private to the judge room. */
#ifndef TARE_JUDGE_THRESHOLD_METRIC_H
#define TARE_JUDGE_THRESHOLD_METRIC_H

#include "judge/threshold.h"

struct tare_threshold_metric {
    const char *name;
    enum tare_threshold_kind kind;
    enum tare_run_bound bound; /* of the good side; NONE: it depends on which accuracy */
    bool whole;                /* of the run, not of a configuration */
    bool exact;                /* the same in every run: compared as it is */
    bool sampled;              /* more samples narrow its bounds */
    bool averaged;             /* every call counts in it, the slow ones most */
    /** The figure, absent where it is not known. config is NULL for those of the run. */
    struct tare_run_estimate (*get)(const struct tare_run *run, const struct tare_run_config *config);
};

/* Ended by a NULL name. */
extern const struct tare_threshold_metric tare_threshold_metrics[];

/** The metric of a name; for "accuracy.top1" also what stands behind the dot. NULL if there is none. */
const struct tare_threshold_metric *tare_threshold_metric_find(const char *name, const char **ret_accuracy);

/** Which side is good. */
enum tare_run_bound tare_threshold_metric_bound(const struct tare_threshold_metric *metric,
                                                const char *accuracy);

/** The figure of a metric. */
struct tare_run_estimate tare_threshold_metric_get(const struct tare_threshold_metric *metric,
                                                   const char *accuracy, const struct tare_run *run,
                                                   const struct tare_run_config *config);

#endif
