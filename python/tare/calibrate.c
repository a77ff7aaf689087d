/* SPDX-License-Identifier: Apache-2.0 */
#include "calibrate.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/stats.h"
#include "hook.h"

enum {
    LOOPS_MAX = 32,
    ROUNDS_MIN = 6,
    ROUNDS_MAX = 40,
    CALLS = 200, /* in a timed loop */
    WARM = 64,   /* so many before it, for the interpreter to specialise what it will */
};

#define BUDGET_NS 50000000

/*
 * Each kind has a loop of its own, because the interpreter specialises each place of a call. Loops take any
 * arguments, except the one that measures such functions: so a loop is never of the kind it measures. Each
 * row of the list is the name of a kind, its loop, and two arguments for that.
 */
static const char source[] = "def exact(a):\n"
                             "    return a\n"
                             "def general(a, b=1, *c, k=2):\n"
                             "    return a\n"
                             "class Methods:\n"
                             "    __slots__ = ()\n"
                             "    def method(self, a):\n"
                             "        return a\n"
                             "    def __add__(self, a):\n"
                             "        return a\n"
                             "class Init:\n"
                             "    def __init__(self, a):\n"
                             "        self.a = a\n"
                             "def generator(a):\n"
                             "    for b in a:\n"
                             "        yield b\n"
                             "def raiser(a):\n"
                             "    raise a\n"
                             "def loop_none(r, f, a, *_):\n"
                             "    for _ in r: pass\n"
                             "def loop_dilation(r, f, a, *_):\n"
                             "    x = 1\n"
                             "    for i in r:\n"
                             "        x = (x * 3 + i) % 1021\n"
                             "        if x > 500:\n"
                             "            x -= a[i & 3]\n"
                             "        y, z = x, f'{i}'\n"
                             "def loop_exact(r, f, a, *_):\n"
                             "    for _ in r: f(a)\n"
                             "def loop_method(r, f, a, *_):\n"
                             "    for _ in r: f.method(a)\n"
                             "def loop_general(r, f, a):\n"
                             "    for _ in r: f(a, k=a)\n"
                             "def loop_init(r, f, a, *_):\n"
                             "    for _ in r: f(a)\n"
                             "def loop_slot(r, f, a, *_):\n"
                             "    for _ in r: f + a\n"
                             "def loop_generator(r, f, a, *_):\n"
                             "    for _ in f(r): pass\n"
                             "def loop_from_c(r, f, a, *_):\n"
                             "    a(r, key=f)\n"
                             "def loop_unwind(r, f, a, *_):\n"
                             "    for _ in r:\n"
                             "        try: f(a)\n"
                             "        except a: pass\n"
                             "def loop_blind(r, f, a, *_):\n"
                             "    for _ in r:\n"
                             "        f(a)\n"
                             "        str(a)\n"
                             "def loop_c_noargs(r, f, a, *_):\n"
                             "    for _ in r: f()\n"
                             "def loop_c_o(r, f, a, *_):\n"
                             "    for _ in r: f(a)\n"
                             "def loop_c_fast(r, f, a, *_):\n"
                             "    for _ in r: f(a, a)\n"
                             "def loop_c_fast_keywords(r, f, a, *_):\n"
                             "    for _ in r: f(a)\n"
                             "def loop_c_varargs(r, f, a, *_):\n"
                             "    for _ in r: f(a)\n"
                             "def loop_m_noargs(r, f, a, *_):\n"
                             "    for _ in r: f.noargs()\n"
                             "def loop_m_o(r, f, a, *_):\n"
                             "    for _ in r: f.o(a)\n"
                             "def loop_m_fast(r, f, a, *_):\n"
                             "    for _ in r: f.fast(a)\n"
                             "def loop_m_fast_keywords(r, f, a, *_):\n"
                             "    for _ in r: f.fast_keywords(a)\n"
                             "def loop_m_varargs(r, f, a, *_):\n"
                             "    for _ in r: f.varargs(a)\n"
                             "def loop_len(r, f, a, *_):\n"
                             "    for _ in r: f(a)\n"
                             "def loop_isinstance(r, f, a, *_):\n"
                             "    for _ in r: f(a, a)\n"
                             "def loop_append(r, f, a, *_):\n"
                             "    x = []\n"
                             "    for _ in r: x.append(a)\n"
                             "rows = [\n"
                             "    ('none', loop_none, None, None),\n"
                             "    ('dilation', loop_dilation, None, [1, 2, 3, 4]),\n"
                             "    ('exact', loop_exact, exact, 1),\n"
                             "    ('method', loop_method, Methods(), 1),\n"
                             "    ('general', loop_general, general, 1),\n"
                             "    ('slot', loop_slot, Methods(), 1),\n"
                             "    ('generator', loop_generator, generator, None),\n"
                             "    ('init', loop_init, Init, 1),\n"
                             "    ('from_c', loop_from_c, exact, max),\n"
                             "    ('unwind', loop_unwind, raiser, ValueError),\n"
                             "    ('blind', loop_blind, float, 1.5),\n"
                             "    ('c_noargs', loop_c_noargs, c['noargs'], 1),\n"
                             "    ('c_o', loop_c_o, c['o'], 1),\n"
                             "    ('c_fast', loop_c_fast, c['fast'], 1),\n"
                             "    ('c_fast_keywords', loop_c_fast_keywords, c['fast_keywords'], 1),\n"
                             "    ('c_varargs', loop_c_varargs, c['varargs'], 1),\n"
                             "    ('m_noargs', loop_m_noargs, m, 1),\n"
                             "    ('m_o', loop_m_o, m, 1),\n"
                             "    ('m_fast', loop_m_fast, m, 1),\n"
                             "    ('m_fast_keywords', loop_m_fast_keywords, m, 1),\n"
                             "    ('m_varargs', loop_m_varargs, m, 1),\n"
                             "    ('len', loop_len, len, []),\n"
                             "    ('isinstance', loop_isinstance, isinstance, int),\n"
                             "    ('append', loop_append, None, 1),\n"
                             "]\n";

