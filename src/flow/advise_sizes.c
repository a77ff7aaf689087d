/* SPDX-License-Identifier: Apache-2.0 */
/* Which batch, and what the size of a batch and of its samples does to throughput. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "flow/advise.h"

/* Families that are spoken of one by one; more would be a table again. */
enum { FAMILIES_MOST = 4 };

/* A step that gains less than this per doubling of the batch is hardly worth it. */
#define LITTLE_PER_DOUBLING 0.05

static double p50_ms(const struct tare_run_config *config)
{
    const struct tare_run_latency *latency = &config->latency;
    double ns = latency->p50_ns.value.known ? latency->p50_ns.value.value : latency->mean_ns.value.value;
    return ns / 1e6;
}

/* " at seq=16", or nothing. */
static const char *at(struct tare_run *run, size_t config)
{
    const char *place = tare_advise_place(run, config);
    return *place ? tare_arena_printf(&run->arena, " at %s", place) : "";
}

static void best(struct tare_run *run, size_t family)
{
    size_t top = tare_advise_best(run, family, 1), balanced = tare_advise_best(run, family, TARE_ADVISE_NEAR);
    const struct tare_run_config *a = &run->configs[top], *b = &run->configs[balanced];
    double rate = tare_advise_rate(a);
    tare_advise_find(run, "best_throughput", top, rate, run->unit,
                     tare_arena_printf(&run->arena, "Best throughput%s: batch %lld, %s.", at(run, top),
                                       (long long)a->keys.batch.value, tare_advise_amount(run, a)));
    const char *text =
        balanced == top ? tare_arena_printf(
                              &run->arena,
                              "Balanced%s (the smallest batch within 10 %% of the best): batch %lld too, no "
                              "smaller one comes near.",
                              at(run, top), (long long)a->keys.batch.value)
                        : tare_arena_printf(
                              &run->arena,
                              "Balanced%s (the smallest batch within 10 %% of the best): batch %lld, %.0f %% "
                              "of the best, %.3g ms a call where batch %lld takes %.3g ms.",
                              at(run, top), (long long)b->keys.batch.value, 100 * tare_advise_rate(b) / rate,
                              p50_ms(b), (long long)a->keys.batch.value, p50_ms(a));
    tare_advise_find(run, "balanced", balanced, tare_advise_rate(b), run->unit, text);
}

static void memory_efficient(struct tare_run *run, size_t family)
{
    size_t top = TARE_ADVISE_NONE;
    double most = 0;
    for (size_t i = 0; i < run->configs_count; i++) {
        const struct tare_run_config *config = &run->configs[i];
        if (!tare_advise_family(config, &run->configs[family]) || !config->memory.peak_bytes.known ||
            config->memory.peak_bytes.value <= 0)
            continue;
        double per_mb = tare_advise_rate(config) / ((double)config->memory.peak_bytes.value / 1e6);
        if (per_mb > most) {
            most = per_mb;
            top = i;
        }
    }
    if (top == TARE_ADVISE_NONE)
        return;
    const struct tare_run_config *config = &run->configs[top];
    tare_advise_find(
        run, "memory_efficient", top, most, NULL,
        tare_arena_printf(&run->arena,
                          "Memory-efficient%s (most %s/s per MB of the peak): batch %lld, %.3g per MB, "
                          "%.4g MB in all.",
                          at(run, top), run->unit, (long long)config->keys.batch.value, most,
                          (double)config->memory.peak_bytes.value / 1e6));
}

/* The next larger batch of the family, or NONE. */
static size_t next_batch(const struct tare_run *run, size_t config)
{
    size_t next = TARE_ADVISE_NONE;
    for (size_t i = 0; i < run->configs_count; i++)
        if (tare_advise_family(&run->configs[i], &run->configs[config]) &&
            tare_advise_rate(&run->configs[i]) > 0 &&
            run->configs[i].keys.batch.value > run->configs[config].keys.batch.value &&
            (next == TARE_ADVISE_NONE ||
             run->configs[i].keys.batch.value < run->configs[next].keys.batch.value))
            next = i;
    return next;
}

/* The first step up that gains little for the larger batch. */
static void diminishing(struct tare_run *run, size_t family)
{
    size_t here = tare_advise_smallest(run, family);
    for (size_t next = next_batch(run, here); next != TARE_ADVISE_NONE;
         here = next, next = next_batch(run, next)) {
        const struct tare_run_config *a = &run->configs[here], *b = &run->configs[next];
        double larger = (double)b->keys.batch.value / (double)a->keys.batch.value;
        double gain = tare_advise_rate(b) / tare_advise_rate(a);
        if (pow(gain, 1 / log2(larger)) >= 1 + LITTLE_PER_DOUBLING)
            continue;
        const char *text =
            gain >= 1
                ? tare_arena_printf(&run->arena,
                                    "Diminishing returns%s after batch %lld: %lld gains %.1f %% for %.3g "
                                    "times the latency.",
                                    at(run, here), (long long)a->keys.batch.value,
                                    (long long)b->keys.batch.value, 100 * (gain - 1), p50_ms(b) / p50_ms(a))
                : tare_arena_printf(&run->arena,
                                    "Diminishing returns%s after batch %lld: %lld even loses %.1f %%.",
                                    at(run, here), (long long)a->keys.batch.value,
                                    (long long)b->keys.batch.value, 100 * (1 - gain));
        tare_advise_find(run, "diminishing_returns", here, gain, NULL, text);
        return;
    }
    if (here != tare_advise_smallest(run, family))
        tare_advise_find(
            run, "diminishing_returns", here, NAN, NULL,
            tare_arena_printf(&run->arena,
                              "No diminishing returns%s up to batch %lld: larger ones may gain more.",
                              at(run, here), (long long)run->configs[here].keys.batch.value));
}

