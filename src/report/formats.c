/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of profile readers and writers: one row per format, NULL-terminated. */
#include "report/report.h"

/* In the order in which help lists them. */
const struct tare_writer *const tare_writers[] = {
    &tare_writer_pprof,
    NULL,
};

/* In the order in which they are asked: the surest signs first. */
const struct tare_reader *const tare_readers[] = {
    &tare_reader_pprof,
    NULL,
};
