/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the Python tests of runs call:
 *     run_tool shapes         the tables of run_fields.c, as JSON, to be held against the schema
 *     run_tool full | small   a run made in C, as JSON
 *     run_tool derive FILE    a run's file with its statistics made anew from its samples, as JSON
 *     run_tool FORMAT FILE    a run's file in any format; what is wrong with it, and status 2
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/run_fields.h"
#include "report/run_report.h"
#include "run_samples.h"

static const char *const kinds[] = {"text",  "int",  "real",   "flag",   "enum", "texts",   "ints",
                                    "reals", "dims", "labels", "object", "list", "machine", "derived"};

static void put_shape(struct tare_json *json, const struct tare_run_shape *shape)
{
    tare_json_object(json);
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct tare_run_field *field = &shape->fields[i];
        tare_json_key(json, field->key);
        tare_json_object(json);
        tare_json_put_text(json, "kind", kinds[field->kind]);
        tare_json_put_bool(json, "required", (field->flags & TARE_RUN_REQUIRED) != 0);
        tare_json_put_bool(json, "signed", (field->flags & TARE_RUN_SIGNED) != 0);
        if (field->kind == TARE_RUN_ENUM) {
            tare_json_key(json, "names");
            tare_json_row(json);
            for (size_t n = field->names[0] ? 0 : 1; field->names[n]; n++)
                tare_json_text(json, field->names[n]);
            tare_json_end(json);
        }
        if (field->shape) {
            tare_json_key(json, "shape");
            put_shape(json, field->shape);
        }
        tare_json_end(json);
    }
    tare_json_end(json);
}

static int convert(const char *format, const char *path, struct tare_out *out, struct tare_error *err)
{
    const struct tare_run_writer *writer = NULL;
    struct tare_in *in = NULL;
    struct tare_run *run = NULL;
    bool derive = strcmp(format, "derive") == 0;
    for (size_t i = 0; tare_run_writers[i]; i++)
        if (strcmp(tare_run_writers[i]->name, derive ? "json" : format) == 0)
            writer = tare_run_writers[i];
    if (!writer)
        return tare_fail(err, TARE_E_USAGE, 0, "no format '%s'", format);
    int result = tare_in_open(path, &in, err);
    if (result == 0)
        result = tare_run_load(in, &run, err);
    for (size_t i = 0; result == 0 && derive && i < run->configs_count; i++)
        result = tare_run_config_derive(&run->configs[i], err);
    if (result == 0)
        writer->write(run, out);
    tare_run_destroy(run);
    tare_in_close(in);
    return result;
}

static int put_sample(struct tare_run *run, struct tare_out *out, struct tare_error *err)
{
    int result = run ? tare_run_check(run, "sample", err) : tare_fail_memory(err);
    if (result == 0)
        tare_run_writer_json.write(run, out);
    tare_run_destroy(run);
    return result;
}

int main(int argc, char **argv)
{
    struct tare_out out;
    struct tare_json json;
    struct tare_error err = {0};
    int result = 0;
    tare_out_init_fd(&out, STDOUT_FILENO, "standard output");
    if (argc == 2 && strcmp(argv[1], "shapes") == 0) {
        tare_json_init(&json, &out, 2);
        put_shape(&json, &tare_run_shape);
    } else if (argc == 2 && strcmp(argv[1], "full") == 0) {
        result = put_sample(run_sample_full(), &out, &err);
    } else if (argc == 2 && strcmp(argv[1], "small") == 0) {
        result = put_sample(run_sample_small(), &out, &err);
    } else if (argc == 3) {
        result = convert(argv[1], argv[2], &out, &err);
    } else {
        result = tare_fail(&err, TARE_E_USAGE, 0, "usage: run_tool shapes | full | small | FORMAT FILE");
    }
    if (result == 0)
        result = tare_out_commit(&out, &err);
    tare_out_finish(&out);
    if (result)
        fprintf(stderr, "%s\n", err.msg);
    return result ? 2 : 0;
}
