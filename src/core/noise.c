/* SPDX-License-Identifier: Apache-2.0 */
#include "core/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/capture.h"

/* For nine of ten runs, in standard deviations (docs/performance.md): of the mean speed, of the waiting that
 * the worst of a few parts got too much or too little of, and of that of the whole run. */
#define SPEED 1.25
#define PART  2.5
#define WHOLE 3

/* A processor is taken away for at least so long; shorter waits are those of the kernel with itself. Where
 * only the total is known, waits are taken to be longer, which is the doubtful side. */
#define SHORTEST_WAIT_NS 3e6
#define USUAL_WAIT_NS    1e7

/* The numbers behind a key among the comments; how many there are. */
static int find_numbers(const struct tare_profile *profile, const char *key, double numbers[3])
{
    size_t length = strlen(key);
    int found = 0;
    for (uint32_t i = 0; i < tare_profile_comments(profile); i++) {
        const char *text = tare_profile_text(profile, tare_profile_comment_at(profile, i));
        if (strncmp(text, key, length) != 0 || strncmp(text + length, ": ", 2) != 0)
            continue;
        text += length + 2;
        char *end;
        for (found = 0; found < 3; found++, text = end) {
            long long number = strtoll(text, &end, 10);
            if (end == text || number < 0)
                break;
            numbers[found] = (double)number;
        }
    }
    return found;
}

static double waits_at_most(double waits, double waited_ns, double each_ns)
{
    return fmax(1, fmin(waits, waited_ns / each_ns));
}

double tare_noise_find(const struct tare_profile *profile, const struct tare_capture_info *info,
                       double recorded_ns, struct tare_noise *ret_noise)
{
    struct tare_noise noise = {
        .probes = info->probes,
        .probe_ns = info->probes * info->probe_ns,
        .probe_squares = info->probes * (info->probe_variance + info->probe_ns * info->probe_ns),
        .steps = fmax(0, info->probes - 1),
        .step_squares = fmax(0, info->probes - 1) * info->probe_step,
    };
    double numbers[3], longer = 0;
    if (find_numbers(profile, "waiting", numbers) == 3 && numbers[0] >= 1000 && numbers[0] < 1e6) {
        longer = numbers[0] / 1000;
        noise.waited_ns = numbers[2] * 1000;
        noise.waits = waits_at_most(numbers[1], noise.waited_ns, SHORTEST_WAIT_NS);
    } else if (find_numbers(profile, "waiting before", numbers) > 0 && numbers[0] > 1000) {
        noise.waited_ns = recorded_ns * (1 - 1000 / numbers[0]);
        noise.waits = waits_at_most(INFINITY, noise.waited_ns, USUAL_WAIT_NS);
    }
    *ret_noise = noise;
    return longer;
}

void tare_noise_add(struct tare_noise *sum, const struct tare_noise *other)
{
    sum->probes += other->probes;
    sum->probe_ns += other->probe_ns;
    sum->probe_squares += other->probe_squares;
    sum->steps += other->steps;
    sum->step_squares += other->step_squares;
    sum->waited_ns += other->waited_ns;
    sum->waits += other->waits;
}

/* How much longer or shorter all of the run might have taken at another time, relative. */
static double speed_doubt(const struct tare_noise *noise)
{
    if (noise->steps < 1)
        return 0;
    double mean = noise->probe_ns / noise->probes;
    double variance = noise->probe_squares / noise->probes - mean * mean;
    if (!(variance > 0 && mean > 0))
        return 0;
    /* A processor stays slow or fast for a while: neighbours are alike, and count for less than their number.
     * How alike, the steps between them say. */
    double alike = fmin(0.98, fmax(0, 1 - noise->step_squares / noise->steps / (2 * variance)));
    double count = fmax(1, noise->probes * (1 - alike) / (1 + alike));
    return SPEED * sqrt(variance / count) / mean;
}

/* The standard deviation of the sum of waits that come by chance, as unequal as the times between them. */
static double waiting_spread_ns(const struct tare_noise *noise)
{
    return noise->waits >= 1 ? noise->waited_ns * sqrt(2 / noise->waits) : 0;
}

double tare_noise_time_doubt_ns(const struct tare_noise *noise, double left_ns)
{
    return hypot(speed_doubt(noise) * left_ns, WHOLE * waiting_spread_ns(noise));
}

double tare_noise_share_doubt_ns(const struct tare_noise *noise)
{
    /* A wait meets whoever runs then: a function with half of the time gets half of them, to within half of
     * the spread. */
    return PART * waiting_spread_ns(noise) / 2;
}
