/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fake.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "core/stats_special.h"

/* No call is shorter than this share of its level, however unlikely the draw. */
#define SHORTEST 0.05

enum unit { DURATION, SHARE, NUMBER, BYTES };

struct key {
    const char *name;
    enum unit unit;
    size_t offset;
};

static const struct key keys[] = {
    {"cold", NUMBER, offsetof(struct tare_fake, cold)},
    {"crash", NUMBER, offsetof(struct tare_fake, crash)},
    {"drift", SHARE, offsetof(struct tare_fake, drift)},
    {"factor", NUMBER, offsetof(struct tare_fake, factor)},
    {"fail", NUMBER, offsetof(struct tare_fake, fail)},
    {"hang", NUMBER, offsetof(struct tare_fake, hang)},
    {"leak", BYTES, offsetof(struct tare_fake, leak)},
    {"length", NUMBER, offsetof(struct tare_fake, length)},
    {"mean", DURATION, offsetof(struct tare_fake, mean_ns)},
    {"memory", BYTES, offsetof(struct tare_fake, memory)},
    {"per_element", DURATION, offsetof(struct tare_fake, per_element_ns)},
    {"per_item", DURATION, offsetof(struct tare_fake, per_item_ns)},
    {"period", DURATION, offsetof(struct tare_fake, period_ns)},
    {"plateau", BYTES, offsetof(struct tare_fake, plateau)},
    {"r", NUMBER, offsetof(struct tare_fake, r)},
    {"restless", DURATION, offsetof(struct tare_fake, restless_ns)},
    {"scale", NUMBER, offsetof(struct tare_fake, scale)},
    {"sd", SHARE, offsetof(struct tare_fake, sd)},
    {"seed", NUMBER, offsetof(struct tare_fake, seed)},
    {"settle", NUMBER, offsetof(struct tare_fake, settle)},
    {"share", SHARE, offsetof(struct tare_fake, share)},
    {"span", NUMBER, offsetof(struct tare_fake, span)},
    {"tide", SHARE, offsetof(struct tare_fake, tide)},
    {"weights", BYTES, offsetof(struct tare_fake, weights)},
    {"wrong", SHARE, offsetof(struct tare_fake, wrong)},
};

struct kind {
    const char *name;
    struct tare_fake start;
};

static const struct kind kinds[] = {
    {"constant", {.mean_ns = 1e6}},
    {"normal", {.mean_ns = 1e6, .sd = 0.03}},
    {"autocorrelated", {.mean_ns = 1e6, .sd = 0.03, .r = 0.9}},
    {"bursty", {.mean_ns = 1e6, .sd = 0.03, .share = 0.09, .length = 20, .factor = 2}},
    {"modes", {.mean_ns = 1e6, .sd = 0.03, .share = 0.5, .length = 50, .factor = 1.5}},
    {"drift", {.mean_ns = 1e6, .sd = 0.03, .drift = 0.5, .span = 1000}},
    {"leaking", {.mean_ns = 1e6, .leak = 65536}},
    {"plateau", {.mean_ns = 1e6, .plateau = 64 << 20, .settle = 20}},
    {"crash", {.mean_ns = 1e6, .crash = 10}},
};

static int parse_share(const char *text, double *ret_value, struct tare_error *err)
{
    char number[64];
    size_t length = strlen(text);
    bool percent = length > 0 && text[length - 1] == '%';
    snprintf(number, sizeof number, "%.*s", (int)(length < 60 ? length - percent : 60), text);
    if (tare_real_parse(number, ret_value, err))
        return -1;
    *ret_value /= percent ? 100 : 1;
    return 0;
}

static int parse_value(const struct key *key, const char *text, struct tare_fake *fake,
                       struct tare_error *err)
{
    double value = 0;
    int64_t ns = 0;
    uint64_t bytes = 0;
    int status = 0;
    if (key->unit == DURATION)
        status = tare_duration_parse(text, &ns, err);
    else if (key->unit == BYTES)
        status = tare_size_parse(text, &bytes, err);
    else if (key->unit == SHARE)
        status = parse_share(text, &value, err);
    else
        status = tare_real_parse(text, &value, err);
    if (status)
        return -1;
    value += (double)ns + (double)bytes;
    memcpy((char *)fake + key->offset, &value, sizeof value);
    return 0;
}

static int parse_word(char *word, struct tare_fake *fake, struct tare_error *err)
{
    char *equals = strchr(word, '=');
    struct tare_suggest suggest = {0};
    if (!equals)
        return tare_fail(err, TARE_E_USAGE, 0, "'%.60s' in a fake model: needs KEY=VALUE", word);
    *equals = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(keys[i].name, word) == 0)
            return parse_value(&keys[i], equals + 1, fake, err);
        tare_suggest_offer(&suggest, word, keys[i].name);
    }
    return tare_fail(err, TARE_E_USAGE, 0, "a fake model has no '%.40s'%s%s%s", word,
                     suggest.best ? "; did you mean '" : "", suggest.best ? suggest.best : "",
                     suggest.best ? "'?" : "");
}

