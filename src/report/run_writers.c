/* SPDX-License-Identifier: Apache-2.0 */
#include "report/run_report.h"

const struct tare_run_writer *const tare_run_writers[] = {
    &tare_run_writer_text, &tare_run_writer_json, &tare_run_writer_csv, &tare_run_writer_markdown, NULL,
};
