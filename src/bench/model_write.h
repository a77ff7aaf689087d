/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing small ONNX models, for calibration and tests: nodes one after another, values of fixed shape. Like
 * the buffers it is made of, a writer keeps the first failure, and tare_model_writer_save tells of it.
 */
#ifndef TARE_BENCH_MODEL_WRITE_H
#define TARE_BENCH_MODEL_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "bench/tensor.h"

struct tare_model_writer {
    struct tare_buf nodes, initializers, inputs, outputs;
    struct tare_buf scratch, inner, type, shape; /* messages being made, by depth */
};

void tare_model_writer_init(struct tare_model_writer *writer);
void tare_model_writer_finish(struct tare_model_writer *writer);

/** A node without attributes, but for one whole number when attribute is not NULL. */
void tare_model_writer_node(struct tare_model_writer *writer, const char *op, const char *name,
                            const char *const *inputs, size_t inputs_count, const char *const *outputs,
                            size_t outputs_count, const char *attribute, int64_t value);

/** An input of the model. */
void tare_model_writer_input(struct tare_model_writer *writer, const char *name, enum tare_element element,
                             const int64_t *dims, size_t rank);

/** An output of the model. */
void tare_model_writer_output(struct tare_model_writer *writer, const char *name, enum tare_element element,
                              const int64_t *dims, size_t rank);

/** A weight: bytes in C order. */
void tare_model_writer_weight(struct tare_model_writer *writer, const struct tare_tensor *tensor);

/** Write the model of what was added, for ONNX's opset 13. */
int tare_model_writer_save(struct tare_model_writer *writer, const char *path, struct tare_error *err);

#endif
