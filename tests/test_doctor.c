/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doctor's verdicts. Causes are decided from tables of facts, and those that can be set up here (a
 * seccomp filter, a dropped capability, another user) are set up for real in a process of its own, in which
 * the whole doctor runs and must name the right one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "flow/ask.h"
#include "flow/doctor.h"
#include "flow/doctor_perf.h"
#include "flow/doctor_trace.h"
#include "scratch.h"

static struct tare_arena arena;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct tare_doctor_report run_doctor(const char *root, const char *ort, const char *output)
{
    struct tare_doctor_options options = {.root = root, .ort = ort, .output = output};
    struct tare_doctor_report report = {0};
    struct tare_error err = {0};
    double start = seconds();
    CHECK_INT(tare_doctor_run(&options, &arena, &report, &err), 0);
    /* The promise is two seconds; a hanging library alone takes its whole second and a half. */
    CHECK(seconds() - start < 4);
    CHECK_INT(report.ok + report.degraded + report.missing, report.check_count);
    return report;
}

static struct tare_doctor_check row(const struct tare_doctor_report *report, const char *name)
{
    for (size_t i = 0; i < report->check_count; i++)
        if (strcmp(report->checks[i].name, name) == 0)
            return report->checks[i];
    CHECK(!"a row of that name");
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
static void apart(void (*test)(void))
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

static void trace_causes_are_decided(void)
{
    enum { FREE = 0, DENY = EPERM, NONE = TARE_TRACE_UNTRIED };
    const struct {
        const char *what;
        struct tare_trace_facts facts;
        enum tare_trace_cause child, other, user, stop_other;
    } cases[] = {
        {"nothing in the way",
         {.result = {0, 0, 0, 0, ESRCH, 0, 0}, .yama = 0, .dumpable = 1},
         TARE_TRACE_FREE,
         TARE_TRACE_FREE,
         TARE_TRACE_FREE,
         TARE_TRACE_FREE},
        {"Yama's default as a user",
         {.result = {0, 0, DENY, NONE, ESRCH, 0, DENY}, .yama = 1, .dumpable = 1},
         TARE_TRACE_FREE,
         TARE_TRACE_YAMA,
         TARE_TRACE_FREE,
         TARE_TRACE_YAMA},
        {"Yama for administrators only",
         {.result = {0, DENY, DENY, NONE, ESRCH, DENY, DENY}, .yama = 2, .dumpable = 1},
         TARE_TRACE_YAMA,
         TARE_TRACE_YAMA,
         TARE_TRACE_FREE,
         TARE_TRACE_YAMA},
        {"Yama 3 stops even the capable",
         {.result = {0, DENY, DENY, DENY, ESRCH, DENY, DENY}, .yama = 3, .capable = true, .dumpable = 1},
         TARE_TRACE_YAMA,
         TARE_TRACE_YAMA,
         TARE_TRACE_YAMA,
         TARE_TRACE_YAMA},
        {"root of a container without the capability",
         {.result = {0, 0, 0, DENY, ESRCH, 0, 0}, .yama = -1, .seccomp = 2, .dumpable = 1, .contained = true},
         TARE_TRACE_FREE,
         TARE_TRACE_FREE,
         TARE_TRACE_CAPABILITY,
         TARE_TRACE_FREE},
        {"a filter on both calls, and Yama is innocent",
         {.result = {DENY, DENY, DENY, DENY, DENY, DENY, DENY}, .yama = 1, .seccomp = 2, .dumpable = 1},
         TARE_TRACE_SECCOMP,
         TARE_TRACE_SECCOMP,
         TARE_TRACE_SECCOMP,
         TARE_TRACE_SECCOMP},
        {"a filter on ptrace only",
         {.result = {0, 0, 0, NONE, DENY, DENY, DENY}, .yama = 0, .seccomp = 2, .dumpable = 1},
         TARE_TRACE_FREE,
         TARE_TRACE_FREE,
         TARE_TRACE_FREE,
         TARE_TRACE_SECCOMP},
        {"a filter that kills at ptrace",
         {.result = {0, 0, 0, NONE, DENY, NONE, NONE},
          .killed = SIGSYS,
          .yama = 0,
          .seccomp = 2,
          .dumpable = 1},
         TARE_TRACE_FREE,
         TARE_TRACE_FREE,
         TARE_TRACE_FREE,
         TARE_TRACE_SECCOMP},
        {"a filter that says ENOSYS",
         {.result = {ENOSYS, ENOSYS, ENOSYS, NONE, ESRCH, 0, 0}, .yama = 0, .seccomp = 2, .dumpable = 1},
         TARE_TRACE_SECCOMP,
         TARE_TRACE_SECCOMP,
         TARE_TRACE_SECCOMP,
         TARE_TRACE_FREE},
        {"a kernel without the call",
         {.result = {ENOSYS, ENOSYS, ENOSYS, NONE, ESRCH, 0, 0}, .yama = 0, .seccomp = 0, .dumpable = 1},
         TARE_TRACE_NO_SYSCALL,
         TARE_TRACE_NO_SYSCALL,
         TARE_TRACE_NO_SYSCALL,
         TARE_TRACE_FREE},
        {"file capabilities on tare",
         {.result = {0, DENY, DENY, NONE, ESRCH, DENY, DENY}, .yama = 0, .dumpable = 0},
         TARE_TRACE_UNDUMPABLE,
         TARE_TRACE_UNDUMPABLE,
         TARE_TRACE_FREE,
         TARE_TRACE_UNDUMPABLE},
        {"AppArmor",
         {.result = {0, EACCES, EACCES, NONE, ESRCH, EACCES, EACCES},
          .yama = 0,
          .dumpable = 1,
          .label = "docker-default"},
         TARE_TRACE_LABEL,
         TARE_TRACE_LABEL,
         TARE_TRACE_FREE,
         TARE_TRACE_LABEL},
        {"AppArmor where Yama is at its default",
         {.result = {0, DENY, DENY, NONE, ESRCH, DENY, DENY},
          .yama = 1,
          .dumpable = 1,
          .label = "docker-default"},
         TARE_TRACE_LABEL,
         TARE_TRACE_YAMA,
         TARE_TRACE_FREE,
         TARE_TRACE_YAMA},
        {"SELinux' switch",
         {.result = {0, EACCES, EACCES, NONE, ESRCH, EACCES, EACCES},
          .yama = 0,
          .dumpable = 1,
          .deny_ptrace = true,
          .label = "staff_u"},
         TARE_TRACE_SELINUX,
         TARE_TRACE_SELINUX,
         TARE_TRACE_FREE,
         TARE_TRACE_SELINUX},
        {"no setting tells",
         {.result = {0, DENY, DENY, NONE, ESRCH, DENY, DENY}, .yama = 0, .dumpable = 1},
         TARE_TRACE_UNEXPLAINED,
         TARE_TRACE_UNEXPLAINED,
         TARE_TRACE_FREE,
         TARE_TRACE_UNEXPLAINED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool before = check_bad;
        check_bad = false;
        CHECK_INT(tare_trace_decide(&cases[i].facts, TARE_TRACE_READ_CHILD), cases[i].child);
        CHECK_INT(tare_trace_decide(&cases[i].facts, TARE_TRACE_READ_OTHER), cases[i].other);
        CHECK_INT(tare_trace_decide(&cases[i].facts, TARE_TRACE_READ_USER), cases[i].user);
        CHECK_INT(tare_trace_decide(&cases[i].facts, TARE_TRACE_STOP_OTHER), cases[i].stop_other);
        if (check_bad)
            fprintf(stderr, "    in case: %s\n", cases[i].what);
        check_bad |= before;
    }
}

static void perf_causes_are_decided(void)
{
    const struct {
        struct tare_perf_facts facts;
        enum tare_perf_cause events, counter;
    } cases[] = {
        {{EINVAL, 0, 0, 0, 0, -1, true, 0}, TARE_PERF_FREE, TARE_PERF_FREE},
        {{EINVAL, 0, EACCES, ENOENT, 0, 2, false, 0}, TARE_PERF_FREE, TARE_PERF_NO_COUNTER},
        {{EINVAL, 0, 0, EOPNOTSUPP, 0, 1, false, 0}, TARE_PERF_FREE, TARE_PERF_NO_COUNTER},
        {{EINVAL, EACCES, EACCES, EACCES, 0, 3, false, 0}, TARE_PERF_PARANOID, TARE_PERF_PARANOID},
        {{EPERM, EPERM, EPERM, EPERM, 0, 2, false, 2}, TARE_PERF_SECCOMP, TARE_PERF_SECCOMP},
        {{EPERM, EPERM, EPERM, EPERM, SIGSYS, 2, false, 2}, TARE_PERF_SECCOMP, TARE_PERF_SECCOMP},
        {{ENOSYS, ENOSYS, ENOSYS, ENOSYS, 0, -1, false, 2}, TARE_PERF_SECCOMP, TARE_PERF_SECCOMP},
        {{ENOSYS, ENOSYS, ENOSYS, ENOSYS, 0, -1, false, 0}, TARE_PERF_NO_SYSCALL, TARE_PERF_NO_SYSCALL},
        {{EINVAL, EACCES, EACCES, EACCES, 0, 1, false, 0}, TARE_PERF_UNEXPLAINED, TARE_PERF_UNEXPLAINED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_INT(tare_perf_decide(&cases[i].facts), cases[i].events);
        CHECK_INT(tare_perf_decide_counter(&cases[i].facts), cases[i].counter);
    }
}

/* From here on the calling process may not make that system call. */
static void forbid(long call, uint32_t action)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_INT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void under_filter_on_reading(void)
{
    forbid(SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM);
    struct tare_doctor_report report = run_doctor("", NULL, NULL);
    CHECK_INT(row(&report, "sample child").status, TARE_DOCTOR_MISSING);
    CHECK_INT(row(&report, "sample pid").status, TARE_DOCTOR_MISSING);
    CHECK_HAS(row(&report, "sample pid").found, "seccomp");
    CHECK_HAS(row(&report, "sample pid").found, "refuses");
}

static void under_filter_that_kills(void)
{
    forbid(SYS_process_vm_readv, SECCOMP_RET_KILL_PROCESS);
    struct tare_doctor_report report = run_doctor("", NULL, NULL);
    CHECK_INT(row(&report, "sample pid").status, TARE_DOCTOR_MISSING);
    CHECK_HAS(row(&report, "sample pid").found, "kills");
}

static void under_filter_on_ptrace(void)
{
    forbid(SYS_ptrace, SECCOMP_RET_ERRNO | EPERM);
    struct tare_doctor_report report = run_doctor("", NULL, NULL);
    CHECK_INT(row(&report, "sample child").status, TARE_DOCTOR_DEGRADED);
    CHECK_HAS(row(&report, "sample child").found, "seccomp");
}

static void under_filter_on_perf(void)
{
    forbid(SYS_perf_event_open, SECCOMP_RET_ERRNO | EPERM);
    struct tare_doctor_report report = run_doctor("", NULL, NULL);
    CHECK_INT(row(&report, "perf events").status, TARE_DOCTOR_MISSING);
    CHECK_HAS(row(&report, "perf events").found, "seccomp");
    CHECK_INT(row(&report, "perf counters").status, TARE_DOCTOR_DEGRADED);
    forbid(SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS);
    report = run_doctor("", NULL, NULL);
    CHECK_HAS(row(&report, "perf events").found, "kills");
}

static void seccomp_is_named(void)
{
    apart(under_filter_on_reading);
    apart(under_filter_that_kills);
    apart(under_filter_on_ptrace);
    apart(under_filter_on_perf);
}

static bool yama(void)
{
    return access("/proc/sys/kernel/yama/ptrace_scope", F_OK) == 0;
}

/* Root, but without CAP_SYS_PTRACE: what `docker run` gives by default. */
static void without_capability(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    CHECK_INT(syscall(SYS_capget, &head, data), 0);
    for (int i = 0; i < 2; i++)
        data[i].inheritable = 0;
    data[0].effective &= ~(1u << CAP_SYS_PTRACE);
    data[0].permitted &= ~(1u << CAP_SYS_PTRACE);
    CHECK_INT(syscall(SYS_capset, &head, data), 0);
    struct tare_doctor_report report = run_doctor("", NULL, NULL);
    struct tare_doctor_check pid = row(&report, "sample pid");
    if (yama()) {
        CHECK(pid.status != TARE_DOCTOR_OK);
        return;
    }
    CHECK_INT(pid.status, TARE_DOCTOR_DEGRADED);
    CHECK_HAS(pid.found, "only processes of root");
    CHECK_HAS(pid.found, "CAP_SYS_PTRACE");
    CHECK_INT(row(&report, "sample child").status, TARE_DOCTOR_OK);
}

static void as_another_user(void)
{
    CHECK_INT(setresgid(65534, 65534, 65534), 0);
    CHECK_INT(setresuid(65534, 65534, 65534), 0);
    struct tare_doctor_report report = run_doctor("", NULL, "/");
    struct tare_doctor_check pid = row(&report, "sample pid");
    CHECK_INT(row(&report, "disk space").status, TARE_DOCTOR_MISSING);
    CHECK_HAS(row(&report, "disk space").found, "cannot be written to: Permission denied");
    /* Having changed user, this process is not dumpable, and neither are its children; they change that. */
    if (!yama()) {
        CHECK_INT(pid.status, TARE_DOCTOR_OK);
        CHECK_HAS(pid.found, "those of others need root");
    }
}

static void little_space(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, "") < 0 ||
        mkdir("small", 0700) < 0 || mount("tmpfs", "small", "tmpfs", 0, "size=1m") < 0) {
        fprintf(stderr, "skipped little_space: needs leave to mount; run it as root\n");
        return;
    }
    struct tare_doctor_report report = run_doctor("", NULL, "small/deep/folder");
    struct tare_doctor_check space = row(&report, "disk space");
    CHECK_INT(space.status, TARE_DOCTOR_DEGRADED);
    CHECK_TEXT(space.found, "1.00 MiB free for small/deep/folder (not made yet)");
    CHECK_HAS(space.fix, "PROFILE_OUTPUT_DIR");
}

static void rights_are_named(void)
{
    if (geteuid() != 0) {
        fprintf(stderr, "skipped rights_are_named: only root can give rights up; run it as root\n");
        return;
    }
    apart(without_capability);
    apart(as_another_user);
    apart(little_space);
}

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
    const char *path =
        tare_arena_printf(&arena, "%s/libonnxruntime.so", libraries ? libraries : "build/tests");
    struct tare_doctor_report report = run_doctor("", path, NULL);
    CHECK_INT(row(&report, "onnxruntime").status, TARE_DOCTOR_OK);
    CHECK_TEXT(report.ort.version, "1.99.7");
    CHECK_TEXT(report.ort.source, "--ort");

