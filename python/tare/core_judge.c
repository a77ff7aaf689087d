/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge(run, base, thresholds, change, run_name, base_name): what `tare check` decides, for Python. Runs are
 * Results, which never change: thresholds are judged on a copy.
 */
#include "core_judge.h"

#include "base/json.h"
#include "judge/compare_runs.h"
#include "judge/threshold.h"
#include "report/verdict_report.h"

struct request {
    PyObject *run, *base, *limits; /* base: None, or a Result */
    double change;
    const char *run_name, *base_name;
};

static int parse(const struct core_state *state, PyObject *args, struct request *ret_request)
{
    struct request request = {.change = 0.05};
    PyTypeObject *type = (PyTypeObject *)(void *)state->result_type;
    if (!PyArg_ParseTuple(args, "O!OO!dss", type, &request.run, &request.base, &PyList_Type, &request.limits,
                          &request.change, &request.run_name, &request.base_name))
        return -1;
    if (!core_result_of(request.run)->run ||
        (request.base != Py_None &&
         (!PyObject_TypeCheck(request.base, type) || !core_result_of(request.base)->run))) {
        PyErr_SetString(PyExc_TypeError, "only runs are judged, and this is something else");
        return -1;
    }
    if (!(request.change > 0 && request.change < 10)) {
        PyErr_SetString(PyExc_ValueError, "change is a share, such as 0.05 for 5 %");
        return -1;
    }
    *ret_request = request;
    return 0;
}

static int copy_run(const struct tare_run *run, const char *name, struct tare_run **ret_run,
                    struct tare_error *err)
{
    struct tare_out out;
    struct tare_json json;
    tare_out_init_memory(&out, SIZE_MAX);
    tare_json_init(&json, &out, 0);
    tare_run_write(run, &json);
    int rc = tare_out_commit(&out, err);
    if (rc == 0)
        rc = tare_run_read(out.buf.data, out.buf.length, name, ret_run, err);
    tare_out_finish(&out);
    return rc;
}

static int judge_limits(const struct request *request, struct tare_arena *arena, struct tare_run **copy,
                        struct tare_verdicts *verdicts, struct tare_error *err)
{
    size_t count = (size_t)PyList_GET_SIZE(request->limits);
    struct tare_threshold *limits = tare_arena_array(arena, count + 1, sizeof *limits);
    if (!limits)
        return tare_arena_check(arena, err);
    for (size_t i = 0; i < count; i++) {
        const char *text = PyUnicode_AsUTF8(PyList_GET_ITEM(request->limits, (Py_ssize_t)i));
        if (!text || tare_threshold_parse(text, arena, &limits[i], err))
            return -1;
    }
    if (count == 0)
        return 0;
    if (copy_run(core_result_of(request->run)->run, request->run_name, copy, err) ||
        tare_threshold_judge(limits, count, *copy, err) || tare_threshold_verdicts(*copy, verdicts, err))
        return -1;
    tare_verdicts_label(verdicts);
    tare_verdicts_sort(verdicts);
    return 0;
}

/* (JSON of the verdicts, [a sentence for each row]) */
static PyObject *answer_of(const struct core_state *state, const struct tare_verdicts *verdicts)
{
    struct tare_out out;
    struct tare_error err = {0};
    PyObject *answer = NULL, *list = PyList_New(0);
    tare_out_init_memory(&out, SIZE_MAX);
    for (size_t i = 0; list && i < verdicts->count; i++) {
        const char *text = tare_verdict_sentence(&verdicts->rows[i], verdicts->arena);
        PyObject *item = text ? PyUnicode_FromString(text) : PyErr_NoMemory();
        if (!item || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    tare_verdict_writer_json.write(verdicts, &out);
    if (list && tare_out_commit(&out, &err) < 0)
        core_raise(state, &err, NULL);
    else if (list)
        answer = Py_BuildValue("(s#O)", out.buf.data, (Py_ssize_t)out.buf.length, list);
    tare_out_finish(&out);
    Py_XDECREF(list);
    return answer;
}

PyObject *core_judge(PyObject *module, PyObject *args)
{
    const struct core_state *state = core_state_of(module);
    struct tare_error err = {0};
    struct request request;
    struct tare_arena arena;
    struct tare_run *copy = NULL;
    PyObject *answer = NULL;
    int rc = 0;
    if (parse(state, args, &request) < 0)
        return NULL;
    tare_arena_init(&arena, 0);
    struct tare_gate_rule rule = {.threshold = request.change};
    struct tare_verdicts verdicts = {.arena = &arena,
                                     .a = request.base_name,
                                     .b = request.run_name,
                                     .comparable = true,
                                     .threshold = request.change};
    if (request.base != Py_None) {
        const struct tare_run *base = core_result_of(request.base)->run;
        const struct tare_run *run = core_result_of(request.run)->run;
        Py_BEGIN_ALLOW_THREADS
            rc = tare_compare_runs(base, request.base_name, run, request.run_name, &rule, &arena, &verdicts,
                                   &err);
        Py_END_ALLOW_THREADS
    }
    if (rc == 0)
        rc = judge_limits(&request, &arena, &copy, &verdicts, &err);
    if (rc == 0)
        answer = answer_of(state, &verdicts);
    else if (!PyErr_Occurred())
        core_raise(state, &err, NULL);
    tare_run_destroy(copy);
    tare_arena_finish(&arena);
    return answer;
}
