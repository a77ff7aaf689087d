/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor_view.h"

#include <string.h>

/* DLPack's structures, as its specification fixes them (the unversioned capsule "dltensor"). */
enum { DL_CPU = 1, DL_CUDA_HOST = 3 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };

struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

/* Whole numbers by size in bytes: 1, 2, 4, 8. */
static enum tare_element whole_number(bool is_signed, size_t size)
{
    switch (size) {
    case 1:
        return is_signed ? TARE_ELEMENT_I8 : TARE_ELEMENT_U8;
    case 2:
        return is_signed ? TARE_ELEMENT_I16 : TARE_ELEMENT_U16;
    case 4:
        return is_signed ? TARE_ELEMENT_I32 : TARE_ELEMENT_U32;
    case 8:
        return is_signed ? TARE_ELEMENT_I64 : TARE_ELEMENT_U64;
    default:
        return TARE_ELEMENT_NONE;
    }
}

/* A struct format of one element; how wide l is depends on what stands before it, so the size decides. */
static enum tare_element element_of_format(const char *format, Py_ssize_t size)
{
    if (!format)
        return TARE_ELEMENT_U8;
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    if (format[0] == '\0' || format[1] != '\0')
        return TARE_ELEMENT_NONE;
    if (format[0] == '?')
        return TARE_ELEMENT_BOOL;
    if (format[0] == 'e')
        return TARE_ELEMENT_F16;
    if (format[0] == 'f')
        return TARE_ELEMENT_F32;
    if (format[0] == 'd')
        return TARE_ELEMENT_F64;
    if (strchr("bhilqn", format[0]))
        return whole_number(true, (size_t)size);
    if (strchr("BHILQN", format[0]))
        return whole_number(false, (size_t)size);
    return TARE_ELEMENT_NONE;
}

static enum tare_element element_of_dlpack(const struct dl_tensor *dl)
{
    if (dl->lanes != 1)
        return TARE_ELEMENT_NONE;
    switch (dl->code) {
    case DL_INT:
    case DL_UINT:
        return dl->bits % 8 == 0 ? whole_number(dl->code == DL_INT, dl->bits / 8) : TARE_ELEMENT_NONE;
    case DL_FLOAT:
        return dl->bits == 16   ? TARE_ELEMENT_F16
               : dl->bits == 32 ? TARE_ELEMENT_F32
               : dl->bits == 64 ? TARE_ELEMENT_F64
                                : TARE_ELEMENT_NONE;
    case DL_BFLOAT:
        return dl->bits == 16 ? TARE_ELEMENT_BF16 : TARE_ELEMENT_NONE;
    case DL_BOOL:
        return dl->bits == 8 ? TARE_ELEMENT_BOOL : TARE_ELEMENT_NONE;
    default:
        return TARE_ELEMENT_NONE;
    }
}

static int check_rank(int64_t rank, const char *name)
{
    if (rank <= TARE_TENSOR_RANK_MAX)
        return 0;
    PyErr_Format(PyExc_ValueError, "'%s' has %lld dimensions, and tare takes at most %d", name,
                 (long long)rank, (int)TARE_TENSOR_RANK_MAX);
    return -1;
}

