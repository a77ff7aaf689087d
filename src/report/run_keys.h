/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys that configurations of a run are told apart by, as columns of a table: batch, dimensions by name,
 * threads, precision and so on, and whether a column varies. Pure functions.
 */
#ifndef TARE_REPORT_RUN_KEYS_H
#define TARE_REPORT_RUN_KEYS_H

#include "core/run.h"

enum { TARE_RUN_COLUMNS_MOST = 40 }; /* what goes beyond is only in the configuration's name */

enum tare_run_key {
    TARE_RUN_KEY_BATCH,
    TARE_RUN_KEY_DIM,
    TARE_RUN_KEY_THREADS,
    TARE_RUN_KEY_INTER_THREADS,
    TARE_RUN_KEY_PRECISION,
    TARE_RUN_KEY_PROVIDER,
    TARE_RUN_KEY_GRAPH_LEVEL,
    TARE_RUN_KEY_MODEL,
    TARE_RUN_KEY_LABEL,
};

struct tare_run_column {
    const char *name;
    enum tare_run_key key;
    bool varies;
};

struct tare_run_columns {
    struct tare_run_column items[TARE_RUN_COLUMNS_MOST];
    size_t count;
};

/* What a configuration has in a column: a text, a number, or neither. */
struct tare_run_key_value {
    const char *text;
    struct tare_run_int number;
};

/** Every key that some configuration has, in a fixed order. */
void tare_run_columns_find(const struct tare_run *run, struct tare_run_columns *ret_columns);

/** What a configuration has there. */
struct tare_run_key_value tare_run_column_value(const struct tare_run_column *column,
                                                const struct tare_run_config *config);

#endif
