/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type Session: an ONNX model loaded in this process, to be called between preprocessing and
 * postprocessing. It takes arrays in order or by name, makes those that are missing, and returns a list, as
 * onnxruntime's own session does: numpy arrays where numpy is installed, memoryviews where not. The GIL is
 * released while the model runs; one call at a time.
 */
#include <stdatomic.h>
#include <string.h>

#include "bench/engine.h"
#include "bench/inputs.h"
#include "core_measure.h"
#include "tensor_view.h"

struct session {
    PyObject_HEAD
    struct tare_engine *engine;
    struct tare_model *model;
    PyObject *as_array; /* numpy.asarray, or NULL */
    atomic_flag busy;
};

static struct session *session_of(PyObject *self)
{
    return (struct session *)(void *)self;
}

static const struct core_state *state_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

/* Inputs of one call: what was given, and what the model then gets. */
struct call {
    struct tare_arena arena;
    struct tensor_view *views;
    struct tare_tensor *given;
    size_t count;
};

static int call_add(struct call *call, PyObject *object, const char *name)
{
    struct tensor_view *view = &call->views[call->count];
    if (tensor_view_open(object, name ? name : "an input", view) < 0)
        return -1;
    call->given[call->count] = view->tensor;
    call->given[call->count].name = name;
    call->count++;
    return 0;
}

static int call_init(struct call *call, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t positional = PyTuple_GET_SIZE(args), named = kwargs ? PyDict_GET_SIZE(kwargs) : 0, place = 0;
    PyObject *key, *value;
    tare_arena_init(&call->arena, 0);
    call->views = tare_arena_array(&call->arena, (size_t)(positional + named) + 1, sizeof *call->views);
    call->given = tare_arena_array(&call->arena, (size_t)(positional + named) + 1, sizeof *call->given);
    if (!call->views || !call->given) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < positional; i++)
        if (call_add(call, PyTuple_GET_ITEM(args, i), NULL) < 0)
            return -1;
    while (named && PyDict_Next(kwargs, &place, &key, &value)) {
        const char *name = PyUnicode_AsUTF8(key);
        if (!name || call_add(call, value, name) < 0)
            return -1;
    }
    return 0;
}

static void call_finish(struct call *call)
{
    for (size_t i = 0; i < call->count; i++)
        tensor_view_close(&call->views[i]);
    tare_arena_finish(&call->arena);
}

static int run(struct session *self, struct call *call, struct tare_tensor **ret_outputs, size_t *ret_count,
               struct tare_error *err)
{
    struct tare_inputs_ask ask = {.given = call->given, .given_count = call->count};
    struct tare_inputs inputs;
    const struct tare_engine_kind *kind = self->engine->kind;
    if (tare_inputs_make(self->model, &ask, &call->arena, &inputs, err) < 0 ||
        kind->bind(self->engine, inputs.tensors, inputs.count, err) < 0 || kind->run(self->engine, err) < 0)
        return -1;
    return kind->outputs(self->engine, &call->arena, ret_outputs, ret_count, err);
}

static PyObject *output_list(const struct session *self, const struct tare_tensor *outputs, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *view = tensor_view_copy(&outputs[i]);
        PyObject *array =
            view && self->as_array ? PyObject_CallOneArg(self->as_array, view) : Py_XNewRef(view);
        Py_XDECREF(view);
        if (!array)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, array);
    }
    return list;
}

static PyObject *session_call(PyObject *object, PyObject *args, PyObject *kwargs)
{
    struct session *self = session_of(object);
    struct call call = {0};
    struct tare_tensor *outputs = NULL;
    struct tare_error err = {0};
    PyObject *list = NULL;
    size_t count = 0;
    int rc;
    if (atomic_flag_test_and_set(&self->busy))
        return PyErr_Format(PyExc_RuntimeError, "this session is running in another thread");
    if (call_init(&call, args, kwargs) == 0) {
        Py_BEGIN_ALLOW_THREADS
            rc = run(self, &call, &outputs, &count, &err);
        Py_END_ALLOW_THREADS
        list = rc < 0 ? core_raise(state_of(object), &err, NULL) : output_list(self, outputs, count);
    }
    call_finish(&call);
    atomic_flag_clear(&self->busy);
    return list;
}

