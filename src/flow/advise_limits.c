/* SPDX-License-Identifier: Apache-2.0 */
/* Whether answers stay the same, and what holds the model back. */
#include <math.h>
#include <string.h>

#include "flow/advise.h"

/* What counts as worth a sentence. */
#define STEAL_MUCH     0.05
#define THROTTLED_MUCH 0.01
#define IDLE_MUCH      0.7
#define PEAK_MUCH      0.5
#define SHARE_MUCH     0.25

static const struct tare_run_accuracy *metric(const struct tare_run_config *config, const char *name)
{
    for (size_t i = 0; i < config->accuracy_count; i++)
        if (strcmp(config->accuracy[i].name, name) == 0)
            return &config->accuracy[i];
    return NULL;
}

/* The largest, or with sign -1 the smallest, value of a metric over configurations of one precision. */
static double extreme(const struct tare_run *run, const char *precision, const char *name, double sign)
{
    double most = NAN;
    for (size_t i = 0; i < run->configs_count; i++) {
        const struct tare_run_accuracy *found = metric(&run->configs[i], name);
        const char *own = run->configs[i].keys.precision;
        if (!found || !found->value.known || (precision && (!own || strcmp(own, precision) != 0)))
            continue;
        most = isnan(most) || sign * found->value.value > sign * most ? found->value.value : most;
    }
    return most;
}

static const char *with_cosine(struct tare_run *run, double cosine, double flips)
{
    const char *text = "";
    if (!isnan(cosine))
        text = tare_arena_printf(&run->arena, ", cosine at least %.6f", cosine);
    if (!isnan(flips))
        text =
            tare_arena_printf(&run->arena, "%s, largest value elsewhere in %.0f rows at most", text, flips);
    return text;
}

static void across_batches(struct tare_run *run, const char *precision)
{
    bool passed = true;
    size_t count = 0;
    for (size_t i = 0; i < run->configs_count; i++) {
        const struct tare_run_accuracy *found = metric(&run->configs[i], "batch_max_abs");
        const char *own = run->configs[i].keys.precision;
        if (!found || (precision && (!own || strcmp(own, precision) != 0)))
            continue;
        passed = passed && found->passed.value;
        count++;
    }
    if (count == 0)
        return;
    double most = extreme(run, precision, "batch_max_abs", 1);
    const char *more = with_cosine(run, extreme(run, precision, "batch_cosine", -1),
                                   extreme(run, precision, "batch_top1_flips", 1));
    const char *which = precision ? tare_arena_printf(&run->arena, " of %s", precision) : "";
    tare_advise_find(
        run, passed ? "same_answers" : "answers_change", TARE_ADVISE_NONE, most, NULL,
        tare_arena_printf(&run->arena,
                          passed ? "Answers%s do not depend on the batch: alone and inside it they "
                                   "differ by at most %.2g%s."
                                 : "Answers%s change with the batch: alone and inside it they differ "
                                   "by up to %.2g%s.",
                          which, most, more));
}

void tare_advise_answers(struct tare_run *run)
{
    const char *seen[16];
    size_t count = 0;
    for (size_t i = 0; i < run->configs_count && count < 16; i++) {
        const char *own = run->configs[i].keys.precision ? run->configs[i].keys.precision : "";
        bool known = false;
        for (size_t k = 0; k < count && !known; k++)
            known = strcmp(seen[k], own) == 0;
        if (!known)
            seen[count++] = own;
    }
    for (size_t k = 0; k < count; k++) {
        const char *precision = *seen[k] ? seen[k] : NULL;
        across_batches(run, count > 1 ? precision : NULL);
        if (!precision || strcmp(precision, "fp32") == 0)
            continue;
        double most = extreme(run, precision, "max_abs", 1);
        if (isnan(most))
            continue;
        tare_advise_find(run, "drift", TARE_ADVISE_NONE, most, NULL,
                         tare_arena_printf(&run->arena,
                                           "%s against the reference: answers differ by up to %.2g%s.",
                                           precision, most,
                                           with_cosine(run, extreme(run, precision, "cosine", -1),
                                                       extreme(run, precision, "top1_flips", 1))));
    }
    double least = extreme(run, NULL, "accuracy", -1), most = extreme(run, NULL, "accuracy", 1);
    if (!isnan(least))
        tare_advise_find(run, "accuracy", TARE_ADVISE_NONE, least, NULL,
                         tare_arena_printf(&run->arena, "Accuracy on the labels: %.1f %% to %.1f %%.",
                                           100 * least, 100 * most));
}

/* One operator, all its nodes together. */
struct op_sum {
    const char *op;
    double time, compute, bandwidth; /* the last two weighted by time */
};

