#include "python/arguments.h"

#include <string.h>

#include "refine/mixture.h"

/* q points, n rows, r scores. */
PyObject *sefr_py_minimise_mixture(FASTCALL) {
    enum { SCORES, CODES, WEIGHTS, HESSIAN, START, SLOPE, SHARES, N_ARGUMENTS };
    static const struct argument arguments[N_ARGUMENTS] = {
        READS("scores", F64, "qnr"), READS("codes", I32, "n"), READS("weights", F64, "n"),
        READS("hessian", F64, "qq"), READS("start", F64, "q"), READS_OR_NONE("slope", F64, "q"),
        WRITES("shares", F64, "q")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "minimise_mixture", arguments, N_ARGUMENTS, args, n_args, kwnames)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t *shape = arrays[SCORES].view.shape, q = shape[0], n = shape[1], r = shape[2];
        if (q < 1 || q > MOST_POINTS || n < 1 || r < 1 || r == 2 || r > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "scores: %zd points, %zd rows, %zd scores", q, n, r);
        } else if (sefr_check_shape(&arrays[CODES], "codes", n, -1) &&
                   sefr_check_shape(&arrays[WEIGHTS], "weights", n, -1) &&
                   sefr_check_shape(&arrays[HESSIAN], "hessian", q, q) &&
                   sefr_check_shape(&arrays[START], "start", q, -1) &&
                   (!arrays[SLOPE].held || sefr_check_shape(&arrays[SLOPE], "slope", q, -1)) &&
                   sefr_check_shape(&arrays[SHARES], "shares", q, -1)) {
            const struct mixture mixture = {.scores = data_of(&arrays[SCORES]),
                                            .codes = data_of(&arrays[CODES]),
                                            .weights = data_of(&arrays[WEIGHTS]),
                                            .n_points = q,
                                            .n_rows = n,
                                            .n_scores = r,
                                            .n_classes = r == 1 ? 2 : r,
                                            .hessian = data_of(&arrays[HESSIAN]),
                                            .start = data_of(&arrays[START]),
                                            .slope = data_of(&arrays[SLOPE])};
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_minimise_mixture(&mixture, data_of(&arrays[SHARES]));
            Py_END_ALLOW_THREADS;
            result = outcome == FINITE ? Py_NewRef(Py_None) : sefr_refuse(outcome, (int32_t)mixture.n_classes);
        }
    }
    sefr_end_call(&call);
    return result;
}

/* A sequence of float64 arrays of n values each, held for the length of a call. */
struct held_lines {
    struct array arrays[MOST_PAIRS];
    const double *data[MOST_PAIRS];
};

static bool hold_lines(struct held_lines *lines, PyObject *object, const char *name, Py_ssize_t count, Py_ssize_t n) {
    const Py_ssize_t given = PySequence_Size(object);
    if (given != count) {
        if (given >= 0) PyErr_Format(PyExc_ValueError, "%s has %zd arrays, not %zd", name, given, count);
        return false;
    }
    for (Py_ssize_t p = 0; p < count; p++) {
        PyObject *line = PySequence_GetItem(object, p);
        const bool held = line && sefr_hold_exact(&lines->arrays[p], line, name, 1, F64, false);
        Py_XDECREF(line);
        if (!held || !sefr_check_shape(&lines->arrays[p], name, n, -1)) return false;
        lines->data[p] = data_of(&lines->arrays[p]);
    }
    return true;
}

static void release_lines(struct held_lines *lines) {
    for (Py_ssize_t p = 0; p < MOST_PAIRS; p++) sefr_release(&lines->arrays[p]);
}

PyObject *sefr_py_find_direction(FASTCALL) {
    enum { GRADIENT, STEPS, CHANGES, CURVED, DIRECTION, N_ARGUMENTS };
    static const struct argument arguments[N_ARGUMENTS] = {READS("gradient", F64, "n"), OTHER_ARGUMENT("steps"),
                                                           OTHER_ARGUMENT("changes"), WRITES("curved", F64, "p"),
                                                           WRITES("direction", F64, "n")};
    struct call call;
    struct held_lines steps = {0}, changes = {0};
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "find_direction", arguments, N_ARGUMENTS, args, n_args, kwnames)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t n = arrays[GRADIENT].view.shape[0], count = arrays[CURVED].view.shape[0];
        if (count > MOST_PAIRS) {
            PyErr_Format(PyExc_ValueError, "curved has length %zd, above %d", count, MOST_PAIRS);
        } else if (sefr_check_shapes(&call, "np", (Py_ssize_t[]){n, count}) &&
                   hold_lines(&steps, call.values[STEPS], "steps", count, n) &&
                   hold_lines(&changes, call.values[CHANGES], "changes", count, n)) {
            struct pairs pairs = {.curved = data_of(&arrays[CURVED]), .n = n, .count = count};
            memcpy(pairs.steps, steps.data, sizeof pairs.steps);
            memcpy(pairs.changes, changes.data, sizeof pairs.changes);
            Py_BEGIN_ALLOW_THREADS;
            sefr_find_direction(&pairs, data_of(&arrays[GRADIENT]), data_of(&arrays[DIRECTION]));
            Py_END_ALLOW_THREADS;
            result = Py_NewRef(Py_None);
        }
    }
    release_lines(&steps);
    release_lines(&changes);
    sefr_end_call(&call);
    return result;
}
