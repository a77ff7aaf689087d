/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ONNX Runtime a model runs on: the one named by hand (--ort, then $TARE_ORT), else that of the active
 * Python environment, else the system's. What was named by hand is never replaced by another one. Only names
 * are looked at: nothing is loaded and no process is started. Reads the environment; call it from one thread.
 */
#ifndef TARE_BENCH_ORT_FIND_H
#define TARE_BENCH_ORT_FIND_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/* The folder of a Python package that holds the runtime, onnxruntime/capi, and whose it is. */
struct tare_ort_place {
    const char *folder, *source;
};

struct tare_ort_search {
    const char *named;                   /* --ort: a library, or a folder with one; NULL when not given */
    const struct tare_ort_place *places; /* what the active interpreter said; may be NULL */
    size_t count;
};

struct tare_ort_found {
    const char *path;   /* NULL: whatever the system's loader finds */
    const char *source; /* "--ort", "TARE_ORT", the place's own, "VIRTUAL_ENV", "CONDA_PREFIX", "system" */
};

/** Find it; search NULL looks only at variables. Texts live in the arena. It fails when a folder named by
 * hand holds no library, or the environment's package is one from before they did. */
int tare_ort_find(const struct tare_ort_search *search, struct tare_arena *arena,
                  struct tare_ort_found *ret_found, struct tare_error *err);

#endif