static PyObject *nothing(PyObject *self, PyObject *arg)
{
    (void)self;
    (void)arg;
    Py_RETURN_NONE;
}

static PyObject *nothing_keywords(PyObject *self, PyObject *args, PyObject *keywords)
{
    (void)self;
    (void)args;
    (void)keywords;
    Py_RETURN_NONE;
}

static PyObject *nothing_fast(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    (void)args;
    (void)count;
    Py_RETURN_NONE;
}

static PyObject *nothing_fast_keywords(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                       PyObject *names)
{
    (void)self;
    (void)args;
    (void)count;
    (void)names;
    Py_RETURN_NONE;
}

#define FUNCTION(f) (PyCFunction)(void (*)(void))(f)

/* Functions that do nothing, one per calling convention. */
static PyMethodDef nothings[] = {
    {"noargs", nothing, METH_NOARGS, NULL},
    {"o", nothing, METH_O, NULL},
    {"fast", FUNCTION(nothing_fast), METH_FASTCALL, NULL},
    {"fast_keywords", FUNCTION(nothing_fast_keywords), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"varargs", FUNCTION(nothing_keywords), METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

/* The same as methods: a definition belongs to one or the other, because it is what tells them apart. */
static PyMethodDef nothing_methods[] = {
    {"noargs", nothing, METH_NOARGS, NULL},
    {"o", nothing, METH_O, NULL},
    {"fast", FUNCTION(nothing_fast), METH_FASTCALL, NULL},
    {"fast_keywords", FUNCTION(nothing_fast_keywords), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"varargs", FUNCTION(nothing_keywords), METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot nothing_slots[] = {{Py_tp_methods, nothing_methods}, {0, NULL}};
static PyType_Spec nothing_spec = {.name = "tare.Nothing",
                                   .basicsize = sizeof(PyObject),
                                   .flags = Py_TPFLAGS_DEFAULT,
                                   .slots = nothing_slots};

/* {"noargs": function, ...} */
static PyObject *functions_new(void)
{
    PyObject *functions = PyDict_New();
    for (PyMethodDef *method = nothings; functions && method->ml_name; method++) {
        PyObject *function = PyCFunction_New(method, NULL);
        if (!function || PyDict_SetItemString(functions, method->ml_name, function) < 0)
            Py_CLEAR(functions);
        Py_XDECREF(function);
    }
    return functions;
}

/* The rows, from code compiled anew each time: what runs with the hooks must not be what runs without. */
static PyObject *rows_new(void)
{
    PyObject *names = PyDict_New(), *functions = functions_new(), *type = PyType_FromSpec(&nothing_spec);
    PyObject *object = type ? PyObject_CallNoArgs(type) : NULL;
    PyObject *text = PyUnicode_FromString("tare");
    PyObject *code = Py_CompileString(source, "<tare>", Py_file_input);
    PyObject *done = NULL, *rows = NULL;
    if (names && functions && object && text && code &&
        PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0 &&
        PyDict_SetItemString(names, "__name__", text) == 0 &&
        PyDict_SetItemString(names, "c", functions) == 0 && PyDict_SetItemString(names, "m", object) == 0)
        done = PyEval_EvalCode(code, names, names);
    if (done)
        rows = Py_XNewRef(PyDict_GetItemString(names, "rows"));
    /* Functions know their globals, which know them. */
    if (names)
        PyDict_Clear(names);
    Py_XDECREF(names);
    Py_XDECREF(functions);
    Py_XDECREF(type);
    Py_XDECREF(object);
    Py_XDECREF(text);
    Py_XDECREF(code);
    Py_XDECREF(done);
    return rows;
}

/* A loop, and what it took per call in each round, in probes: how fast the processor is changes meanwhile. */
struct loop {
    int cost;                 /* enum tare_cost, or TARE_COSTS for the plain loop */
    int callee;               /* the kind of what it calls: whose own time is the inner cost */
    PyObject *plain, *hooked; /* rows; borrowed */
    double off[ROUNDS_MAX], on[ROUNDS_MAX], inner[ROUNDS_MAX];
};

struct calibration {
    const struct tare_clock *clock;
    PyObject *plain, *hooked; /* lists of rows */
    PyObject *warm, *timed;   /* ranges */
    struct loop loops[LOOPS_MAX];
    size_t count;
    int rounds;
    double probes[ROUNDS_MAX]; /* ticks */
};

static int cost_named(const char *name)
{
    for (int i = 0; i < TARE_COSTS; i++)
        if (strcmp(name, tare_cost_name((enum tare_cost)i)) == 0)
            return i;
    return TARE_COSTS;
}

static bool is_c(int cost)
{
    return (cost >= TARE_COST_C_NOARGS && cost < TARE_COST_FRAMES) || cost == TARE_COST_BLIND;
}

static int callee_of(int cost)
{
    return cost == TARE_COST_FROM_C || cost == TARE_COST_UNWIND ? TARE_COST_EXACT : cost;
}

static int calibration_init(struct calibration *c, bool c_functions)
{
    PyObject *range = PyDict_GetItemString(PyEval_GetBuiltins(), "range");
    c->plain = rows_new();
    c->hooked = c->plain ? rows_new() : NULL;
    c->warm = c->hooked && range ? PyObject_CallFunction(range, "i", WARM) : NULL;
    c->timed = c->warm ? PyObject_CallFunction(range, "i", CALLS) : NULL;
    if (!c->timed)
        return -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(c->plain) && c->count < LOOPS_MAX; i++) {
        PyObject *row = PyList_GET_ITEM(c->plain, i);
        int cost = cost_named(PyUnicode_AsUTF8(PyTuple_GET_ITEM(row, 0)));
        if (is_c(cost) && !c_functions)
            continue;
        c->loops[c->count++] = (struct loop){
            .cost = cost,
            .callee = callee_of(cost),
            .plain = row,
            .hooked = PyList_GET_ITEM(c->hooked, i),
        };
    }
    return 0;
}

static void calibration_finish(struct calibration *c)
{
    Py_CLEAR(c->plain);
    Py_CLEAR(c->hooked);
    Py_CLEAR(c->warm);
    Py_CLEAR(c->timed);
}

/* Our classes are cycles, and would be found among object's subclasses until the collector comes by: make it
 * look at the newest objects, which are ours. Afterwards the module gc is as known as it was before. */
static void collect_newest(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    bool known = PyDict_GetItemString(modules, "gc") != NULL;
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *done = gc ? PyObject_CallMethod(gc, "collect", "i", 0) : NULL;
    Py_XDECREF(gc);
    Py_XDECREF(done);
    if (!known && PyDict_GetItemString(modules, "gc"))
        PyDict_DelItemString(modules, "gc");
}

/* Run a row's loop over a range. Ticks, or negative with an exception. */
static double run_row(const struct calibration *c, PyObject *row, PyObject *range)
{
    uint64_t begin = tare_clock_ticks(c->clock);
    PyObject *done = PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(row, 1), range, PyTuple_GET_ITEM(row, 2),
                                                  PyTuple_GET_ITEM(row, 3), NULL);
    uint64_t end = tare_clock_ticks(c->clock);
    Py_XDECREF(done);
    return done ? (double)(end - begin) : -1;
}

static double probe_ticks(const struct calibration *c)
{
    return (double)tare_recorder_probe_now(c->clock, hook_probe);
}

static int run_plain(struct calibration *c, struct loop *loop, int round)
{
    if (run_row(c, loop->plain, c->warm) < 0)
        return -1;
    double probe = probe_ticks(c);
    double took = run_row(c, loop->plain, c->timed);
    probe = (probe + probe_ticks(c)) / 2;
    loop->off[round] = took / CALLS / probe;
    c->probes[round] = probe;
    return took < 0 ? -1 : 0;
}

static int run_hooked(struct calibration *c, struct loop *loop, int round)
{
    struct tare_recorder_thread *thread = hook_thread();
    uint64_t calls[2] = {0}, ticks[2] = {0};
    if (!thread || run_row(c, loop->hooked, c->warm) < 0)
        return -1;
    enum tare_cost callee = loop->callee < TARE_COST_FRAMES ? (enum tare_cost)loop->callee : TARE_COST_NONE;
    tare_recorder_totals(thread, callee, &calls[0], &ticks[0]);
    double probe = probe_ticks(c);
    double took = run_row(c, loop->hooked, c->timed);
    probe = (probe + probe_ticks(c)) / 2;
    tare_recorder_totals(thread, callee, &calls[1], &ticks[1]);
    loop->on[round] = took / CALLS / probe;
    loop->inner[round] =
        calls[1] > calls[0] ? (double)(ticks[1] - ticks[0]) / (double)(calls[1] - calls[0]) / probe : 0;
    return took < 0 ? -1 : 0;
}

/* By turns, so that what the machine does meanwhile meets both alike. */
static int run_rounds(struct calibration *c)
{
    int64_t begin = tare_clock_ns();
    for (; c->rounds < ROUNDS_MAX; c->rounds++) {
        if (c->rounds >= ROUNDS_MIN && tare_clock_ns() - begin > BUDGET_NS)
            break;
        for (size_t i = 0; i < c->count; i++)
            if (run_plain(c, &c->loops[i], c->rounds) < 0)
                return -1;
        if (hook_events_switch(true) < 0)
            return -1;
        int rc = 0;
        for (size_t i = 0; i < c->count && rc == 0; i++)
            rc = run_hooked(c, &c->loops[i], c->rounds);
        if (hook_events_switch(false) < 0 || rc < 0)
            return -1;
    }
    return 0;
}

static double median(const double *values, int count)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, tare_stats_by_value);
    return tare_stats_median(sorted, (size_t)count);
}

