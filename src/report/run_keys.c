/* SPDX-License-Identifier: Apache-2.0 */
#include "report/run_keys.h"

struct tare_run_key_value tare_run_column_value(const struct tare_run_column *column,
                                                const struct tare_run_config *config)
{
    const struct tare_run_keys *keys = &config->keys;
    struct tare_run_key_value value = {NULL, {false, 0}};
    switch (column->key) {
    case TARE_RUN_KEY_BATCH:
        value.number = keys->batch;
        break;
    case TARE_RUN_KEY_THREADS:
        value.number = keys->threads;
        break;
    case TARE_RUN_KEY_INTER_THREADS:
        value.number = keys->inter_threads;
        break;
    case TARE_RUN_KEY_PRECISION:
        value.text = keys->precision;
        break;
    case TARE_RUN_KEY_PROVIDER:
        value.text = keys->provider;
        break;
    case TARE_RUN_KEY_GRAPH_LEVEL:
        value.text = keys->graph_level;
        break;
    case TARE_RUN_KEY_MODEL:
        value.text = keys->model;
        break;
    case TARE_RUN_KEY_DIM:
        for (size_t i = 0; i < keys->dims_count; i++)
            if (strcmp(keys->dims[i].name, column->name) == 0)
                value.number = tare_run_int(keys->dims[i].value);
        break;
    case TARE_RUN_KEY_LABEL:
        for (size_t i = 0; i < keys->labels_count; i++)
            if (strcmp(keys->labels[i].name, column->name) == 0)
                value.text = keys->labels[i].value;
        break;
    }
    return value;
}

static bool same(struct tare_run_key_value a, struct tare_run_key_value b)
{
    if (a.number.known != b.number.known || a.number.value != b.number.value)
        return false;
    return a.text == b.text || (a.text && b.text && strcmp(a.text, b.text) == 0);
}

static void add(struct tare_run_columns *columns, enum tare_run_key key, const char *name)
{
    for (size_t i = 0; i < columns->count; i++)
        if (columns->items[i].key == key && strcmp(columns->items[i].name, name) == 0)
            return;
    if (columns->count < TARE_RUN_COLUMNS_MOST)
        columns->items[columns->count++] = (struct tare_run_column){.name = name, .key = key};
}

/* Drop a column that no configuration has, and see whether the others vary. */
static bool in_use(const struct tare_run *run, struct tare_run_column *column)
{
    bool used = false;
    struct tare_run_key_value first = {NULL, {false, 0}};
    for (size_t i = 0; i < run->configs_count; i++) {
        struct tare_run_key_value value = tare_run_column_value(column, &run->configs[i]);
        if (i == 0)
            first = value;
        used = used || value.text || value.number.known;
        column->varies = column->varies || !same(first, value);
    }
    return used;
}

void tare_run_columns_find(const struct tare_run *run, struct tare_run_columns *ret_columns)
{
    static const struct tare_run_column fixed[] = {
        {"threads", TARE_RUN_KEY_THREADS, false},
        {"inter_threads", TARE_RUN_KEY_INTER_THREADS, false},
        {"precision", TARE_RUN_KEY_PRECISION, false},
        {"provider", TARE_RUN_KEY_PROVIDER, false},
        {"graph_level", TARE_RUN_KEY_GRAPH_LEVEL, false},
        {"model", TARE_RUN_KEY_MODEL, false},
    };
    struct tare_run_columns all = {.count = 0};
    add(&all, TARE_RUN_KEY_BATCH, "batch");
    for (size_t i = 0; i < run->configs_count; i++)
        for (size_t d = 0; d < run->configs[i].keys.dims_count; d++)
            add(&all, TARE_RUN_KEY_DIM, run->configs[i].keys.dims[d].name);
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        add(&all, fixed[i].key, fixed[i].name);
    for (size_t i = 0; i < run->configs_count; i++)
        for (size_t l = 0; l < run->configs[i].keys.labels_count; l++)
            add(&all, TARE_RUN_KEY_LABEL, run->configs[i].keys.labels[l].name);
    ret_columns->count = 0;
    for (size_t i = 0; i < all.count; i++)
        if (in_use(run, &all.items[i]))
            ret_columns->items[ret_columns->count++] = all.items[i];
}
