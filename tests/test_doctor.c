/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor's other rows: on saved machines, with fake libraries and interpreters, and as JSON. */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "bench/ort_load.h"
#include "doctor_check.h"
#include "flow/ask.h"

static const char *tree(const char *name)
{
    const char *tests = getenv("TARE_TESTS");
    return tare_arena_printf(&arena, "%s/machine/%s", tests ? tests : "tests", name);
}

static void settings_of_saved_machines(void)
{
    struct tare_doctor_report docker = run_doctor(tree("docker-v1"), NULL, NULL);
    struct tare_doctor_check quota = row(&docker, "cpu quota");
    CHECK_INT(quota.status, TARE_DOCTOR_DEGRADED);
    CHECK_TEXT(quota.found,
               "1.5 of 2 CPUs (cgroup v1); stopped in 28.5 % of its periods so far, 3.12 s in all");
    CHECK_TEXT(quota.fix, "export OMP_NUM_THREADS=1");
    CHECK_TEXT(row(&docker, "memory").found, "1.32 GiB free of 2.00 GiB, the limit of the control group");
    CHECK_INT(row(&docker, "turbo").status, TARE_DOCTOR_OK);

    struct tare_doctor_report laptop = run_doctor(tree("laptop"), NULL, NULL);
    CHECK_INT(row(&laptop, "governor").status, TARE_DOCTOR_DEGRADED);
    CHECK_TEXT(row(&laptop, "governor").found, "performance, powersave by intel_pstate");
    CHECK_INT(row(&laptop, "turbo").status, TARE_DOCTOR_DEGRADED);
    CHECK_HAS(row(&laptop, "turbo").fix, "intel_pstate/no_turbo");
    CHECK_INT(row(&laptop, "cpu quota").status, TARE_DOCTOR_OK);

    struct tare_doctor_report vm = run_doctor(tree("vm-steal"), NULL, NULL);
    CHECK_INT(row(&vm, "steal").status, TARE_DOCTOR_DEGRADED);
    CHECK_HAS(row(&vm, "steal").found, "12.00 % of CPU time since boot");

    struct tare_doctor_report metal = run_doctor(tree("metal-v2"), NULL, NULL);
    CHECK_INT(row(&metal, "governor").status, TARE_DOCTOR_OK);
    CHECK_HAS(row(&metal, "cpu quota").found, "4 of 8 CPUs (cgroup v2)");
    CHECK_TEXT(row(&metal, "cpu quota").fix, "export OMP_NUM_THREADS=4");
}

static void json_has_every_row(void)
{
    struct tare_doctor_report report = run_doctor("", NULL, NULL);
    struct tare_out out;
    struct tare_json json;
    struct tare_error err = {0};
    yyjson_doc *doc = NULL;
    tare_out_init_memory(&out, 1 << 20);
    tare_json_init(&json, &out, 0);
    tare_doctor_write(&report, &json);
    CHECK_INT(tare_json_read(out.buf.data, out.buf.length, "doctor", &doc, &err), 0);
    yyjson_val *top = yyjson_doc_get_root(doc);
    CHECK_INT(yyjson_arr_size(yyjson_obj_get(top, "checks")), report.check_count);
    CHECK_INT(yyjson_arr_size(yyjson_obj_get(top, "pythons")), report.python_count);
    struct tare_machine machine;
    CHECK_INT(tare_machine_read(yyjson_obj_get(top, "machine"), &arena, &machine, &err), 0);
    CHECK_TEXT(machine.kernel_release, report.machine.kernel_release);
    yyjson_doc_free(doc);
    tare_out_finish(&out);
}

