/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are read as pprof or refused in one line; what was read can be written, and reads back as large.
 */
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_bytes(const void *data, size_t size, struct tare_profile *profile, struct tare_error *err)
{
    struct tare_in *in = NULL;
    if (tare_in_open_memory(data, size, "fuzz", &in, err) < 0)
        return -1;
    int rc = tare_reader_pprof.read(in, profile, err);
    tare_in_close(in);
    return rc;
}

static void write_and_read_again(const struct tare_profile *profile)
{
    struct tare_out out;
    struct tare_view view = {0};
    struct tare_error err = {0};
    struct tare_profile *back = NULL;
    tare_out_init_memory(&out, (size_t)64 << 20);
    tare_writer_pprof.write(profile, &view, &out);
    if (tare_out_commit(&out, &err) == 0 && tare_profile_create(0, &back, &err) == 0) {
        if (read_bytes(out.buf.data, out.buf.length, back, &err) < 0)
            abort();
        /* Without columns no context is written. */
        if (tare_profile_columns(profile) && tare_profile_nodes(back) != tare_profile_nodes(profile))
            abort();
        tare_profile_destroy(back);
    }
    tare_out_finish(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tare_error err = {0};
    struct tare_profile *profile = NULL;
    tare_reader_pprof.recognise(data, size < 4096 ? size : 4096, size <= 4096);
    if (tare_profile_create((size_t)64 << 20, &profile, &err) < 0)
        return 0;
    if (read_bytes(data, size, profile, &err) < 0) {
        if (err.msg[0] == '\0' || strchr(err.msg, '\n'))
            abort();
    } else {
        write_and_read_again(profile);
    }
    tare_profile_destroy(profile);
    return 0;
}
