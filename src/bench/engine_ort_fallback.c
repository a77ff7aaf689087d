/* SPDX-License-Identifier: Apache-2.0 */
/* Built in place of engine_ort.c when the build found no header of ONNX Runtime: says so. */
#include "bench/engine.h"

static int open_nothing(const char *path, const struct tare_engine_options *options,
                        struct tare_engine **ret_engine, struct tare_error *err)
{
    (void)path;
    (void)options;
    *ret_engine = NULL;
    return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                     "this tare was built without the ONNX Runtime header: install libonnxruntime-dev "
                     "(Debian 13), or unpack its onnxruntime_c_api.h into a FOLDER, and build again: "
                     "pip install . -Csetup-args=-Dort_include=FOLDER");
}

/* Nothing else is ever called: there is no engine to call it on. */
const struct tare_engine_kind tare_engine_ort = {.name = "onnxruntime", .open = open_nothing};
