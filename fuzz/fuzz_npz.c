/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are read as .npz or .npy or refused in one line; an array that was read has the size it says. */
#include <stdlib.h>
#include <string.h>

#include "bench/npy.h"
#include "bench/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(const struct tare_error *err)
{
    if (err->msg[0] == '\0' || strchr(err->msg, '\n'))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tare_npz *npz = NULL;
    struct tare_error err = {0};
    struct tare_npy npy;
    if (tare_npy_header(data, size, &npy, &err) < 0)
        check_message(&err);
    if (tare_npz_open_memory(data, size, "fuzz", &npz, &err) < 0) {
        check_message(&err);
        return 0;
    }
    struct tare_arena arena;
    tare_arena_init(&arena, (size_t)64 << 20);
    for (size_t i = 0; i < tare_npz_count(npz) && i < 16; i++) {
        struct tare_tensor tensor;
        size_t bytes;
        if (tare_npz_read(npz, i, &arena, &tensor, &err) < 0)
            check_message(&err);
        else if (tare_shape_bytes(tensor.element, tensor.dims, tensor.rank, &bytes, NULL) < 0 ||
                 bytes != tensor.bytes || (bytes && !tensor.data))
            abort();
        else if (tensor.bytes)
            tare_tensor_get(&tensor, tensor.bytes * 8 / tare_element_bits(tensor.element) - 1);
    }
    tare_arena_finish(&arena);
    tare_npz_close(npz);
    return 0;
}
