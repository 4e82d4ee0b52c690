#include "python/arguments.h"

enum { X, COEF, INTERCEPT, ROWS, OUT, N_THREADS, N_ARGUMENTS };

static PyObject *run(const struct table *x, const struct array *arrays, int n_threads) {
    const Py_ssize_t k = arrays[COEF].view.shape[0];
    const Py_ssize_t n_rows = arrays[ROWS].held ? arrays[ROWS].view.shape[0] : x->n;
    if (!sefr_check_shape(&arrays[COEF], "coef", k, x->m) ||
        !sefr_check_shape(&arrays[INTERCEPT], "intercept", k, -1) ||
        !sefr_check_shape(&arrays[OUT], "out", n_rows, k)) {
        return NULL;
    }
    enum outcome outcome;
    Py_BEGIN_ALLOW_THREADS;
    outcome = sefr_scores(x, arrays[COEF].view.buf, arrays[INTERCEPT].view.buf, k,
                          arrays[ROWS].held ? arrays[ROWS].view.buf : NULL, n_rows, arrays[OUT].view.buf, n_threads);
    Py_END_ALLOW_THREADS;
    if (outcome == NO_MEMORY) return PyErr_NoMemory();
    if (outcome == BAD_ROW) {
        PyErr_Format(PyExc_ValueError, "rows: a row is not within 0 and %zd", (Py_ssize_t)x->n - 1);
        return NULL;
    }
    return Py_NewRef(Py_None);
}

PyObject *sefr_py_scores(FASTCALL) {
    static const char *const names[] = {"X", "coef", "intercept", "rows", "out", "n_threads"};
    PyObject *values[N_ARGUMENTS], *result = NULL;
    struct array arrays[N_ARGUMENTS] = {{.held = false}};
    struct held_table table = {0};
    int n_threads;
    (void)self;
    if (!sefr_gather_arguments("scores", names, N_ARGUMENTS, args, n_args, kwnames, values)) return NULL;
    if (sefr_hold_table(&table, values[X], -1) && sefr_hold_exact(&arrays[COEF], values[COEF], "coef", 2, F64, false) &&
        sefr_hold_exact(&arrays[INTERCEPT], values[INTERCEPT], "intercept", 1, F64, false) &&
        sefr_hold_optional(&arrays[ROWS], values[ROWS], "rows", 1, I64, false) &&
        sefr_hold_exact(&arrays[OUT], values[OUT], "out", 2, F64, true) &&
        sefr_get_int(values[N_THREADS], "n_threads", 1, INT32_MAX, &n_threads)) {
        result = run(&table.x, arrays, n_threads);
    }
    sefr_release_table(&table);
    for (int i = 0; i < N_ARGUMENTS; i++) sefr_release(&arrays[i]);
    return result;
}
