/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling reads the memory of another process and stops it for a moment. Trying on a child alone would prove
 * nothing about Yama's default, which allows exactly that; so the attempt is made by one forked process on
 * another that is its sibling.
 */
#include "flow/doctor_trace.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow/ask.h"
#include "flow/doctor_part.h"

enum { NOBODY = 65534, TRY_NS = 1000000000 };

static const char mark[] = "tare reads this";

/* A process to look into. As another user it must say when it has become that. */
static pid_t start_target(bool other_user)
{
    int ready[2];
    if (pipe(ready) < 0)
        return -1;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        char done = 1;
        if (other_user && (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
            done = 0;
        /* Changing user clears both of these. */
        prctl(PR_SET_DUMPABLE, 1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (write(ready[1], &done, 1) != 1 || !done)
            _exit(1);
        close(ready[0]);
        close(ready[1]);
        for (;;)
            pause();
    }
    close(ready[1]);
    char done = 0;
    bool alive = pid > 0 && read(ready[0], &done, 1) == 1 && done;
    close(ready[0]);
    if (pid > 0 && !alive)
        waitpid(pid, NULL, 0);
    return alive ? pid : -1;
}

static void stop_target(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int try_read(pid_t pid)
{
    char copy[sizeof mark] = "";
    union {
        const char *seen;
        void *given;
    } there = {.seen = mark};
    struct iovec to = {copy, sizeof copy}, from = {there.given, sizeof copy};
    ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);
    if (got < 0)
        return errno;
    return memcmp(copy, mark, sizeof mark) == 0 ? 0 : EIO;
}

static int try_stop(pid_t pid)
{
    int status;
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
        return errno;
    int result = ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0 ? errno : 0;
    if (result == 0)
        waitpid(pid, &status, __WALL);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return result;
}

struct attempt {
    pid_t other, user;
};

/* Each result is written as soon as it is known: a filter may kill instead of refusing. */
static int attempt(void *context, int fd)
{
    const struct attempt *targets = context;
    pid_t child = start_target(false);
    for (int which = 0; which < TARE_TRACE_TRIES; which++) {
        int result = TARE_TRACE_UNTRIED;
        switch ((enum tare_trace_try)which) {
        case TARE_TRACE_READ_SELF:
            result = try_read(getpid());
            break;
        case TARE_TRACE_READ_CHILD:
            result = child > 0 ? try_read(child) : result;
            break;
        case TARE_TRACE_READ_OTHER:
            result = targets->other > 0 ? try_read(targets->other) : result;
            break;
        case TARE_TRACE_READ_USER:
            result = targets->user > 0 ? try_read(targets->user) : result;
            break;
        case TARE_TRACE_STOP_NOBODY:
            result = ptrace(PTRACE_DETACH, 0x7fffffff, NULL, NULL) < 0 ? errno : 0;
            break;
        case TARE_TRACE_STOP_CHILD:
            result = child > 0 ? try_stop(child) : result;
            break;
        case TARE_TRACE_STOP_OTHER:
            result = targets->other > 0 ? try_stop(targets->other) : result;
            break;
        case TARE_TRACE_TRIES:
            break;
        }
        if (write(fd, &result, sizeof result) != (ssize_t)sizeof result)
            break;
    }
    stop_target(child);
    return 0;
}

void tare_trace_try(struct tare_trace_facts *facts)
{
    struct tare_ask ask;
    struct attempt targets = {.other = start_target(false), .user = geteuid() == 0 ? start_target(true) : -1};
    for (int which = 0; which < TARE_TRACE_TRIES; which++)
        facts->result[which] = TARE_TRACE_UNTRIED;
    facts->killed = 0;
    if (tare_ask_start(&ask, attempt, &targets)) {
        tare_ask_wait(&ask, 1, TRY_NS);
        size_t known = ask.length / sizeof facts->result[0];
        memcpy(facts->result, ask.answer,
               (known < TARE_TRACE_TRIES ? known : TARE_TRACE_TRIES) * sizeof facts->result[0]);
        if (ask.finished && WIFSIGNALED(ask.status)) {
            facts->killed = WTERMSIG(ask.status);
            if (known < TARE_TRACE_TRIES)
                facts->result[known] = EPERM;
        }
    }
    stop_target(targets.other);
    stop_target(targets.user);
    facts->dumpable = prctl(PR_GET_DUMPABLE);
}

enum tare_trace_cause tare_trace_decide(const struct tare_trace_facts *facts, enum tare_trace_try which)
{
    int result = facts->result[which];
    bool reads = which <= TARE_TRACE_READ_USER;
    int gate = facts->result[reads ? TARE_TRACE_READ_SELF : TARE_TRACE_STOP_NOBODY];
    bool gate_open = gate == (reads ? 0 : ESRCH) || gate == TARE_TRACE_UNTRIED;
    if (which == TARE_TRACE_STOP_NOBODY && result == ESRCH)
        result = 0;
    if (result == 0 || (result == TARE_TRACE_UNTRIED && gate_open))
        return TARE_TRACE_FREE;
    if (!gate_open)
        return gate == ENOSYS && facts->seccomp <= 0 ? TARE_TRACE_NO_SYSCALL : TARE_TRACE_SECCOMP;
    if (facts->killed == SIGSYS)
        return TARE_TRACE_SECCOMP;
    /* Scope 1 lets a process look into its descendants, 2 and 3 do not; nothing passes 3. */
    bool child = which == TARE_TRACE_READ_CHILD || which == TARE_TRACE_STOP_CHILD;
    if (facts->yama >= 3 || (facts->yama >= (child ? 2 : 1) && !facts->capable))
        return TARE_TRACE_YAMA;
    if (which == TARE_TRACE_READ_USER && !facts->capable)
        return TARE_TRACE_CAPABILITY;
    if (facts->deny_ptrace)
        return TARE_TRACE_SELINUX;
    if (facts->dumpable != 1 && !facts->capable)
        return TARE_TRACE_UNDUMPABLE;
    return facts->label ? TARE_TRACE_LABEL : TARE_TRACE_UNEXPLAINED;
}

static const char *explain(const struct tare_doctor *doctor, const struct tare_trace_facts *facts,
                           enum tare_trace_cause cause, int result)
{
    switch (cause) {
    case TARE_TRACE_FREE:
        return "";
    case TARE_TRACE_NO_SYSCALL:
        return "this kernel was built without the system call";
    case TARE_TRACE_SECCOMP:
        return tare_arena_printf(doctor->arena, "a seccomp filter%s %s the system call",
                                 facts->contained ? " of the container" : "",
                                 facts->killed ? "kills" : "refuses");
    case TARE_TRACE_YAMA:
        return tare_arena_printf(doctor->arena, "Yama's ptrace_scope is %d%s", (int)facts->yama,
                                 facts->yama >= 3   ? ", which nothing passes before a reboot"
                                 : facts->contained ? " and the container has no CAP_SYS_PTRACE"
                                                    : " and this user has no CAP_SYS_PTRACE");
    case TARE_TRACE_CAPABILITY:
        return facts->contained ? "the container has no CAP_SYS_PTRACE"
                                : "CAP_SYS_PTRACE was taken from root; start tare from a shell that has it";
    case TARE_TRACE_UNDUMPABLE:
        return "tare runs with privileges of its own (setuid or file capabilities), which hides its children";
    case TARE_TRACE_SELINUX:
        return "SELinux' switch deny_ptrace is on";
    case TARE_TRACE_LABEL:
        return tare_arena_printf(doctor->arena, "the security module confines tare as '%s'", facts->label);
    case TARE_TRACE_UNEXPLAINED:
        return tare_arena_printf(doctor->arena, "refused (%s), and no setting tells why", strerror(result));
    }
    return "";
}

static const char *remedy(const struct tare_doctor *doctor, const struct tare_trace_facts *facts,
                          enum tare_trace_cause cause)
{
    switch (cause) {
    case TARE_TRACE_YAMA:
        if (facts->yama >= 3)
            return "echo kernel.yama.ptrace_scope=1 | sudo tee /etc/sysctl.d/99-ptrace.conf && sudo reboot";
        if (!facts->contained)
            return "sudo sysctl -w kernel.yama.ptrace_scope=0";
        return tare_doctor_container_fix(doctor, "--cap-add SYS_PTRACE", TARE_DOCTOR_KUBERNETES_DEBUG);
    case TARE_TRACE_SECCOMP:
    case TARE_TRACE_CAPABILITY:
        return facts->contained
                   ? tare_doctor_container_fix(doctor, "--cap-add SYS_PTRACE", TARE_DOCTOR_KUBERNETES_DEBUG)
                   : NULL;
    case TARE_TRACE_SELINUX:
        return "sudo setsebool deny_ptrace off";
    case TARE_TRACE_UNDUMPABLE:
        return "sudo setcap -r \"$(command -v tare)\"";
    case TARE_TRACE_LABEL:
        if (facts->contained)
            return tare_doctor_container_fix(doctor, "--security-opt apparmor=unconfined",
                                             TARE_DOCTOR_KUBERNETES_DEBUG);
        return NULL;
    case TARE_TRACE_FREE:
    case TARE_TRACE_NO_SYSCALL:
    case TARE_TRACE_UNEXPLAINED:
        return NULL;
    }
    return NULL;
}

struct question {
    const char *name, *why, *reads, *both;
    enum tare_trace_try read, stop;
};

static void answer(struct tare_doctor *doctor, const struct tare_trace_facts *facts,
                   const struct question *question)
{
    enum tare_trace_cause read = tare_trace_decide(facts, question->read);
    enum tare_trace_cause stop = tare_trace_decide(facts, question->stop);
    struct tare_arena *arena = doctor->arena;
    if (facts->result[question->read] == TARE_TRACE_UNTRIED && read == TARE_TRACE_FREE) {
        tare_doctor_add(doctor, question->name, TARE_DOCTOR_DEGRADED,
                        "could not be tried: no process to try it on", question->why, NULL);
    } else if (read != TARE_TRACE_FREE) {
        tare_doctor_add(doctor, question->name, TARE_DOCTOR_MISSING,
                        tare_arena_printf(arena, "process_vm_readv is refused: %s",
                                          explain(doctor, facts, read, facts->result[question->read])),
                        question->why, remedy(doctor, facts, read));
    } else if (stop != TARE_TRACE_FREE) {
        tare_doctor_add(doctor, question->name, TARE_DOCTOR_DEGRADED,
                        tare_arena_printf(arena, "%s, but not stopped while reading: %s", question->reads,
                                          explain(doctor, facts, stop, facts->result[question->stop])),
                        question->why, remedy(doctor, facts, stop));
    } else {
        tare_doctor_add(doctor, question->name, TARE_DOCTOR_OK, question->both, question->why, NULL);
    }
}

void tare_doctor_check_trace(struct tare_doctor *doctor)
{
    const struct question child = {"sample child",        "to sample a program that tare starts",
                                   "a child can be read", "a child can be read and stopped",
                                   TARE_TRACE_READ_CHILD, TARE_TRACE_STOP_CHILD};
    struct question other = {"sample pid",
                             "to sample a program that is running",
                             "processes of this user can be read",
                             NULL,
                             TARE_TRACE_READ_OTHER,
                             TARE_TRACE_STOP_OTHER};
    const uint64_t ptrace_bit = UINT64_C(1) << TARE_CAP_SYS_PTRACE;
    struct tare_trace_facts facts = {
        .yama = tare_machine_file_int(&doctor->files, "/proc/sys/kernel/yama/ptrace_scope"),
        .capable = doctor->rights.effective & ptrace_bit,
        .seccomp = doctor->rights.seccomp,
        .deny_ptrace = tare_machine_file_int(&doctor->files, "/sys/fs/selinux/booleans/deny_ptrace") == 1,
        .label = doctor->rights.label,
        .contained = tare_doctor_contained(doctor),
    };
    tare_trace_try(&facts);
    answer(doctor, &facts, &child);

    enum tare_trace_cause user = tare_trace_decide(&facts, TARE_TRACE_READ_USER);
    bool own = tare_trace_decide(&facts, TARE_TRACE_READ_OTHER) == TARE_TRACE_FREE;
    if (user != TARE_TRACE_FREE && own) {
        tare_doctor_add(doctor, other.name, TARE_DOCTOR_DEGRADED,
                        tare_arena_printf(doctor->arena, "only processes of root can be read: %s",
                                          explain(doctor, &facts, user, facts.result[TARE_TRACE_READ_USER])),
                        other.why, remedy(doctor, &facts, user));
        return;
    }
    other.both = facts.result[TARE_TRACE_READ_USER] == 0
                     ? "processes of every user can be read and stopped"
                     : "processes of this user can be read and stopped; those of others need root";
    answer(doctor, &facts, &other);
}
