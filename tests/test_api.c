/* SPDX-License-Identifier: Apache-2.0 */
/* The public C API: spans, steps and counters, on threads and after a fork. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "check.h"
#include "flow/result.h"
#include "tare/tare.h"

static int64_t sum_of(const struct tare_profile *profile, const char *name, const char *column)
{
    uint32_t at = tare_profile_find_column(profile, column);
    int64_t sum = 0;
    for (uint32_t node = 1; at != TARE_NONE && node < tare_profile_nodes(profile); node++) {
        const struct tare_frame *frame =
            tare_profile_frame_at(profile, tare_profile_node_at(profile, node)->frame);
        if (strcmp(tare_profile_text(profile, frame->name), name) == 0)
            sum += tare_profile_values(profile, node)[at];
    }
    return sum;
}

static void leaf(int amount)
{
    TARE_SPAN("leaf");
    TARE_COUNT("tokens", amount);
}

static void *serve(void *requests)
{
    TARE_SPAN("serve");
    for (int i = 0; i < *(int *)requests; i++) {
        tare_step();
        TARE_SPAN("request");
        leaf(3);
        TARE_COUNT("bytes", -2);
    }
    return NULL;
}

static struct tare_profile *load(const char *path)
{
    struct tare_result result = {0};
    struct tare_error err = {0};
    if (tare_result_load(path, &result, &err) < 0)
        check_report(__FILE__, __LINE__, err.msg);
    return result.profile;
}

static void nothing_is_needed_while_nothing_is_recorded(void)
{
    int requests = 3;
    serve(&requests);
    CHECK(tare_record_path() == NULL);
    char problem[100] = "";
    CHECK_INT(tare_record_begin("/nowhere/at/all", problem, sizeof problem), -1);
    CHECK(strstr(problem, "/nowhere/at/all") != NULL);
    unsetenv("TARE_RECORD");
    CHECK_INT(tare_record_begin(NULL, problem, sizeof problem), -1);
    CHECK(strstr(problem, "TARE_RECORD") != NULL);
}

static void spans_steps_and_counters_come_back(const char *folder)
{
    for (int round = 1; round <= 2; round++) {
        char problem[240] = "";
        CHECK_INT(tare_record_begin(folder, problem, sizeof problem), 0);
        CHECK_INT(tare_record_begin(folder, problem, sizeof problem), -1);
        char *path = strdup(tare_record_path());
        pthread_t threads[3];
        int requests = 100 * round;
        for (int i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, serve, &requests);
        serve(&requests);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        tare_record_end();
        struct tare_profile *profile = load(path);
        if (profile) {
            CHECK_INT(sum_of(profile, "serve", "calls"), 4);
            CHECK_INT(sum_of(profile, "request", "calls"), 400 * round);
            CHECK_INT(sum_of(profile, "step", "calls"), 400 * round);
            CHECK_INT(sum_of(profile, "leaf", "calls"), 400 * round);
            CHECK_INT(sum_of(profile, "leaf", "tokens"), 1200 * round);
            CHECK_INT(sum_of(profile, "request", "bytes"), -800 * round);
            CHECK_INT(sum_of(profile, "request", "tokens"), 0);
            CHECK(sum_of(profile, "serve", "wall") > 0);
            tare_profile_destroy(profile);
        }
        unlink(path);
        free(path);
    }
}

static void a_forked_child_counts_for_itself(const char *folder)
{
    char problem[240];
    CHECK_INT(tare_record_begin(folder, problem, sizeof problem), 0);
    char *path = strdup(tare_record_path());
    int ends[2];
    if (pipe(ends) < 0)
        abort();
    leaf(1);
    pid_t pid = fork();
    if (pid == 0) {
        leaf(10);
        leaf(10);
        char own[256];
        int length = snprintf(own, sizeof own, "%s", tare_record_path());
        tare_record_end();
        _exit(write(ends[1], own, (size_t)length + 1) < 0);
    }
    char own[256] = "";
    CHECK(read(ends[0], own, sizeof own - 1) > 0);
    close(ends[0]);
    close(ends[1]);
    waitpid(pid, NULL, 0);
    tare_record_end();
    struct tare_profile *parent = load(path), *child = load(own);
    if (parent && child) {
        CHECK_INT(sum_of(parent, "leaf", "tokens"), 1);
        CHECK_INT(sum_of(child, "leaf", "tokens"), 20);
        CHECK_INT(sum_of(child, "leaf", "calls"), 2);
    }
    tare_profile_destroy(parent);
    tare_profile_destroy(child);
    unlink(path);
    unlink(own);
    free(path);
}

static char folder[] = "/tmp/tare-api-XXXXXX";

static void on_threads(void)
{
    spans_steps_and_counters_come_back(folder);
}

static void after_a_fork(void)
{
    a_forked_child_counts_for_itself(folder);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 2;
    RUN(nothing_is_needed_while_nothing_is_recorded);
    RUN(on_threads);
    RUN(after_a_fork);
    rmdir(folder);
    return check_done();
}
