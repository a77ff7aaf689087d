/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May one process look into another, and if not, what is in the way? Deciding is a pure function of what was
 * tried and what the settings say, so that causes which cannot be set up on a test machine can be tested too.
 */
#ifndef TARE_FLOW_DOCTOR_TRACE_H
#define TARE_FLOW_DOCTOR_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/* What is tried, in this order, by a process made for it. */
enum tare_trace_try {
    TARE_TRACE_READ_SELF,   /* process_vm_readv of itself: only a filter or the kernel's build can refuse */
    TARE_TRACE_READ_CHILD,  /* …of its own child */
    TARE_TRACE_READ_OTHER,  /* …of a process of the same user that is no descendant */
    TARE_TRACE_READ_USER,   /* …of a process of another user; only tried as root */
    TARE_TRACE_STOP_NOBODY, /* ptrace of no process: ESRCH unless a filter refuses */
    TARE_TRACE_STOP_CHILD,  /* ptrace attach to its own child */
    TARE_TRACE_STOP_OTHER,  /* …to the one that is no descendant */
    TARE_TRACE_TRIES,
};

enum { TARE_TRACE_UNTRIED = -1 };

struct tare_trace_facts {
    int result[TARE_TRACE_TRIES]; /* 0 or errno; TARE_TRACE_UNTRIED */
    int killed;                   /* the signal that ended the attempt, or 0 */
    int64_t yama;                 /* ptrace_scope; -1 without Yama */
    bool capable;                 /* CAP_SYS_PTRACE in the effective set */
    int64_t seccomp;
    int dumpable;      /* prctl(PR_GET_DUMPABLE) */
    bool deny_ptrace;  /* SELinux' switch */
    const char *label; /* of the security module that confines this process, or NULL */
    bool contained;
};

enum tare_trace_cause {
    TARE_TRACE_FREE,        /* nothing is in the way */
    TARE_TRACE_NO_SYSCALL,  /* the kernel was built without it */
    TARE_TRACE_SECCOMP,     /* a filter refuses the system call */
    TARE_TRACE_YAMA,        /* ptrace_scope, and no capability to pass it */
    TARE_TRACE_CAPABILITY,  /* another user's process, and no CAP_SYS_PTRACE */
    TARE_TRACE_UNDUMPABLE,  /* this program has privileges of its own, so its children hide */
    TARE_TRACE_SELINUX,     /* deny_ptrace */
    TARE_TRACE_LABEL,       /* AppArmor or SELinux confines this process */
    TARE_TRACE_UNEXPLAINED, /* refused, and no setting tells why */
};

/** Why the try failed; TARE_TRACE_FREE when it did not, or was not made. */
enum tare_trace_cause tare_trace_decide(const struct tare_trace_facts *facts, enum tare_trace_try which);

/** Really try. What could not be tried stays TARE_TRACE_UNTRIED. */
void tare_trace_try(struct tare_trace_facts *facts);

#endif
