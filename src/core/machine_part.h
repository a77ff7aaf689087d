/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts that tare_machine_collect is made of, one per kind of file. Each fills its own fields of a
 * machine that was initialised, and leaves the rest alone. For core/machine*.c, and for who looks at
 * throttling again and again (bench/worker_use.c).
 */
#ifndef TARE_CORE_MACHINE_PART_H
#define TARE_CORE_MACHINE_PART_H

#include "core/machine.h"
#include "core/machine_file.h"

/** Model, flags, topology, NUMA. Returns whether the flags say that a hypervisor is below: 1, 0, or -1 when
 * they cannot tell. */
int tare_machine_collect_cpu(const struct tare_machine_files *files, struct tare_machine *machine);

/** Governors, limits, turbo. */
void tare_machine_collect_frequency(const struct tare_machine_files *files, struct tare_machine *machine);

/** Quota, throttling, cpuset and memory limit, of either version. */
void tare_machine_collect_cgroup(const struct tare_machine_files *files, struct tare_machine *machine);

/** Kernel, memory, load, steal, libc, clock. */
void tare_machine_collect_system(const struct tare_machine_files *files, struct tare_machine *machine);

/** Hypervisor and container; hypervisor is what tare_machine_collect_cpu returned. */
void tare_machine_collect_virtual(const struct tare_machine_files *files, int hypervisor,
                                  struct tare_machine *machine);

/** GPUs. */
void tare_machine_collect_gpu(const struct tare_machine_files *files, struct tare_machine *machine);

/** The name of the hypervisor by its CPUID signature, or NULL. Only of the machine that runs this. */
const char *tare_machine_cpuid_hypervisor(void);

/** FNV-1a, 64 bits, over a text, from a state that starts as TARE_MACHINE_FNV. Stable everywhere, unlike
 * base/hash.h. */
uint64_t tare_machine_fnv(uint64_t state, const char *text);

#define TARE_MACHINE_FNV 0xcbf29ce484222325u

/** Make a list of the texts, sorted and each kept once; texts is reordered. */
void tare_machine_list_make(struct tare_arena *arena, const char **texts, size_t count,
                            struct tare_machine_list *ret_list);

#endif
