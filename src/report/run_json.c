/* SPDX-License-Identifier: Apache-2.0 */
/* A run as its own file: JSON of schema tare.run/1. */
#include "report/run_report.h"

static void json_write(const struct tare_run *run, struct tare_out *out)
{
    struct tare_json json;
    tare_json_init(&json, out, 2);
    tare_run_write(run, &json);
    tare_out_text(out, "\n");
}

const struct tare_run_writer tare_run_writer_json = {
    .name = "json",
    .extensions = ".json",
    .summary = "everything, raw samples included (tare.run/1)",
    .write = json_write,
};
