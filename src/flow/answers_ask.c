/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "flow/answers.h"

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool tare_asked_same(const struct tare_worker_spec *a, const struct tare_worker_spec *b)
{
    const struct tare_engine_options *x = &a->options, *y = &b->options;
    return same_text(a->engine, b->engine) && same_text(a->model_path, b->model_path) &&
           same_text(x->library, y->library) && same_text(x->provider, y->provider) &&
           x->threads == y->threads && x->inter_threads == y->inter_threads && x->level == y->level &&
           x->no_spinning == y->no_spinning;
}

int tare_asked_load(struct tare_bench *bench, struct tare_asked *asked, const struct tare_worker_spec *spec,
                    struct tare_error *err)
{
    struct tare_worker_ready ready;
    if (asked->worker && tare_asked_same(asked->spec, spec))
        return 0;
    tare_asked_close(asked);
    if (tare_bench_worker(bench, spec, &asked->worker, &ready, err))
        return -1;
    asked->spec = spec;
    return 0;
}

void tare_asked_close(struct tare_asked *asked)
{
    tare_worker_close(asked->worker);
    *asked = (struct tare_asked){0};
}

static int ask(struct tare_asked *asked, struct tare_arena *arena, struct tare_answer *ret_answer,
               struct tare_error *err)
{
    struct tare_answer answer = {0};
    if (tare_worker_answer(asked->worker, arena, &answer.inputs, &answer.inputs_count, &answer.outputs,
                           &answer.outputs_count, err))
        return -1;
    *ret_answer = answer;
    return 0;
}

int tare_asked_batch(struct tare_asked *asked, const struct tare_worker_spec *spec, int64_t batch,
                     struct tare_arena *arena, struct tare_answer *ret_answer, struct tare_error *err)
{
    if (tare_worker_shape(asked->worker, batch, spec->dims, spec->dims_count, err))
        return -1;
    return ask(asked, arena, ret_answer, err);
}

int tare_asked_some(struct tare_asked *asked, const struct tare_tensor *inputs, const int *axes, size_t count,
                    int64_t first, int64_t samples, struct tare_arena *arena, struct tare_answer *ret_answer,
                    struct tare_error *err)
{
    struct tare_tensor *some = tare_arena_array(arena, count + 1, sizeof *some);
    if (!some)
        return tare_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        some[i] = inputs[i];
        if (axes[i] >= 0 &&
            tare_drift_take(&inputs[i], (size_t)axes[i], first, samples, arena, &some[i], err))
            return -1;
    }
    if (tare_worker_feed(asked->worker, some, count, err))
        return -1;
    return ask(asked, arena, ret_answer, err);
}

const struct tare_tensor *tare_answer_like(const struct tare_answer *answer, const struct tare_tensor *output,
                                           size_t place)
{
    for (size_t i = 0; i < answer->outputs_count; i++)
        if (same_text(answer->outputs[i].name, output->name))
            return &answer->outputs[i];
    return place < answer->outputs_count ? &answer->outputs[place] : NULL;
}

struct tare_run_accuracy *tare_answers_add(struct tare_run *run, struct tare_run_config *config,
                                           const char *name, double value, const char *reference)
{
    struct tare_run_accuracy *metric =
        tare_run_append(run, &config->accuracy, &config->accuracy_count, sizeof *metric);
    if (!metric)
        return NULL;
    metric->name = name;
    metric->value = tare_run_real(value);
    metric->reference = reference;
    return metric;
}