    setenv("TARE_ORT", libraries ? libraries : "build/tests", 1);
    report = run_doctor("", NULL, NULL);
    CHECK_TEXT(report.ort.version, "1.99.7");
    CHECK_TEXT(report.ort.path, path);
    CHECK_TEXT(report.ort.source, "TARE_ORT");

    setenv("TARE_FAKE_ORT", "crash", 1);
    report = run_doctor("", NULL, NULL);
    CHECK_INT(row(&report, "onnxruntime").status, TARE_DOCTOR_MISSING);
    CHECK_TEXT(report.ort.error, "loading it crashes (signal 11)");
    CHECK_TEXT(row(&report, "onnxruntime").fix, "unset TARE_ORT");

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

    double start = seconds();
    struct tare_doctor_report report = run_doctor("", NULL, NULL);
    CHECK(seconds() - start < 2.5);
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
        slow |= strcmp(report.pythons[i].path, here("bin/python3")) == 0;
        failing |= strcmp(report.pythons[i].path, here("bin/python3.9")) == 0;
        pypy |= strcmp(report.pythons[i].version, "3.10.2") == 0 && !report.pythons[i].supported;
        pyenv |= strcmp(report.pythons[i].version, "3.12.9") == 0 &&
                 strcmp(report.pythons[i].source, "pyenv") == 0 && report.pythons[i].managed;
    }
    CHECK(!slow && !failing && pypy && pyenv);

    /* Behind pyenv's shims the chosen version is what `python` means. */
    unsetenv("VIRTUAL_ENV");
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
    for (;;)
        pause();
}

