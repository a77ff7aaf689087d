/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/engine.h"

#include <string.h>

/* Every kind that a worker can open. A new one: its file, its declaration in engine.h, and a row here. */
static const struct tare_engine_kind *const kinds[] = {&tare_engine_ort, &tare_engine_fake, NULL};

const struct tare_engine_kind *tare_engine_find(const char *name)
{
    for (const struct tare_engine_kind *const *kind = kinds; *kind; kind++)
        if (strcmp((*kind)->name, name) == 0)
            return *kind;
    return NULL;
}

const char *tare_graph_level_name(enum tare_graph_level level)
{
    switch (level) {
    case TARE_GRAPH_ALL:
        return "all";
    case TARE_GRAPH_OFF:
        return "off";
    case TARE_GRAPH_BASIC:
        return "basic";
    case TARE_GRAPH_EXTENDED:
        return "extended";
    }
    return NULL;
}
