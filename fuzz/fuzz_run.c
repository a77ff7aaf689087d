/* SPDX-License-Identifier: Apache-2.0 */
/* A run's file: whatever is accepted must write itself, read itself again, and stay the same in every byte.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/run_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tare_run *load(const void *data, size_t size)
{
    struct tare_in *in = NULL;
    struct tare_run *run = NULL;
    struct tare_error err = {0};
    if (tare_in_open_memory(data, size, "input", &in, &err))
        return NULL;
    if (tare_run_load(in, &run, &err) && err.msg[0] == '\0')
        abort(); /* refused without a word */
    tare_in_close(in);
    return run;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tare_run *run = load(data, size);
    if (!run)
        return 0;
    struct tare_out first, second, view;
    tare_out_init_memory(&first, (size_t)256 << 20);
    tare_out_init_memory(&second, (size_t)256 << 20);
    tare_run_writer_json.write(run, &first);
    if (first.failed)
        abort();
    struct tare_run *again = load(first.buf.data, first.buf.length);
    if (!again)
        abort();
    tare_run_writer_json.write(again, &second);
    if (first.buf.length != second.buf.length ||
        memcmp(first.buf.data, second.buf.data, first.buf.length) != 0)
        abort();
    for (size_t i = 0; tare_run_writers[i]; i++) {
        tare_out_init_memory(&view, (size_t)256 << 20);
        tare_run_writers[i]->write(run, &view);
        tare_out_finish(&view);
    }
    tare_out_finish(&first);
    tare_out_finish(&second);
    tare_run_destroy(again);
    tare_run_destroy(run);
    return 0;
}