static void answers_are_bounded_in_size_and_time(void)
{
    struct tare_ask asks[2];
    CHECK(tare_ask_start(&asks[0], say_much, NULL));
    CHECK(tare_ask_start(&asks[1], fork_and_hang, NULL));
    double start = seconds();
    tare_ask_wait(asks, 2, 300000000);
    CHECK(seconds() - start < 2);
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
    tare_arena_init(&arena, 0);
    /* Relative names in the environment would not survive the change of folder. */
    char *tests = realpath(getenv("TARE_TESTS") ? getenv("TARE_TESTS") : "tests", NULL);
    char *libraries = realpath(getenv("TARE_LIBS") ? getenv("TARE_LIBS") : "build/tests", NULL);
    if (!tests || !libraries) {
        fprintf(stderr, "set TARE_TESTS to the tests folder and TARE_LIBS to the built tests folder\n");
        return 2;
    }
    setenv("TARE_TESTS", tests, 1);
    setenv("TARE_LIBS", libraries, 1);
    free(tests);
    free(libraries);
    unsetenv("TARE_ORT");
    scratch_enter();
    /* Fewer interpreters to ask each time. */
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("PYENV_ROOT", scratch_path, 1);
    setenv("HOME", scratch_path, 1);
    RUN(trace_causes_are_decided);
    RUN(perf_causes_are_decided);
    RUN(answers_are_bounded_in_size_and_time);
    RUN(seccomp_is_named);
    RUN(rights_are_named);
    RUN(settings_of_saved_machines);
    RUN(json_has_every_row);
    RUN(ort_is_found_or_its_fault_named);
    RUN(pythons_are_asked);
    scratch_leave();
    tare_arena_finish(&arena);
    return check_done();
}
