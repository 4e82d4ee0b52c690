#include "python/arguments.h"

#include <string.h>

#include "moments/products.h"
#include "moments/ridge.h"
#include "moments/step_products.h"

/* There are n rows, m features, k targets, o = m + k origins, f factors, p = f (f + 1) / 2 products. */

static PyObject *answer(enum outcome outcome) {
    return outcome == FINITE || outcome == NOT_FINITE ? PyBool_FromLong(outcome == FINITE) : sefr_refuse(outcome, 0);
}

PyObject *sefr_py_products(FASTCALL) {
    enum { X, TARGETS, WEIGHTS, ORIGIN, MISSING, SUMS, SQUARES, N_THREADS, N_ARGUMENTS };
    static const struct argument arguments[N_ARGUMENTS] = {
        OTHER_ARGUMENT("X"),         READS_OR_NONE("targets", F64, "nk"), READS_OR_NONE("weights", F64, "n"),
        READS("origin", F64, "o"),   OTHER_ARGUMENT("missing"),           WRITES("sums", F64, "f"),
        WRITES("squares", F64, "p"), OTHER_ARGUMENT("n_threads")};
    struct call call;
    struct held_table table = {0};
    PyObject *result = NULL;
    int n_threads;
    (void)self;
    if (sefr_begin_call(&call, "products", arguments, N_ARGUMENTS, args, n_args, kwnames) &&
        sefr_hold_table(&table, call.values[X], -1) &&
        sefr_get_int(call.values[N_THREADS], "n_threads", 1, INT32_MAX, &n_threads)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t n = table.x.n, k = arrays[TARGETS].held ? arrays[TARGETS].view.shape[1] : 0;
        const int missing = PyObject_IsTrue(call.values[MISSING]);
        const struct factors of = {
            &table.x, data_of(&arrays[TARGETS]), k, data_of(&arrays[ORIGIN]), data_of(&arrays[WEIGHTS]), missing > 0};
        const Py_ssize_t f = n_factors(&of);
        if (missing >= 0 && sefr_check_shapes(&call, "nkofp", (Py_ssize_t[]){n, k, table.x.m + k, f, packed_size(f)})) {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_products(&of, data_of(&arrays[SUMS]), data_of(&arrays[SQUARES]), n_threads);
            Py_END_ALLOW_THREADS;
            result = answer(outcome);
        }
    }
    sefr_release_table(&table);
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_products_csr(FASTCALL) {
    enum { DATA, INDICES, INDPTR, WEIGHTS, ORIGIN, SUMS, SQUARES, N_THREADS, N_ARGUMENTS };
    static const struct argument arguments[N_ARGUMENTS] = {
        OTHER_ARGUMENT("data"),      OTHER_ARGUMENT("indices"),
        OTHER_ARGUMENT("indptr"),    READS_OR_NONE("weights", F64, "n"),
        READS("origin", F64, "m"),   WRITES("sums", F64, "m"),
        WRITES("squares", F64, "p"), OTHER_ARGUMENT("n_threads")};
    struct call call;
    struct held_sparse sparse = {0};
    PyObject *result = NULL;
    int n_threads;
    (void)self;
    if (sefr_begin_call(&call, "products_csr", arguments, N_ARGUMENTS, args, n_args, kwnames) &&
        sefr_get_int(call.values[N_THREADS], "n_threads", 1, INT32_MAX, &n_threads)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t n = PyObject_Length(call.values[INDPTR]) - 1, m = arrays[ORIGIN].view.shape[0];
        if (n < 0) {
            if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "indptr is empty");
        } else if (sefr_check_shapes(&call, "nmp", (Py_ssize_t[]){n, m, packed_size(m)}) &&
                   sefr_hold_sparse(&sparse, call.values, n, m, true)) {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_products_csr(&sparse.x, data_of(&arrays[ORIGIN]), data_of(&arrays[WEIGHTS]),
                                        data_of(&arrays[SUMS]), data_of(&arrays[SQUARES]), n_threads);
            Py_END_ALLOW_THREADS;
            result = answer(outcome);
        }
    }
    sefr_release_sparse(&sparse);
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_step_products(FASTCALL) {
    enum { BEGINS, SCALE, PACKED, N_COLUMNS, PRODUCTS, N_ARGUMENTS };
    static const struct argument arguments[N_ARGUMENTS] = {READS("begins", U8, "c"), READS("scale", F64, "c"),
                                                           READS("packed", F64, "p"), OTHER_ARGUMENT("n_columns"),
                                                           WRITES("products", F64, "rr")};
    struct call call;
    PyObject *result = NULL;
    int q;
    (void)self;
    if (sefr_begin_call(&call, "step_products", arguments, N_ARGUMENTS, args, n_args, kwnames) &&
        sefr_get_int(call.values[N_COLUMNS], "n_columns", 0, INT32_MAX, &q)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t n = arrays[BEGINS].view.shape[0], pitch = arrays[PRODUCTS].view.shape[0];
        /* a copy: another thread may change it, and as many steps are written as it says */
        double *memory = PyMem_Malloc((size_t)(2 * n + 1) * sizeof *memory);
        Py_ssize_t steps = 0;
        if (!memory) {
            PyErr_NoMemory();
        } else if (sefr_check_shapes(&call, "cpr", (Py_ssize_t[]){n, packed_size(q), pitch})) {
            memcpy(memory, data_of(&arrays[SCALE]), (size_t)n * sizeof *memory);
            for (Py_ssize_t j = 0; j < n; j++) steps += memory[j] != 0.0;
            const struct step_basis basis = {data_of(&arrays[BEGINS]), memory, n};
            if (n > q || steps > pitch) {
                PyErr_Format(PyExc_ValueError, "%zd columns, %zd steps: more than there is room for", n, steps);
            } else {
                Py_BEGIN_ALLOW_THREADS;
                sefr_step_products(&basis, data_of(&arrays[PACKED]), q, memory + n, data_of(&arrays[PRODUCTS]), pitch);
                Py_END_ALLOW_THREADS;
                result = Py_NewRef(Py_None);
            }
        }
        PyMem_Free(memory);
    }
    sefr_end_call(&call);
    return result;
}

/* k targets on p columns; b is p - 1, or 0. */
PyObject *sefr_py_likeliest_ridges(FASTCALL) {
    enum {
        DIAGONAL,
        BESIDE,
        ROTATED,
        POWER,
        RIDGES,
        COUNT,
        TOGETHER,
        OTHERS,
        SQUARE,
        CHOSEN,
        SOLVED,
        LEFT,
        FREEDOM,
        N_ARGUMENTS
    };
    static const struct argument arguments[N_ARGUMENTS] = {
        READS("diagonal", F64, "p"), READS("beside", F64, "b"),  READS("rotated", F64, "kp"), READS("power", F64, "k"),
        READS("ridges", F64, "r"),   OTHER_ARGUMENT("count"),    OTHER_ARGUMENT("together"),  OTHER_ARGUMENT("others"),
        OTHER_ARGUMENT("square"),    WRITES("chosen", F64, "k"), WRITES("solved", F64, "kp"), WRITES("left", F64, "k"),
        WRITES("freedom", F64, "k")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "likeliest_ridges", arguments, N_ARGUMENTS, args, n_args, kwnames)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t p = arrays[DIAGONAL].view.shape[0], k = arrays[POWER].view.shape[0];
        const Py_ssize_t r = arrays[RIDGES].view.shape[0];
        const struct tridiagonal t = {p, NULL, data_of(&arrays[DIAGONAL]), data_of(&arrays[BESIDE]), NULL};
        const struct ridge_targets of = {data_of(&arrays[ROTATED]),
                                         data_of(&arrays[POWER]),
                                         data_of(&arrays[RIDGES]),
                                         k,
                                         r,
                                         PyFloat_AsDouble(call.values[COUNT]),
                                         PyObject_IsTrue(call.values[TOGETHER]) == 1,
                                         PyFloat_AsDouble(call.values[OTHERS]),
                                         PyFloat_AsDouble(call.values[SQUARE])};
        const struct ridge_solutions to = {data_of(&arrays[CHOSEN]), data_of(&arrays[SOLVED]), data_of(&arrays[LEFT]),
                                           data_of(&arrays[FREEDOM])};
        double *work = PyMem_Malloc((size_t)(3 * p + k * r + 1) * sizeof *work);
        if (!work) {
            PyErr_NoMemory();
        } else if (!PyErr_Occurred() &&
                   sefr_check_shapes(&call, "pbkr", (Py_ssize_t[]){p, p > 1 ? p - 1 : 0, k, r > 0 ? r : 1})) {
            bool solved;
            Py_BEGIN_ALLOW_THREADS;
            solved = sefr_likeliest_ridges(&t, &of, &to, work);
            Py_END_ALLOW_THREADS;
            result = PyBool_FromLong(solved);
        }
        PyMem_Free(work);
    }
    sefr_end_call(&call);
    return result;
}
