/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a run whose figures are known. */
#include "check.h"
#include "flow/advise.h"

static struct tare_run *make(void)
{
    struct tare_run *run = NULL;
    struct tare_error err;
    CHECK_INT(tare_run_create(0, &run, &err), 0);
    run->unit = "texts";
    return run;
}

static struct tare_run_config *add(struct tare_run *run, int64_t batch, int64_t seq, double rate,
                                   double peak_mb)
{
    struct tare_run_config *config = tare_run_append(run, &run->configs, &run->configs_count, sizeof *config);
    config->status = rate > 0 ? TARE_RUN_MEASURED : TARE_RUN_NOT_MEASURED;
    config->keys.batch = tare_run_int(batch);
    config->keys.threads = tare_run_int(2);
    config->keys.precision = "fp32";
    config->keys.dims = tare_arena_array(&run->arena, 1, sizeof *config->keys.dims);
    config->keys.dims[0] = (struct tare_run_dim){"seq", seq};
    config->keys.dims_count = 1;
    if (rate > 0) {
        config->throughput_per_sec.value = tare_run_real(rate);
        config->latency.mean_ns.value = tare_run_real((double)batch / rate * 1e9);
        config->latency.p50_ns.value = config->latency.mean_ns.value;
        config->memory.peak_bytes = tare_run_int((int64_t)(peak_mb * 1e6));
    }
    return config;
}

static const struct tare_run_finding *finding(const struct tare_run *run, const char *kind)
{
    for (size_t i = 0; i < run->findings_count; i++)
        if (strcmp(run->findings[i].kind, kind) == 0)
            return &run->findings[i];
    return NULL;
}

static void sizes(void)
{
    struct tare_run *run = make();
    add(run, 1, 16, 100, 100);
    add(run, 8, 16, 285, 104);
    add(run, 32, 16, 310, 120);
    add(run, 64, 16, 300, 160);
    add(run, 128, 16, 0, 0);
    tare_advise_sizes(run);
    CHECK_INT(finding(run, "best_throughput")->configuration.value, 2);
    CHECK_TEXT(finding(run, "best_throughput")->text, "Best throughput: batch 32, 310 texts/s.");
    CHECK_INT(finding(run, "balanced")->configuration.value, 1);
    CHECK_TEXT(
        finding(run, "balanced")->text,
        "Balanced (the smallest batch within 10 % of the best): batch 8, 92 % of the best, 28.1 ms a call "
        "where batch 32 takes 103 ms.");
    CHECK_INT(finding(run, "memory_efficient")->configuration.value, 1);
    CHECK_INT(finding(run, "diminishing_returns")->configuration.value, 1);
    CHECK_TEXT(finding(run, "diminishing_returns")->text,
               "Diminishing returns after batch 8: 32 gains 8.8 % for 3.68 times the latency.");
    CHECK_REAL(finding(run, "small_batches")->value.value, 100 * (1 - 100.0 / 310), 1e-9);
    CHECK(!finding(run, "long_inputs"));
    tare_run_destroy(run);
}

static void still_growing(void)
{
    struct tare_run *run = make();
    add(run, 1, 16, 100, 100);
    add(run, 2, 16, 190, 100);
    tare_advise_sizes(run);
    CHECK_TEXT(finding(run, "diminishing_returns")->text,
               "No diminishing returns up to batch 2: larger ones may gain more.");
    CHECK_TEXT(
        finding(run, "balanced")->text,
        "Balanced (the smallest batch within 10 % of the best): batch 2 too, no smaller one comes near.");
    tare_run_destroy(run);
}

static void one_batch_says_nothing(void)
{
    struct tare_run *run = make();
    add(run, 8, 16, 100, 100);
    tare_advise_sizes(run);
    CHECK_INT(run->findings_count, 0);
    tare_run_destroy(run);
}

