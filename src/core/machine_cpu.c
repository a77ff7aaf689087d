/* SPDX-License-Identifier: Apache-2.0 */
/* The processor, from /proc/cpuinfo and /sys/devices/system/{cpu,node}. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/machine_part.h"

enum { MAX_FLAGS = 1024, MAX_PARTS = 8, MAX_SOCKETS = 64, MAX_CPUS = 8192 };

/* Which flags matter to ML code. Patterns rather than a list, so that flags of processors to come are covered
 * without changing the fingerprints of today's. */
static const char *const flag_names[] = {"bf16", "f16c", "fma",    "fma4",   "fphp",  "i8mm",  "lasx",
                                         "lsx",  "neon", "sse4_1", "sse4_2", "ssse3", "vfpv4", NULL};
static const char *const flag_prefixes[] = {"amx", "asimd", "avx", NULL};
/* On x86 these letters start other things: smep, and AMD's memory encryption. */
static const char *const arm_prefixes[] = {"sme", "sve", NULL};

/* arm64 kernels give numbers in place of a name. Those of Arm's documentation and of the vendors' own. */
static const struct {
    unsigned implementer;
    const char *vendor;
} arm_vendors[] = {
    {0x41, "ARM"},    {0x42, "Broadcom"},  {0x43, "Cavium"},   {0x46, "Fujitsu"}, {0x48, "HiSilicon"},
    {0x4e, "NVIDIA"}, {0x50, "APM"},       {0x51, "Qualcomm"}, {0x53, "Samsung"}, {0x56, "Marvell"},
    {0x61, "Apple"},  {0x6d, "Microsoft"}, {0x70, "Phytium"},  {0xc0, "Ampere"},
};

static const struct {
    unsigned implementer, part;
    const char *model;
} arm_models[] = {
    {0x41, 0xd03, "Cortex-A53"},  {0x41, 0xd05, "Cortex-A55"},    {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},  {0x41, 0xd09, "Cortex-A73"},    {0x41, 0xd0a, "Cortex-A75"},
    {0x41, 0xd0b, "Cortex-A76"},  {0x41, 0xd0c, "Neoverse-N1"},   {0x41, 0xd0d, "Cortex-A77"},
    {0x41, 0xd40, "Neoverse-V1"}, {0x41, 0xd41, "Cortex-A78"},    {0x41, 0xd42, "Cortex-A78AE"},
    {0x41, 0xd44, "Cortex-X1"},   {0x41, 0xd46, "Cortex-A510"},   {0x41, 0xd47, "Cortex-A710"},
    {0x41, 0xd48, "Cortex-X2"},   {0x41, 0xd49, "Neoverse-N2"},   {0x41, 0xd4a, "Neoverse-E1"},
    {0x41, 0xd4f, "Neoverse-V2"}, {0x41, 0xd83, "Neoverse-V3AE"}, {0x41, 0xd84, "Neoverse-V3"},
    {0x41, 0xd8e, "Neoverse-N3"}, {0x46, 0x001, "A64FX"},         {0x48, 0xd01, "Kunpeng-920"},
    {0x4e, 0x004, "Carmel"},      {0xc0, 0xac3, "Ampere-1"},      {0xc0, 0xac4, "Ampere-1a"},
};

struct arm_part {
    unsigned implementer, part;
};

struct cpuinfo {
    const struct tare_machine_files *files;
    struct tare_machine *machine;
    char *flags;
    int64_t processors;
    struct arm_part parts[MAX_PARTS];
    size_t part_count;
    unsigned implementer;
    bool first_is_enough; /* every later processor would say the same */
};

static void add_part(struct cpuinfo *info, unsigned part)
{
    for (size_t i = 0; i < info->part_count; i++)
        if (info->parts[i].implementer == info->implementer && info->parts[i].part == part)
            return;
    if (info->part_count < MAX_PARTS)
        info->parts[info->part_count++] = (struct arm_part){info->implementer, part};
}

