/* SPDX-License-Identifier: Apache-2.0 */
/* May this process use the kernel's performance events, and does the processor have counters? Decided from
 * what was tried and what the settings say, by pure functions. */
#ifndef TARE_FLOW_DOCTOR_PERF_H
#define TARE_FLOW_DOCTOR_PERF_H

#include <stdbool.h>
#include <stdint.h>

struct tare_perf_facts {
    bool tried;
    int gate;    /* errno of a call that is wrong by itself: EINVAL unless a filter or the build refuses */
    int task;    /* 0 or errno: time of this process, user space only */
    int kernel;  /* …kernel included */
    int counter; /* hardware cycles, user space only */
    int killed;  /* the signal that ended the attempt, or 0 */
    int64_t paranoid; /* -1 when there is no such setting */
    bool capable;     /* CAP_PERFMON or CAP_SYS_ADMIN in the effective set */
    int64_t seccomp;
};

enum tare_perf_cause {
    TARE_PERF_FREE,
    TARE_PERF_UNTRIED,     /* no process could be made to try it in */
    TARE_PERF_NO_SYSCALL,  /* the kernel was built without it */
    TARE_PERF_SECCOMP,     /* a filter refuses the system call */
    TARE_PERF_PARANOID,    /* perf_event_paranoid, and no capability to pass it */
    TARE_PERF_NO_COUNTER,  /* the processor shows no counters here */
    TARE_PERF_UNEXPLAINED, /* refused, and no setting tells why */
};

/** Why events in user space are refused. */
enum tare_perf_cause tare_perf_decide(const struct tare_perf_facts *facts);

/** Why there is no cycle counter. */
enum tare_perf_cause tare_perf_decide_counter(const struct tare_perf_facts *facts);

/** Really try. */
void tare_perf_try(struct tare_perf_facts *facts);

#endif
