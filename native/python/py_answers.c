#include <limits.h>

#include "answers/likelihood.h"
#include "answers/parts.h"
#include "answers/probabilities.h"
#include "python/arguments.h"
#include "refine/leave_one_out.h"

#define AT(i) data_of(&call.arrays[i])

/* n rows of k classes and r scores; s is k + 1. */
PyObject *sefr_py_fit_scaling(FASTCALL) {
    enum { SCORES_, CODES, WEIGHTS, EVIDENCE, COUNTS, INVERSE, BEFORE, KNOWN, OFFSETS, PRECISION, N_ARGUMENTS };
    static const struct argument arguments[N_ARGUMENTS] = {READS("scores", F64, "nr"),
                                                           READS("codes", I32, "n"),
                                                           READS("weights", F64, "n"),
                                                           READS("evidence", F64, "n"),
                                                           READS_OR_NONE("counts", F64, "k"),
                                                           OTHER_ARGUMENT("inverse"),
                                                           READS_OR_NONE("prior_offsets", F64, "k"),
                                                           READS_OR_NONE("prior_precision", F64, "s"),
                                                           WRITES("offsets", F64, "k"),
                                                           WRITES("precision", F64, "s")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "fit_scaling", arguments, N_ARGUMENTS, args, n_args, kwnames)) {
        const Py_ssize_t *shape = call.arrays[SCORES_].view.shape, n = shape[0], r = shape[1], k = r == 1 ? 2 : r;
        const struct held_out rows = {n, k, r, AT(SCORES_), AT(CODES), AT(WEIGHTS), AT(EVIDENCE)};
        const struct scaling prior = {PyFloat_AsDouble(call.values[INVERSE]), AT(BEFORE), AT(KNOWN)};
        struct scaling found = {0.0, AT(OFFSETS), AT(PRECISION)};
        if (!PyErr_Occurred() && sefr_check_shapes(&call, "nrks", (Py_ssize_t[]){n, r, k, k + 1})) {
            const bool is_known = prior.offsets && prior.precision;
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_fit_scaling(&rows, AT(COUNTS), is_known ? &prior : NULL, &found);
            Py_END_ALLOW_THREADS;
            result = outcome == FINITE ? PyFloat_FromDouble(found.inverse) : sefr_refuse(outcome, (int32_t)k);
        }
    }
    sefr_end_call(&call);
    return result;
}

/* p parts of n rows of k classes: their logits are p x n (a) rows; l is p + 1. */
PyObject *sefr_py_weigh_parts(FASTCALL) {
    enum { LOGITS, BASE, CODES, WEIGHTS, SHARES, LOSSES, N_ARGUMENTS };
    static const struct argument arguments[N_ARGUMENTS] = {READS("logits", F64, "ak"), READS("base", F64, "nk"),
                                                           READS("codes", I32, "n"),   READS("weights", F64, "n"),
                                                           WRITES("shares", F64, "p"), WRITES("losses", F64, "l")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "weigh_parts", arguments, N_ARGUMENTS, args, n_args, kwnames)) {
        const Py_ssize_t *shape = call.arrays[BASE].view.shape, n = shape[0], k = shape[1];
        const Py_ssize_t p = call.arrays[SHARES].view.shape[0];
        const struct held_out_parts parts = {p, n, k, AT(LOGITS), AT(BASE), AT(CODES), AT(WEIGHTS)};
        if (p < 1 || p > MOST_SHARES) {
            PyErr_Format(PyExc_ValueError, "%zd parts, not 1 to %d", p, MOST_SHARES);
        } else if (sefr_check_shapes(&call, "ankpl", (Py_ssize_t[]){p * n, n, k, p, p + 1})) {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_weigh_parts(&parts, AT(SHARES), AT(LOSSES));
            Py_END_ALLOW_THREADS;
            result = outcome == FINITE ? Py_NewRef(Py_None) : sefr_refuse(outcome, (int32_t)k);
        }
    }
    sefr_end_call(&call);
    return result;
}

/* n rows of r scores and k classes; what is known of a of them is a x b. */
PyObject *sefr_py_leave_one_out(FASTCALL) {
    enum {
        OF,
        CODES,
        WEIGHTS,
        SHARES,
        CLASS_WEIGHTS,
        LENGTHS,
        RIDGE,
        BY,
        WIDTH,
        KNOWN,
        SOME_WEIGHTS,
        SOME_SHARES,
        SAY,
        LEFT_OUT,
        N_ARGUMENTS
    };
    static const struct argument arguments[N_ARGUMENTS] = {READS("scores", F64, "nr"),
                                                           READS("codes", I32, "n"),
                                                           READS("weights", F64, "n"),
                                                           READS("shares", F64, "n"),
                                                           READS("class_weights", F64, "k"),
                                                           READS("squared_lengths", F64, "n"),
                                                           OTHER_ARGUMENT("ridge"),
                                                           OTHER_ARGUMENT("by"),
                                                           OTHER_ARGUMENT("width"),
                                                           READS("known", F64, "ab"),
                                                           READS("known_weights", F64, "a"),
                                                           READS("known_shares", F64, "a"),
                                                           OTHER_ARGUMENT("say"),
                                                           WRITES("left_out", F64, "nr")};
    struct call call;
    PyObject *result = NULL;
    int by, width;
    (void)self;
    if (sefr_begin_call(&call, "leave_one_out", arguments, N_ARGUMENTS, args, n_args, kwnames) &&
        sefr_get_int(call.values[BY], "by", ALL_ROWS, SPECTRUM, &by) &&
        sefr_get_int(call.values[WIDTH], "width", 0, INT_MAX, &width)) {
        const Py_ssize_t *shape = call.arrays[OF].view.shape, n = shape[0], r = by == ALL_ROWS ? 1 : shape[1];
        const Py_ssize_t a = by == ALL_ROWS ? n : call.arrays[KNOWN].view.shape[0], b = by == ALL_ROWS ? width : a;
        const double ridge = PyFloat_AsDouble(call.values[RIDGE]), say = PyFloat_AsDouble(call.values[SAY]);
        const struct fitted_rows of = {n,           r,    AT(OF), AT(CODES), AT(WEIGHTS), AT(SHARES), AT(CLASS_WEIGHTS),
                                       AT(LENGTHS), ridge};
        const struct known_rows from = {(enum known_by)by, a, width, AT(KNOWN), AT(SOME_WEIGHTS), AT(SOME_SHARES), say};
        if (!PyErr_Occurred() && sefr_check_shapes(&call, "nrkab", (Py_ssize_t[]){n, r, r == 1 ? 2 : r, a, b})) {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_leave_one_out(&of, &from, AT(LEFT_OUT));
            Py_END_ALLOW_THREADS;
            result = outcome == FINITE ? Py_NewRef(Py_None) : sefr_refuse(outcome, (int32_t)(r == 1 ? 2 : r));
        }
    }
    sefr_end_call(&call);
    return result;
}
