/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type Result: a profile or run that was loaded. It never changes after that, so any number of threads
 * may use it at once, with or without the GIL.
 */
#include "core_module.h"

#include <stdlib.h>
#include <string.h>

#include "core/diff.h"
#include "core/functions.h"
#include "core/spans.h"
#include "core/tree.h"

struct result {
    PyObject_HEAD
    struct tare_result result;
};

static const struct core_state *state_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

struct tare_result *core_result_of(PyObject *self)
{
    return &((struct result *)(void *)self)->result;
}

/* A text of a profile may hold any bytes. */
static PyObject *text_of(const char *text, size_t length)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
}

PyObject *core_result_wrap(const struct core_state *state, struct tare_result *loaded)
{
    PyTypeObject *type = (PyTypeObject *)(void *)state->result_type;
    PyObject *self = type->tp_alloc(type, 0);
    if (!self) {
        tare_result_finish(loaded);
        *loaded = (struct tare_result){0};
        return NULL;
    }
    *core_result_of(self) = *loaded;
    *loaded = (struct tare_result){0};
    return self;
}

PyObject *core_load(PyObject *module, PyObject *path)
{
    const struct core_state *state = core_state_of(module);
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    struct tare_result loaded = {0};
    struct tare_error err = {0};
    int rc;
    Py_BEGIN_ALLOW_THREADS
        rc = tare_result_load(PyBytes_AS_STRING(bytes), &loaded, &err);
    Py_END_ALLOW_THREADS
    PyObject *self =
        rc < 0 ? core_raise(state, &err, PyBytes_AS_STRING(bytes)) : core_result_wrap(state, &loaded);
    Py_DECREF(bytes);
    return self;
}