static void small_batches(struct tare_run *run, size_t family)
{
    size_t top = tare_advise_best(run, family, 1), small = tare_advise_smallest(run, family);
    double loss = 1 - tare_advise_rate(&run->configs[small]) / tare_advise_rate(&run->configs[top]);
    if (small == top)
        return;
    tare_advise_find(
        run, "small_batches", small, 100 * loss, "percent",
        tare_arena_printf(&run->arena,
                          "Small batches%s: batch %lld loses %.0f %% of the throughput of batch %lld.",
                          at(run, small), (long long)run->configs[small].keys.batch.value, 100 * loss,
                          (long long)run->configs[top].keys.batch.value));
}

/* The one dimension in which two configurations of the same batch differ; dims_count if not exactly one. */
static size_t differing_dim(const struct tare_run_config *a, const struct tare_run_config *b)
{
    size_t found = a->keys.dims_count;
    if (a->keys.dims_count != b->keys.dims_count)
        return found;
    for (size_t i = 0; i < a->keys.dims_count; i++) {
        if (a->keys.dims[i].value == b->keys.dims[i].value)
            continue;
        if (found != a->keys.dims_count)
            return a->keys.dims_count;
        found = i;
    }
    return found;
}

/* The shortest against the longest, each at its best batch. */
static void long_inputs(struct tare_run *run, const size_t *families, size_t count)
{
    size_t shortest = TARE_ADVISE_NONE, longest = TARE_ADVISE_NONE, dim = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            const struct tare_run_config *a = &run->configs[families[i]], *b = &run->configs[families[k]];
            size_t differs = differing_dim(a, b);
            if (differs == a->keys.dims_count || a->keys.dims[differs].value >= b->keys.dims[differs].value ||
                a->keys.threads.value != b->keys.threads.value ||
                (shortest != TARE_ADVISE_NONE &&
                 (run->configs[shortest].keys.dims[differs].value < a->keys.dims[differs].value ||
                  run->configs[longest].keys.dims[differs].value > b->keys.dims[differs].value)))
                continue;
            shortest = families[i];
            longest = families[k];
            dim = differs;
        }
    if (shortest == TARE_ADVISE_NONE)
        return;
    const struct tare_run_config *a = &run->configs[tare_advise_best(run, shortest, 1)];
    const struct tare_run_config *b = &run->configs[tare_advise_best(run, longest, 1)];
    const char *name = a->keys.dims[dim].name;
    double longer = (double)b->keys.dims[dim].value / (double)a->keys.dims[dim].value;
    double loss = 1 - tare_advise_rate(b) / tare_advise_rate(a);
    double each = tare_advise_rate(b) * longer / tare_advise_rate(a);
    tare_advise_find(
        run, "long_inputs", longest, 100 * loss, "percent",
        tare_arena_printf(
            &run->arena,
            "Long inputs: %s=%lld loses %.0f %% of the %s/s of %s=%lld: %.3g times the size, %.3g times the "
            "time; per unit of %s that is %.0f %% %s.",
            name, (long long)b->keys.dims[dim].value, 100 * loss, run->unit, name,
            (long long)a->keys.dims[dim].value, longer, longer / each, name, 100 * fabs(each - 1),
            each < 1 ? "slower" : "faster"));
}

void tare_advise_sizes(struct tare_run *run)
{
    size_t families[64], count = 0;
    for (size_t i = 0; i < run->configs_count && count < sizeof families / sizeof *families; i++) {
        bool seen = tare_advise_rate(&run->configs[i]) <= 0;
        for (size_t k = 0; k < count && !seen; k++)
            seen = tare_advise_family(&run->configs[families[k]], &run->configs[i]);
        if (!seen)
            families[count++] = i;
    }
    for (size_t i = 0; i < count && i < FAMILIES_MOST; i++) {
        size_t largest = next_batch(run, tare_advise_smallest(run, families[i]));
        if (largest == TARE_ADVISE_NONE)
            continue;
        best(run, families[i]);
        memory_efficient(run, families[i]);
        diminishing(run, families[i]);
        small_batches(run, families[i]);
    }
    long_inputs(run, families, count);
}
