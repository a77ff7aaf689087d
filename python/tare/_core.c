/* SPDX-License-Identifier: Apache-2.0 */
/* The extension module: multi-phase, without state, usable from sub-interpreters and without the GIL. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static int core_exec(PyObject *module)
{
    return PyModule_AddStringConstant(module, "__version__", TARE_VERSION);
}

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)core_exec},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tare._core",
    .m_doc = "What tare does in C.",
    .m_slots = core_slots,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&core_module);
}
