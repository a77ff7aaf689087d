/* SPDX-License-Identifier: Apache-2.0 */
/* Events into a capture and back: counts and times, deep stacks, threads, kills, forks, no room. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/in.h"
#include "check.h"
#include "core/capture.h"
#include "core/tree.h"
#include "instrument/recorder_hot.h"

static char folder[] = "/tmp/tare-recorder-XXXXXX";

static struct tare_recorder *recorder_new(uint64_t cap)
{
    struct tare_recorder_options options = {.folder = folder, .cap = cap};
    struct tare_recorder *recorder = NULL;
    struct tare_error err = {0};
    if (tare_recorder_create(&options, &recorder, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        abort();
    }
    return recorder;
}

static uint32_t frame_new(struct tare_recorder *recorder, const char *name)
{
    struct tare_recorder_frame frame = {
        .kind = TARE_FRAME_PYTHON, .name = name, .file = "a.py", .first_line = 3};
    return tare_recorder_frame(recorder, &frame);
}

/* The profile that a capture holds. */
static struct tare_profile *read_back(const char *path, struct tare_capture_info *ret_info)
{
    struct tare_in *in = NULL;
    struct tare_buf buf;
    struct tare_profile *profile = NULL;
    struct tare_error err = {0};
    tare_buf_init(&buf, (size_t)1 << 31);
    int rc = tare_in_open(path, &in, &err);
    if (rc == 0)
        rc = tare_in_all(in, &buf, &err);
    if (rc == 0)
        rc = tare_profile_create(0, &profile, &err);
    if (rc == 0)
        rc = tare_capture_read(buf.data, buf.length, path, 0, profile, ret_info, &err);
    if (rc < 0) {
        check_report(__FILE__, __LINE__, err.msg);
        tare_profile_destroy(profile);
        profile = NULL;
    }
    tare_in_close(in);
    tare_buf_finish(&buf);
    return profile;
}

/* The sum of a column over the nodes of functions of that name; NULL: of all. */
static int64_t sum_of(const struct tare_profile *profile, const char *name, const char *column)
{
    uint32_t at = tare_profile_find_column(profile, column);
    int64_t sum = 0;
    for (uint32_t node = 1; node < tare_profile_nodes(profile); node++) {
        const struct tare_frame *frame =
            tare_profile_frame_at(profile, tare_profile_node_at(profile, node)->frame);
        if (!name || strcmp(tare_profile_text(profile, frame->name), name) == 0)
            sum += tare_profile_values(profile, node)[at];
    }
    return sum;
}

static void spin(int64_t ns)
{
    int64_t end = tare_clock_ns() + ns;
    while (tare_clock_ns() < end)
        continue;
}

static void counts_and_times_come_back(void)
{
    struct tare_recorder *recorder = recorder_new(0);
    char *path = strdup(tare_recorder_path(recorder));
    uint32_t outer = frame_new(recorder, "outer"), inner = frame_new(recorder, "inner");
    struct tare_recorder_thread *thread = tare_recorder_thread_begin(recorder, 7, "MainThread");
    tare_recorder_leave(thread, false); /* of something that began before us: ignored */
    tare_recorder_enter(thread, outer, NULL, false);
    for (int i = 0; i < 10; i++) {
        tare_recorder_enter(thread, inner, NULL, i > 0);
        spin(1000000);
        tare_recorder_leave(thread, i == 9);
    }
    spin(5000000);
    CHECK_INT(tare_recorder_leave_frame(thread, inner, false), 0);
    CHECK_INT(tare_recorder_leave_frame(thread, outer, false), 1);
    CHECK_INT(tare_recorder_depth(thread), 0);
    tare_recorder_meta(recorder, "rank", "3");
    tare_recorder_destroy(recorder);

    struct tare_capture_info info;
    struct tare_profile *profile = read_back(path, &info);
    if (profile) {
        CHECK_INT(sum_of(profile, "inner", "calls"), 10);
        /* Node 0, the thread, outer, inner. */
        CHECK_INT((int64_t)info.counts[3].resumes, 9);
        CHECK_INT((int64_t)info.counts[3].unwinds, 1);
        CHECK_INT(sum_of(profile, "outer", "calls"), 1);
        CHECK(sum_of(profile, "inner", "wall") >= 10000000);
        CHECK(sum_of(profile, "outer", "wall") >= 5000000);
        CHECK(info.ended);
        CHECK_INT(info.open_calls, 0);
        CHECK_TEXT(tare_profile_text(profile, tare_profile_comment_at(profile, 0)), "rank: 3");
        tare_profile_destroy(profile);
        tare_capture_info_finish(&info);
    }
    unlink(path);
    free(path);
}