static void ort_is_found_or_its_fault_named(void)
{
    const char *libraries = getenv("TARE_LIBS");
    const char *path = tare_arena_printf(&arena, "%s/libonnxruntime.so", libraries);
    struct tare_doctor_report report = run_doctor("", path, NULL);
    CHECK_INT(row(&report, "onnxruntime").status,
              tare_ort_header() > 0 ? TARE_DOCTOR_OK : TARE_DOCTOR_DEGRADED);
    CHECK_TEXT(report.ort.version, "1.99.7");
    CHECK_TEXT(report.ort.source, "--ort");

    setenv("TARE_ORT", libraries, 1);
    report = run_doctor("", NULL, NULL);
    CHECK_TEXT(report.ort.version, "1.99.7");
    CHECK_TEXT(report.ort.path, path);
    CHECK_TEXT(report.ort.source, "TARE_ORT");

    setenv("TARE_FAKE_ORT", "crash", 1);
    report = run_doctor("", NULL, NULL);
    CHECK_INT(row(&report, "onnxruntime").status, TARE_DOCTOR_MISSING);
    CHECK_TEXT(report.ort.error, "loading it crashes (signal 11)");
    CHECK_TEXT(row(&report, "onnxruntime").fix, "unset TARE_ORT");

    setenv("TARE_FAKE_ORT", "exit", 1);
    report = run_doctor("", NULL, NULL);
    CHECK_TEXT(report.ort.error, "loading it ends the process (status 3)");

    setenv("TARE_FAKE_ORT", "hang", 1);
    report = run_doctor("", path, NULL);
    CHECK_TEXT(report.ort.error, "loading it takes longer than 1.5 s");
    unsetenv("TARE_FAKE_ORT");

    /* What was named by hand is not replaced by what would work. */
    report = run_doctor("", "/nonexistent", NULL);
    CHECK_INT(row(&report, "onnxruntime").status, TARE_DOCTOR_MISSING);
    CHECK_HAS(report.ort.error, "No such file");
    unsetenv("TARE_ORT");
}

static void script(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    if (file) {
        fprintf(file, "#!/bin/sh\n%s\n", text);
        fclose(file);
        CHECK_INT(chmod(path, 0700), 0);
    }
}

static const char *here(const char *name)
{
    return tare_arena_printf(&arena, "%s/%s", scratch_path, name);
}

static void in_a_world_of_fake_pythons(void)
{
    CHECK_INT(mkdir("bin", 0700) | mkdir("env", 0700) | mkdir("env/bin", 0700) | mkdir("env/capi", 0700), 0);
    CHECK_INT(mkdir("pyenv", 0700) | mkdir("pyenv/versions", 0700) | mkdir("pyenv/versions/3.12.9", 0700) |
                  mkdir("pyenv/versions/3.12.9/bin", 0700) | mkdir("pyenv/shims", 0700),
              0);
    script("env/bin/python3", tare_arena_printf(&arena,
                                                "echo version=3.13.1t; echo minor=13; echo kind=cpython\n"
                                                "echo tare=0.0.1; echo tare=9; echo ort=%s",
                                                here("env/capi")));
    script("env/bin/python", "echo version=9");
    FILE *config = fopen("env/pyvenv.cfg", "w");
    CHECK(config != NULL && fclose(config) == 0);
    script("bin/python3", "sleep 60 & sleep 60; echo version=3.14.0");
    script("bin/python3.11", "yes version=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | head -n 100000");
    script("bin/python3.10", "echo version=3.10.2; echo minor=10; echo kind=pypy; exit 0");
    script("bin/python3.9", "exit 3");
    script("pyenv/versions/3.12.9/bin/python",
           "echo version=3.12.9; echo minor=12; echo kind=cpython; echo managed=1");
    setenv("PATH", tare_arena_printf(&arena, "%s:/usr/bin:/bin", here("bin")), 1);
    setenv("HOME", scratch_path, 1);
    setenv("PYENV_ROOT", here("pyenv"), 1);
    setenv("PYENV_VERSION", "3.12", 1);
    setenv("VIRTUAL_ENV", here("env"), 1);
    unsetenv("CONDA_PREFIX");

    struct tare_doctor_report report = run_doctor("", NULL, NULL);
    CHECK(report.python_count >= 4);
    const struct tare_doctor_python *active = &report.pythons[0];
    CHECK_TEXT(active->version, "3.13.1t");
    CHECK_TEXT(active->source, "VIRTUAL_ENV");
    CHECK_TEXT(active->tare, "0.0.1");
    CHECK(active->supported);
    CHECK_HAS(row(&report, "python").found, "has tare 0.0.1; this command is " TARE_VERSION);
    CHECK_INT(row(&report, "python").status, TARE_DOCTOR_DEGRADED);
    bool slow = false, failing = false, pypy = false, pyenv = false;
    for (size_t i = 1; i < report.python_count; i++) {
        if (!report.pythons[i].version) {
            CHECK(!report.pythons[i].supported);
            slow |= strcmp(report.pythons[i].path, here("bin/python3")) == 0 &&
                    strcmp(report.pythons[i].error, "does not answer within 1.5 s") == 0;
            failing |= strcmp(report.pythons[i].path, here("bin/python3.9")) == 0 &&
                       strcmp(report.pythons[i].error, "does not run") == 0;
            continue;
        }
        pypy |= strcmp(report.pythons[i].version, "3.10.2") == 0 && !report.pythons[i].supported;
        pyenv |= strcmp(report.pythons[i].version, "3.12.9") == 0 &&
                 strcmp(report.pythons[i].source, "pyenv") == 0 && report.pythons[i].managed;
    }
    CHECK(slow && failing && pypy && pyenv);

    unsetenv("VIRTUAL_ENV");
    report = run_doctor("", NULL, NULL);
    CHECK_TEXT(row(&report, "python").found,
               tare_arena_printf(&arena, "%s does not answer within 1.5 s", here("bin/python3")));
    CHECK_INT(row(&report, "python").status, TARE_DOCTOR_DEGRADED);

    /* Behind pyenv's shims the chosen version is what `python` means. */
    setenv("PATH", here("pyenv/shims"), 1);
    report = run_doctor("", NULL, NULL);
    CHECK_INT(report.python_count, 1);
    CHECK_TEXT(report.pythons[0].source, "PATH");
    CHECK_HAS(row(&report, "python").found, "has no tare");
    CHECK_HAS(row(&report, "python").fix, "python -m venv .venv && .venv/bin/pip install tareprof");

    setenv("PATH", "", 1);
    setenv("PYENV_ROOT", "/nonexistent", 1);
    report = run_doctor("", NULL, NULL);
    CHECK_INT(report.python_count, 0);
    CHECK_INT(row(&report, "python").status, TARE_DOCTOR_MISSING);
}

