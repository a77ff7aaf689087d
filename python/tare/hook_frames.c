/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is called, as the recorder knows it: code objects and C functions become frames when they are first
 * met. A code object remembers its frame in a field of its own where that is safe; C functions, and code
 * objects of free-threaded builds, are found in tables.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "hook.h"

/* A table from pointer to frame: open addressing, a power of two of slots. */
struct pointer_slot {
    const void *key;
    uint32_t frame;
};

struct pointer_table {
    struct pointer_slot *slots;
    size_t count, mask;
};

/* As the session: one per process. The tables are under the session's lock. */
static struct {
    Py_ssize_t code_extra;
    struct pointer_table c_frames;
    struct pointer_table codes; /* free-threaded builds: frames of code objects, which are kept alive */
} frames;

uint32_t hook_epoch;

static uint64_t pointer_hash(const void *key)
{
    return tare_hash_mix((uint64_t)(uintptr_t)key);
}

static uint32_t pointer_find(const struct pointer_table *table, const void *key)
{
    if (!table->slots)
        return 0;
    for (size_t at = pointer_hash(key) & table->mask;; at = (at + 1) & table->mask) {
        if (table->slots[at].key == key)
            return table->slots[at].frame;
        if (!table->slots[at].key)
            return 0;
    }
}

static bool pointer_add(struct pointer_table *table, const void *key, uint32_t frame)
{
    if (!table->slots || (table->count + 1) * 2 > table->mask + 1) {
        size_t have = table->slots ? table->mask + 1 : 0, want = have ? have * 2 : 256;
        struct pointer_table grown = {.slots = calloc(want, sizeof *grown.slots), .mask = want - 1};
        if (!grown.slots)
            return false;
        for (size_t i = 0; i < have; i++)
            if (table->slots[i].key)
                pointer_add(&grown, table->slots[i].key, table->slots[i].frame);
        free(table->slots);
        *table = grown;
    }
    size_t at = pointer_hash(key) & table->mask;
    while (table->slots[at].key)
        at = (at + 1) & table->mask;
    table->slots[at] = (struct pointer_slot){key, frame};
    table->count++;
    return true;
}

static void pointer_clear(struct pointer_table *table)
{
    free(table->slots);
    *table = (struct pointer_table){0};
}

static uint32_t code_register(PyCodeObject *code)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const char *name = PyUnicode_AsUTF8(code->co_name);
    struct tare_recorder_frame frame = {
        .kind = TARE_FRAME_PYTHON,
        .cost = hook_code_cost(code, name ? name : ""),
        .name = name,
        .file = PyUnicode_AsUTF8(code->co_filename),
        .first_line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0,
#if PY_VERSION_HEX >= 0x030b0000
        .qualname = PyUnicode_AsUTF8(code->co_qualname),
#endif
    };
    uint32_t made = tare_recorder_frame(hook_session.recorder, &frame);
    if (name)
        hook_code_met(name);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return made;
}

#ifdef Py_GIL_DISABLED
/* Without the GIL the extra field of a code object is not safe on every version: a table, and codes that stay
 * alive. */
uint32_t hook_code_find(PyCodeObject *code, struct hook_slot *recent)
{
    pthread_mutex_lock(&hook_session.lock);
    uint32_t frame = pointer_find(&frames.codes, code);
    if (!frame) {
        frame = code_register(code);
        if (pointer_add(&frames.codes, code, frame))
            Py_INCREF(code);
    }
    pthread_mutex_unlock(&hook_session.lock);
    *recent = (struct hook_slot){code, frame, hook_epoch};
    return frame;
}
#else
#if PY_VERSION_HEX >= 0x030c0000
#define code_extra_index PyUnstable_Eval_RequestCodeExtraIndex
#define code_extra_get   PyUnstable_Code_GetExtra
#define code_extra_set   PyUnstable_Code_SetExtra
#else
#define code_extra_index _PyEval_RequestCodeExtraIndex
#define code_extra_get   _PyCode_GetExtra
#define code_extra_set   _PyCode_SetExtra
#endif

/* A code object that has a frame dies: nobody may take its address for it any more. */
static void code_died(void *extra)
{
    if (extra) {
        hook_epoch++;
        hook_stamp++;
    }
}

