/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds: every spelling, every refusal, and verdicts on the bounds. */
#include "check.h"
#include "judge/threshold.h"

static struct tare_arena arena;
static struct tare_error err;

static struct tare_threshold parsed(const char *text)
{
    struct tare_threshold threshold = {.text = NULL};
    if (tare_threshold_parse(text, &arena, &threshold, &err))
        check_report(__FILE__, __LINE__, err.msg);
    return threshold;
}

static void check_refused(const char *text, const char *part)
{
    struct tare_threshold threshold;
    err.msg[0] = '\0';
    CHECK_INT(tare_threshold_parse(text, &arena, &threshold, &err), -1);
    if (!strstr(err.msg, part)) {
        check_report(__FILE__, __LINE__, text);
        fprintf(stderr, "    got \"%s\", want something with \"%s\"\n", err.msg, part);
    }
}

static void spellings(void)
{
    struct tare_threshold threshold = parsed("latency:100ms");
    CHECK_REAL(threshold.limit, 100e6, 0);
    CHECK_REAL(threshold.scale, 1e6, 0);
    CHECK_TEXT(threshold.unit, "ms");
    CHECK_INT(threshold.bound, TARE_RUN_BOUND_UPPER);
    threshold = parsed("throughput:1000samples/s");
    CHECK_REAL(threshold.limit, 1000, 0);
    CHECK_TEXT(threshold.counted, "samples");
    CHECK_TEXT(threshold.unit, "samples/s");
    CHECK_INT(threshold.bound, TARE_RUN_BOUND_LOWER);
    CHECK_REAL(parsed("latency.p99:250ms").limit, 250e6, 0);
    CHECK_REAL(parsed("memory.peak:2GiB").limit, 2147483648.0, 0);
    CHECK_REAL(parsed("params:25M").limit, 25e6, 0);
    CHECK_REAL(parsed("accuracy.top1:0.69").limit, 0.69, 0);
    CHECK_INT(parsed("accuracy.top1:0.69").bound, TARE_RUN_BOUND_LOWER);
    CHECK_INT(parsed("accuracy.max_abs:1e-4").bound, TARE_RUN_BOUND_UPPER);
    CHECK_REAL(parsed("accuracy.max_abs:1e-4").limit, 1e-4, 0);
    CHECK_INT(parsed("accuracy.kappa>=0.5").bound, TARE_RUN_BOUND_LOWER);
    threshold = parsed("throughput@batch=32,seq=128:500texts/s");
    CHECK_INT(threshold.keys_count, 2);
    CHECK_TEXT(threshold.keys[0].name, "batch");
    CHECK_TEXT(threshold.keys[1].value, "128");
    CHECK_INT(parsed("latency <= 5 ms").bound, TARE_RUN_BOUND_UPPER);
    CHECK_REAL(parsed("latency <= 5 ms").limit, 5e6, 0);
    CHECK_INT(parsed("latency>=1us").bound, TARE_RUN_BOUND_LOWER);
}

static void refusals(void)
{
    check_refused("latency", "quote");
    check_refused("throughput", "quote");
    check_refused("latency:", "no limit");
    check_refused("latency>5ms", "no limit");
    check_refused("latency:fast", "no number");
    check_refused("latency:100", "100ms");
    check_refused("latency:100parsecs", "parsecs");
    check_refused("latensy:100ms", "'latency'");
    check_refused("throughput@batch:500/s", "@batch=32");
    check_refused("throughput@:500/s", "@");
    check_refused("accuracy.kappa:0.5", "accuracy.kappa>=LIMIT");
    check_refused("", "no limit");
    check_refused("memory:-1MB", "");
}

static void files(void)
{
    static const char good[] =
        "# what we promise\nlatency:100ms # p50\n\n  throughput >= 10 texts/s\r\nparams:25M";
    static const char bad[] = "latency:100ms\nspeed:9\n";
    struct tare_threshold *thresholds;
    size_t count;
    CHECK_INT(tare_threshold_read(good, sizeof good - 1, "t", &arena, &thresholds, &count, &err), 0);
    CHECK_INT(count, 3);
    CHECK_TEXT(thresholds[1].unit, "texts/s");
    CHECK_INT(tare_threshold_read(bad, sizeof bad - 1, "gate.txt", &arena, &thresholds, &count, &err), -1);
    CHECK(strstr(err.msg, "'gate.txt', line 2"));
    CHECK_INT(tare_threshold_read("", 0, "t", &arena, &thresholds, &count, &err), 0);
    CHECK_INT(count, 0);
}

static struct tare_run_estimate between(double value, double lower, double upper)
{
    return (struct tare_run_estimate){
        .value = tare_run_real(value), .lower = tare_run_real(lower), .upper = tare_run_real(upper)};
}

static void verdicts(void)
{
    struct tare_run *run;
    struct tare_threshold thresholds[5] = {
        parsed("latency:10ms"), parsed("throughput@batch=8:100texts/s"), parsed("latency.p99:10ms"),
        parsed("params:25M"),   parsed("throughput:10tokens/s"),
    };
    CHECK_INT(tare_run_create(0, &run, &err), 0);
    run->unit = "texts";
    run->model.parameters = tare_run_int(22000000);
    for (int i = 0; i < 2; i++) {
        struct tare_run_config *config =
            tare_run_append(run, &run->configs, &run->configs_count, sizeof *run->configs);
        config->keys.batch = tare_run_int(i ? 8 : 1);
        config->latency.p50_ns = i ? between(12e6, 9e6, 13e6) : between(5e6, 4e6, 6e6);
        config->throughput_per_sec = between(90, 80, 95);
        config->latency.p99_ns.value = tare_run_real(9e6); /* too few samples for bounds */
    }
    CHECK_INT(tare_threshold_judge(thresholds, 4, run, &err), 0);
    CHECK_INT(run->thresholds_count, 6);
    CHECK_TEXT(run->thresholds[0].metric, "throughput");
    CHECK_INT(run->thresholds[0].status, TARE_RUN_FAIL);
    CHECK_INT(run->thresholds[0].configuration.value, 1);
    CHECK_REAL(run->thresholds[0].ratio.value, 0.9, 1e-9);
    CHECK_INT(run->thresholds[1].status, TARE_RUN_INCONCLUSIVE); /* p50 of batch 8 straddles the limit */
    CHECK_TEXT(run->thresholds[1].metric, "latency");
    CHECK_REAL(run->thresholds[1].achieved.value.value, 12, 1e-9);
    CHECK_INT(run->thresholds[4].status, TARE_RUN_PASS);
    CHECK_TEXT(run->thresholds[5].metric, "latency");
    CHECK_REAL(run->thresholds[5].ratio.value, 2, 1e-9);
    CHECK_INT(tare_threshold_worst(run), TARE_RUN_FAIL);
    CHECK(tare_threshold_decided(thresholds, 1, run, &run->configs[0]));
    CHECK(!tare_threshold_decided(thresholds, 1, run, &run->configs[1]));
    CHECK_INT(tare_threshold_judge(&thresholds[4], 1, run, &err), -1);
    CHECK(strstr(err.msg, "--unit tokens"));
    struct tare_threshold nowhere = parsed("latency@batch=9:1s");
    CHECK_INT(tare_threshold_judge(&nowhere, 1, run, &err), -1);
    tare_run_destroy(run);
}

int main(void)
{
    tare_arena_init(&arena, 0);
    RUN(spellings);
    RUN(refusals);
    RUN(files);
    RUN(verdicts);
    tare_arena_finish(&arena);
    return check_done();
}