static bool cpuinfo_line(void *context, char *line)
{
    struct cpuinfo *info = context;
    struct tare_machine *machine = info->machine;
    struct tare_arena *arena = info->files->arena;
    const char *value;
    /* An x86 kernel interrupts each processor to print its frequency: one is enough. */
    if (*line == '\0')
        return !(info->first_is_enough && machine->cpu_vendor && info->flags);
    if (tare_machine_value(line, "processor")) {
        info->processors++;
    } else if (!machine->cpu_vendor && (value = tare_machine_value(line, "vendor_id")) != NULL) {
        machine->cpu_vendor = tare_machine_clean(arena, value);
    } else if (!machine->cpu_model && (value = tare_machine_value(line, "model name")) != NULL) {
        machine->cpu_model = tare_machine_clean(arena, value);
    } else if (!machine->cpu_microcode && (value = tare_machine_value(line, "microcode")) != NULL) {
        machine->cpu_microcode = tare_machine_clean(arena, value);
    } else if (!info->flags && ((value = tare_machine_value(line, "flags")) != NULL ||
                                (value = tare_machine_value(line, "Features")) != NULL)) {
        info->flags = strdup(value);
    } else if ((value = tare_machine_value(line, "CPU implementer")) != NULL) {
        info->implementer = (unsigned)strtoul(value, NULL, 0);
    } else if ((value = tare_machine_value(line, "CPU part")) != NULL) {
        add_part(info, (unsigned)strtoul(value, NULL, 0));
    }
    return true;
}

static const char *arm_model(struct tare_arena *arena, const struct arm_part *part)
{
    for (size_t i = 0; i < sizeof arm_models / sizeof arm_models[0]; i++)
        if (arm_models[i].implementer == part->implementer && arm_models[i].part == part->part)
            return arm_models[i].model;
    return tare_arena_printf(arena, "implementer 0x%02x part 0x%03x", part->implementer, part->part);
}

/* The numbers are truer than the "model name" that some arm kernels add ("ARMv8 Processor rev 1"). */
static void name_arm(const struct cpuinfo *info)
{
    struct tare_machine *machine = info->machine;
    if (info->part_count == 0)
        return;
    for (size_t i = 0; i < sizeof arm_vendors / sizeof arm_vendors[0]; i++)
        if (arm_vendors[i].implementer == info->parts[0].implementer)
            machine->cpu_vendor = arm_vendors[i].vendor;
    const char *names[MAX_PARTS];
    for (size_t i = 0; i < info->part_count; i++)
        names[i] = arm_model(info->files->arena, &info->parts[i]);
    struct tare_machine_list kinds;
    tare_machine_list_make(info->files->arena, names, info->part_count, &kinds);
    for (size_t i = 0; i < kinds.count; i++)
        machine->cpu_model =
            i == 0 ? kinds.items[0]
                   : tare_arena_printf(info->files->arena, "%s + %s", machine->cpu_model, kinds.items[i]);
}

