/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a function, as far as what recording a call of it costs. Asked once per function. */
#include "hook.h"

#include <string.h>

static bool is_special(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strncmp(name, "__", 2) == 0 && strcmp(name + length - 2, "__") == 0;
}

/* The name of the first argument, or "". */
static const char *first_argument(PyCodeObject *code)
{
    const char *text = NULL;
    PyObject *names = code->co_argcount > 0 ? PyObject_GetAttrString((PyObject *)code, "co_varnames") : NULL;
    if (names && PyTuple_Check(names) && PyTuple_GET_SIZE(names) > 0)
        text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, 0));
    /* The name is kept alive by the code. */
    Py_XDECREF(names);
    PyErr_Clear();
    return text ? text : "";
}

enum tare_cost hook_code_cost(PyCodeObject *code, const char *name)
{
    if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))
        return TARE_COST_GENERATOR;
    if (strcmp(name, "__init__") == 0)
        return TARE_COST_INIT;
    if (is_special(name))
        return TARE_COST_SLOT;
    if (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS) || code->co_kwonlyargcount)
        return TARE_COST_GENERAL;
    const char *first = first_argument(code);
    return strcmp(first, "self") == 0 || strcmp(first, "cls") == 0 ? TARE_COST_METHOD : TARE_COST_EXACT;
}

static enum tare_cost by_convention(const PyMethodDef *method, bool of_type)
{
    enum tare_cost first = of_type ? TARE_COST_M_NOARGS : TARE_COST_C_NOARGS;
    switch (method->ml_flags & (METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_FASTCALL)) {
    case METH_NOARGS:
        return first;
    case METH_O:
        return first + (TARE_COST_C_O - TARE_COST_C_NOARGS);
    case METH_FASTCALL:
        return first + (TARE_COST_C_FAST - TARE_COST_C_NOARGS);
    case METH_FASTCALL | METH_KEYWORDS:
        return first + (TARE_COST_C_FAST_KEYWORDS - TARE_COST_C_NOARGS);
    default:
        return first + (TARE_COST_C_VARARGS - TARE_COST_C_NOARGS);
    }
}

enum tare_cost hook_c_cost(const PyMethodDef *method, PyObject *object, const char *name)
{
    static const struct {
        const char *name;
        enum tare_cost cost;
    } own[] = {
        {"<built-in method builtins.len>", TARE_COST_LEN},
        {"<built-in method builtins.isinstance>", TARE_COST_ISINSTANCE},
        {"<method 'append' of 'list' objects>", TARE_COST_APPEND},
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(own[i].name, name) == 0)
            return own[i].cost;
    bool function = PyCFunction_Check(object);
    PyObject *self = function ? PyCFunction_GET_SELF(object) : NULL;
    return by_convention(method, !function || (self && !PyModule_Check(self)));
}
