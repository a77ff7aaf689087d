/* SPDX-License-Identifier: Apache-2.0 */
/* What comparing the answers of configurations needs: one loaded model, asked for batches and for single
 * samples. Private to answers.c, answers_ask.c and answers_labels.c. */
#ifndef TARE_FLOW_ANSWERS_H
#define TARE_FLOW_ANSWERS_H

#include "bench/drift.h"
#include "flow/bench_part.h"

/* What one call was given and gave. */
struct tare_answer {
    struct tare_tensor *inputs, *outputs;
    size_t inputs_count, outputs_count;
};

/* A loaded model that is asked again and again. Configurations that differ in nothing but shapes share it. */
struct tare_asked {
    struct tare_worker *worker;
    const struct tare_worker_spec *spec; /* of the first configuration that used it */
};

/** Load the model of a spec, or keep the one that is loaded if it is the same session. */
int tare_asked_load(struct tare_bench *bench, struct tare_asked *asked, const struct tare_worker_spec *spec,
                    struct tare_error *err);

void tare_asked_close(struct tare_asked *asked);

/** Would two specs be the same session: engine, model, options? */
bool tare_asked_same(const struct tare_worker_spec *a, const struct tare_worker_spec *b);

/** Ask for the spec's inputs at this batch. */
int tare_asked_batch(struct tare_asked *asked, const struct tare_worker_spec *spec, int64_t batch,
                     struct tare_arena *arena, struct tare_answer *ret_answer, struct tare_error *err);

/** Ask for samples first to first + count of these inputs. axes says for each input which axis is the batch,
 * -1 for none: such an input goes along as it is. */
int tare_asked_some(struct tare_asked *asked, const struct tare_tensor *inputs, const int *axes, size_t count,
                    int64_t first, int64_t samples, struct tare_arena *arena, struct tare_answer *ret_answer,
                    struct tare_error *err);

/** The output of an answer that goes by the name of another's; by place when no name is shared. NULL: none.
 */
const struct tare_tensor *tare_answer_like(const struct tare_answer *answer, const struct tare_tensor *output,
                                           size_t place);

/** Add a metric to a configuration. */
struct tare_run_accuracy *tare_answers_add(struct tare_run *run, struct tare_run_config *config,
                                           const char *name, double value, const char *reference);

/** Labels in the inputs' file: the share of samples whose answer is the label's. Says in a note why not. */
int tare_answers_label(struct tare_bench *bench, struct tare_asked *asked, size_t config,
                       struct tare_error *err);

#endif
