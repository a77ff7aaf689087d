/* SPDX-License-Identifier: Apache-2.0 */
/* The array `labels` of the inputs' file: how many answers are right, with Wilson's bounds. */
#include <math.h>
#include <string.h>

#include "bench/inputs.h"
#include "bench/npz.h"
#include "flow/answers.h"

#define Z95 1.959963984540054

/* All samples of the file, and what they should be. */
struct labelled {
    struct tare_tensor *inputs;
    size_t inputs_count;
    int *axes;
    struct tare_tensor labels;
    int64_t samples;
};

/* The file's labels; data stays NULL when it has none. */
static int read_labels(const char *path, struct tare_arena *arena, struct labelled *all,
                       struct tare_error *err)
{
    struct tare_npz *npz = NULL;
    int rc = 0;
    if (tare_npz_open(path, &npz, err))
        return -1;
    for (size_t i = 0; i < tare_npz_count(npz) && rc == 0; i++)
        if (strcmp(tare_npz_name(npz, i), "labels") == 0)
            rc = tare_npz_read(npz, i, arena, &all->labels, err);
    tare_npz_close(npz);
    if (rc == 0 && all->labels.data) {
        all->samples = all->labels.rank > 0 ? all->labels.dims[0] : 0;
        int64_t count = 0;
        if (tare_shape_count(all->labels.dims, all->labels.rank, &count) < 0 || count != all->samples ||
            !tare_element_is_integer(all->labels.element))
            return tare_fail(err, TARE_E_INPUT, 0, "`labels` must be one whole number per sample");
    }
    return rc;
}

static int read_inputs(const struct tare_worker_spec *spec, struct tare_arena *arena, struct labelled *all,
                       struct tare_error *err)
{
    struct tare_inputs_ask ask = {
        .batch = all->samples, .dims = spec->dims, .dims_count = spec->dims_count, .path = spec->inputs_path};
    struct tare_inputs many, one;
    struct tare_model *model = NULL;
    int rc = -1;
    if (tare_model_open(spec->model_path, &model, err) || tare_inputs_make(model, &ask, arena, &many, err))
        goto out;
    ask.batch = 1;
    if (tare_inputs_bind(model, &ask, arena, &one, err))
        goto out;
    all->axes = tare_arena_array(arena, many.count + 1, sizeof *all->axes);
    if (!all->axes) {
        rc = tare_fail_memory(err);
        goto out;
    }
    for (size_t i = 0; i < many.count; i++)
        all->axes[i] = tare_drift_batch_axis(&one.tensors[i], &many.tensors[i], all->samples);
    all->inputs = many.tensors;
    all->inputs_count = many.count;
    rc = 0;
out:
    tare_model_close(model);
    return rc;
}

/* What an answer says of sample i out of count: the place of the largest score, or a whole number as it is.
 */
static int64_t told(const struct tare_answer *answer, int64_t i, int64_t count)
{
    for (size_t k = 0; k < answer->outputs_count; k++) {
        const struct tare_tensor *output = &answer->outputs[k];
        int64_t total = 0;
        if (output->rank == 0 || output->dims[0] != count ||
            tare_shape_count(output->dims, output->rank, &total) < 0)
            continue;
        if (tare_element_is_float(output->element) && output->rank == 2 && output->dims[1] > 1)
            return tare_drift_top1(output, (size_t)(i * output->dims[1]), (size_t)output->dims[1]);
        if (tare_element_is_integer(output->element) && total == count)
            return (int64_t)tare_tensor_get(output, (size_t)i);
    }
    return -1;
}

static int write_share(struct tare_bench *bench, size_t config, int64_t right, int64_t seen,
                       struct tare_error *err)
{
    struct tare_run *run = bench->run;
    double n = (double)seen, p = (double)right / n, z2 = Z95 * Z95;
    double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
    double half = Z95 / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
    struct tare_run_accuracy *metric =
        tare_answers_add(run, &run->configs[config], "accuracy", p,
                         tare_arena_printf(&run->arena, "labels of %lld samples", (long long)seen));
    if (!metric)
        return tare_fail_memory(err);
    metric->lower = tare_run_real(fmin(p, middle - half));
    metric->upper = tare_run_real(fmax(p, middle + half));
    return 0;
}

static int count_right(struct tare_bench *bench, struct tare_asked *asked, size_t config,
                       const struct labelled *all, struct tare_error *err)
{
    int64_t batch = bench->specs[config].batch > 0 ? bench->specs[config].batch : 1, seen = 0, right = 0;
    while (seen < all->samples && (seen == 0 || tare_bench_left_ns(bench) > 0)) {
        int64_t some = all->samples - seen < batch ? all->samples - seen : batch;
        struct tare_answer answer;
        struct tare_arena arena;
        tare_arena_init(&arena, 0);
        int rc = tare_asked_some(asked, all->inputs, all->axes, all->inputs_count, seen, some, &arena,
                                 &answer, err);
        bool unclear = rc == 0 && told(&answer, 0, some) < 0;
        for (int64_t i = 0; rc == 0 && i < some; i++)
            right += told(&answer, i, some) == (int64_t)tare_tensor_get(&all->labels, (size_t)(seen + i));
        tare_arena_finish(&arena);
        if (rc)
            return -1;
        if (unclear)
            return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                             "no output has a score per class or a class per sample to compare labels with");
        seen += some;
    }
    if (seen < all->samples)
        tare_bench_note(bench, "accuracy is of the first %lld of %lld labels, for want of time",
                        (long long)seen, (long long)all->samples);
    return write_share(bench, config, right, seen, err);
}

int tare_answers_label(struct tare_bench *bench, struct tare_asked *asked, size_t config,
                       struct tare_error *err)
{
    const struct tare_worker_spec *spec = &bench->specs[config];
    struct labelled all = {0};
    struct tare_arena arena;
    int rc = 0;
    tare_arena_init(&arena, 0);
    if (read_labels(spec->inputs_path, &arena, &all, err))
        rc = -1;
    else if (all.labels.data && all.samples > 0)
        rc = read_inputs(spec, &arena, &all, err) || tare_asked_load(bench, asked, spec, err) ||
                     count_right(bench, asked, config, &all, err)
                 ? -1
                 : 0;
    if (rc && err->code != TARE_E_MEMORY && !tare_bench_stopped(bench)) {
        tare_bench_note(bench, "accuracy not known: %s", err->msg);
        tare_asked_close(asked);
        rc = 0;
    }
    tare_arena_finish(&arena);
    return rc;
}