static int open_buffer(PyObject *object, const char *name, struct tensor_view *view)
{
    if (PyObject_GetBuffer(object, &view->buffer, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) {
        if (PyErr_ExceptionMatches(PyExc_BufferError) || PyErr_ExceptionMatches(PyExc_ValueError))
            PyErr_Format(PyExc_ValueError,
                         "'%s' is not contiguous in memory: pass numpy.ascontiguousarray() of it", name);
        return -1;
    }
    struct tare_tensor *tensor = &view->tensor;
    if (check_rank(view->buffer.ndim, name) < 0)
        return -1;
    tensor->element = element_of_format(view->buffer.format, view->buffer.itemsize);
    if (tensor->element == TARE_ELEMENT_NONE) {
        PyErr_Format(PyExc_TypeError, "'%s' has elements of the format '%s', which no model takes", name,
                     view->buffer.format);
        return -1;
    }
    tensor->rank = (size_t)view->buffer.ndim;
    for (size_t i = 0; i < tensor->rank; i++)
        tensor->dims[i] = view->buffer.shape[i];
    tensor->data = view->buffer.buf;
    tensor->bytes = (size_t)view->buffer.len;
    return 0;
}

/* Strides count elements; none means C order. A dimension of one element may say anything. */
static bool contiguous(const struct dl_tensor *dl)
{
    int64_t want = 1;
    for (int32_t i = dl->ndim - 1; dl->strides && i >= 0; i--) {
        if (dl->shape[i] != 1 && dl->strides[i] != want)
            return false;
        want *= dl->shape[i];
    }
    return true;
}

static int open_dlpack(PyObject *object, const char *name, struct tensor_view *view)
{
    view->capsule = PyObject_CallMethod(object, "__dlpack__", NULL);
    if (!view->capsule)
        return -1;
    const struct dl_tensor *dl = PyCapsule_GetPointer(view->capsule, "dltensor");
    if (!dl)
        return -1;
    if (dl->device_type != DL_CPU && dl->device_type != DL_CUDA_HOST) {
        PyErr_Format(PyExc_ValueError, "'%s' is not in the processor's memory: pass its .cpu()", name);
        return -1;
    }
    if (check_rank(dl->ndim, name) < 0)
        return -1;
    if (!contiguous(dl)) {
        PyErr_Format(PyExc_ValueError, "'%s' is not contiguous in memory: pass its .contiguous()", name);
        return -1;
    }
    struct tare_tensor *tensor = &view->tensor;
    struct tare_error err;
    tensor->element = element_of_dlpack(dl);
    if (tensor->element == TARE_ELEMENT_NONE) {
        PyErr_Format(PyExc_TypeError, "'%s' has elements of a type that no model takes", name);
        return -1;
    }
    tensor->rank = (size_t)dl->ndim;
    for (size_t i = 0; i < tensor->rank; i++)
        tensor->dims[i] = dl->shape[i];
    if (tare_shape_bytes(tensor->element, tensor->dims, tensor->rank, &tensor->bytes, &err) < 0) {
        PyErr_SetString(PyExc_ValueError, err.msg);
        return -1;
    }
    tensor->data = (char *)dl->data + dl->byte_offset;
    return 0;
}

int tensor_view_open(PyObject *object, const char *name, struct tensor_view *ret_view)
{
    struct tensor_view view = {.tensor = {.name = name}};
    int status = -1;
    if (PyObject_CheckBuffer(object))
        status = open_buffer(object, name, &view);
    else if (PyObject_HasAttrString(object, "__dlpack__"))
        status = open_dlpack(object, name, &view);
    else
        PyErr_Format(PyExc_TypeError,
                     "'%s' is %.100s, and a model takes arrays: a numpy array, a torch tensor, anything with "
                     "the buffer protocol or DLPack",
                     name, Py_TYPE(object)->tp_name);
    if (status < 0)
        tensor_view_close(&view);
    else
        *ret_view = view;
    return status;
}

void tensor_view_close(struct tensor_view *view)
{
    if (view->buffer.obj)
        PyBuffer_Release(&view->buffer);
    Py_CLEAR(view->capsule);
    *view = (struct tensor_view){0};
}

static const char *format_of(enum tare_element element)
{
    switch (element) {
    case TARE_ELEMENT_BOOL:
        return "?";
    case TARE_ELEMENT_I8:
        return "b";
    case TARE_ELEMENT_U8:
        return "B";
    case TARE_ELEMENT_I16:
        return "h";
    case TARE_ELEMENT_U16:
        return "H";
    case TARE_ELEMENT_I32:
        return "i";
    case TARE_ELEMENT_U32:
        return "I";
    case TARE_ELEMENT_I64:
        return "q";
    case TARE_ELEMENT_U64:
        return "Q";
    case TARE_ELEMENT_F16:
        return "e";
    case TARE_ELEMENT_F32:
        return "f";
    case TARE_ELEMENT_F64:
        return "d";
    default:
        return NULL;
    }
}

PyObject *tensor_view_copy(const struct tare_tensor *tensor)
{
    const char *format = format_of(tensor->element);
    PyObject *bytes = PyByteArray_FromStringAndSize(tensor->data, (Py_ssize_t)tensor->bytes);
    bool empty = tensor->bytes == 0;
    if (!bytes || !format || empty)
        return bytes; /* a memoryview cannot be cast to a shape without elements */
    PyObject *shape = PyTuple_New((Py_ssize_t)tensor->rank);
    for (size_t i = 0; shape && i < tensor->rank; i++) {
        PyObject *size = PyLong_FromLongLong(tensor->dims[i]);
        if (!size)
            Py_CLEAR(shape);
        else
            PyTuple_SET_ITEM(shape, (Py_ssize_t)i, size);
    }
    PyObject *flat = shape ? PyMemoryView_FromObject(bytes) : NULL;
    PyObject *view = flat ? PyObject_CallMethod(flat, "cast", "sO", format, shape) : NULL;
    Py_XDECREF(flat);
    Py_XDECREF(shape);
    Py_DECREF(bytes);
    return view;
}