/* How far values lie from their median, scaled to a standard deviation. */
static double spread(const double *values, int count)
{
    double away[ROUNDS_MAX], middle = median(values, count);
    for (int i = 0; i < count; i++)
        away[i] = fabs(values[i] - middle);
    return 1.4826 * median(away, count);
}

static const struct loop *loop_of(const struct calibration *c, int cost)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->loops[i].cost == cost)
            return &c->loops[i];
    return NULL;
}

/* How much longer Python code takes that calls nothing: only where the hook slows every instruction down. */
static void derive_dilation(const struct calibration *c, struct tare_calibration *result)
{
    result->dilation = 1;
    const struct loop *loop = loop_of(c, TARE_COSTS);
    if (PY_VERSION_HEX >= 0x030c0000 || !loop)
        return;
    double ratio[ROUNDS_MAX];
    for (int i = 0; i < c->rounds; i++)
        ratio[i] = loop->on[i] / loop->off[i];
    result->dilation = median(ratio, c->rounds);
    /* It differs from instruction to instruction: of seven small loops on 3.11, by 1.4 to 2.9. */
    result->dilation_error = spread(ratio, c->rounds) / sqrt(c->rounds) + fabs(result->dilation - 1) / 2;
}

/* The total of a kind in ticks: what the loop took longer, beyond dilation. */
static struct tare_cost_ns derive(const struct calibration *c, const struct loop *loop, double dilation)
{
    double added[ROUNDS_MAX];
    for (int i = 0; i < c->rounds; i++)
        added[i] = loop->on[i] - loop->off[i] * dilation;
    double inner = median(loop->inner, c->rounds);
    return (struct tare_cost_ns){
        .inner = inner,
        .outer = median(added, c->rounds) - inner,
        .error = 1.2533 * spread(added, c->rounds) / sqrt(c->rounds),
    };
}

