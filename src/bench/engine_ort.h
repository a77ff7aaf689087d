/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the ONNX Runtime engine share. Private to engine_ort.c and engine_ort_run.c; only built
 * where the runtime's header is found. */
#ifndef TARE_BENCH_ENGINE_ORT_H
#define TARE_BENCH_ENGINE_ORT_H

#include <onnxruntime_c_api.h>

#include "bench/engine.h"
#include "bench/ort_load.h"

/* An input or an output of the session. */
struct tare_ort_port {
    char *name;
    OrtValue *value; /* what is bound; NULL for an output whose shape is not known yet */
};

struct tare_ort_engine {
    struct tare_engine base;
    struct tare_ort ort;
    const OrtApi *api;
    OrtEnv *env;
    OrtSession *session;
    OrtRunOptions *run_options;
    OrtMemoryInfo *memory;   /* of the processor: where inputs and outputs lie */
    OrtAllocator *allocator; /* the runtime's default one, for texts; not ours to free */
    OrtIoBinding *binding;
    struct tare_ort_port *inputs, *outputs;
    size_t inputs_count, outputs_count;
    int runs; /* of this binding; counts to 2 */
};

/** Turn a status into an error of one line, "what: its words", and free it. Returns 0 if it is none. */
int tare_ort_check(const struct tare_ort_engine *engine, OrtStatus *status, const char *what,
                   struct tare_error *err);

int tare_ort_bind(struct tare_engine *engine, const struct tare_tensor *inputs, size_t count,
                  struct tare_error *err);
int tare_ort_run(struct tare_engine *engine, struct tare_error *err);
int tare_ort_outputs(struct tare_engine *engine, struct tare_arena *arena, struct tare_tensor **ret_outputs,
                     size_t *ret_count, struct tare_error *err);

/** Let go of everything that is bound. */
void tare_ort_unbind(struct tare_ort_engine *engine);

#endif
