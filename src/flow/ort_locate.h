/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ONNX Runtime a benchmark uses, asking the Python that `tare run` would use where its packages are:
 * only the interpreter knows its folders. Starts a process unless a library was named by hand; call it from
 * one thread.
 */
#ifndef TARE_FLOW_ORT_LOCATE_H
#define TARE_FLOW_ORT_LOCATE_H

#include "base/arena.h"
#include "base/error.h"
#include "bench/ort_find.h"

/** Find it; named is --ort, or NULL. A path in the result is absolute unless it was named otherwise. */
int tare_ort_locate(const char *named, struct tare_arena *arena, struct tare_ort_found *ret_found,
                    struct tare_error *err);

#endif
