/* SPDX-License-Identifier: Apache-2.0 */
/* The time stamp counter, if the processor promises one rate and the kernel has not seen it break that. */
#include <cpuid.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <x86intrin.h>

#include "base/clock_counter.h"

const char *const tare_counter_name = "tsc";

static bool processor_promises(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) != 0;
}

/* The kernel watches the TSC and takes it off this list when it drifts between cores. Paravirtual clocks are
 * built on the TSC and stand for it. Not being able to tell is not a reason to refuse. */
static bool kernel_trusts(char *ret_list, size_t size)
{
    static const char *const good[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen"};
    int fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    ssize_t length = read(fd, ret_list, size - 1);
    close(fd);
    if (length <= 0)
        return true;
    ret_list[length] = '\0';
    ret_list[strcspn(ret_list, "\n")] = '\0';
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (strstr(ret_list, good[i]))
            return true;
    return false;
}

bool tare_counter_usable(char *ret_why, size_t size)
{
    char list[80] = "";
    int mode = PR_TSC_ENABLE;
    if (prctl(PR_GET_TSC, &mode) == 0 && mode != PR_TSC_ENABLE)
        snprintf(ret_why, size, "reading the TSC is forbidden to this process (PR_SET_TSC)");
    else if (!processor_promises())
        snprintf(ret_why, size, "the processor does not promise a TSC of constant rate");
    else if (!kernel_trusts(list, sizeof list))
        snprintf(ret_why, size, "the kernel does not trust the TSC (it offers only: %s)", list);
    else
        return true;
    return false;
}

uint64_t tare_counter_read(void)
{
    return __rdtsc();
}
