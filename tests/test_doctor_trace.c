/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is in the way of looking into a process. Causes are decided from tables of facts, and those that can be
 * set up here (a seccomp filter, a dropped capability, another user) are set up for real in a process of its
 * own, in which the whole doctor runs and must name the right one.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "doctor_check.h"
#include "flow/doctor_perf.h"
#include "flow/doctor_trace.h"

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
        {{true, EINVAL, 0, 0, 0, 0, -1, true, 0}, TARE_PERF_FREE, TARE_PERF_FREE},
        {{true, EINVAL, 0, EACCES, ENOENT, 0, 2, false, 0}, TARE_PERF_FREE, TARE_PERF_NO_COUNTER},
        {{true, EINVAL, 0, 0, EOPNOTSUPP, 0, 1, false, 0}, TARE_PERF_FREE, TARE_PERF_NO_COUNTER},
        {{true, EINVAL, EACCES, EACCES, EACCES, 0, 3, false, 0}, TARE_PERF_PARANOID, TARE_PERF_PARANOID},
        {{true, EPERM, EPERM, EPERM, EPERM, 0, 2, false, 2}, TARE_PERF_SECCOMP, TARE_PERF_SECCOMP},
        {{true, EPERM, EPERM, EPERM, EPERM, SIGSYS, 2, false, 2}, TARE_PERF_SECCOMP, TARE_PERF_SECCOMP},
        {{true, ENOSYS, ENOSYS, ENOSYS, ENOSYS, 0, -1, false, 2}, TARE_PERF_SECCOMP, TARE_PERF_SECCOMP},
        {{true, ENOSYS, ENOSYS, ENOSYS, ENOSYS, 0, -1, false, 0}, TARE_PERF_NO_SYSCALL, TARE_PERF_NO_SYSCALL},
        {{true, EINVAL, EACCES, EACCES, EACCES, 0, 1, false, 0},
         TARE_PERF_UNEXPLAINED,
         TARE_PERF_UNEXPLAINED},
        {{.tried = false}, TARE_PERF_UNTRIED, TARE_PERF_UNTRIED},
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

int main(void)
{
    doctor_enter();
    RUN(trace_causes_are_decided);
    RUN(perf_causes_are_decided);
    RUN(seccomp_is_named);
    RUN(rights_are_named);
    return doctor_done();
}
