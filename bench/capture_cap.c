/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture never passes its cap: 10^9 events (half of them calls that begin, half that end) over more
 * contexts than there is room for, with the file's size looked at all the time. Prints the largest size seen,
 * what was folded away, and the speed.
 *
 *     capture_cap [FOLDER [EVENTS]]     default: the current folder, 1e9
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flow/result.h"
#include "instrument/recorder.h"

enum { FRAMES = 5000, DEPTH = 40 };

#define CAP ((uint64_t)64 << 20)

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % bound);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".";
    uint64_t events = argc > 2 ? (uint64_t)strtod(argv[2], NULL) : 1000000000;
    struct tare_recorder_options options = {.folder = folder, .cap = CAP};
    struct tare_recorder *recorder;
    struct tare_error err;
    if (tare_recorder_create(&options, &recorder, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 2;
    }
    char *path = strdup(tare_recorder_path(recorder));
    uint32_t frames[FRAMES];
    for (uint32_t i = 0; i < FRAMES; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        struct tare_recorder_frame frame = {
            .kind = TARE_FRAME_PYTHON, .name = name, .file = "a.py", .first_line = i};
        frames[i] = tare_recorder_frame(recorder, &frame);
    }
    struct tare_recorder_thread *thread = tare_recorder_thread_begin(recorder, 1, "MainThread");
    int64_t start = tare_clock_ns();
    uint64_t calls = 0, largest = 0;
    uint32_t depth = 0;
    for (uint64_t i = 0; i < events; i++) {
        if (depth && (depth == DEPTH || random_below(2))) {
            tare_recorder_leave(thread, false);
            depth--;
        } else {
            tare_recorder_enter(thread, frames[random_below(FRAMES)], NULL, false);
            depth++;
            calls++;
        }
        if ((i & 0xfffff) == 0) {
            struct stat st;
            if (stat(path, &st) == 0 && (uint64_t)st.st_size > largest)
                largest = (uint64_t)st.st_size;
        }
    }
    double seconds = (double)(tare_clock_ns() - start) / 1e9;
    tare_recorder_destroy(recorder);
    struct tare_result result = {0};
    if (tare_result_load(path, &result, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 2;
    }
    int64_t counted = 0;
    for (uint32_t node = 1; node < tare_profile_nodes(result.profile); node++)
        counted += tare_profile_values(result.profile, node)[0];
    printf("%llu events in %.1f s, %.1f ns each; largest file %.1f MiB, cap %.0f MiB; %llu calls made, %lld "
           "counted, in %u "
           "contexts\n",
           (unsigned long long)events, seconds, seconds * 1e9 / (double)events, (double)largest / 1048576,
           (double)CAP / 1048576, (unsigned long long)calls, (long long)counted,
           tare_profile_nodes(result.profile));
    int good = largest <= CAP && (uint64_t)counted == calls;
    tare_result_finish(&result);
    unlink(path);
    free(path);
    return good ? 0 : 1;
}
