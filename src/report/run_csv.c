/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as CSV (RFC 4180): one row per configuration. First the run, so that files can be joined; then the
 * keys of the configuration; then the names that scripts know; then every single figure of the file, by the
 * rows of run_fields.c: memory.growth_bytes.lower becomes memory_growth_bytes_lower. Not known is empty.
 */
#include "core/run_fields.h"
#include "report/run_keys.h"
#include "report/run_report.h"

enum { METRICS_MOST = 64, NAME_SIZE = 96 };

struct csv {
    const struct tare_run *run;
    struct tare_out *out;
    struct tare_json number; /* writes the shortest digits */
    bool filled;             /* the line has a cell already */
};

static void separate(struct csv *csv)
{
    if (csv->filled)
        tare_out_add(csv->out, ",", 1);
    csv->filled = true;
}

static void end_line(struct csv *csv)
{
    tare_out_text(csv->out, "\r\n");
    csv->filled = false;
}

static void put_text(struct csv *csv, const char *text)
{
    separate(csv);
    if (!text)
        return;
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        tare_out_text(csv->out, text);
        return;
    }
    tare_out_add(csv->out, "\"", 1);
    while (*text) {
        size_t plain = strcspn(text, "\"");
        tare_out_add(csv->out, text, plain);
        text += plain;
        if (*text == '"') {
            tare_out_add(csv->out, "\"\"", 2);
            text++;
        }
    }
    tare_out_add(csv->out, "\"", 1);
}

static void put_int(struct csv *csv, struct tare_run_int number)
{
    separate(csv);
    if (number.known)
        tare_json_int(&csv->number, number.value);
}

static void put_real(struct csv *csv, struct tare_run_real real, double unit)
{
    separate(csv);
    if (real.known)
        tare_json_real(&csv->number, real.value / unit);
}

static void put_estimate(struct csv *csv, const struct tare_run_estimate *estimate, double unit)
{
    put_real(csv, estimate->value, unit);
    put_real(csv, estimate->lower, unit);
    put_real(csv, estimate->upper, unit);
}

static void put_estimate_head(struct csv *csv, const char *name)
{
    char bound[NAME_SIZE + sizeof "_lower"];
    put_text(csv, name);
    snprintf(bound, sizeof bound, "%s_lower", name);
    put_text(csv, bound);
    snprintf(bound, sizeof bound, "%s_upper", name);
    put_text(csv, bound);
}

/* One figure; a NULL base writes the head. */
static void put_field(struct csv *csv, const struct tare_run_field *field, const char *name, const void *base)
{
    const void *place = base ? (const char *)base + field->offset : NULL;
    if (!place)
        put_text(csv, name);
    else if (field->kind == TARE_RUN_TEXT)
        put_text(csv, *(const char *const *)place);
    else if (field->kind == TARE_RUN_ENUM)
        put_text(csv, field->names[*(const unsigned *)place]);
    else if (field->kind == TARE_RUN_INT)
        put_int(csv, *(const struct tare_run_int *)place);
    else if (field->kind == TARE_RUN_REAL)
        put_real(csv, *(const struct tare_run_real *)place, 1);
    else if (((const struct tare_run_flag *)place)->known)
        put_text(csv, ((const struct tare_run_flag *)place)->value ? "true" : "false");
    else
        put_text(csv, NULL);
}

/* All figures of a struct. Lists are left out: they have rows of their own in the JSON. */
static void put_shape(struct csv *csv, const struct tare_run_shape *shape, const char *prefix,
                      const void *base)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct tare_run_field *field = &shape->fields[i];
        char name[NAME_SIZE];
        bool value = *prefix && strcmp(field->key, "value") == 0;
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix && !value ? "_" : "", value ? "" : field->key);
        if (field->kind <= TARE_RUN_ENUM)
            put_field(csv, field, name, base);
        else if (field->kind == TARE_RUN_OBJECT && strcmp(field->key, "keys") != 0)
            put_shape(csv, field->shape, name, base ? (const char *)base + field->offset : NULL);
    }
}

struct metrics {
    const char *names[METRICS_MOST];
    size_t count;
};

static void metrics_find(const struct tare_run *run, struct metrics *metrics)
{
    for (size_t i = 0; i < run->configs_count; i++) {
        for (size_t a = 0; a < run->configs[i].accuracy_count; a++) {
            const char *name = run->configs[i].accuracy[a].name;
            size_t m = 0;
            while (m < metrics->count && strcmp(metrics->names[m], name) != 0)
                m++;
            if (m == metrics->count && m < METRICS_MOST)
                metrics->names[metrics->count++] = name;
        }
    }
}

