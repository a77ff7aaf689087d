/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine: what two results must share before their numbers may be compared. Plain data; every pointer
 * lives in the arena that it was collected or read into. What could not be found out is absent: NULL, an
 * empty list, or -1. Nothing is ever guessed. All texts are single lines of printable characters and bounded,
 * however hostile the file that they came from.
 *
 * Each field is one row of the table in machine_field.c, which gives its JSON name and its weight in a
 * comparison; writing, reading, comparing and the fingerprint all follow that table.
 *
 * Collecting reads files only (and the calling thread's affinity), takes a few milliseconds and keeps
 * nothing. No function here has state of its own, so that different machines may be used from different
 * threads.
 */
#ifndef TARE_CORE_MACHINE_H
#define TARE_CORE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

/** Texts in a fixed order. */
struct tare_machine_list {
    const char *const *items;
    size_t count;
};

/** A library and its version, such as numpy 2.1.0. */
struct tare_machine_library {
    const char *name;
    const char *version;
};

/** A device that can compute; a display adapter that cannot is not listed. */
struct tare_machine_gpu {
    const char *vendor; /* NVIDIA, AMD, Intel */
    const char *model;
    const char *pci_id;  /* vendor:device, such as 10de:20b0 */
    const char *driver;  /* name and version as far as known */
    const char *address; /* where it sits on the bus; not part of what it is */
};

struct tare_machine {
    /* processor */
    const char *cpu_model;
    const char *cpu_vendor;
    const char *cpu_arch; /* as uname says: x86_64, aarch64 */
    const char *cpu_microcode;
    struct tare_machine_list cpu_flags; /* those that matter to ML, sorted */
    const char *cpu_flags_hash;         /* of every flag, sorted, 16 hex digits */
    int64_t cpu_sockets;
    int64_t cpu_cores;   /* physical, online */
    int64_t cpu_logical; /* present */
    int64_t cpu_online;
    int64_t cpu_affinity; /* that this thread may run on: collect before pinning anything */
    int64_t cpu_smt;      /* 1 when two threads share a core */
    int64_t numa_nodes;

    /* frequency */
    struct tare_machine_list freq_governors; /* distinct, sorted */
    const char *freq_driver;
    int64_t freq_min_hz, freq_max_hz; /* what the hardware can do */
    int64_t freq_limit_hz;            /* the highest that the settings allow */
    int64_t freq_turbo;               /* 1 on, 0 off */

    /* control group: the tightest bound between this process and the top */
    int64_t cgroup_version; /* of the one that holds the cpu controller */
    double cgroup_cpus;     /* quota / period, in cores */
    int64_t cgroup_periods, cgroup_throttled, cgroup_throttled_ns;
    const char *cgroup_cpuset;
    int64_t cgroup_memory_limit_bytes, cgroup_memory_bytes;

    /* memory */
    int64_t memory_total_bytes, memory_available_bytes;
    int64_t swap_total_bytes, swap_free_bytes;
    const char *memory_thp; /* transparent huge pages: always, madvise, never */

    /* system */
    const char *kernel_release, *kernel_version;
    const char *libc; /* name and version */
    const char *clocksource;
    const char *virtualisation; /* kvm, vmware, xen, hyperv…; "none" on bare metal */
    const char *container;      /* docker, podman, kubernetes, lxc…; "none" without a sign of one */
    const char *container_image, *container_image_id;

    /* the moment */
    double load_1min, load_5min, load_15min;
    double steal_since_boot; /* share of all CPU time that the hypervisor gave to others, 0 to 1 */
    double steal_sampled;    /* the same over a while that the caller chose */

    const struct tare_machine_gpu *gpus;
    size_t gpu_count;
    struct tare_machine_library *libraries; /* sorted by name */
    size_t library_count;
};

/** Everything absent. */
void tare_machine_init(struct tare_machine *machine);

/**
 * Look at this machine. root is put before every path: "" for the real one, or a folder that holds proc and
 * sys trees, in which case nothing is asked of the running system. Missing files leave fields absent; the
 * only failure is running out of memory.
 */
int tare_machine_collect(const char *root, struct tare_arena *arena, struct tare_machine *ret_machine,
                         struct tare_error *err);

/** Add a library, or replace its version. Texts are copied. */
int tare_machine_add_library(struct tare_machine *machine, struct tare_arena *arena, const char *name,
                             const char *version, struct tare_error *err);

/** All CPU time so far, and the stolen part of it, in the kernel's ticks. */
struct tare_machine_ticks {
    uint64_t total, steal;
};

/** Read them; false when the kernel does not tell. */
bool tare_machine_ticks_read(const char *root, struct tare_machine_ticks *ret_ticks);

/** The share stolen between two readings, or -1 when no time has passed. */
double tare_machine_steal(const struct tare_machine_ticks *before, const struct tare_machine_ticks *after);

/** Write it as one JSON object, absent fields left out, the fingerprint with it. */
void tare_machine_write(const struct tare_machine *machine, struct tare_json *json);

/** Read what tare_machine_write wrote. Unknown keys are passed over; wrong types are an error. */
int tare_machine_read(yyjson_val *value, struct tare_arena *arena, struct tare_machine *ret_machine,
                      struct tare_error *err);

/** What a field means when it differs. */
enum tare_machine_weight {
    TARE_MACHINE_IDENTITY, /* another machine: the numbers may not be compared */
    TARE_MACHINE_MARK,     /* may explain a difference: compare, and say it */
    TARE_MACHINE_STATE,    /* the moment, not the machine: differs all the time */
};

/** One field that differs; a value that one side does not know is "unknown", and then weighs no more than a
 * mark. */
struct tare_machine_difference {
    const char *field; /* as in JSON: cpu.model; libraries.numpy */
    enum tare_machine_weight weight;
    const char *a, *b;
};

struct tare_machine_comparison {
    const struct tare_machine_difference *items; /* heaviest first */
    size_t count;
    size_t identities, marks; /* how many of each weight */
    bool comparable;          /* no identity field differs */
};

/** What differs between two machines. */
int tare_machine_compare(const struct tare_machine *a, const struct tare_machine *b, struct tare_arena *arena,
                         struct tare_machine_comparison *ret_comparison, struct tare_error *err);

enum { TARE_MACHINE_FINGERPRINT_SIZE = 24 };

/**
 * A key for results that may be compared: "m1-" and 16 hex digits. It is FNV-1a (64 bits) over the line
 * "tare.machine/1" and one line "name=value" per identity field that is known, in the order of the table,
 * lists joined with commas, reals in thousandths as integers, and each line ended by a newline. It is the
 * same on every machine and in every version of tare; a change to the rule changes the "m1".
 */
void tare_machine_fingerprint(const struct tare_machine *machine,
                              char ret_text[TARE_MACHINE_FINGERPRINT_SIZE]);

#endif
