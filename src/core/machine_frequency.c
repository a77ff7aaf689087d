/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the processor may run, from /sys/devices/system/cpu/{cpufreq,intel_pstate}. */
#include <stdlib.h>
#include <string.h>

#include "core/machine_part.h"

enum { MAX_GOVERNORS = 32 };

struct policies {
    const struct tare_machine_files *files;
    struct tare_machine *machine;
    const char *governors[MAX_GOVERNORS];
    size_t count;
};

static void widen(int64_t *bound, int64_t khz, bool up)
{
    int64_t hz = khz > 0 && khz < INT64_MAX / 1000 ? khz * 1000 : -1;
    if (hz > 0 && (*bound < 0 || (up ? hz > *bound : hz < *bound)))
        *bound = hz;
}

static void add_governor(struct policies *policies, const char *governor)
{
    for (size_t i = 0; i < policies->count; i++)
        if (strcmp(policies->governors[i], governor) == 0)
            return;
    if (policies->count < MAX_GOVERNORS)
        policies->governors[policies->count++] = governor;
}

static bool policy(void *context, const char *name)
{
    struct policies *policies = context;
    struct tare_machine *machine = policies->machine;
    const struct tare_machine_files *files = policies->files;
    const char *folder = "/sys/devices/system/cpu/cpufreq";
    if (strncmp(name, "policy", 6) != 0 || strlen(name) > 32)
        return true;
    const char *governor = tare_machine_file_line(files, "%s/%s/scaling_governor", folder, name);
    if (governor)
        add_governor(policies, governor);
    if (!machine->freq_driver)
        machine->freq_driver = tare_machine_file_line(files, "%s/%s/scaling_driver", folder, name);
    widen(&machine->freq_min_hz, tare_machine_file_int(files, "%s/%s/cpuinfo_min_freq", folder, name), false);
    widen(&machine->freq_max_hz, tare_machine_file_int(files, "%s/%s/cpuinfo_max_freq", folder, name), true);
    widen(&machine->freq_limit_hz, tare_machine_file_int(files, "%s/%s/scaling_max_freq", folder, name),
          true);
    return true;
}

void tare_machine_collect_frequency(const struct tare_machine_files *files, struct tare_machine *machine)
{
    struct policies policies = {.files = files, .machine = machine};
    tare_machine_file_entries(files, "/sys/devices/system/cpu/cpufreq", policy, &policies);
    tare_machine_list_make(files->arena, policies.governors, policies.count, &machine->freq_governors);

    int64_t no_turbo = tare_machine_file_int(files, "/sys/devices/system/cpu/intel_pstate/no_turbo");
    int64_t boost = tare_machine_file_int(files, "/sys/devices/system/cpu/cpufreq/boost");
    if (no_turbo >= 0)
        machine->freq_turbo = no_turbo == 0;
    else if (boost >= 0)
        machine->freq_turbo = boost != 0;
}