static int64_t probed_ns;

static void slow_probe(int times)
{
    int64_t begin = tare_clock_ns();
    spin(times * 20000);
    probed_ns += tare_clock_ns() - begin;
}

static void the_time_of_probes_is_nobodys(void)
{
    struct tare_recorder_options options = {.folder = folder, .probe = slow_probe};
    struct tare_recorder *recorder = NULL;
    struct tare_error err = {0};
    CHECK_INT(tare_recorder_create(&options, &recorder, &err), 0);
    char *path = strdup(tare_recorder_path(recorder));
    uint32_t outer = frame_new(recorder, "outer"), inner = frame_new(recorder, "inner");
    struct tare_recorder_thread *thread = tare_recorder_thread_begin(recorder, 7, "MainThread");
    probed_ns = 0;
    CHECK_TEXT(tare_recorder_outermost(thread), "");
    int64_t begin = tare_clock_ns();
    tare_recorder_enter(thread, outer, &outer, false);
    for (int i = 0; i < 6; i++) {
        spin(3000000);
        if (!tare_recorder_enter_known(thread, &inner, false))
            tare_recorder_enter(thread, inner, &inner, false);
        CHECK_TEXT(tare_recorder_outermost(thread), "outer");
        CHECK(tare_recorder_leave_known(thread, &inner, false));
    }
    CHECK(!tare_recorder_leave_known(thread, &inner, false));
    tare_recorder_leave(thread, false);
    int64_t took = tare_clock_ns() - begin;
    tare_recorder_destroy(recorder);
    struct tare_capture_info info;
    struct tare_profile *profile = read_back(path, &info);
    if (profile) {
        /* One at least at the beginning, and one later. */
        CHECK(probed_ns > 2 * 1300000);
        CHECK(info.probe_ns >= 1000000);
        CHECK(info.probes >= 2 && info.probe_variance >= 0 && info.probe_step >= 0);
        CHECK_INT(sum_of(profile, "inner", "calls"), 6);
        CHECK(sum_of(profile, NULL, "wall") <= took - probed_ns + 100000);
        tare_profile_destroy(profile);
        tare_capture_info_finish(&info);
    }
    unlink(path);
    free(path);
}

static void keys_may_be_forgotten(void)
{
    struct tare_recorder *recorder = recorder_new(0);
    uint32_t frame = frame_new(recorder, "f");
    struct tare_recorder_thread *thread = tare_recorder_thread_begin(recorder, 7, "MainThread");
    CHECK(!tare_recorder_enter_known(thread, &frame, false));
    tare_recorder_enter(thread, frame, &frame, false);
    /* Known below the thread, not below itself. */
    CHECK(!tare_recorder_enter_known(thread, &frame, false));
    CHECK(tare_recorder_leave_key(thread, &frame, false));
    CHECK(tare_recorder_enter_known(thread, &frame, false));
    CHECK(tare_recorder_leave_known(thread, &frame, false));
    tare_recorder_forget(thread);
    CHECK(!tare_recorder_enter_known(thread, &frame, false));
    CHECK_INT(tare_recorder_depth(thread), 0);
    unlink(tare_recorder_path(recorder));
    tare_recorder_destroy(recorder);
}

static void a_restarted_thread_forgets(void)
{
    struct tare_recorder *recorder = recorder_new(0);
    struct tare_recorder_thread *thread = tare_recorder_thread_begin(recorder, 12, "MainThread");
    uint32_t before = frame_new(recorder, "before"), both = frame_new(recorder, "both");
    for (int i = 0; i < 3; i++) {
        tare_recorder_enter(thread, before, NULL, false);
        tare_recorder_enter(thread, both, NULL, false);
        tare_recorder_leave(thread, false);
        tare_recorder_leave(thread, false);
    }
    CHECK(tare_recorder_thread_restart(thread));
    tare_recorder_enter(thread, both, NULL, false);
    tare_recorder_leave(thread, false);
    struct tare_capture_info info = {0};
    struct tare_profile *profile = read_back(tare_recorder_path(recorder), &info);
    CHECK(profile != NULL);
    CHECK_INT(info.threads, 1);
    CHECK_INT(sum_of(profile, "before", "calls"), 0);
    CHECK_INT(sum_of(profile, "both", "calls"), 1);
    CHECK_INT(tare_profile_nodes(profile), 3);
    tare_profile_destroy(profile);
    tare_capture_info_finish(&info);
    unlink(tare_recorder_path(recorder));
    tare_recorder_destroy(recorder);
}