static bool starts(const char *flag, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (strncmp(flag, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

static bool flag_matters(const char *flag, bool arm)
{
    for (size_t i = 0; flag_names[i]; i++)
        if (strcmp(flag, flag_names[i]) == 0)
            return true;
    return starts(flag, flag_prefixes) || (arm && starts(flag, arm_prefixes));
}

/* Cuts text in place. Returns whether the hypervisor bit is among the flags. */
static bool split_flags(struct tare_arena *arena, char *text, bool arm, struct tare_machine *machine)
{
    const char *flags[MAX_FLAGS];
    size_t count = 0, chosen = 0;
    char *rest = text, *word;
    while (count < MAX_FLAGS && (word = strsep(&rest, " \t")) != NULL) {
        const char *flag = tare_machine_clean(arena, word);
        if (flag)
            flags[count++] = flag;
    }
    struct tare_machine_list all;
    tare_machine_list_make(arena, flags, count, &all);
    uint64_t hash = TARE_MACHINE_FNV;
    bool hypervisor = false;
    for (size_t i = 0; i < all.count; i++) {
        hash = tare_machine_fnv(hash, all.items[i]);
        hash = tare_machine_fnv(hash, " ");
        hypervisor |= strcmp(all.items[i], "hypervisor") == 0;
        if (flag_matters(all.items[i], arm))
            flags[chosen++] = all.items[i];
    }
    tare_machine_list_make(arena, flags, chosen, &machine->cpu_flags);
    if (all.count > 0)
        machine->cpu_flags_hash = tare_arena_printf(arena, "%016" PRIx64, hash);
    return hypervisor;
}

struct topology {
    const struct tare_machine_files *files;
    int64_t sockets[MAX_SOCKETS];
    int64_t socket_count, core_count;
    bool shared; /* some core has two threads */
};

/* A core is counted at its first thread, so that no set of cores is needed. */
static bool topology_add(struct topology *topology, int64_t cpu)
{
    char siblings[256];
    int64_t first;
    const char *folder = "/sys/devices/system/cpu";
    if (!tare_machine_file_text(topology->files, siblings, sizeof siblings,
                                "%s/cpu%" PRId64 "/topology/thread_siblings_list", folder, cpu) ||
        !tare_machine_parse_int(siblings, &first))
        return false;
    if (first == cpu)
        topology->core_count++;
    if (tare_machine_parse_cpus(siblings) > 1)
        topology->shared = true;
    int64_t socket =
        tare_machine_file_int(topology->files, "%s/cpu%" PRId64 "/topology/physical_package_id", folder, cpu);
    for (int64_t i = 0; i < topology->socket_count; i++)
        if (topology->sockets[i] == socket)
            return true;
    if (socket >= 0 && topology->socket_count < MAX_SOCKETS)
        topology->sockets[topology->socket_count++] = socket;
    return true;
}

static void collect_topology(const struct tare_machine_files *files, struct tare_machine *machine)
{
    char list[TARE_MACHINE_PATH];
    const char *folder = "/sys/devices/system/cpu";
    if (tare_machine_file_text(files, list, sizeof list, "%s/present", folder))
        machine->cpu_logical = tare_machine_parse_cpus(list);
    if (!tare_machine_file_text(files, list, sizeof list, "%s/online", folder))
        return;
    machine->cpu_online = tare_machine_parse_cpus(list);
    if (machine->cpu_online < 0 || machine->cpu_online > MAX_CPUS)
        return;

    struct topology topology = {.files = files};
    bool whole = true;
    for (const char *text = list; *text && whole;) {
        char *end;
        long long first = strtoll(text, &end, 10), last = *end == '-' ? strtoll(end + 1, &end, 10) : first;
        for (long long cpu = first; cpu <= last && whole; cpu++)
            whole = topology_add(&topology, cpu);
        text = *end == ',' ? end + 1 : "";
    }
    if (!whole)
        return;
    machine->cpu_cores = topology.core_count > 0 ? topology.core_count : -1;
    machine->cpu_sockets = topology.socket_count > 0 ? topology.socket_count : -1;
    machine->cpu_smt = topology.shared;
}

static bool count_node(void *context, const char *name)
{
    int64_t *count = context;
    if (strncmp(name, "node", 4) == 0 && name[4] >= '0' && name[4] <= '9')
        ++*count;
    return true;
}

static bool status_line(void *context, char *line)
{
    struct tare_machine *machine = context;
    const char *value = tare_machine_value(line, "Cpus_allowed_list");
    if (value)
        machine->cpu_affinity = tare_machine_parse_cpus(value);
    return !value;
}

static void collect_affinity(const struct tare_machine_files *files, struct tare_machine *machine)
{
    if (*files->root) {
        tare_machine_file_lines(files, "/proc/self/status", TARE_MACHINE_FILE, status_line, machine);
        return;
    }
    cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
    size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
    if (set && sched_getaffinity(0, size, set) == 0)
        machine->cpu_affinity = CPU_COUNT_S(size, set);
    CPU_FREE(set);
}

int tare_machine_collect_cpu(const struct tare_machine_files *files, struct tare_machine *machine)
{
    collect_topology(files, machine);
    collect_affinity(files, machine);

    struct cpuinfo info = {.files = files, .machine = machine, .first_is_enough = machine->cpu_online > 0};
    tare_machine_file_lines(files, "/proc/cpuinfo", TARE_MACHINE_LONG_FILE, cpuinfo_line, &info);
    if (machine->cpu_online < 0 && info.processors > 0)
        machine->cpu_online = info.processors;
    name_arm(&info);
    int hypervisor = -1;
    if (info.flags) {
        bool found = split_flags(files->arena, info.flags, info.part_count > 0, machine);
        /* Only x86 has the bit; on arm64 its absence says nothing. */
        hypervisor = found ? 1 : info.part_count == 0 ? 0 : -1;
    }
    free(info.flags);

    int64_t smt = tare_machine_file_int(files, "/sys/devices/system/cpu/smt/active");
    if (smt == 0 || smt == 1)
        machine->cpu_smt = smt;
    int64_t nodes = 0;
    tare_machine_file_entries(files, "/sys/devices/system/node", count_node, &nodes);
    machine->numa_nodes = nodes > 0 ? nodes : -1;
    return hypervisor;
}