/* numpy's, where it is installed; where not, memoryviews do. */
static PyObject *find_as_array(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *as_array = numpy ? PyObject_GetAttrString(numpy, "asarray") : NULL;
    Py_XDECREF(numpy);
    if (!as_array)
        PyErr_Clear();
    return as_array;
}

static int session_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "provider", "threads", "library", NULL};
    struct session *self = session_of(object);
    PyObject *path = NULL;
    const char *provider = "cpu", *library = NULL;
    struct tare_engine_options options = {.inter_threads = 1};
    struct tare_error err = {0};
    int rc;
    if (self->engine) {
        PyErr_SetString(PyExc_RuntimeError, "this session is open already");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|siz", names, PyUnicode_FSConverter, &path, &provider,
                                     &options.threads, &library))
        return -1;
    options.provider = provider;
    options.library = library;
    atomic_flag_clear(&self->busy);
    Py_BEGIN_ALLOW_THREADS
        rc = tare_model_open(PyBytes_AS_STRING(path), &self->model, &err);
        if (rc == 0)
            rc = tare_engine_ort.open(PyBytes_AS_STRING(path), &options, &self->engine, &err);
    Py_END_ALLOW_THREADS
    if (rc < 0)
        core_raise(state_of(object), &err, PyBytes_AS_STRING(path));
    else
        self->as_array = find_as_array();
    Py_DECREF(path);
    return rc;
}

static void session_dealloc(PyObject *object)
{
    struct session *self = session_of(object);
    PyTypeObject *type = Py_TYPE(object);
    if (self->engine)
        self->engine->kind->close(self->engine);
    tare_model_close(self->model);
    Py_XDECREF(self->as_array);
    type->tp_free(object);
    Py_DECREF(type);
}

/* (name, type, [size or name of each dimension]) */
static PyObject *describe(const struct tare_model_value *values, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *dims = PyList_New(0);
        for (size_t k = 0; dims && k < values[i].rank; k++) {
            const struct tare_model_dim *dim = &values[i].dims[k];
            PyObject *size = dim->value >= 0 ? PyLong_FromLongLong(dim->value)
                                             : PyUnicode_FromString(dim->name ? dim->name : "?");
            if (!size || PyList_Append(dims, size) < 0)
                Py_CLEAR(dims);
            Py_XDECREF(size);
        }
        PyObject *row =
            dims ? Py_BuildValue("(ssN)", values[i].name, tare_element_name(values[i].element), dims) : NULL;
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *session_inputs(PyObject *object, void *unused)
{
    const struct session *self = session_of(object);
    (void)unused;
    if (!self->model)
        return PyList_New(0);
    return describe(self->model->graph.inputs, self->model->graph.inputs_count);
}

static PyObject *session_outputs(PyObject *object, void *unused)
{
    const struct session *self = session_of(object);
    (void)unused;
    if (!self->model)
        return PyList_New(0);
    return describe(self->model->graph.outputs, self->model->graph.outputs_count);
}

static PyGetSetDef session_getters[] = {
    {"inputs", session_inputs, NULL, "(name, type, shape) of each input.", NULL},
    {"outputs", session_outputs, NULL, "(name, type, shape) of each output.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot session_slots[] = {
    {Py_tp_init, (void *)(uintptr_t)session_init},
    {Py_tp_dealloc, (void *)(uintptr_t)session_dealloc},
    {Py_tp_call, (void *)(uintptr_t)session_call},
    {Py_tp_getset, session_getters},
    {0, NULL},
};

static PyType_Spec session_spec = {
    .name = "tare._core.Session",
    .basicsize = sizeof(struct session),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = session_slots,
};

int core_session_init(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &session_spec, NULL);
    int rc = type ? PyModule_AddObjectRef(module, "Session", type) : -1;
    Py_XDECREF(type);
    return rc;
}
