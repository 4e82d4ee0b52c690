#include "python/arguments.h"

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

PyObject *sefr_py_find_direction(FASTCALL) {
    enum { GRADIENT, STEPS, CHANGES, CURVED, ORDER, DIRECTION, N_ARGUMENTS };
    static const struct argument arguments[N_ARGUMENTS] = {READS("gradient", F64, "n"), READS("steps", F64, "pn"),
                                                           READS("changes", F64, "pn"), WRITES("curved", F64, "p"),
                                                           READS("order", I64, "o"),    WRITES("direction", F64, "n")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "find_direction", arguments, N_ARGUMENTS, args, n_args, kwnames)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t n = arrays[GRADIENT].view.shape[0], rows = arrays[STEPS].view.shape[0];
        struct pairs pairs = {.steps = data_of(&arrays[STEPS]),
                              .changes = data_of(&arrays[CHANGES]),
                              .curved = data_of(&arrays[CURVED]),
                              .n = n,
                              .count = arrays[ORDER].view.shape[0]};
        bool ok = pairs.count <= MOST_PAIRS;
        for (Py_ssize_t p = 0; ok && p < pairs.count; p++) {
            pairs.order[p] = ((const volatile int64_t *)data_of(&arrays[ORDER]))[p];
            ok = pairs.order[p] >= 0 && pairs.order[p] < rows;
        }
        if (!ok) {
            PyErr_Format(PyExc_ValueError, "order: at most %d rows of steps", MOST_PAIRS);
        } else if (sefr_check_shapes(&call, "npo", (Py_ssize_t[]){n, rows, pairs.count})) {
            Py_BEGIN_ALLOW_THREADS;
            sefr_find_direction(&pairs, data_of(&arrays[GRADIENT]), data_of(&arrays[DIRECTION]));
            Py_END_ALLOW_THREADS;
            result = Py_NewRef(Py_None);
        }
    }
    sefr_end_call(&call);
    return result;
}
