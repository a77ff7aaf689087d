/* SPDX-License-Identifier: Apache-2.0 */
#include <onnxruntime_c_api.h>

#include "bench/ort_load.h"

int tare_ort_header(void)
{
    return ORT_API_VERSION;
}