static void pythons_are_asked(void)
{
    apart(in_a_world_of_fake_pythons);
}

static int say_much(void *context, int fd)
{
    (void)context;
    char block[1000] = {1};
    for (int i = 0; i < 200; i++)
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
            return 1;
    return 7;
}

static int fork_and_hang(void *context, int fd)
{
    (void)context;
    pid_t pid = fork();
    if (pid > 0)
        dprintf(fd, "%d", (int)pid);
    while (pid >= 0)
        pause();
    return 1;
}

static void answers_are_bounded_in_size_and_time(void)
{
    struct tare_ask asks[2];
    CHECK(tare_ask_start(&asks[0], say_much, NULL));
    CHECK(tare_ask_start(&asks[1], fork_and_hang, NULL));
    double start = seconds();
    tare_ask_wait(asks, 2, 300000000);
    CHECK(seconds() - start < 15);
    CHECK_INT(asks[0].length, TARE_ASK_ANSWER - 1);
    CHECK(asks[0].finished);
    CHECK_INT(WEXITSTATUS(asks[0].status), 7);
    CHECK(!tare_ask_succeeded(&asks[0]));
    CHECK(!asks[1].finished);
    /* Its own child went with it, as soon as the kernel came round to it. */
    int grandchild = (int)strtol(asks[1].answer, NULL, 10);
    CHECK(grandchild > 0);
    char state[256] = "";
    for (int i = 0; i < 100 && kill(grandchild, 0) == 0; i++) {
        snprintf(state, sizeof state, "/proc/%d/stat", grandchild);
        const char *stat = scratch_read(state);
        if (strstr(stat, ") Z ") || !*stat)
            break;
        usleep(10000);
        CHECK(i < 99);
    }
}

int main(void)
{
    doctor_enter();
    RUN(answers_are_bounded_in_size_and_time);
    RUN(settings_of_saved_machines);
    RUN(json_has_every_row);
    RUN(ort_is_found_or_its_fault_named);
    RUN(pythons_are_asked);
    return doctor_done();
}
