/* SPDX-License-Identifier: Apache-2.0 */
/* pprof_copy IN OUT: a pprof file read and written again, for tests that look at both with other tools. */
#include <stdio.h>

#include "report/report.h"

int main(int argc, char **argv)
{
    struct tare_error err = {0};
    struct tare_in *in = NULL;
    struct tare_profile *profile = NULL;
    struct tare_out out;
    struct tare_view view = {0};
    int status = 2;
    if (argc != 3) {
        fprintf(stderr, "usage: pprof_copy IN OUT\n");
        return 2;
    }
    if (tare_in_open(argv[1], &in, &err) < 0 || tare_profile_create(0, &profile, &err) < 0 ||
        tare_reader_pprof.read(in, profile, &err) < 0 || tare_out_open(&out, argv[2], &err) < 0)
        goto out;
    for (uint32_t i = 0; i < tare_profile_notes(profile); i++)
        fprintf(stderr, "%s\n", tare_profile_note_at(profile, i));
    tare_writer_pprof.write(profile, &view, &out);
    if (tare_out_commit(&out, &err) == 0)
        status = 0;
    tare_out_finish(&out);
out:
    if (status)
        fprintf(stderr, "%s\n", err.msg);
    tare_profile_destroy(profile);
    tare_in_close(in);
    return status;
}
