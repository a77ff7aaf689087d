/* SPDX-License-Identifier: Apache-2.0 */
#include "core/machine_field.h"

#include <stddef.h>

#define ROW(group, name, kind, weight, member, tolerance)                                                    \
    {                                                                                                        \
        group, name, TARE_MACHINE_KIND_##kind, TARE_MACHINE_##weight, offsetof(struct tare_machine, member), \
            tolerance                                                                                        \
    }

/* clang-format off */
const struct tare_machine_field tare_machine_fields[] = {
    ROW("cpu", "model",        TEXT, IDENTITY, cpu_model, 0),
    ROW("cpu", "vendor",       TEXT, IDENTITY, cpu_vendor, 0),
    ROW("cpu", "arch",         TEXT, IDENTITY, cpu_arch, 0),
    ROW("cpu", "microcode",    TEXT, MARK,     cpu_microcode, 0),
    ROW("cpu", "flags",        LIST, IDENTITY, cpu_flags, 0),
    ROW("cpu", "flags_hash",   TEXT, MARK,     cpu_flags_hash, 0),
    ROW("cpu", "sockets",      INT,  IDENTITY, cpu_sockets, 0),
    ROW("cpu", "cores",        INT,  IDENTITY, cpu_cores, 0),
    ROW("cpu", "logical",      INT,  IDENTITY, cpu_logical, 0),
    ROW("cpu", "online",       INT,  IDENTITY, cpu_online, 0),
    ROW("cpu", "affinity",     INT,  IDENTITY, cpu_affinity, 0),
    ROW("cpu", "smt",          BOOL, IDENTITY, cpu_smt, 0),
    ROW("cpu", "numa_nodes",   INT,  MARK,     numa_nodes, 0),

    ROW("frequency", "governors", LIST, MARK, freq_governors, 0),
    ROW("frequency", "driver",    TEXT, MARK, freq_driver, 0),
    ROW("frequency", "min_hz",    INT,  MARK, freq_min_hz, 0.001),
    ROW("frequency", "max_hz",    INT,  MARK, freq_max_hz, 0.001),
    ROW("frequency", "limit_hz",  INT,  MARK, freq_limit_hz, 0.001),
    ROW("frequency", "turbo",     BOOL, MARK, freq_turbo, 0),

    ROW("cgroup", "version",            INT,  MARK,     cgroup_version, 0),
    ROW("cgroup", "cpus",               REAL, IDENTITY, cgroup_cpus, 0.0005),
    ROW("cgroup", "periods",            INT,  STATE,    cgroup_periods, 0),
    ROW("cgroup", "throttled",          INT,  STATE,    cgroup_throttled, 0),
    ROW("cgroup", "throttled_ns",       INT,  STATE,    cgroup_throttled_ns, 0),
    ROW("cgroup", "cpuset",             TEXT, MARK,     cgroup_cpuset, 0),
    ROW("cgroup", "memory_limit_bytes", INT,  MARK,     cgroup_memory_limit_bytes, 0),
    ROW("cgroup", "memory_bytes",       INT,  STATE,    cgroup_memory_bytes, 0),

    /* Firmware and kernel take a little more or less of the total at each boot. */
    ROW("memory", "total_bytes",      INT,  MARK,  memory_total_bytes, 0.02),
    ROW("memory", "available_bytes",  INT,  STATE, memory_available_bytes, 0),
    ROW("memory", "swap_total_bytes", INT,  MARK,  swap_total_bytes, 0),
    ROW("memory", "swap_free_bytes",  INT,  STATE, swap_free_bytes, 0),
    ROW("memory", "thp",              TEXT, MARK,  memory_thp, 0),

    ROW("system", "kernel",         TEXT, MARK, kernel_release, 0),
    ROW("system", "kernel_version", TEXT, MARK, kernel_version, 0),
    ROW("system", "libc",           TEXT, MARK, libc, 0),
    ROW("system", "clocksource",    TEXT, MARK, clocksource, 0),
    ROW("system", "virtualisation", TEXT, MARK, virtualisation, 0),
    ROW("system", "container",      TEXT, MARK, container, 0),
    ROW("system", "image",          TEXT, MARK, container_image, 0),
    ROW("system", "image_id",       TEXT, MARK, container_image_id, 0),

    ROW("moment", "load_1min",        REAL, STATE, load_1min, 0),
    ROW("moment", "load_5min",        REAL, STATE, load_5min, 0),
    ROW("moment", "load_15min",       REAL, STATE, load_15min, 0),
    ROW("moment", "steal_since_boot", REAL, STATE, steal_since_boot, 0),
    ROW("moment", "steal_sampled",    REAL, STATE, steal_sampled, 0),
    {0},
};
/* clang-format on */

static const char *member(const struct tare_machine *machine, const struct tare_machine_field *field)
{
    return (const char *)machine + field->offset;
}

const char *const *tare_machine_field_text(const struct tare_machine *machine,
                                           const struct tare_machine_field *field)
{
    return (const char *const *)(const void *)member(machine, field);
}

const int64_t *tare_machine_field_int(const struct tare_machine *machine,
                                      const struct tare_machine_field *field)
{
    return (const int64_t *)(const void *)member(machine, field);
}

const double *tare_machine_field_real(const struct tare_machine *machine,
                                      const struct tare_machine_field *field)
{
    return (const double *)(const void *)member(machine, field);
}

const struct tare_machine_list *tare_machine_field_list(const struct tare_machine *machine,
                                                        const struct tare_machine_field *field)
{
    return (const struct tare_machine_list *)(const void *)member(machine, field);
}

void *tare_machine_field_slot(struct tare_machine *machine, const struct tare_machine_field *field)
{
    return (char *)machine + field->offset;
}

bool tare_machine_field_known(const struct tare_machine *machine, const struct tare_machine_field *field)
{
    switch (field->kind) {
    case TARE_MACHINE_KIND_TEXT:
        return *tare_machine_field_text(machine, field) != NULL;
    case TARE_MACHINE_KIND_INT:
    case TARE_MACHINE_KIND_BOOL:
        return *tare_machine_field_int(machine, field) >= 0;
    case TARE_MACHINE_KIND_REAL:
        return *tare_machine_field_real(machine, field) >= 0;
    case TARE_MACHINE_KIND_LIST:
        return tare_machine_field_list(machine, field)->count > 0;
    }
    return false;
}
