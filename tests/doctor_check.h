/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the doctor share: running it, finding a row, and a process that may give up its rights.
 */
#ifndef TARE_TESTS_DOCTOR_CHECK_H
#define TARE_TESTS_DOCTOR_CHECK_H

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "flow/doctor.h"
#include "scratch.h"

static struct tare_arena arena;

static inline double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline struct tare_doctor_report run_doctor(const char *root, const char *ort, const char *output)
{
    struct tare_doctor_options options = {.root = root, .ort = ort, .output = output};
    struct tare_doctor_report report = {0};
    struct tare_error err = {0};
    double start = seconds();
    CHECK_INT(tare_doctor_run(&options, &arena, &report, &err), 0);
    /* The promise is two seconds on a machine that is not busy; here, that nothing waits for what hangs. */
    CHECK(seconds() - start < 15);
    CHECK_INT(report.ok + report.degraded + report.missing, report.check_count);
    return report;
}

static inline struct tare_doctor_check row(const struct tare_doctor_report *report, const char *name)
{
    for (size_t i = 0; i < report->check_count; i++)
        if (strcmp(report->checks[i].name, name) == 0)
            return report->checks[i];
    fprintf(stderr, "no row is called '%s'\n", name);
    CHECK(false);
    return (struct tare_doctor_check){.found = "", .why = ""};
}

#define CHECK_HAS(text, part)                                                                                \
    do {                                                                                                     \
        const char *check_text = (text);                                                                     \
        if (!check_text || !strstr(check_text, part)) {                                                      \
            check_report(__FILE__, __LINE__, #text);                                                         \
            fprintf(stderr, "    got \"%s\"\n    which lacks \"%s\"\n", check_text ? check_text : "(null)",  \
                    part);                                                                                   \
        }                                                                                                    \
    } while (0)

/* Run a test in a child, which may give up its rights. */
static inline void apart(void (*test)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        check_bad = false;
        test();
        _exit(check_bad ? 1 : 0);
    }
    int status = -1;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
}

/* Ask few interpreters each time, and find what the tests bring with them from any folder. */
static inline void doctor_enter(void)
{
    char *tests = realpath(getenv("TARE_TESTS") ? getenv("TARE_TESTS") : "tests", NULL);
    char *libraries = realpath(getenv("TARE_LIBS") ? getenv("TARE_LIBS") : "build/tests", NULL);
    if (!tests || !libraries) {
        fprintf(stderr, "set TARE_TESTS to the tests folder and TARE_LIBS to the built tests folder\n");
        exit(2);
    }
    setenv("TARE_TESTS", tests, 1);
    setenv("TARE_LIBS", libraries, 1);
    free(tests);
    free(libraries);
    tare_arena_init(&arena, 0);
    scratch_enter();
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("PYENV_ROOT", scratch_path, 1);
    setenv("HOME", scratch_path, 1);
    unsetenv("TARE_ORT");
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
}

static inline int doctor_done(void)
{
    scratch_leave();
    tare_arena_finish(&arena);
    return check_done();
}

#endif
