/* SPDX-License-Identifier: Apache-2.0 */
/* Asking an x86 processor which hypervisor is below it. */
#include <cpuid.h>
#include <string.h>

#include "core/machine_part.h"

const char *tare_machine_cpuid_hypervisor(void)
{
    static const struct {
        const char *signature, *name;
    } known[] = {
        {"KVMKVMKVM", "kvm"},      {"VMwareVMware", "vmware"}, {"Microsoft Hv", "hyperv"},
        {"XenVMMXenVMM", "xen"},   {"TCGTCGTCGTCG", "qemu"},   {"VBoxVBoxVBox", "virtualbox"},
        {"bhyve bhyve ", "bhyve"}, {"ACRNACRNACRN", "acrn"},   {"Linux KVM Hv", "kvm"},
    };
    unsigned a, b, c, d;
    char signature[13] = "";
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
        return NULL;
    __cpuid(0x40000000, a, b, c, d);
    memcpy(signature, &b, 4);
    memcpy(signature + 4, &c, 4);
    memcpy(signature + 8, &d, 4);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(signature, known[i].signature) == 0)
            return known[i].name;
    return NULL;
}