/* Calls of types are not recorded, and an exception comes on top of a call. */
static void set_total(struct tare_cost_ns *cost, double inner, double less)
{
    double total = cost->inner + cost->outer - less;
    cost->inner = inner;
    cost->outer = total - inner;
}

static void derive_all(const struct calibration *c, bool c_functions, struct tare_calibration *result)
{
    struct tare_cost_ns *costs = result->costs;
    derive_dilation(c, result);
    for (size_t i = 0; i < c->count; i++)
        if (c->loops[i].cost < TARE_COSTS)
            costs[c->loops[i].cost] = derive(c, &c->loops[i], result->dilation);
    /* Each run of a loop is itself a call. */
    double call = (costs[TARE_COST_EXACT].inner + costs[TARE_COST_EXACT].outer) / CALLS;
    for (int i = 1; i < TARE_COSTS; i++)
        costs[i].outer -= call;
    const struct tare_cost_ns *exact = &costs[TARE_COST_EXACT];
    set_total(&costs[TARE_COST_UNWIND], 0, exact->inner + exact->outer);
    set_total(&costs[TARE_COST_BLIND], 0, 0);
    costs[TARE_COST_BLIND].outer /= 2; /* its loop has two of them */
    set_total(&costs[TARE_COST_INIT], costs[TARE_COST_INIT].inner,
              PY_VERSION_HEX >= 0x030c0000 ? costs[TARE_COST_BLIND].outer : 0);
    if (c_functions) {
        /* These do some work of their own; what recording puts into it is as for others of their convention.
         */
        set_total(&costs[TARE_COST_LEN], costs[TARE_COST_C_O].inner, 0);
        set_total(&costs[TARE_COST_ISINSTANCE], costs[TARE_COST_C_FAST].inner, 0);
        set_total(&costs[TARE_COST_APPEND], costs[TARE_COST_M_O].inner, 0);
    }
    const struct loop *none = loop_of(c, TARE_COST_NONE);
    if (none)
        set_total(&costs[TARE_COST_GENERATOR],
                  costs[TARE_COST_GENERATOR].inner - median(none->off, c->rounds), 0);
    costs[TARE_COST_NONE] = *exact;
}

