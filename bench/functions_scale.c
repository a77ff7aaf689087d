/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the per-function view costs on the largest profile that tare carries: 10 million nodes over 1 million
 * frames by default, or the two numbers given. The tree is made so that recursion is common; printed are the
 * processor time to derive functions and pairs, and to write the .prof to nowhere, with the peak of memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "core/functions.h"
#include "report/report.h"

static uint64_t random_state = 42;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % bound);
}

/* Processor time, which other programs on the machine do not lengthen much. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void stop(const struct tare_error *err)
{
    fprintf(stderr, "%s\n", err->msg);
    exit(2);
}

static double peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

int main(int argc, char **argv)
{
    uint32_t nodes = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000000;
    uint32_t frames = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000000;
    struct tare_profile *profile;
    struct tare_error err;
    if (nodes < 2 || frames < 1 || tare_profile_create(0, &profile, &err) < 0)
        return 2;
    uint32_t calls = tare_profile_add_column(profile, "calls", "count");
    uint32_t wall = tare_profile_add_column(profile, "wall", "nanoseconds");
    for (uint32_t i = 0; i < frames; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        tare_profile_function(profile, TARE_FRAME_PYTHON, name, "package/module.py", i + 1);
    }
    /* A program that calls and returns at random: contexts come in the order of their first call. A function
     * calls few others, so its callees are near it; a small step makes recursion. */
    uint32_t node = 0, depth = 0;
    while (tare_profile_nodes(profile) < nodes && tare_profile_check(profile, &err) == 0) {
        if (depth > 60 || (depth > 2 && random_below(100) < 49)) {
            node = tare_profile_node_at(profile, node)->parent;
            depth--;
            continue;
        }
        uint32_t frame = tare_profile_node_at(profile, node)->frame;
        frame = frame == TARE_NONE || random_below(20) == 0 ? random_below(frames)
                                                            : (frame + random_below(4)) % frames;
        node = tare_profile_child(profile, node, frame, 0);
        depth++;
        tare_profile_add(profile, node, calls, 1);
        tare_profile_add(profile, node, wall, 100 + random_below(1000));
    }
    if (tare_profile_check(profile, &err) < 0)
        stop(&err);
    printf("profile:   %u nodes, %u frames, peak %.0f MiB\n", tare_profile_nodes(profile), frames,
           peak_mib());

    struct tare_functions functions;
    double began = now_s();
    if (tare_functions_init(&functions, profile, TARE_NONE, false, &err) < 0)
        stop(&err);
    printf("functions: %u and %u pairs in %.2f s, peak %.0f MiB\n", functions.count, functions.pair_count,
           now_s() - began, peak_mib());
    tare_functions_finish(&functions);

    struct tare_out out;
    const struct tare_view view = {0};
    began = now_s();
    if (tare_out_open(&out, "/dev/null", &err) < 0)
        stop(&err);
    tare_writer_pstats.write(profile, &view, &out);
    if (tare_out_commit(&out, &err) < 0)
        stop(&err);
    tare_out_finish(&out);
    printf(".prof:     derived and written in %.2f s, peak %.0f MiB\n", now_s() - began, peak_mib());
    tare_profile_destroy(profile);
    return 0;
}