static void what_comes_before_the_program_is_not_shown(void)
{
    struct tare_recorder *recorder = recorder_new(0);
    struct tare_recorder_thread *thread = tare_recorder_thread_begin(recorder, 12, "MainThread");
    uint32_t frame = frame_new(recorder, "site");
    tare_recorder_starting(recorder, true);
    tare_recorder_enter(thread, frame, NULL, false);
    for (int begun = 0; begun < 2; begun++) {
        struct tare_capture_info info = {0};
        struct tare_profile *profile = read_back(tare_recorder_path(recorder), &info);
        CHECK(profile != NULL);
        CHECK_INT(info.starting, !begun);
        CHECK_INT(info.open_calls, begun);
        CHECK_INT(sum_of(profile, "site", "calls"), begun);
        tare_profile_destroy(profile);
        tare_capture_info_finish(&info);
        tare_recorder_starting(recorder, false);
    }
    unlink(tare_recorder_path(recorder));
    tare_recorder_destroy(recorder);
}

static void deep_stacks_cross_chunks(void)
{
    struct tare_recorder *recorder = recorder_new((uint64_t)64 << 20);
    char *path = strdup(tare_recorder_path(recorder));
    uint32_t frame = frame_new(recorder, "recurse");
    struct tare_recorder_thread *thread = tare_recorder_thread_begin(recorder, 7, "MainThread");
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20000; i++)
            tare_recorder_enter(thread, frame, NULL, false);
        CHECK_INT(tare_recorder_depth(thread), 20000);
        for (int i = 0; i < 20000; i++)
            tare_recorder_leave(thread, false);
    }
    tare_recorder_destroy(recorder);
    struct tare_capture_info info;
    struct tare_profile *profile = read_back(path, &info);
    if (profile) {
        CHECK_INT(sum_of(profile, "recurse", "calls"), 40000);
        CHECK_INT(tare_profile_nodes(profile), 20000 + 2);
        tare_profile_destroy(profile);
        tare_capture_info_finish(&info);
    }
    unlink(path);
    free(path);
}

static void no_room_folds_into_truncated(void)
{
    struct tare_recorder *recorder = recorder_new(1 << 20);
    char *path = strdup(tare_recorder_path(recorder));
    struct tare_recorder_thread *thread = tare_recorder_thread_begin(recorder, 7, "MainThread");
    enum { FRAMES = 300 };
    uint32_t frames[FRAMES];
    for (int i = 0; i < FRAMES; i++)
        frames[i] = frame_new(recorder, "f");
    int64_t made = 0;
    for (int i = 0; i < FRAMES; i++) {
        tare_recorder_enter(thread, frames[i], NULL, false);
        for (int j = 0; j < FRAMES; j++, made++) {
            tare_recorder_enter(thread, frames[j], NULL, false);
            tare_recorder_leave(thread, false);
        }
        tare_recorder_leave(thread, false);
        made++;
    }
    /* Deeper than there is room for. */
    for (int i = 0; i < 100000; i++)
        tare_recorder_enter(thread, frames[0], NULL, false);
    for (int i = 0; i < 100000; i++)
        tare_recorder_leave(thread, false);
    tare_recorder_destroy(recorder);
    struct stat st;
    CHECK_INT(stat(path, &st), 0);
    CHECK(st.st_size <= 1 << 20);
    struct tare_capture_info info;
    struct tare_profile *profile = read_back(path, &info);
    if (profile) {
        CHECK(info.truncated_calls > 1000);
        CHECK(info.lost_calls > 1000);
        CHECK_INT(sum_of(profile, NULL, "calls") + (int64_t)info.lost_calls, made + 100000);
        tare_profile_destroy(profile);
        tare_capture_info_finish(&info);
    }
    unlink(path);
    free(path);
}

