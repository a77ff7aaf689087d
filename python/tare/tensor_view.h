/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of Python programs, without copying: whatever has the buffer protocol (numpy, array, memoryview) or
 * __dlpack__ (torch, jax). A view keeps what it looks at alive and unchanged in size until it is closed. All
 * of it needs the GIL or an attached thread.
 */
#ifndef TARE_PYTHON_TENSOR_VIEW_H
#define TARE_PYTHON_TENSOR_VIEW_H

#include "bench/tensor.h"
#include "core_module.h"

struct tensor_view {
    struct tare_tensor tensor;
    Py_buffer buffer; /* buffer.obj is NULL when the capsule is used */
    PyObject *capsule;
};

/** Look at an object; name is for messages and becomes the tensor's. -1 with an exception set. */
int tensor_view_open(PyObject *object, const char *name, struct tensor_view *ret_view);

/** Let go of it. A zeroed view is allowed. */
void tensor_view_close(struct tensor_view *view);

/** A memoryview with the tensor's shape and type over a copy of its bytes; numpy.asarray() takes it as it is.
 * Types that memoryviews do not know come as bytes. */
PyObject *tensor_view_copy(const struct tare_tensor *tensor);

#endif