/* A head made of two parts, the second a name of the user's own and of any length. */
static void put_joined(struct csv *csv, const char *prefix, const char *name)
{
    struct tare_buf buf;
    tare_buf_init(&buf, TARE_RUN_FILE_MOST);
    tare_buf_add_text(&buf, prefix);
    tare_buf_add_text(&buf, name);
    put_text(csv, buf.data);
    tare_buf_finish(&buf);
}

static void put_column_head(struct csv *csv, const struct tare_run_column *column)
{
    const char *prefix = "";
    if (column->key == TARE_RUN_KEY_DIM)
        prefix = "dim_";
    else if (column->key == TARE_RUN_KEY_LABEL)
        prefix = "label_";
    else if (column->key == TARE_RUN_KEY_MODEL)
        prefix = "key_"; /* the run's own model has a column, too */
    put_joined(csv, prefix, column->name);
}

static void put_head(struct csv *csv, const struct tare_run_columns *columns, const struct metrics *metrics)
{
    static const char *const first[] = {"timestamp",      "benchmark", "model",         "device", "engine",
                                        "engine_version", "commit",    "configuration", "name"};
    char name[NAME_SIZE], one[64];
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        put_text(csv, first[i]);
    for (size_t i = 0; i < columns->count; i++)
        put_column_head(csv, &columns->items[i]);
    snprintf(name, sizeof name, "throughput_%s_per_sec", csv->run->unit);
    put_estimate_head(csv, name);
    tare_run_unit_singular(csv->run->unit, one, sizeof one);
    snprintf(name, sizeof name, "latency_ms_per_%s", one);
    put_estimate_head(csv, name);
    put_estimate_head(csv, "memory_delta_mb");
    put_text(csv, "processes");
    put_text(csv, "samples");
    put_shape(csv, &tare_run_config_shape, "", NULL);
    for (size_t i = 0; i < metrics->count; i++)
        put_joined(csv, "accuracy_", metrics->names[i]);
    end_line(csv);
}

static void put_name(struct csv *csv, const struct tare_run_config *config)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 1 << 16);
    tare_run_config_name(config, &buf);
    put_text(csv, buf.data);
    tare_buf_finish(&buf);
}

static void put_config(struct csv *csv, size_t index, const struct tare_run_columns *columns,
                       const struct metrics *metrics)
{
    const struct tare_run *run = csv->run;
    const struct tare_run_config *config = &run->configs[index];
    struct tare_run_estimate item = tare_run_config_item_ns(config);
    put_text(csv, run->timestamp);
    put_text(csv, run->benchmark);
    put_text(csv, run->model.name ? run->model.name : run->model.path);
    put_text(csv, run->engine.device);
    put_text(csv, run->engine.name);
    put_text(csv, run->engine.version);
    put_text(csv, run->git.commit);
    put_int(csv, tare_run_int((int64_t)index));
    put_name(csv, config);
    for (size_t i = 0; i < columns->count; i++) {
        struct tare_run_key_value value = tare_run_column_value(&columns->items[i], config);
        if (value.number.known)
            put_int(csv, value.number);
        else
            put_text(csv, value.text);
    }
    put_estimate(csv, &config->throughput_per_sec, 1);
    put_estimate(csv, &item, 1e6);
    put_estimate(csv, &config->memory.growth_bytes, 1e6);
    put_int(csv, tare_run_int((int64_t)config->samples_count));
    put_int(csv, tare_run_int((int64_t)tare_run_config_samples(config)));
    put_shape(csv, &tare_run_config_shape, "", config);
    for (size_t m = 0; m < metrics->count; m++) {
        struct tare_run_real value = {false, 0};
        for (size_t a = 0; a < config->accuracy_count; a++)
            if (strcmp(config->accuracy[a].name, metrics->names[m]) == 0)
                value = config->accuracy[a].value;
        put_real(csv, value, 1);
    }
    end_line(csv);
}

static void csv_write(const struct tare_run *run, struct tare_out *out)
{
    struct csv csv = {.run = run, .out = out};
    struct tare_run_columns columns;
    struct metrics metrics = {.count = 0};
    tare_json_init(&csv.number, out, 0);
    tare_run_columns_find(run, &columns);
    metrics_find(run, &metrics);
    put_head(&csv, &columns, &metrics);
    for (size_t i = 0; i < run->configs_count; i++)
        put_config(&csv, i, &columns, &metrics);
}

const struct tare_run_writer tare_run_writer_csv = {
    .name = "csv",
    .extensions = ".csv",
    .summary = "one row per configuration",
    .write = csv_write,
};
