/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are read as pprof or refused in one line; what was read can be written, and reads back as large.
 */
#include <stdlib.h>

#include "profile_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_and_read_again(const struct tare_profile *profile)
{
    struct tare_out out;
    if (profile_to_bytes(&tare_writer_pprof, profile, &out)) {
        struct tare_profile *back = profile_from_bytes(&tare_reader_pprof, out.buf.data, out.buf.length);
        /* Without columns no context is written. */
        if (!back ||
            (tare_profile_columns(profile) && tare_profile_nodes(back) != tare_profile_nodes(profile)))
            abort();
        tare_profile_destroy(back);
    }
    tare_out_finish(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tare_profile *profile = profile_from_bytes(&tare_reader_pprof, data, size);
    if (profile)
        write_and_read_again(profile);
    tare_profile_destroy(profile);
    return 0;
}
