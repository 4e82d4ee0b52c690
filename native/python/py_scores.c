#include "python/arguments.h"

enum { X, COEF, INTERCEPT, ROWS, OUT, N_THREADS, N_ARGUMENTS };

/* m features, k hyperplanes, r rows that are scored */
static const struct argument arguments[N_ARGUMENTS] = {OTHER_ARGUMENT("X"),          READS("coef", F64, "km"),
                                                       READS("intercept", F64, "k"), READS_OR_NONE("rows", I64, "r"),
                                                       WRITES("out", F64, "rk"),     OTHER_ARGUMENT("n_threads")};

PyObject *sefr_py_scores(FASTCALL) {
    struct call call;
    struct held_table table = {0};
    PyObject *result = NULL;
    int n_threads;
    (void)self;
    if (sefr_begin_call(&call, "scores", arguments, N_ARGUMENTS, args, n_args, kwnames) &&
        sefr_hold_table(&table, call.values[X], -1) &&
        sefr_get_int(call.values[N_THREADS], "n_threads", 1, INT32_MAX, &n_threads)) {
        const Py_ssize_t k = call.arrays[COEF].view.shape[0];
        const Py_ssize_t n_rows = call.arrays[ROWS].held ? call.arrays[ROWS].view.shape[0] : table.x.n;
        if (sefr_check_shapes(&call, "mkr", (Py_ssize_t[]){table.x.m, k, n_rows})) {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_scores(&table.x, data_of(&call.arrays[COEF]), data_of(&call.arrays[INTERCEPT]), k,
                                  data_of(&call.arrays[ROWS]), n_rows, data_of(&call.arrays[OUT]), n_threads);
            Py_END_ALLOW_THREADS;
            result = outcome == FINITE ? Py_NewRef(Py_None) : sefr_refuse(outcome, (int32_t)0);
        }
    }
    sefr_release_table(&table);
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_choose(FASTCALL) {
    /* n rows, k scores, c classes */
    static const struct argument choosing[] = {READS("scores", F64, "nk"), READS("values", U64, "c"),
                                               WRITES("out", U64, "n")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "choose", choosing, 3, args, n_args, kwnames)) {
        const Py_ssize_t n = call.arrays[0].view.shape[0], k = call.arrays[0].view.shape[1];
        if (k == 0) {
            PyErr_SetString(PyExc_ValueError, "a row has no score");
        } else if (sefr_check_shapes(&call, "nkc", (Py_ssize_t[]){n, k, k == 1 ? 2 : k})) {
            Py_BEGIN_ALLOW_THREADS;
            sefr_choose(data_of(&call.arrays[0]), n, k, data_of(&call.arrays[1]), data_of(&call.arrays[2]));
            Py_END_ALLOW_THREADS;
            result = Py_NewRef(Py_None);
        }
    }
    sefr_end_call(&call);
    return result;
}