uint32_t hook_code_find(PyCodeObject *code, struct hook_slot *recent)
{
    /* The extra holds both words: the number of its recording, and the frame. */
    void *extra = NULL;
    code_extra_get((PyObject *)code, frames.code_extra, &extra);
    uint64_t known = (uint64_t)(uintptr_t)extra;
    uint32_t frame = (uint32_t)known;
    if (known >> 32 != hook_session.number) {
        frame = code_register(code);
        extra = (void *)(uintptr_t)((uint64_t)hook_session.number << 32 | frame);
        if (code_extra_set((PyObject *)code, frames.code_extra, extra) < 0) {
            PyErr_Clear();
            return frame; /* its death would not be told */
        }
    }
    *recent = (struct hook_slot){code, frame, hook_epoch};
    return frame;
}
#endif

/* The name that cProfile gives a C function. A new reference, or NULL. */
static PyObject *c_name(const PyMethodDef *method, PyObject *object, PyObject *self_arg)
{
    PyObject *self = self_arg, *module = NULL;
    if (PyCFunction_Check(object)) {
        self = ((PyCFunctionObject *)(void *)object)->m_self;
        module = ((PyCFunctionObject *)(void *)object)->m_module;
    }
    if (module && !PyUnicode_Check(module))
        module = NULL;
    if (!self)
        return module ? PyUnicode_FromFormat("<%U.%s>", module, method->ml_name)
                      : PyUnicode_FromFormat("<%s>", method->ml_name);
    /* A method of a built-in type is shown as its type has it, anything else by its module. */
    PyObject *short_name = PyUnicode_FromString(method->ml_name);
    PyObject *found = short_name ? _PyType_Lookup(Py_TYPE(self), short_name) : NULL;
    PyObject *name = found ? PyObject_Repr(found) : NULL;
    Py_XDECREF(short_name);
    if (name)
        return name;
    PyErr_Clear();
    return module ? PyUnicode_FromFormat("<built-in method %U.%s>", module, method->ml_name)
                  : PyUnicode_FromFormat("<built-in method %s>", method->ml_name);
}

static uint32_t c_register(const PyMethodDef *method, PyObject *object, PyObject *self_arg)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *name = c_name(method, object, self_arg);
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    if (!text)
        text = method->ml_name;
    struct tare_recorder_frame frame = {
        .kind = TARE_FRAME_BUILTIN,
        .cost = hook_c_cost(method, object, text),
        .name = text,
        .file = "~",
    };
    uint32_t made = tare_recorder_frame(hook_session.recorder, &frame);
    Py_XDECREF(name);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return made;
}

uint32_t hook_c_frame(const PyMethodDef *method, PyObject *object, PyObject *self_arg)
{
    /* Definitions are static data of their modules: the pointer is the function. */
    struct hook_slot *recent = &hook_mine->c_frames[(uintptr_t)method / sizeof *method % HOOK_C_CACHE];
    if (recent->key == method)
        return recent->frame;
    pthread_mutex_lock(&hook_session.lock);
    uint32_t frame = pointer_find(&frames.c_frames, method);
    pthread_mutex_unlock(&hook_session.lock);
    if (!frame) {
        /* Naming it may take other locks, so it happens outside ours; of two threads that race, one is found
         * again. */
        uint32_t made = c_register(method, object, self_arg);
        pthread_mutex_lock(&hook_session.lock);
        frame = pointer_find(&frames.c_frames, method);
        if (!frame && pointer_add(&frames.c_frames, method, made))
            frame = made;
        pthread_mutex_unlock(&hook_session.lock);
        if (!frame)
            frame = made;
    }
    *recent = (struct hook_slot){.key = method, .frame = frame};
    return frame;
}

uint32_t hook_c_known(const PyMethodDef *method)
{
    pthread_mutex_lock(&hook_session.lock);
    uint32_t frame = pointer_find(&frames.c_frames, method);
    pthread_mutex_unlock(&hook_session.lock);
    return frame;
}

void hook_frames_forget(void)
{
    pointer_clear(&frames.c_frames);
#ifdef Py_GIL_DISABLED
    for (size_t i = 0; frames.codes.slots && i <= frames.codes.mask; i++)
        Py_XDECREF((PyObject *)(uintptr_t)frames.codes.slots[i].key);
#endif
    pointer_clear(&frames.codes);
}

void hook_frames_abandon(void)
{
    frames.c_frames = frames.codes = (struct pointer_table){0};
}

int hook_frames_prepare(void)
{
#ifndef Py_GIL_DISABLED
    frames.code_extra = code_extra_index(code_died);
    if (frames.code_extra < 0) {
        PyErr_SetString(PyExc_RuntimeError, "this interpreter has no room left for data of code objects");
        return -1;
    }
#endif
    return 0;
}
