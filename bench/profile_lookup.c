/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to find an existing child: the one lookup that a recorder makes for every call.
 *
 * A tree of 100,000 nodes; looked up are 2,000 hot contexts again and again, then uniformly random ones, then
 * the children of one node that has 10,000. The three are interleaved in rounds beside an empty loop over the
 * same keys, which is subtracted; printed are the medians over rounds with the quartiles, and the ratio of
 * the wide node to the hot contexts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/profile.h"

enum { NODES = 100000, HOT = 2000, WIDE = 10000, LOOKUPS = 200000, ROUNDS = 51, CASES = 4 };

static uint64_t random_state = 42;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % bound);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A tree as programs make it: each node under an earlier one, of depth about 30. */
static struct tare_profile *grow(uint32_t *ret_wide)
{
    struct tare_profile *profile;
    struct tare_error err;
    if (tare_profile_create(0, &profile, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        exit(2);
    }
    tare_profile_add_column(profile, "wall", "nanoseconds");
    uint32_t frames[WIDE];
    for (uint32_t i = 0; i < WIDE; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        frames[i] = tare_profile_function(profile, TARE_FRAME_PYTHON, name, "a.py", i);
    }
    uint32_t wide = tare_profile_child(profile, 0, frames[0], 0);
    for (uint32_t i = 0; i < WIDE; i++)
        tare_profile_child(profile, wide, frames[i], 0);
    while (tare_profile_nodes(profile) < NODES) {
        uint32_t count = tare_profile_nodes(profile);
        uint32_t back = count < 4000 ? count : 4000;
        tare_profile_child(profile, count - 1 - random_below(back), frames[random_below(2000)], 0);
    }
    *ret_wide = wide;
    return profile;
}

static double timed(const struct tare_profile *profile, const struct tare_node *keys, int empty)
{
    uint32_t sum = 0;
    double start = now_ns();
    if (empty) {
        for (uint32_t i = 0; i < LOOKUPS; i++)
            sum += keys[i].parent ^ keys[i].frame;
    } else {
        for (uint32_t i = 0; i < LOOKUPS; i++)
            sum += tare_profile_find_child(profile, keys[i].parent, keys[i].frame, keys[i].line);
    }
    double took = now_ns() - start;
    /* Keep the loop: its sum is used. */
    volatile uint32_t sink = sum;
    (void)sink;
    return took / LOOKUPS;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    uint32_t wide;
    struct tare_profile *profile = grow(&wide);
    struct tare_node *keys[3];
    uint32_t hot[HOT];
    for (uint32_t i = 0; i < HOT; i++)
        hot[i] = 1 + random_below(NODES - 1);
    for (int c = 0; c < 3; c++) {
        keys[c] = malloc(LOOKUPS * sizeof *keys[c]);
        if (!keys[c])
            return 2;
        for (uint32_t i = 0; i < LOOKUPS; i++) {
            uint32_t node = c == 0   ? hot[random_below(HOT)]
                            : c == 1 ? 1 + random_below(NODES - 1)
                                     : wide + 1 + random_below(WIDE);
            keys[c][i] = *tare_profile_node_at(profile, node);
        }
    }
    static double ns[CASES][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double empty = timed(profile, keys[0], 1);
        for (int c = 0; c < 3; c++)
            ns[c][round] = timed(profile, keys[c], 0) - empty;
        ns[3][round] = empty;
    }
    const char *names[CASES] = {"2,000 hot contexts", "uniform over 100,000", "10,000 children of one node",
                                "empty loop"};
    for (int c = 0; c < CASES; c++) {
        qsort(ns[c], ROUNDS, sizeof ns[c][0], by_value);
        printf("%-28s %6.1f ns median, quartiles %.1f to %.1f\n", names[c], ns[c][ROUNDS / 2],
               ns[c][ROUNDS / 4], ns[c][ROUNDS * 3 / 4]);
    }
    printf("ratio wide/hot %.2f\n", ns[2][ROUNDS / 2] / ns[0][ROUNDS / 2]);
    int good = ns[0][ROUNDS / 2] <= 25.0 && ns[2][ROUNDS / 2] <= 2.0 * ns[0][ROUNDS / 2];
    for (int c = 0; c < 3; c++)
        free(keys[c]);
    tare_profile_destroy(profile);
    return good ? 0 : 1;
}
