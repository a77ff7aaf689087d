/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/doctor_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow/ask.h"
#include "flow/doctor_part.h"

enum { TRY_NS = 1000000000, TRIES = 4 };

static int try_event(uint32_t type, uint64_t config, bool user_only)
{
    struct perf_event_attr attr = {
        .type = type,
        .size = sizeof attr,
        .config = config,
        .disabled = 1,
        .exclude_kernel = user_only,
        .exclude_hv = 1,
    };
    long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL);
    if (fd < 0)
        return errno;
    close((int)fd);
    return 0;
}

/* In a process of its own: a filter may kill instead of refusing. */
static int attempt(void *context, int fd)
{
    (void)context;
    int results[TRIES];
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr};
    /* Unknown flags are the first thing that the kernel looks at, before any permission. */
    results[0] = syscall(SYS_perf_event_open, &attr, 0, -1, -1, ~0UL) < 0 ? errno : 0;
    results[1] = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true);
    results[2] = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false);
    results[3] = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true);
    return write(fd, results, sizeof results) == (ssize_t)sizeof results ? 0 : 1;
}

void tare_perf_try(struct tare_perf_facts *facts)
{
    struct tare_ask ask;
    int results[TRIES] = {EPERM, EPERM, EPERM, EPERM};
    facts->killed = 0;
    facts->tried = false;
    if (tare_ask_start(&ask, attempt, NULL)) {
        tare_ask_wait(&ask, 1, TRY_NS);
        if (ask.length == sizeof results)
            memcpy(results, ask.answer, sizeof results);
        if (ask.finished && WIFSIGNALED(ask.status))
            facts->killed = WTERMSIG(ask.status);
        facts->tried = ask.length == sizeof results || facts->killed;
    }
    facts->gate = results[0];
    facts->task = results[1];
    facts->kernel = results[2];
    facts->counter = results[3];
}

enum tare_perf_cause tare_perf_decide(const struct tare_perf_facts *facts)
{
    if (!facts->tried)
        return TARE_PERF_UNTRIED;
    if (facts->task == 0)
        return TARE_PERF_FREE;
    if (facts->killed == SIGSYS)
        return TARE_PERF_SECCOMP;
    if (facts->gate != EINVAL)
        return facts->gate == ENOSYS && facts->seccomp <= 0 ? TARE_PERF_NO_SYSCALL : TARE_PERF_SECCOMP;
    /* Some distributions refuse everything from 3 on. */
    if ((facts->task == EACCES || facts->task == EPERM) && facts->paranoid >= 3 && !facts->capable)
        return TARE_PERF_PARANOID;
    return TARE_PERF_UNEXPLAINED;
}

enum tare_perf_cause tare_perf_decide_counter(const struct tare_perf_facts *facts)
{
    enum tare_perf_cause cause = tare_perf_decide(facts);
    if (cause != TARE_PERF_FREE || facts->counter == 0)
        return cause;
    bool absent = facts->counter == ENOENT || facts->counter == EOPNOTSUPP || facts->counter == ENODEV;
    return absent ? TARE_PERF_NO_COUNTER : TARE_PERF_UNEXPLAINED;
}

static const char *const events_why = "for native stacks and time spent in the kernel";
static const char *const counters_why = "cycles and cache misses tell compute from memory limits";

static void check_events(struct tare_doctor *doctor, const struct tare_perf_facts *facts)
{
    bool contained = tare_doctor_contained(doctor);
    const char *fix = NULL, *found = NULL;
    enum tare_doctor_status status = TARE_DOCTOR_MISSING;
    switch (tare_perf_decide(facts)) {
    case TARE_PERF_FREE:
        status = TARE_DOCTOR_OK;
        found =
            facts->kernel == 0
                ? "user space and kernel can be watched"
                : tare_arena_printf(doctor->arena,
                                    "user space can be watched; the kernel not (perf_event_paranoid is %d)",
                                    (int)facts->paranoid);
        break;
    case TARE_PERF_UNTRIED:
        status = TARE_DOCTOR_DEGRADED;
        found = "could not be tried: no process to try it in";
        break;
    case TARE_PERF_NO_SYSCALL:
        found = "this kernel was built without perf events";
        break;
    case TARE_PERF_SECCOMP:
        found = tare_arena_printf(doctor->arena, "perf_event_open is refused: a seccomp filter%s %s it",
                                  contained ? " of the container" : "", facts->killed ? "kills" : "forbids");
        fix = contained
                  ? tare_doctor_container_fix(doctor, "--cap-add PERFMON --security-opt seccomp=unconfined",
                                              TARE_DOCTOR_KUBERNETES_DEBUG)
                  : NULL;
        break;
    case TARE_PERF_PARANOID:
        found = tare_arena_printf(doctor->arena,
                                  "perf_event_open is refused: perf_event_paranoid is %d and there is no "
                                  "CAP_PERFMON",
                                  (int)facts->paranoid);
        fix = contained ? tare_doctor_container_fix(doctor, "--cap-add PERFMON", TARE_DOCTOR_KUBERNETES_DEBUG)
                        : "sudo sysctl -w kernel.perf_event_paranoid=1";
        break;
    case TARE_PERF_NO_COUNTER:
    case TARE_PERF_UNEXPLAINED:
        found = tare_arena_printf(doctor->arena, "perf_event_open is refused (%s), and no setting tells why",
                                  strerror(facts->task));
        break;
    }
    tare_doctor_add(doctor, "perf events", status, found, events_why, fix);
}

static void check_counters(struct tare_doctor *doctor, const struct tare_perf_facts *facts)
{
    const char *below = doctor->machine.virtualisation;
    enum tare_perf_cause cause = tare_perf_decide_counter(facts);
    if (cause == TARE_PERF_FREE) {
        tare_doctor_add(doctor, "perf counters", TARE_DOCTOR_OK, "the processor's counters can be read",
                        counters_why, NULL);
    } else if (cause == TARE_PERF_NO_COUNTER) {
        bool guest = below && strcmp(below, "none") != 0;
        tare_doctor_add(doctor, "perf counters", TARE_DOCTOR_DEGRADED,
                        guest
                            ? tare_arena_printf(doctor->arena,
                                                "the hypervisor (%s) passes no hardware counters through; no "
                                                "command in here can change that",
                                                below)
                            : "the kernel knows no hardware counters of this processor",
                        counters_why, NULL);
    } else {
        tare_doctor_add(doctor, "perf counters", TARE_DOCTOR_DEGRADED,
                        cause == TARE_PERF_UNEXPLAINED
                            ? tare_arena_printf(doctor->arena, "refused: %s", strerror(facts->counter))
                        : cause == TARE_PERF_UNTRIED ? "could not be tried: no process to try it in"
                                                     : "cannot be tried while perf events are refused",
                        counters_why, NULL);
    }
}

void tare_doctor_check_perf(struct tare_doctor *doctor)
{
    const uint64_t bits = UINT64_C(1) << TARE_CAP_PERFMON | UINT64_C(1) << TARE_CAP_SYS_ADMIN;
    struct tare_perf_facts facts = {
        .paranoid = tare_machine_file_int(&doctor->files, "/proc/sys/kernel/perf_event_paranoid"),
        .capable = doctor->rights.effective & bits,
        .seccomp = doctor->rights.seccomp,
    };
    tare_perf_try(&facts);
    check_events(doctor, &facts);
    check_counters(doctor, &facts);
}
