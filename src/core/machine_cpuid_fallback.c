/* SPDX-License-Identifier: Apache-2.0 */
/* Other processors have no instruction that names the hypervisor; files may still tell. */
#include "core/machine_part.h"

const char *tare_machine_cpuid_hypervisor(void)
{
    return NULL;
}
