/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of ONNX Runtime's profile: whatever it accepts must add up. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "bench/ort_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tare_in *in;
    struct tare_ort_profile *profile;
    struct tare_error err;
    if (tare_in_open_memory(data, size, "input", &in, &err) < 0)
        return 0;
    err.msg[0] = '\0';
    int rc = tare_ort_profile_read(in, size & 3, &profile, &err);
    tare_in_close(in);
    if (rc < 0) {
        if (err.msg[0] == '\0')
            abort();
        return 0;
    }
    double sum = 0;
    for (size_t i = 0; i < profile->nodes_count; i++) {
        const struct tare_ort_node *node = &profile->nodes[i];
        if (!node->name || !node->op || !node->provider || !(node->ns >= 0) || !(node->gap_ns >= 0))
            abort();
        for (size_t k = 0; k < node->outputs_count; k++)
            if (node->outputs[k].rank > TARE_TENSOR_RANK_MAX)
                abort();
        sum += node->ns;
    }
    if (fabs(sum - profile->sum_ns) > 1e-9 * sum || profile->typical > profile->calls)
        abort();
    tare_ort_profile_destroy(profile);
    return 0;
}