struct work {
    struct tare_recorder *recorder;
    uint32_t frame;
    int calls;
};

static void *thread_main(void *arg)
{
    struct work *work = arg;
    struct tare_recorder_thread *thread = tare_recorder_thread_begin(work->recorder, work->calls, "worker");
    for (int i = 0; i < work->calls; i++) {
        uint32_t own = i % 100 == 0 ? frame_new(work->recorder, "own") : work->frame;
        tare_recorder_enter(thread, own, NULL, false);
        tare_recorder_enter(thread, work->frame, NULL, false);
        tare_recorder_leave(thread, false);
        tare_recorder_leave(thread, false);
    }
    tare_recorder_thread_end(thread);
    return NULL;
}

static void threads_keep_their_own_stacks(void)
{
    struct tare_recorder *recorder = recorder_new(0);
    char *path = strdup(tare_recorder_path(recorder));
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    struct work work[THREADS];
    uint32_t frame = frame_new(recorder, "shared");
    int64_t calls = 0;
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){.recorder = recorder, .frame = frame, .calls = 10000 + i};
        calls += 2 * (10000 + i);
        pthread_create(&threads[i], NULL, thread_main, &work[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tare_recorder_destroy(recorder);
    struct tare_capture_info info;
    struct tare_profile *profile = read_back(path, &info);
    if (profile) {
        CHECK_INT(info.threads, THREADS);
        CHECK_INT(sum_of(profile, NULL, "calls"), calls);
        tare_profile_destroy(profile);
        tare_capture_info_finish(&info);
    }
    unlink(path);
    free(path);
}

/* A child records calls without end and is killed at some moment. */
static void a_kill_loses_at_most_one_event(void)
{
    for (int round = 0; round < 20; round++) {
        int ends[2];
        if (pipe(ends) < 0)
            abort();
        pid_t pid = fork();
        if (pid == 0) {
            struct tare_recorder *recorder = recorder_new(0);
            uint32_t a = frame_new(recorder, "a"), b = frame_new(recorder, "b");
            struct tare_recorder_thread *thread = tare_recorder_thread_begin(recorder, 1, "MainThread");
            const char *path = tare_recorder_path(recorder);
            if (write(ends[1], path, strlen(path) + 1) < 0)
                _exit(1);
            tare_recorder_enter(thread, a, NULL, false);
            for (;;) {
                tare_recorder_enter(thread, b, NULL, false);
                tare_recorder_leave(thread, false);
            }
        }
        char path[256] = "";
        close(ends[1]);
        CHECK(read(ends[0], path, sizeof path - 1) > 0);
        close(ends[0]);
        nanosleep(&(struct timespec){.tv_nsec = 100000 * (round + 1)}, NULL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        struct tare_capture_info info;
        struct tare_profile *profile = read_back(path, &info);
        if (profile) {
            CHECK(!info.ended);
            CHECK(info.open_calls <= 2);
            CHECK(sum_of(profile, "a", "calls") <= 1);
            if (info.open_calls)
                CHECK_INT(sum_of(profile, "a", "open"), sum_of(profile, "a", "calls"));
            CHECK(sum_of(profile, NULL, "wall") >= 0);
            tare_profile_destroy(profile);
            tare_capture_info_finish(&info);
        }
        unlink(path);
    }
}

static void a_forked_child_has_its_own_file(void)
{
    struct tare_recorder *recorder = recorder_new(0);
    char *path = strdup(tare_recorder_path(recorder));
    uint32_t a = frame_new(recorder, "a"), b = frame_new(recorder, "b");
    struct tare_recorder_thread *thread = tare_recorder_thread_begin(recorder, 1, "MainThread");
    tare_recorder_enter(thread, a, NULL, false);
    int ends[2];
    if (pipe(ends) < 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        struct tare_error err;
        if (tare_recorder_forked(recorder, thread, &err) < 0)
            _exit(1);
        const char *own = tare_recorder_path(recorder);
        if (write(ends[1], own, strlen(own) + 1) < 0)
            _exit(1);
        uint32_t c = frame_new(recorder, "c");
        for (int i = 0; i < 1000; i++) {
            tare_recorder_enter(thread, i % 2 ? b : c, NULL, false);
            tare_recorder_leave(thread, false);
        }
        tare_recorder_leave(thread, false);
        tare_recorder_destroy(recorder);
        _exit(0);
    }
    char own[256] = "";
    close(ends[1]);
    CHECK(read(ends[0], own, sizeof own - 1) > 0);
    close(ends[0]);
    for (int i = 0; i < 100; i++) {
        tare_recorder_enter(thread, b, NULL, false);
        tare_recorder_leave(thread, false);
    }
    tare_recorder_leave(thread, false);
    int status = 1;
    waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
    tare_recorder_destroy(recorder);
    struct tare_capture_info info;
    struct tare_profile *profile = read_back(path, &info);
    if (profile) {
        CHECK_INT(sum_of(profile, "b", "calls"), 100);
        CHECK_INT(sum_of(profile, "a", "calls"), 1);
        CHECK_INT(sum_of(profile, "c", "calls"), 0);
        tare_profile_destroy(profile);
        tare_capture_info_finish(&info);
    }
    profile = read_back(own, &info);
    if (profile) {
        CHECK_INT(info.pid, pid);
        CHECK_INT(sum_of(profile, "b", "calls"), 500);
        CHECK_INT(sum_of(profile, "c", "calls"), 500);
        CHECK_INT(sum_of(profile, "a", "calls"), 1);
        tare_profile_destroy(profile);
        tare_capture_info_finish(&info);
    }
    unlink(path);
    unlink(own);
    free(path);
}

static void a_damaged_capture_is_refused(void)
{
    struct tare_recorder *recorder = recorder_new(0);
    char *path = strdup(tare_recorder_path(recorder));
    struct tare_recorder_thread *thread = tare_recorder_thread_begin(recorder, 7, "MainThread");
    for (int i = 0; i < 50; i++)
        tare_recorder_enter(thread, frame_new(recorder, "f"), NULL, false);
    struct tare_in *in = NULL;
    struct tare_buf buf;
    struct tare_error err;
    tare_buf_init(&buf, SIZE_MAX);
    CHECK_INT(tare_in_open(path, &in, &err), 0);
    CHECK_INT(tare_in_all(in, &buf, &err), 0);
    tare_in_close(in);
    char *copy = malloc(buf.length);
    uint64_t random = 3;
    int refused = 0;
    for (int round = 0; round < 3000; round++) {
        memcpy(copy, buf.data, buf.length);
        for (int flips = 0; flips < 3; flips++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t at = (random >> 20) % (round % 3 == 0 ? sizeof(struct tare_capture_header) : buf.length);
            copy[at] = (char)(copy[at] ^ (1 << (random >> 61)));
        }
        struct tare_profile *profile = NULL;
        struct tare_capture_info info;
        CHECK_INT(tare_profile_create(0, &profile, &err), 0);
        if (tare_capture_read(copy, buf.length, "x", 0, profile, &info, &err) < 0)
            refused++;
        else
            tare_capture_info_finish(&info);
        tare_profile_destroy(profile);
    }
    CHECK(refused > 100);
    struct tare_capture_header header;
    memcpy(&header, buf.data, sizeof header);
    header.layout = 99;
    memcpy(copy, buf.data, buf.length);
    memcpy(copy, &header, sizeof header);
    struct tare_profile *profile = NULL;
    struct tare_capture_info info;
    CHECK_INT(tare_profile_create(0, &profile, &err), 0);
    CHECK_INT(tare_capture_read(copy, buf.length, "x", 0, profile, &info, &err), -1);
    CHECK(strstr(err.msg, "which reads it") != NULL);
    tare_profile_destroy(profile);
    free(copy);
    tare_buf_finish(&buf);
    tare_recorder_destroy(recorder);
    unlink(path);
    free(path);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 2;
    RUN(counts_and_times_come_back);
    RUN(the_time_of_probes_is_nobodys);
    RUN(keys_may_be_forgotten);
    RUN(a_restarted_thread_forgets);
    RUN(what_comes_before_the_program_is_not_shown);
    RUN(deep_stacks_cross_chunks);
    RUN(no_room_folds_into_truncated);
    RUN(threads_keep_their_own_stacks);
    RUN(a_kill_loses_at_most_one_event);
    RUN(a_forked_child_has_its_own_file);
    RUN(a_damaged_capture_is_refused);
    rmdir(folder);
    return check_done();
}
