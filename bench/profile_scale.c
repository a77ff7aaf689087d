/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large a profile may be: 10 million nodes over 1 million frames with three value columns, merged with
 * another of 1 million nodes, written to pprof and read back; then two profiles of 1 million nodes merged.
 * Printed for each step: seconds, and the most memory the process had while it ran.
 *
 *     profile_scale [MILLIONS] [FOLDER]     default 10 and the current folder, where the pprof file is made
 * and removed
 *
 * Bars: the profile within 1 GiB, the merge of two times 1 million within 1 s.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/profile.h"
#include "flow/result.h"

static uint64_t random_state = 42;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % bound);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A line of /proc/self/status, in MiB. */
static double memory(const char *what)
{
    char line[256];
    double kib = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, what, strlen(what)) == 0)
            kib = strtod(line + strlen(what) + 1, NULL);
    if (status)
        fclose(status);
    return kib / 1024;
}

/* Forget the peak, so that the next step has its own. */
static void peak_reset(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "5", 1) != 1)
        fprintf(stderr, "the peak cannot be reset: peaks are of the whole run\n");
    close(fd);
}

static void say(const char *what, double start)
{
    printf("%-52s %6.2f s, peak %5.0f MiB\n", what, now() - start, memory("VmHWM:"));
    fflush(stdout);
    peak_reset();
}

static void fail(const struct tare_error *err)
{
    fprintf(stderr, "%s\n", err->msg);
    exit(2);
}

/* Nodes hang under recent ones, so that the tree is some tens deep; every frame is used. */
static struct tare_profile *grow(uint32_t nodes, uint32_t frames)
{
    struct tare_profile *profile;
    struct tare_error err;
    if (tare_profile_create(0, &profile, &err) < 0)
        fail(&err);
    tare_profile_add_column(profile, "calls", "count");
    tare_profile_add_column(profile, "wall", "nanoseconds");
    tare_profile_add_column(profile, "cpu", "nanoseconds");
    for (uint32_t i = 0; i < frames; i++) {
        char name[64], file[64];
        snprintf(name, sizeof name, "compute_something_%u", i);
        snprintf(file, sizeof file, "/srv/app/module_%u/file.py", i / 50);
        tare_profile_function(profile, TARE_FRAME_PYTHON, name, file, i % 50 * 20 + 1);
    }
    while (tare_profile_nodes(profile) < nodes) {
        uint32_t count = tare_profile_nodes(profile);
        uint32_t back = count < 500000 ? count : 500000;
        uint32_t node = tare_profile_child(profile, count - 1 - random_below(back), random_below(frames), 0);
        if (node == TARE_NONE)
            break;
        tare_profile_add(profile, node, 0, 1);
        tare_profile_add(profile, node, 1, 1000 + random_below(1000));
        tare_profile_add(profile, node, 2, 900);
    }
    if (tare_profile_check(profile, &err) < 0)
        fail(&err);
    return profile;
}

static int64_t sum_of(const struct tare_profile *profile, uint32_t column)
{
    int64_t sum = 0;
    for (uint32_t node = 0; node < tare_profile_nodes(profile); node++)
        sum += tare_profile_values(profile, node)[column];
    return sum;
}

int main(int argc, char **argv)
{
    char *end;
    double millions = argc > 1 ? strtod(argv[1], &end) : 10;
    const char *folder = argc > 2 ? argv[2] : ".";
    uint32_t nodes = (uint32_t)(millions * 1e6), frames = nodes / 10;
    struct tare_error err;
    char path[512];
    snprintf(path, sizeof path, "%s/profile_scale.pb.gz", folder);

    double start = now();
    struct tare_profile *large = grow(nodes, frames);
    size_t bytes;
    tare_profile_region(large, &bytes);
    printf("%u nodes, %u frames, 3 columns: region %.0f MiB, resident %.0f MiB\n", tare_profile_nodes(large),
           tare_profile_frames(large), (double)bytes / 1048576, memory("VmRSS:"));
    int good = memory("VmRSS:") <= 1024;
    say("built", start);

    struct tare_profile *other = grow(1000000, 100000);
    peak_reset();
    start = now();
    if (tare_profile_merge(large, other, &err) < 0)
        fail(&err);
    tare_profile_destroy(other);
    say("another of 1,000,000 nodes merged into it", start);
    int64_t wall = sum_of(large, 1);
    uint32_t count = tare_profile_nodes(large);

    start = now();
    struct tare_result result = {.profile = large};
    struct tare_view view = {0};
    if (tare_result_save(&result, path, NULL, &view, &err) < 0)
        fail(&err);
    say("written to pprof", start);
    tare_result_finish(&result);
    peak_reset();

    start = now();
    if (tare_result_load(path, &result, &err) < 0)
        fail(&err);
    say("read back", start);
    if (sum_of(result.profile, 1) != wall || tare_profile_nodes(result.profile) != count) {
        fprintf(stderr, "what was read is not what was written\n");
        good = 0;
    }
    tare_result_finish(&result);
    unlink(path);

    struct tare_profile *a = grow(1000000, 100000), *b = grow(1000000, 100000);
    start = now();
    if (tare_profile_merge(a, b, &err) < 0)
        fail(&err);
    double took = now() - start;
    say("two of 1,000,000 nodes merged", start);
    tare_profile_destroy(a);
    tare_profile_destroy(b);
    return good && took <= 1.0 ? 0 : 1;
}
