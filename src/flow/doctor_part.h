/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the doctor's checks share: only flow/doctor*.c includes this. A check adds its rows to the doctor it
 * is given; texts live in its arena.
 */
#ifndef TARE_FLOW_DOCTOR_PART_H
#define TARE_FLOW_DOCTOR_PART_H

#include <stdint.h>

#include "core/machine_file.h"
#include "flow/doctor.h"

enum { TARE_DOCTOR_CHECKS = 32, TARE_DOCTOR_PYTHONS = 32 };

/* Bits of capability sets. */
enum { TARE_CAP_SYS_PTRACE = 19, TARE_CAP_SYS_ADMIN = 21, TARE_CAP_PERFMON = 38 };

/* What the kernel allows this process, from /proc/self/status and beside it. */
struct tare_doctor_rights {
    uint64_t effective; /* capabilities */
    int64_t seccomp;    /* 0 none, 1 strict, 2 filter, -1 not known */
    const char *label;  /* of AppArmor or SELinux when it confines; NULL when it does not */
};

struct tare_doctor {
    const struct tare_doctor_options *options;
    struct tare_machine_files files;
    struct tare_arena *arena;
    struct tare_machine machine;
    struct tare_machine_ticks ticks; /* at the start */
    bool has_ticks;
    struct tare_doctor_rights rights;
    struct tare_doctor_check checks[TARE_DOCTOR_CHECKS];
    size_t check_count;
    struct tare_doctor_python pythons[TARE_DOCTOR_PYTHONS];
    size_t python_count;
    struct tare_doctor_ort ort;
};

/** Add a row. */
void tare_doctor_add(struct tare_doctor *doctor, const char *name, enum tare_doctor_status status,
                     const char *found, const char *why, const char *fix);

/** Is the process inside a container that a file tells of? */
bool tare_doctor_contained(const struct tare_doctor *doctor);

/** How to start this kind of container with one more option (such as "--cap-add SYS_PTRACE"); kubernetes is
 * the whole command for a pod, and may be NULL. NULL for kinds that have no such command. */
const char *tare_doctor_container_fix(const struct tare_doctor *doctor, const char *option,
                                      const char *kubernetes);

/** A debugging container beside a pod's own, with every capability. */
#define TARE_DOCTOR_KUBERNETES_DEBUG                                                                         \
    "kubectl debug POD -it --target=CONTAINER --image=IMAGE --profile=sysadmin"

/** The command that installs a package into an interpreter, also when the system owns that one. */
const char *tare_doctor_install(const struct tare_doctor *doctor, const struct tare_doctor_python *python,
                                const char *package);

void tare_doctor_check_trace(struct tare_doctor *doctor);  /**< ptrace and process_vm_readv */
void tare_doctor_check_perf(struct tare_doctor *doctor);   /**< perf_event_open, hardware counters */
void tare_doctor_check_clock(struct tare_doctor *doctor);  /**< the clock that times calls */
void tare_doctor_check_speed(struct tare_doctor *doctor);  /**< governor and turbo */
void tare_doctor_check_share(struct tare_doctor *doctor);  /**< quota, steal and memory */
void tare_doctor_check_python(struct tare_doctor *doctor); /**< interpreters */
void tare_doctor_check_ort(struct tare_doctor *doctor);    /**< ONNX Runtime; after Python */
void tare_doctor_check_space(struct tare_doctor *doctor);  /**< room for captures */
void tare_doctor_check_steal(struct tare_doctor *doctor);  /**< stolen time, over all of the above */

#endif
