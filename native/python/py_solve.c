#include "python/arguments.h"
#include "solve/solve.h"

enum { SUMS, COUNTS, LOW, SPAN, EPSILON, WEIGHTS, BIAS, N_ARGUMENTS };

static const char *const names[] = {"sums", "counts", "low", "span", "epsilon", "weights", "bias"};

static bool hold_learned(struct array *arrays, PyObject *const *values, Py_ssize_t n_ranges, struct learned *from) {
    if (!sefr_hold_exact(&arrays[SUMS], values[SUMS], "sums", 2, F64, false)) return false;
    const Py_ssize_t k = arrays[SUMS].view.shape[0], m = arrays[SUMS].view.shape[1];
    for (Py_ssize_t i = COUNTS; i < COUNTS + 1 + n_ranges; i++) {
        if (!sefr_hold_exact(&arrays[i], values[i], names[i], 1, F64, false) ||
            !sefr_check_shape(&arrays[i], names[i], i == COUNTS ? k : m, -1)) {
            return false;
        }
    }
    *from = (struct learned){k, m, arrays[COUNTS].view.buf, arrays[SUMS].view.buf, arrays[LOW].view.buf, NULL};
    if (n_ranges > 1) from->span = arrays[SPAN].view.buf;
    return true;
}

static bool hold_planes(struct array *arrays, PyObject *const *values, const struct learned *from, struct planes *to) {
    const Py_ssize_t n_planes = from->k == 2 ? 1 : from->k;
    for (int i = WEIGHTS; i < N_ARGUMENTS; i++) {
        const bool wide = i == WEIGHTS;
        if (!sefr_hold_exact(&arrays[i], values[i], names[i], wide ? 2 : 1, F64, true) ||
            !sefr_check_shape(&arrays[i], names[i], n_planes, wide ? from->m : -1)) {
            return false;
        }
    }
    *to = (struct planes){arrays[WEIGHTS].view.buf, arrays[BIAS].view.buf};
    return true;
}

PyObject *sefr_py_solve(FASTCALL) {
    PyObject *values[N_ARGUMENTS], *result = NULL;
    struct array arrays[N_ARGUMENTS] = {{.held = false}};
    struct learned from;
    struct planes to;
    (void)self;
    if (!sefr_gather_arguments("solve", names, N_ARGUMENTS, args, n_args, kwnames, values)) return NULL;
    const double epsilon = PyFloat_AsDouble(values[EPSILON]);
    if (!PyErr_Occurred() && hold_learned(arrays, values, 2, &from) && hold_planes(arrays, values, &from, &to)) {
        bool solved;
        Py_BEGIN_ALLOW_THREADS;
        solved = sefr_solve(&from, epsilon, &to);
        Py_END_ALLOW_THREADS;
        result = PyBool_FromLong(solved);
    }
    for (int i = 0; i < N_ARGUMENTS; i++) sefr_release(&arrays[i]);
    return result;
}

PyObject *sefr_py_is_delicate(FASTCALL) {
    PyObject *values[SPAN], *result = NULL;
    struct array arrays[SPAN] = {{.held = false}};
    struct learned from;
    (void)self;
    if (!sefr_gather_arguments("is_delicate", names, SPAN, args, n_args, kwnames, values)) return NULL;
    if (hold_learned(arrays, values, 1, &from)) {
        bool delicate;
        Py_BEGIN_ALLOW_THREADS;
        delicate = sefr_is_delicate(&from);
        Py_END_ALLOW_THREADS;
        result = PyBool_FromLong(delicate);
    }
    for (int i = 0; i < SPAN; i++) sefr_release(&arrays[i]);
    return result;
}