/* Calls of one kind are not all alike either: by how much, the kinds of a family among each other tell. */
static void widen(struct tare_cost_ns *costs, int first, int last)
{
    double sum = 0, square = 0;
    int count = last - first + 1;
    for (int i = first; i <= last; i++) {
        double total = costs[i].inner + costs[i].outer;
        sum += total;
        square += total * total;
    }
    double variance = square / count - sum / count * (sum / count);
    for (int i = first; i <= last; i++)
        costs[i].error += sqrt(variance > 0 ? variance : 0) / 2;
}

static void derive_scale(const struct calibration *c, struct tare_calibration *result)
{
    double total[ROUNDS_MAX] = {0};
    for (int round = 0; round < c->rounds; round++)
        for (size_t i = 0; i < c->count; i++)
            total[round] += c->loops[i].on[round] - c->loops[i].off[round];
    double middle = median(total, c->rounds);
    /* The run is longer than this, and meets more of what varies. */
    result->scale_error = TARE_OVERHEAD_DOUBT + (middle > 0 ? spread(total, c->rounds) / middle : 0);
}

bool calibrate_waiting_now(struct calibrate_waiting *ret_now)
{
    char text[96];
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    char *rest;
    ret_now->ran_ns = (double)strtoull(text, &rest, 10);
    ret_now->waited_ns = (double)strtoull(rest, &rest, 10);
    ret_now->turns = (double)strtoull(rest, NULL, 10);
    return true;
}

