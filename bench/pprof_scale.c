/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A large profile through pprof and back: pprof_scale [NODES [FRAMES [FILE]]], by default 1,000,000 nodes
 * over 100,000 frames in two columns, through a file that is removed afterwards. Printed are the time of each
 * part, the size of the file, and the peak of memory after each part; nodes and totals must come back equal.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/profile.h"
#include "report/report.h"

static uint64_t random_state = 42;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % bound);
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double since, cpu_since;

static void part(const char *what)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-6s %7.2f s, %7.2f s of a processor, peak of memory %5ld MiB\n", what,
           seconds(CLOCK_MONOTONIC) - since, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_since,
           usage.ru_maxrss / 1024);
    since = seconds(CLOCK_MONOTONIC);
    cpu_since = seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static int fail(const struct tare_error *err)
{
    fprintf(stderr, "%s\n", err->msg);
    return 2;
}

/* Each node hangs under one of the last twentieth, which gives depths of some tens. */
static void grow(struct tare_profile *profile, uint32_t nodes, uint32_t frames)
{
    tare_profile_add_column(profile, "calls", "count");
    tare_profile_add_column(profile, "wall", "nanoseconds");
    for (uint32_t i = 0; i < frames; i++) {
        char name[24], file[24];
        snprintf(name, sizeof name, "function_%" PRIu32, i);
        snprintf(file, sizeof file, "/src/file_%" PRIu32 ".py", i / 50);
        tare_profile_function(profile, TARE_FRAME_PYTHON, name, file, i % 50 * 20 + 1);
    }
    uint32_t last = 0;
    while (tare_profile_nodes(profile) < nodes) {
        uint32_t count = tare_profile_nodes(profile);
        uint32_t back = count < nodes / 20 ? count : nodes / 20;
        uint32_t node = tare_profile_child(profile, count - 1 - random_below(back), random_below(frames), 0);
        if (node == last)
            break; /* no memory */
        last = node;
        tare_profile_add(profile, node, 0, 1 + random_below(100));
        tare_profile_add(profile, node, 1, 1000 + random_below(1000000));
    }
}

static int64_t total(const struct tare_profile *profile)
{
    int64_t sum = 0;
    for (uint32_t node = 0; node < tare_profile_nodes(profile); node++)
        sum += tare_profile_values(profile, node)[1];
    return sum;
}

int main(int argc, char **argv)
{
    uint32_t nodes = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    uint32_t frames = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100000;
    const char *path = argc > 3 ? argv[3] : "pprof_scale.pb.gz";
    struct tare_error err = {0};
    struct tare_profile *profile = NULL, *back = NULL;
    struct tare_out out;
    struct tare_in *in = NULL;
    struct tare_view view = {0};
    since = seconds(CLOCK_MONOTONIC);
    cpu_since = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (tare_profile_create(0, &profile, &err) < 0 || tare_profile_create(0, &back, &err) < 0)
        return fail(&err);
    grow(profile, nodes, frames);
    if (tare_profile_check(profile, &err) < 0)
        return fail(&err);
    part("grow");
    uint32_t count = tare_profile_nodes(profile);
    int64_t sum = total(profile);
    if (tare_out_open(&out, path, &err) < 0)
        return fail(&err);
    tare_writer_pprof.write(profile, &view, &out);
    if (tare_out_commit(&out, &err) < 0)
        return fail(&err);
    tare_out_finish(&out);
    tare_profile_destroy(profile);
    part("write");
    if (tare_in_open(path, &in, &err) < 0 || tare_reader_pprof.read(in, back, &err) < 0)
        return fail(&err);
    part("read");
    bool equal = tare_profile_nodes(back) == count && total(back) == sum;
    uint64_t unpacked = tare_in_position(in), packed = tare_in_raw_position(in);
    printf("%" PRIu32 " nodes over %" PRIu32 " frames: %" PRIu64 " bytes, %" PRIu64 " unpacked; %s\n", count,
           frames, packed, unpacked, equal ? "equal" : "DIFFERENT");
    tare_in_close(in);
    tare_profile_destroy(back);
    unlink(path);
    return equal ? 0 : 1;
}
