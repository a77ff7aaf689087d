/* SPDX-License-Identifier: Apache-2.0 */
#include "report/pprof_ids.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/profile.h"

struct pprof_id {
    uint64_t id;
    uint32_t entry;
};

void pprof_ids_init(struct pprof_ids *ids)
{
    *ids = (struct pprof_ids){.dense = true};
    tare_buf_init(&ids->ids, SIZE_MAX);
}

void pprof_ids_finish(struct pprof_ids *ids)
{
    tare_buf_finish(&ids->ids);
}

void pprof_ids_add(struct pprof_ids *ids, uint64_t id)
{
    tare_buf_add(&ids->ids, &id, sizeof id);
    ids->count++;
    ids->dense = ids->dense && id == ids->count;
}

static int by_id(const void *left, const void *right)
{
    const struct pprof_id *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

int pprof_ids_seal(struct pprof_ids *ids, const char *what, struct tare_error *err)
{
    if (tare_buf_check(&ids->ids, err) < 0)
        return -1;
    if (ids->dense) {
        tare_buf_finish(&ids->ids);
        return 0;
    }
    struct tare_buf sorted;
    tare_buf_init(&sorted, SIZE_MAX);
    const uint64_t *plain = (const uint64_t *)(const void *)ids->ids.data;
    for (uint32_t i = 0; i < ids->count; i++) {
        struct pprof_id entry = {.id = plain[i], .entry = i};
        tare_buf_add(&sorted, &entry, sizeof entry);
    }
    tare_buf_finish(&ids->ids);
    ids->ids = sorted;
    if (tare_buf_check(&ids->ids, err) < 0)
        return -1;
    struct pprof_id *entries = (struct pprof_id *)(void *)ids->ids.data;
    qsort(entries, ids->count, sizeof *entries, by_id);
    if (entries[0].id == 0)
        return tare_fail(err, TARE_E_INPUT, 0, "a %s has the id 0", what);
    for (uint32_t i = 1; i < ids->count; i++)
        if (entries[i].id == entries[i - 1].id)
            return tare_fail(err, TARE_E_INPUT, 0, "two %ss have the id %" PRIu64, what, entries[i].id);
    return 0;
}

uint32_t pprof_ids_find(const struct pprof_ids *ids, uint64_t id)
{
    if (ids->dense)
        return id - 1 < ids->count ? (uint32_t)(id - 1) : TARE_NONE;
    const struct pprof_id *entries = (const struct pprof_id *)(const void *)ids->ids.data;
    uint32_t low = 0, high = ids->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (entries[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ids->count && entries[low].id == id ? entries[low].entry : TARE_NONE;
}