struct calibrate_waiting calibrate_waiting_since(const struct calibrate_waiting *then)
{
    struct calibrate_waiting now;
    if (!calibrate_waiting_now(&now) || now.ran_ns <= then->ran_ns || now.waited_ns < then->waited_ns)
        return (struct calibrate_waiting){0};
    return (struct calibrate_waiting){.ran_ns = now.ran_ns - then->ran_ns,
                                      .waited_ns = now.waited_ns - then->waited_ns,
                                      .turns = now.turns - then->turns};
}

double calibrate_waiting_factor(const struct calibrate_waiting *since)
{
    return since->ran_ns > 0 ? 1 + since->waited_ns / since->ran_ns : 1;
}

int calibrate_run(const struct tare_clock *clock, bool c_functions, struct tare_calibration *ret_calibration)
{
    struct calibration *c = calloc(1, sizeof *c);
    if (!c) {
        PyErr_NoMemory();
        return -1;
    }
    c->clock = clock;
    struct calibrate_waiting begin = {0};
    calibrate_waiting_now(&begin);
    int collecting = PyGC_Disable();
    int rc = calibration_init(c, c_functions);
    if (rc == 0)
        rc = run_rounds(c);
    if (rc == 0) {
        struct tare_calibration result = {0};
        derive_all(c, c_functions, &result);
        widen(result.costs, TARE_COST_EXACT, TARE_COST_GENERAL);
        if (c_functions) {
            widen(result.costs, TARE_COST_C_NOARGS, TARE_COST_C_FAST_KEYWORDS);
            widen(result.costs, TARE_COST_M_NOARGS, TARE_COST_M_FAST_KEYWORDS);
        }
        derive_scale(c, &result);
        /* A machine that lets us wait now may do so later; how often is known only at the end. */
        struct calibrate_waiting since = calibrate_waiting_since(&begin);
        result.scale_error = fmin(5, result.scale_error + calibrate_waiting_factor(&since) - 1);
        result.probe_ns = median(c->probes, c->rounds) * 1e9 / clock->frequency_hz;
        for (int i = 0; i < TARE_COSTS; i++) {
            result.costs[i].inner *= result.probe_ns;
            result.costs[i].outer *= result.probe_ns;
            result.costs[i].error *= result.probe_ns;
        }
        *ret_calibration = result;
    }
    calibration_finish(c);
    free(c);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    collect_newest();
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    if (collecting)
        PyGC_Enable();
    return rc;
}