static int check(const struct tare_fake *fake, struct tare_error *err)
{
    bool fits = fake->sd >= 0 && fake->sd < 1 && fabs(fake->r) < 1 && fake->share >= 0 && fake->share < 1 &&
                fake->factor >= 0 && fake->drift > -1 && fake->length >= 0 && fake->seed >= 0 &&
                fake->seed < 9e15 && fake->cold >= 0 && fabs(fake->scale) <= 2 && fabs(fake->wrong) <= 1e6 &&
                fake->tide >= 0 && fake->period_ns < 9e18;
    if (!fits)
        return tare_fail(err, TARE_E_USAGE, 0,
                         "fake model: sd and share lie in 0..1, r between -1 and 1, drift above -1, others "
                         "are not negative");
    if (fake->tide > 0 && fake->period_ns < 1)
        return tare_fail(err, TARE_E_USAGE, 0, "fake model: a tide needs a period");
    if (fake->share > 0 && (fake->length < 1 || fake->length * (1 - fake->share) < fake->share))
        return tare_fail(err, TARE_E_USAGE, 0,
                         "fake model: bursts are at least 1 call long, and longer "
                         "when they are most of the time");
    return 0;
}

int tare_fake_parse(const char *text, struct tare_fake *ret_fake, struct tare_error *err)
{
    char copy[512];
    struct tare_suggest suggest = {0};
    if (strncmp(text, "fake:", 5) == 0)
        text += 5;
    if (strlen(text) >= sizeof copy)
        return tare_fail(err, TARE_E_USAGE, 0, "a fake model is described in at most %zu characters",
                         sizeof copy - 1);
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy, *name = strsep(&rest, ",");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct tare_fake fake = kinds[i].start;
        tare_suggest_offer(&suggest, name, kinds[i].name);
        if (strcmp(kinds[i].name, name) != 0)
            continue;
        for (char *word; (word = strsep(&rest, ",")) != NULL;)
            if (parse_word(word, &fake, err))
                return -1;
        if (check(&fake, err))
            return -1;
        *ret_fake = fake;
        return 0;
    }
    return tare_fail(err, TARE_E_USAGE, 0,
                     "'%.40s' is no kind of fake model%s%s%s; there are constant, normal, autocorrelated, "
                     "bursty, modes, drift, leaking, plateau, crash",
                     name, suggest.best ? ": did you mean '" : "", suggest.best ? suggest.best : "",
                     suggest.best ? "'?" : "");
}

void tare_fake_start(struct tare_fake_series *series, const struct tare_fake *fake, uint64_t salt)
{
    *series = (struct tare_fake_series){0};
    tare_random_init(&series->random, (uint64_t)fake->seed * 1000003 + salt);
    series->at = tare_random_normal(&series->random);
    series->slow = fake->share > 0 && tare_random_unit(&series->random) < fake->share;
}

double tare_fake_next(struct tare_fake_series *series, const struct tare_fake *fake, double base_ns)
{
    double level = base_ns * (series->slow ? fake->factor : 1);
    if (fake->drift != 0 && fake->span > 0)
        level *= 1 + fake->drift * fmin(1, series->calls / fake->span);
    double ns = level * fmax(SHORTEST, 1 + fake->sd * series->at);
    series->calls++;
    if (fake->sd > 0)
        series->at = fake->r * series->at + sqrt(1 - fake->r * fake->r) * tare_random_normal(&series->random);
    if (fake->share > 0) {
        double leave = 1 / fake->length, enter = leave * fake->share / (1 - fake->share);
        if (tare_random_unit(&series->random) < (series->slow ? leave : enter))
            series->slow = !series->slow;
    }
    return ns;
}

double tare_fake_base_ns(const struct tare_fake *fake, double batch, double elements, int threads)
{
    double ns = fake->mean_ns + fake->per_item_ns * batch + fake->per_element_ns * elements;
    return threads > 1 ? ns / pow(threads, fake->scale) : ns;
}

double tare_fake_tide(const struct tare_fake *fake, int64_t now_ns)
{
    return fake->period_ns >= 1 && now_ns / (int64_t)fake->period_ns % 2 ? 1 + fake->tide : 1;
}

/* The share of calls above x times the base. */
static double above(const struct tare_fake *fake, double x)
{
    double factors[] = {1, fake->factor}, shares[] = {1 - fake->share, fake->share}, sum = 0;
    for (int i = 0; i < 2; i++) {
        if (shares[i] <= 0)
            continue;
        double distance = x - factors[i];
        sum += shares[i] * (fake->sd > 0 ? tare_special_normal_above(distance / (factors[i] * fake->sd))
                                         : (distance < 0 ? 1 : 0));
    }
    return sum;
}

double tare_fake_percentile(const struct tare_fake *fake, double percent)
{
    double low = 0, high = 1 + fake->factor;
    high *= 1 + 10 * fake->sd;
    for (int i = 0; i < 200; i++) {
        double x = 0.5 * (low + high);
        if (above(fake, x) > 1 - percent / 100)
            low = x;
        else
            high = x;
    }
    return high;
}