static void op_limits(struct tare_run *run, size_t config)
{
    const struct tare_run_layers *layers = &run->configs[config].layers;
    struct op_sum sums[64];
    size_t count = 0;
    double all = 0;
    for (size_t i = 0; i < layers->nodes_count; i++) {
        const struct tare_run_layer *node = &layers->nodes[i];
        double time = node->time_ns.value.known ? node->time_ns.value.value : 0;
        size_t k = 0;
        all += time;
        while (k < count && strcmp(sums[k].op, node->op ? node->op : "?") != 0)
            k++;
        if (k == sizeof sums / sizeof *sums)
            continue;
        if (k == count)
            sums[count++] = (struct op_sum){.op = node->op ? node->op : "?"};
        sums[k].time += time;
        sums[k].compute += time * (node->compute_share.known ? node->compute_share.value : 0);
        sums[k].bandwidth += time * (node->bandwidth_share.known ? node->bandwidth_share.value : 0);
    }
    for (size_t k = 0; all > 0 && k < count; k++) {
        const struct op_sum *sum = &sums[k];
        if (sum->time / all < SHARE_MUCH)
            continue;
        double compute = sum->compute / sum->time, bandwidth = sum->bandwidth / sum->time;
        const char *why = compute == 0 && bandwidth == 0 ? ""
                          : compute >= PEAK_MUCH         ? ": bound by arithmetic"
                          : bandwidth >= PEAK_MUCH       ? ": bound by memory"
                                                         : ": bound by neither, so by overhead or waiting";
        const char *peaks =
            compute == 0 && bandwidth == 0
                ? ""
                : tare_arena_printf(&run->arena,
                                    ", at %.0f %% of this machine's arithmetic and %.0f %% of its "
                                    "memory bandwidth",
                                    100 * compute, 100 * bandwidth);
        tare_advise_find(run, "bottleneck", config, 100 * sum->time / all, "percent",
                         tare_arena_printf(&run->arena, "%s takes %.0f %% of the time of %s%s%s.", sum->op,
                                           100 * sum->time / all, tare_advise_name(run, config), peaks, why));
    }
}

/* Those of the machine concern all alike, so they are told of the worst. */
static void machine_limits(struct tare_run *run)
{
    double steal = 0, throttled = 0, major = 0;
    size_t idle = TARE_ADVISE_NONE;
    double least = 1;
    for (size_t i = 0; i < run->configs_count; i++) {
        const struct tare_run_config *config = &run->configs[i];
        const struct tare_run_resources *used = &config->resources;
        double wall = used->wall_ns.known ? (double)used->wall_ns.value : 0;
        double cores =
            run->machine && run->machine->cpu_affinity > 0 ? (double)run->machine->cpu_affinity : 1;
        if (config->status == TARE_RUN_NOT_MEASURED || wall <= 0)
            continue;
        if (used->steal_ns.known)
            steal = fmax(steal, (double)used->steal_ns.value / wall / cores);
        if (used->throttled_ns.known)
            throttled = fmax(throttled, (double)used->throttled_ns.value / wall);
        if (used->faults_major.known)
            major = fmax(major, (double)used->faults_major.value);
        if (used->cpu_use.known && config->keys.threads.known && config->keys.threads.value > 1) {
            double share = used->cpu_use.value / (double)config->keys.threads.value;
            if (share < least) {
                least = share;
                idle = i;
            }
        }
    }
    if (steal > STEAL_MUCH)
        tare_advise_find(
            run, "bottleneck", TARE_ADVISE_NONE, 100 * steal, "percent",
            tare_arena_printf(&run->arena,
                              "The hypervisor gave up to %.0f %% of this machine's processors to "
                              "others while it was measured.",
                              100 * steal));
    if (throttled > THROTTLED_MUCH)
        tare_advise_find(
            run, "bottleneck", TARE_ADVISE_NONE, 100 * throttled, "percent",
            tare_arena_printf(&run->arena,
                              "The container's CPU quota held it back for up to %.0f %% of the time: "
                              "raise the quota, or use fewer threads.",
                              100 * throttled));
    if (idle != TARE_ADVISE_NONE && least < IDLE_MUCH)
        tare_advise_find(
            run, "bottleneck", idle, 100 * least, "percent",
            tare_arena_printf(&run->arena,
                              "%s keeps its %lld threads busy for only %.0f %% of the time: its work is "
                              "too small or too serial for them, or other programs took the "
                              "processors.",
                              tare_advise_name(run, idle), (long long)run->configs[idle].keys.threads.value,
                              100 * least));
    if (major > 10)
        tare_advise_find(
            run, "bottleneck", TARE_ADVISE_NONE, major, NULL,
            tare_arena_printf(&run->arena,
                              "%.0f pages had to be read from disk while it was measured: memory is "
                              "short.",
                              major));
}

void tare_advise_limits(struct tare_run *run)
{
    for (size_t i = 0; i < run->configs_count; i++)
        if (run->configs[i].layers.nodes_count > 0) {
            op_limits(run, i);
            break;
        }
    machine_limits(run);
}