PyObject *core_loads(PyObject *module, PyObject *args)
{
    const struct core_state *state = core_state_of(module);
    const char *data, *name;
    Py_ssize_t size;
    struct tare_result loaded = {0};
    struct tare_error err = {0};
    int rc;
    if (!PyArg_ParseTuple(args, "y#s", &data, &size, &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        rc = tare_result_load_memory(data, (size_t)size, name, &loaded, &err);
    Py_END_ALLOW_THREADS
    return rc < 0 ? core_raise(state, &err, NULL) : core_result_wrap(state, &loaded);
}

static void result_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    tare_result_finish(core_result_of(self));
    type->tp_free(self);
    Py_DECREF(type);
}

/* The arguments that render and save share. */
struct request {
    PyObject *path; /* of save; NULL for render */
    const char *format;
    struct tare_view view;
};

static int request_parse(PyObject *args, PyObject *kwargs, bool with_path, struct request *ret_request)
{
    static char *names[] = {"path",  "format", "column",  "sort",       "match",
                            "title", "rows",   "reverse", "strip_dirs", NULL};
    struct request request = {0};
    struct tare_view *view = &request.view;
    unsigned int rows = 0;
    int reverse = 0, strip_dirs = 0, good;
    if (with_path)
        good = PyArg_ParseTupleAndKeywords(args, kwargs, "O|zzzzzIpp", names, &request.path, &request.format,
                                           &view->column, &view->sort, &view->match, &view->title, &rows,
                                           &reverse, &strip_dirs);
    else
        good = PyArg_ParseTupleAndKeywords(args, kwargs, "|zzzzzIpp", names + 1, &request.format,
                                           &view->column, &view->sort, &view->match, &view->title, &rows,
                                           &reverse, &strip_dirs);
    if (!good)
        return -1;
    view->rows = rows;
    view->reverse = reverse;
    view->strip_dirs = strip_dirs;
    *ret_request = request;
    return 0;
}

static PyObject *result_render(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct request request;
    if (request_parse(args, kwargs, false, &request) < 0)
        return NULL;
    const struct tare_result *result = core_result_of(self);
    struct tare_format format = tare_result_text(result);
    struct tare_error err = {0};
    struct tare_out out;
    int rc = 0;
    tare_out_init_memory(&out, SIZE_MAX);
    Py_BEGIN_ALLOW_THREADS
        if (request.format)
            rc = tare_result_format(result, request.format, NULL, &format, &err);
        if (rc == 0) {
            tare_result_write(result, &format, &request.view, &out);
            rc = tare_out_commit(&out, &err);
        }
    Py_END_ALLOW_THREADS
    PyObject *bytes = rc < 0 ? core_raise(state_of(self), &err, NULL)
                             : PyBytes_FromStringAndSize(out.buf.data, (Py_ssize_t)out.buf.length);
    tare_out_finish(&out);
    return bytes;
}

static PyObject *result_save(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct request request;
    PyObject *path = NULL;
    if (request_parse(args, kwargs, true, &request) < 0 || !PyUnicode_FSConverter(request.path, &path))
        return NULL;
    struct tare_error err = {0};
    int rc;
    Py_BEGIN_ALLOW_THREADS
        rc = tare_result_save(core_result_of(self), PyBytes_AS_STRING(path), request.format, &request.view,
                              &err);
    Py_END_ALLOW_THREADS
    PyObject *answer =
        rc < 0 ? core_raise(state_of(self), &err, PyBytes_AS_STRING(path)) : Py_NewRef(Py_None);
    Py_DECREF(path);
    return answer;
}

static const struct tare_profile *profile_or_raise(PyObject *self)
{
    const struct tare_profile *profile = core_result_of(self)->profile;
    if (!profile)
        PyErr_SetString(PyExc_TypeError, "only a profile has this, and this is a run");
    return profile;
}

static PyObject *result_columns(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct tare_profile *profile = profile_or_raise(self);
    PyObject *list = profile ? PyList_New(0) : NULL;
    for (uint32_t i = 0; list && i < tare_profile_columns(profile); i++) {
        long long sum = 0;
        for (uint32_t node = 0; node < tare_profile_nodes(profile); node++)
            sum += tare_profile_values(profile, node)[i];
        const char *name = tare_profile_column_name(profile, i), *unit = tare_profile_column_unit(profile, i);
        PyObject *row = Py_BuildValue("(NNL)", text_of(name, strlen(name)), text_of(unit, strlen(unit)), sum);
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *result_functions(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct tare_profile *profile = profile_or_raise(self);
    if (!profile)
        return NULL;
    struct tare_functions functions;
    struct tare_error err = {0};
    int rc;
    Py_BEGIN_ALLOW_THREADS
        rc = tare_functions_init(&functions, profile, TARE_NONE, false, &err);
    Py_END_ALLOW_THREADS
    if (rc < 0)
        return core_raise(state_of(self), &err, NULL);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < functions.count; i++) {
        const struct tare_function *f = &functions.items[i];
        if (f->unlisted)
            continue;
        PyObject *row = Py_BuildValue("(NINLLLL)", text_of(f->file, f->file_length), f->line,
                                      text_of(f->name, f->name_length), (long long)f->figures.calls,
                                      (long long)f->figures.primitive, (long long)f->figures.self,
                                      (long long)f->figures.total);
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    PyObject *answer = NULL;
    if (list)
        answer = Py_BuildValue("(sOO)", tare_profile_column_unit(profile, functions.column),
                               functions.has_calls ? Py_True : Py_False, list);
    Py_XDECREF(list);
    tare_functions_finish(&functions);
    return answer;
}

static PyObject *result_notes(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct tare_profile *profile = core_result_of(self)->profile;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && profile && i < tare_profile_notes(profile); i++) {
        const char *note = tare_profile_note_at(profile, i);
        PyObject *text = text_of(note, strlen(note));
        if (!text || PyList_Append(list, text) < 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *result_difference(PyObject *self, PyObject *args)
{
    PyObject *other;
    const char *column = NULL;
    const struct core_state *state = state_of(self);
    if (!PyArg_ParseTuple(args, "O!|z", (PyTypeObject *)(void *)state->result_type, &other, &column))
        return NULL;
    const struct tare_profile *profile = profile_or_raise(self), *base = profile_or_raise(other);
    if (!profile || !base)
        return NULL;
    struct tare_diff_options how = {.column = column};
    struct tare_result made = {0};
    struct tare_error err = {0};
    int rc;
    Py_BEGIN_ALLOW_THREADS
        rc = tare_profile_diff(base, profile, &how, &made.profile, &err);
    Py_END_ALLOW_THREADS
    return rc < 0 ? core_raise(state, &err, NULL) : core_result_wrap(state, &made);
}

static PyObject *result_span(PyObject *self, PyObject *args)
{
    const char *name, *own_folder = NULL;
    const struct tare_profile *profile = profile_or_raise(self);
    if (!profile || !PyArg_ParseTuple(args, "s|z", &name, &own_folder))
        return NULL;
    struct tare_result made = {0};
    struct tare_error err = {0};
    int rc;
    Py_BEGIN_ALLOW_THREADS
        rc = tare_profile_span(profile, name, own_folder, &made.profile, &err);
    Py_END_ALLOW_THREADS
    return rc < 0 ? core_raise(state_of(self), &err, NULL) : core_result_wrap(state_of(self), &made);
}

static PyObject *get_kind(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(core_result_of(self)->profile ? "profile" : "run");
}

static PyObject *get_contexts(PyObject *self, void *unused)
{
    (void)unused;
    const struct tare_profile *profile = profile_or_raise(self);
    return profile ? PyLong_FromUnsignedLong(tare_profile_nodes(profile) - 1) : NULL;
}

static PyObject *get_stacks(PyObject *self, void *unused)
{
    (void)unused;
    static const char *const names[] = {"stacks", "caller pairs", "difference", "difference"};
    const struct tare_profile *profile = profile_or_raise(self);
    return profile ? PyUnicode_FromString(names[tare_profile_meta_const(profile)->kind]) : NULL;
}

static PyGetSetDef result_getters[] = {
    {"kind", get_kind, NULL, "'profile' or 'run'.", NULL},
    {"contexts", get_contexts, NULL, "How many calling contexts a profile has.", NULL},
    {"stacks", get_stacks, NULL, "What the contexts are: 'stacks', 'caller pairs' or 'difference'.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef result_methods[] = {
    {"render", (PyCFunction)(void (*)(void))result_render, METH_VARARGS | METH_KEYWORDS,
     "The result in a format, as bytes."},
    {"save", (PyCFunction)(void (*)(void))result_save, METH_VARARGS | METH_KEYWORDS,
     "Write the result to a file, whole or not at all."},
    {"columns", result_columns, METH_NOARGS, "(name, unit, sum) of each value column."},
    {"functions", result_functions, METH_NOARGS,
     "(unit, has calls, [(file, line, name, calls, primitive calls, self, cumulative)])"},
    {"notes", result_notes, METH_NOARGS, "What the reader had to say."},
    {"difference", result_difference, METH_VARARGS, "The difference from another profile."},
    {"span", result_span, METH_VARARGS, "What ran inside the spans of a name."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot result_slots[] = {
    {Py_tp_dealloc, (void *)(uintptr_t)result_dealloc},
    {Py_tp_methods, result_methods},
    {Py_tp_getset, result_getters},
    {0, NULL},
};

static PyType_Spec result_spec = {
    .name = "tare._core.Result",
    .basicsize = sizeof(struct result),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = result_slots,
};

int core_result_init(PyObject *module, struct core_state *state)
{
    state->result_type = PyType_FromModuleAndSpec(module, &result_spec, NULL);
    if (!state->result_type)
        return -1;
    return PyModule_AddObjectRef(module, "Result", state->result_type);
}
