/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ids of one table of a pprof file. They may be any numbers but 0, so they are looked up: at once if they
 * count from 1, as nearly all files do, else in a sorted table, which no choice of ids makes slow.
 */
#ifndef TARE_REPORT_PPROF_IDS_H
#define TARE_REPORT_PPROF_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct pprof_ids {
    struct tare_buf
        ids; /* uint64_t in file order, then, once sealed, struct pprof_id sorted; empty if dense */
    uint32_t count;
    bool dense; /* entry i has the id i + 1 */
};

/** Ready for use. */
void pprof_ids_init(struct pprof_ids *ids);

/** Free it. */
void pprof_ids_finish(struct pprof_ids *ids);

/** Add the next entry's id. */
void pprof_ids_add(struct pprof_ids *ids, uint64_t id);

/** All are there: refuse 0 and ids that occur twice, naming what they are of ("function"). */
int pprof_ids_seal(struct pprof_ids *ids, const char *what, struct tare_error *err);

/** The entry with this id, counted from 0; TARE_NONE if there is none. */
uint32_t pprof_ids_find(const struct pprof_ids *ids, uint64_t id);

#endif
