/* SPDX-License-Identifier: Apache-2.0 */
/* The doubt that a recording's own restlessness leaves: none when it was quiet, more the more it was not. */
#include <stdlib.h>

#include "check.h"
#include "core/capture.h"
#include "core/noise.h"

static double find(const char *comment, const struct tare_capture_info *info, double recorded_ns,
                   struct tare_noise *ret_noise)
{
    struct tare_profile *profile;
    struct tare_error err;
    if (tare_profile_create(0, &profile, &err) < 0)
        abort();
    tare_profile_add_comment(profile, comment, strlen(comment));
    double longer = tare_noise_find(profile, info, recorded_ns, ret_noise);
    tare_profile_destroy(profile);
    return longer;
}

static const struct tare_capture_info unprobed;

static void waiting_gives_doubt(void)
{
    struct tare_noise quiet, few, many, sum = {0};
    CHECK(find("waiting: 1000 3 0", &unprobed, 1e9, &quiet) == 1);
    CHECK(tare_noise_share_doubt_ns(&quiet) == 0);
    /* Half a second in 8 waits, and in 80: unequal shares even out. */
    CHECK(find("waiting: 2000 8 500000", &unprobed, 1e9, &few) == 2);
    CHECK(find("waiting: 2000 80 500000", &unprobed, 1e9, &many) == 2);
    CHECK(tare_noise_share_doubt_ns(&few) > 0.25e9 && tare_noise_share_doubt_ns(&few) < 0.5e9);
    CHECK(tare_noise_share_doubt_ns(&many) < tare_noise_share_doubt_ns(&few) / 3);
    CHECK(tare_noise_time_doubt_ns(&few, 1e9) > 2 * tare_noise_share_doubt_ns(&few));
    /* Many turns that hardly waited are not many waits. */
    struct tare_noise turns;
    find("waiting: 1010 5000 9000", &unprobed, 1e9, &turns);
    CHECK(turns.waits == 3);
    tare_noise_add(&sum, &few);
    tare_noise_add(&sum, &many);
    CHECK(sum.waits == 88 && sum.waited_ns == 1e9);
}

static void a_killed_process_is_judged_by_its_start(void)
{
    struct tare_noise noise;
    CHECK(find("waiting before: 2000", &unprobed, 1e9, &noise) == 0);
    CHECK(noise.waited_ns == 0.5e9 && noise.waits == 50);
    CHECK(find("waiting before: 1000", &unprobed, 1e9, &noise) == 0);
    CHECK(tare_noise_share_doubt_ns(&noise) == 0);
}

static void what_is_no_number_is_no_noise(void)
{
    static const char *const bad[] = {
        "waiting: ",           "waiting: x 1 1",    "waiting: 2000",    "waiting: 999 5 100",
        "waiting: 2000 -1 10", "waiting: 9e99 1 1", "waiting before: ", "waitings: 2000 8 500000",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tare_noise noise;
        CHECK(find(bad[i], &unprobed, 1e9, &noise) == 0);
        CHECK(tare_noise_share_doubt_ns(&noise) == 0);
        CHECK(tare_noise_time_doubt_ns(&noise, 1e9) == 0);
    }
}

static double speed_doubt(double count, double variance, double step)
{
    struct tare_capture_info info = {
        .probes = count, .probe_ns = 1000, .probe_variance = variance, .probe_step = step};
    struct tare_noise noise;
    find("none", &info, 1e9, &noise);
    return tare_noise_time_doubt_ns(&noise, 1);
}

static void an_unsteady_processor_gives_doubt(void)
{
    CHECK(speed_doubt(100, 0, 0) == 0);
    CHECK(speed_doubt(1, 0, 0) == 0);
    /* A fifth more or less by chance, 100 times: to a tenth of it. */
    double by_chance = speed_doubt(100, 40000, 80000);
    CHECK(fabs(by_chance - 1.25 * 0.02) < 1e-6);
    /* The same in long stretches: fewer times, so more doubt. */
    CHECK(speed_doubt(100, 40000, 8000) > 3 * by_chance);
    CHECK(speed_doubt(100, 40000, 0) < 1.25 * 0.2 + 1e-6);
    CHECK(speed_doubt(10000, 40000, 80000) < by_chance / 9);
}

int main(void)
{
    RUN(waiting_gives_doubt);
    RUN(a_killed_process_is_judged_by_its_start);
    RUN(what_is_no_number_is_no_noise);
    RUN(an_unsteady_processor_gives_doubt);
    return check_done();
}