static void long_inputs(void)
{
    struct tare_run *run = make();
    add(run, 1, 16, 175, 100);
    add(run, 32, 16, 320, 100);
    add(run, 1, 128, 30, 100);
    add(run, 32, 128, 32, 100);
    tare_advise_sizes(run);
    const struct tare_run_finding *found = finding(run, "long_inputs");
    CHECK(found != NULL);
    CHECK_REAL(found->value.value, 90, 1e-9);
    CHECK_TEXT(found->text,
               "Long inputs: seq=128 loses 90 % of the texts/s of seq=16: 8 times the size, 10 times "
               "the time; per unit of seq that is 20 % slower.");
    CHECK_TEXT(finding(run, "best_throughput")->text, "Best throughput at seq=16: batch 32, 320 texts/s.");
    tare_run_destroy(run);
}

static void add_metric(struct tare_run *run, struct tare_run_config *config, const char *name, double value,
                       bool passed)
{
    struct tare_run_accuracy *metric =
        tare_run_append(run, &config->accuracy, &config->accuracy_count, sizeof *metric);
    metric->name = name;
    metric->value = tare_run_real(value);
    metric->passed = tare_run_flag(passed);
}

static void answers(void)
{
    struct tare_run *run = make();
    add_metric(run, add(run, 8, 16, 10, 1), "batch_max_abs", 1e-7, true);
    add_metric(run, add(run, 32, 16, 10, 1), "batch_max_abs", 3e-7, true);
    tare_advise_answers(run);
    CHECK_TEXT(finding(run, "same_answers")->text,
               "Answers do not depend on the batch: alone and inside it they differ by at most 3e-07.");
    struct tare_run_config *wrong = add(run, 64, 16, 10, 1);
    wrong->keys.precision = "int8";
    add_metric(run, wrong, "batch_max_abs", 0.5, false);
    add_metric(run, wrong, "max_abs", 0.7, false);
    add_metric(run, wrong, "cosine", 0.95, false);
    run->findings_count = 0;
    tare_advise_answers(run);
    CHECK(finding(run, "same_answers") != NULL);
    CHECK_TEXT(finding(run, "answers_change")->text,
               "Answers of int8 change with the batch: alone and inside it they differ by up to 0.5.");
    CHECK_TEXT(finding(run, "drift")->text,
               "int8 against the reference: answers differ by up to 0.7, cosine at least 0.950000.");
    tare_run_destroy(run);
}

static void limits(void)
{
    struct tare_run *run = make();
    struct tare_run_config *config = add(run, 8, 16, 10, 1);
    config->resources.wall_ns = tare_run_int(1000);
    config->resources.cpu_use = tare_run_real(1.9);
    tare_advise_limits(run);
    CHECK_INT(run->findings_count, 0);
    config->resources.cpu_use = tare_run_real(1.0);
    config->resources.throttled_ns = tare_run_int(300);
    struct tare_run_layer *layer = tare_run_append(run, &config->layers.nodes, &config->layers.nodes_count,
                                                   sizeof *config->layers.nodes);
    layer->name = "mm";
    layer->op = "MatMul";
    layer->time_ns.value = tare_run_real(90);
    layer->compute_share = tare_run_real(0.7);
    layer->bandwidth_share = tare_run_real(0.1);
    layer = tare_run_append(run, &config->layers.nodes, &config->layers.nodes_count,
                            sizeof *config->layers.nodes);
    layer->name = "add";
    layer->op = "Add";
    layer->time_ns.value = tare_run_real(10);
    tare_advise_limits(run);
    CHECK_INT(run->findings_count, 3);
    CHECK_TEXT(run->findings[0].text, "MatMul takes 90 % of the time of batch=8, at 70 % of this machine's "
                                      "arithmetic and 10 % of its memory bandwidth: bound by arithmetic.");
    CHECK_REAL(run->findings[1].value.value, 30, 1e-9);
    CHECK_REAL(run->findings[2].value.value, 50, 1e-9);
    tare_run_destroy(run);
}

int main(void)
{
    RUN(sizes);
    RUN(still_growing);
    RUN(one_batch_says_nothing);
    RUN(long_inputs);
    RUN(answers);
    RUN(limits);
    return check_done();
}
