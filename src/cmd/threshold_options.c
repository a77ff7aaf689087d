/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/threshold_options.h"

#include <string.h>

#include "base/buf.h"
#include "base/in.h"

/* A file of thresholds that is larger is something else. */
enum { FILE_MOST = 1 << 20 };

enum { WARN, FAIL, STATUS };
const char *const tare_threshold_inconclusive[] = {"warn", "fail", "status", NULL};

static int read_file(const char *path, struct tare_arena *arena, struct tare_threshold **ret_thresholds,
                     size_t *ret_count, struct tare_error *err)
{
    struct tare_in *in;
    struct tare_buf text;
    if (tare_in_open(path, &in, err))
        return -1;
    tare_buf_init(&text, FILE_MOST);
    int rc = tare_in_all(in, &text, err);
    if (rc == 0)
        rc = tare_threshold_read(text.data, text.length, path, arena, ret_thresholds, ret_count, err);
    tare_buf_finish(&text);
    tare_in_close(in);
    return rc;
}

int tare_threshold_values_read(const struct tare_threshold_values *values, struct tare_arena *arena,
                               struct tare_threshold **ret_thresholds, size_t *ret_count,
                               struct tare_error *err)
{
    struct tare_threshold *from_file = NULL;
    size_t in_file = 0, given = values->given.count;
    if (values->file && read_file(values->file, arena, &from_file, &in_file, err))
        return -1;
    struct tare_threshold *all = tare_arena_array(arena, given + in_file + 1, sizeof *all);
    if (!all)
        return tare_fail_memory(err);
    for (size_t i = 0; i < given; i++)
        if (tare_threshold_parse(values->given.items[i], arena, &all[i], err))
            return -1;
    if (in_file)
        memcpy(all + given, from_file, in_file * sizeof *from_file);
    *ret_thresholds = all;
    *ret_count = given + in_file;
    return 0;
}

int tare_threshold_undecided(const struct tare_threshold_values *values, const struct tare_cmd_call *call)
{
    if (values->inconclusive == FAIL)
        return TARE_EXIT_BAD;
    if (values->inconclusive == STATUS)
        return TARE_EXIT_INCONCLUSIVE;
    tare_cmd_warn(call, "not everything could be decided; --inconclusive fail makes that a failure");
    return TARE_EXIT_OK;
}

int tare_threshold_status(const struct tare_threshold_values *values, const struct tare_cmd_call *call,
                          const struct tare_run *run)
{
    switch (tare_threshold_worst(run)) {
    case TARE_RUN_FAIL:
        return TARE_EXIT_BAD;
    case TARE_RUN_INCONCLUSIVE:
        return tare_threshold_undecided(values, call);
    default:
        return TARE_EXIT_OK;
    }
}

int tare_threshold_tell(const struct tare_threshold_values *values, const struct tare_cmd_call *call,
                        const struct tare_result *result, bool json, int caught, struct tare_error *err)
{
    struct tare_view view = {.column = NULL};
    struct tare_format format = tare_result_text(result);
    if (json && tare_result_format(result, "json", NULL, &format, err))
        return -1;
    tare_result_write(result, &format, &view, call->out);
    return caught ? 128 + caught : tare_threshold_status(values, call, result->run);
}
