/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel, memory, load, stolen time, C library and clock. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/machine_part.h"

static bool memory_line(void *context, char *line)
{
    struct tare_machine *machine = context;
    const struct {
        const char *name;
        int64_t *bytes;
    } rows[] = {
        {"MemTotal", &machine->memory_total_bytes},
        {"MemAvailable", &machine->memory_available_bytes},
        {"SwapTotal", &machine->swap_total_bytes},
        {"SwapFree", &machine->swap_free_bytes},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *value = tare_machine_value(line, rows[i].name);
        int64_t kib;
        if (value && tare_machine_parse_int(value, &kib) && kib >= 0 && kib < INT64_MAX / 1024)
            *rows[i].bytes = kib * 1024;
    }
    return true;
}

/* Digits, a point and digits: strtod would follow the process' locale. */
static bool parse_load(const char **text, double *ret_value)
{
    char *end;
    long long whole = strtoll(*text, &end, 10);
    if (end == *text || whole < 0 || *end != '.')
        return false;
    char *fraction = end + 1;
    long long part = strtoll(fraction, &end, 10);
    ptrdiff_t digits = end - fraction;
    if (digits < 1 || digits > 6 || part < 0)
        return false;
    double scale = pow(10, (double)digits);
    *ret_value = ((double)whole * scale + (double)part) / scale;
    *text = end;
    return true;
}

static void collect_load(const struct tare_machine_files *files, struct tare_machine *machine)
{
    char text[128];
    const char *at = text;
    if (tare_machine_file_text(files, text, sizeof text, "/proc/loadavg") &&
        parse_load(&at, &machine->load_1min) && parse_load(&at, &machine->load_5min))
        parse_load(&at, &machine->load_15min);
}

/* The word in brackets is the one in force: "always [madvise] never". */
static void collect_thp(const struct tare_machine_files *files, struct tare_machine *machine)
{
    char text[128];
    if (!tare_machine_file_text(files, text, sizeof text, "/sys/kernel/mm/transparent_hugepage/enabled"))
        return;
    char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    if (close) {
        *close = '\0';
        machine->memory_thp = tare_machine_clean(files->arena, open + 1);
    }
}

static void collect_kernel(const struct tare_machine_files *files, struct tare_machine *machine)
{
    struct utsname names;
    machine->kernel_release = tare_machine_file_line(files, "/proc/sys/kernel/osrelease");
    machine->kernel_version = tare_machine_file_line(files, "/proc/sys/kernel/version");
    machine->cpu_arch = tare_machine_file_line(files, "/proc/sys/kernel/arch");
    if (*files->root || uname(&names) != 0)
        return;
    /* uname may be another one (a 32-bit personality); it is what the process lives with. */
    machine->kernel_release = tare_machine_clean(files->arena, names.release);
    machine->kernel_version = tare_machine_clean(files->arena, names.version);
    machine->cpu_arch = tare_machine_clean(files->arena, names.machine);
}

static void collect_libc(const struct tare_machine_files *files, struct tare_machine *machine)
{
    char text[128] = "";
    if (*files->root)
        return;
    size_t length = confstr(_CS_GNU_LIBC_VERSION, text, sizeof text);
    if (length > 1 && length <= sizeof text)
        machine->libc = tare_machine_clean(files->arena, text);
}

bool tare_machine_ticks_read(const char *root, struct tare_machine_ticks *ret_ticks)
{
    /* user nice system idle iowait irq softirq steal; what follows is counted in user and nice already */
    enum { FIELDS = 8, STEAL = 7 };
    char text[512];
    struct tare_machine_files files = {.root = root};
    if (!tare_machine_file_text(&files, text, sizeof text, "/proc/stat") || strncmp(text, "cpu ", 4) != 0)
        return false;
    struct tare_machine_ticks ticks = {0};
    char *at = text + 4;
    for (int i = 0; i < FIELDS; i++) {
        char *end;
        unsigned long long value = strtoull(at, &end, 10);
        if (end == at || value > UINT64_MAX / 16)
            return false;
        at = end;
        ticks.total += value;
        if (i == STEAL)
            ticks.steal = value;
    }
    *ret_ticks = ticks;
    return true;
}

double tare_machine_steal(const struct tare_machine_ticks *before, const struct tare_machine_ticks *after)
{
    if (after->total <= before->total || after->steal < before->steal)
        return -1;
    return (double)(after->steal - before->steal) / (double)(after->total - before->total);
}

void tare_machine_collect_system(const struct tare_machine_files *files, struct tare_machine *machine)
{
    tare_machine_file_lines(files, "/proc/meminfo", TARE_MACHINE_FILE, memory_line, machine);
    collect_kernel(files, machine);
    collect_libc(files, machine);
    collect_load(files, machine);
    collect_thp(files, machine);
    machine->clocksource =
        tare_machine_file_line(files, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    const struct tare_machine_ticks boot = {0};
    struct tare_machine_ticks now;
    if (tare_machine_ticks_read(files->root, &now))
        machine->steal_since_boot = tare_machine_steal(&boot, &now);
}
