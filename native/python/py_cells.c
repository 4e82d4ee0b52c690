#include "python/arguments.h"

#include "cells/coding.h"
#include "cells/edges.h"
#include "cells/grow.h"
#include "moments/products.h"

/* Features are cut at `edges`, e of them, from starts[j] on for feature j; there are n rows, m features, s = m + 1, c
   cells, g groups, k scores and r rows that are scored. None for edges: X holds cells. `ferns`, f - 1 of them, and
   their q comparisons, of three numbers each: see coding.h. */
#define CODER                                                                               \
    READS_OR_NONE("edges", F64, "e"), READS("starts", I64, "s"), OTHER_ARGUMENT("missing"), \
        READS_OR_NONE("ferns", I64, "f"), READS_OR_NONE("comparisons", I32, "q3")

static bool prepare(struct coder *coder, const struct call *call, Py_ssize_t at) {
    const struct array *values = &call->arrays[at], *starts = &call->arrays[at + 1];
    const struct array *ferns = &call->arrays[at + 3], *comparisons = &call->arrays[at + 4];
    const int missing = PyObject_IsTrue(call->values[at + 2]);
    if (missing < 0) return false;
    if (starts->view.shape[0] < 1) {
        PyErr_Format(PyExc_ValueError, "starts is empty");
        return false;
    }
    struct edges edges = {.values = data_of(values), .starts = data_of(starts), .missing = missing};
    edges.m = starts->view.shape[0] - 1;
    if (ferns->held && ferns->view.shape[0] > 0) {
        if (!comparisons->held || comparisons->view.shape[1] != 3 || comparisons->view.shape[0] > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "comparisons must be three numbers each where there are ferns");
            return false;
        }
        edges.ferns = data_of(ferns), edges.n_ferns = ferns->view.shape[0] - 1;
        edges.comparisons = data_of(comparisons), edges.n_comparisons = comparisons->view.shape[0];
    }
    const enum outcome outcome = sefr_prepare_coder(coder, &edges, values->held ? values->view.shape[0] : 0);
    if (outcome != FINITE) sefr_refuse(outcome, 0);
    return outcome == FINITE;
}

/* X and the coder are of the same features, and X is of cells where there are no edges. */
static bool check_table(const struct table *x, const struct coder *coder) {
    if (x->m != coder->m) {
        PyErr_Format(PyExc_ValueError, "X has %zd columns, starts is for %zd", x->m, coder->m);
        return false;
    }
    if (coder->coded && (x->columns || x->type != U8)) {
        PyErr_Format(PyExc_TypeError, "X must be cells in uint8 where edges is None");
        return false;
    }
    return true;
}

PyObject *sefr_py_code_cells(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("X"), CODER, WRITES("cells", U8, "nm"),
                                                OTHER_ARGUMENT("n_threads")};
    struct call call;
    struct held_table table = {0};
    struct coder coder = {0};
    PyObject *result = NULL;
    int n_threads;
    (void)self;
    if (sefr_begin_call(&call, "code_cells", arguments, 8, args, n_args, kwnames) &&
        sefr_hold_table(&table, call.values[0], -1) &&
        sefr_get_int(call.values[7], "n_threads", 1, INT32_MAX, &n_threads) && prepare(&coder, &call, 1) &&
        check_table(&table.x, &coder) && sefr_check_shape(&call.arrays[6], "cells", table.x.n, coder.n_columns)) {
        enum outcome outcome;
        Py_BEGIN_ALLOW_THREADS;
        outcome = sefr_code_cells(&table.x, &coder, data_of(&call.arrays[6]), n_threads);
        Py_END_ALLOW_THREADS;
        result =
            outcome == FINITE || outcome == NOT_FINITE ? PyBool_FromLong(outcome == FINITE) : sefr_refuse(outcome, 0);
    }
    sefr_free_coder(&coder);
    sefr_release_table(&table);
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_count_cells(FASTCALL) {
    enum { X, EDGES, STARTS, MISSING, FERNS, COMPARISONS, CODES, WEIGHTS, SUMS, COUNTS, N_THREADS, N_ARGUMENTS };
    static const struct argument arguments[N_ARGUMENTS] = {
        OTHER_ARGUMENT("X"),        CODER,
        READS("codes", I32, "n"),   READS_OR_NONE("weights", F64, "n"),
        WRITES("sums", F64, "gc"),  WRITES("counts", F64, "g"),
        OTHER_ARGUMENT("n_threads")};
    struct call call;
    struct held_table table = {0};
    struct coder coder = {0};
    PyObject *result = NULL;
    int n_threads;
    (void)self;
    if (sefr_begin_call(&call, "count_cells", arguments, N_ARGUMENTS, args, n_args, kwnames) &&
        sefr_hold_table(&table, call.values[X], call.arrays[CODES].view.shape[0]) &&
        sefr_get_int(call.values[N_THREADS], "n_threads", 1, INT32_MAX, &n_threads) && prepare(&coder, &call, EDGES) &&
        check_table(&table.x, &coder)) {
        const Py_ssize_t n_groups = call.arrays[SUMS].view.shape[0];
        if (n_groups < 1 || n_groups > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "sums has %zd rows, not 1 to 2**31 - 1", n_groups);
        } else if (sefr_check_shape(&call.arrays[CODES], "codes", table.x.n, -1) &&
                   (!call.arrays[WEIGHTS].held || sefr_check_shape(&call.arrays[WEIGHTS], "weights", table.x.n, -1)) &&
                   sefr_check_shape(&call.arrays[SUMS], "sums", n_groups, coder.n_cells) &&
                   sefr_check_shape(&call.arrays[COUNTS], "counts", n_groups, -1)) {
            const struct grouping by = {data_of(&call.arrays[CODES]), data_of(&call.arrays[WEIGHTS]), (int32_t)n_groups,
                                        (int32_t)n_groups};
            const struct totals out = {data_of(&call.arrays[SUMS]), data_of(&call.arrays[COUNTS]), NULL, NULL, NULL};
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_count_cells(&table.x, &coder, &by, &out, n_threads);
            Py_END_ALLOW_THREADS;
            result = outcome == FINITE || outcome == NOT_FINITE ? PyBool_FromLong(outcome == FINITE)
                                                                : sefr_refuse(outcome, by.n_groups);
        }
    }
    sefr_free_coder(&coder);
    sefr_release_table(&table);
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_count_pairs(FASTCALL) {
    enum { X, EDGES, STARTS, MISSING, FERNS, COMPARISONS, WEIGHTS, PAIRS, N_THREADS, N_ARGUMENTS };
    static const struct argument arguments[N_ARGUMENTS] = {OTHER_ARGUMENT("X"), CODER,
                                                           READS_OR_NONE("weights", F64, "n"),
                                                           WRITES("pairs", F64, "p"), OTHER_ARGUMENT("n_threads")};
    struct call call;
    struct held_table table = {0};
    struct coder coder = {0};
    PyObject *result = NULL;
    int n_threads;
    (void)self;
    if (sefr_begin_call(&call, "count_pairs", arguments, N_ARGUMENTS, args, n_args, kwnames) &&
        sefr_hold_table(&table, call.values[X], -1) &&
        sefr_get_int(call.values[N_THREADS], "n_threads", 1, INT32_MAX, &n_threads) && prepare(&coder, &call, EDGES) &&
        check_table(&table.x, &coder) &&
        (!call.arrays[WEIGHTS].held || sefr_check_shape(&call.arrays[WEIGHTS], "weights", table.x.n, -1)) &&
        sefr_check_shape(&call.arrays[PAIRS], "pairs", packed_size(coder.n_cells), -1)) {
        enum outcome outcome;
        Py_BEGIN_ALLOW_THREADS;
        outcome =
            sefr_count_pairs(&table.x, &coder, data_of(&call.arrays[WEIGHTS]), data_of(&call.arrays[PAIRS]), n_threads);
        Py_END_ALLOW_THREADS;
        result =
            outcome == FINITE || outcome == NOT_FINITE ? PyBool_FromLong(outcome == FINITE) : sefr_refuse(outcome, 0);
    }
    sefr_free_coder(&coder);
    sefr_release_table(&table);
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_cell_scores(FASTCALL) {
    enum { X, EDGES, STARTS, MISSING, FERNS, COMPARISONS, TABLE, INTERCEPT, ROWS, OUT, N_THREADS, N_ARGUMENTS };
    static const struct argument arguments[N_ARGUMENTS] = {OTHER_ARGUMENT("X"),
                                                           CODER,
                                                           READS("table", F64, "kc"),
                                                           READS("intercept", F64, "k"),
                                                           READS_OR_NONE("rows", I64, "r"),
                                                           WRITES("out", F64, "rk"),
                                                           OTHER_ARGUMENT("n_threads")};
    struct call call;
    struct held_table table = {0};
    struct coder coder = {0};
    PyObject *result = NULL;
    int n_threads;
    (void)self;
    if (sefr_begin_call(&call, "cell_scores", arguments, N_ARGUMENTS, args, n_args, kwnames) &&
        sefr_hold_table(&table, call.values[X], -1) &&
        sefr_get_int(call.values[N_THREADS], "n_threads", 1, INT32_MAX, &n_threads) && prepare(&coder, &call, EDGES) &&
        check_table(&table.x, &coder)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t k = arrays[TABLE].view.shape[0];
        const Py_ssize_t n_rows = arrays[ROWS].held ? arrays[ROWS].view.shape[0] : table.x.n;
        if (sefr_check_shape(&arrays[TABLE], "table", k, coder.n_cells) &&
            sefr_check_shape(&arrays[INTERCEPT], "intercept", k, -1) &&
            sefr_check_shape(&arrays[OUT], "out", n_rows, k)) {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_cell_scores(&table.x, &coder, data_of(&arrays[TABLE]), data_of(&arrays[INTERCEPT]), k,
                                       data_of(&arrays[ROWS]), n_rows, data_of(&arrays[OUT]), n_threads);
            Py_END_ALLOW_THREADS;
            result = outcome == FINITE ? Py_NewRef(Py_None) : sefr_refuse(outcome, 0);
        }
    }
    sefr_free_coder(&coder);
    sefr_release_table(&table);
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_find_edges(FASTCALL) {
    static const struct argument arguments[] = {READS("values", F64, "mn"), OTHER_ARGUMENT("most"),
                                                OTHER_ARGUMENT("alone"), WRITES("edges", F64, "e"),
                                                WRITES("starts", I64, "s")};
    struct call call;
    PyObject *result = NULL;
    int most, alone;
    (void)self;
    if (sefr_begin_call(&call, "find_edges", arguments, 5, args, n_args, kwnames) &&
        sefr_get_int(call.values[1], "most", 2, MOST_CELLS, &most) && (alone = PyObject_IsTrue(call.values[2])) >= 0) {
        const Py_ssize_t m = call.arrays[0].view.shape[0], n = call.arrays[0].view.shape[1];
        if (sefr_check_shape(&call.arrays[3], "edges", m * (most - 1), -1) &&
            sefr_check_shape(&call.arrays[4], "starts", m + 1, -1)) {
            sefr_find_edges(data_of(&call.arrays[0]), m, n, most, alone, data_of(&call.arrays[3]),
                            data_of(&call.arrays[4]));
            result = Py_NewRef(Py_None);
        }
    }
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_grow_ferns(FASTCALL) {
    enum {
        CELLS,
        STARTS,
        EQUAL,
        HELD,
        CODES,
        WEIGHTS,
        TARGETS,
        N_CLASSES,
        TRIED,
        BOUNDS,
        SUBSETS,
        STEP,
        SEED,
        COMPARISONS,
        N_ARGUMENTS
    };
    static const struct argument arguments[N_ARGUMENTS] = {READS("cells", U8, "nm"),
                                                           READS("starts", I64, "s"),
                                                           READS("equal", U8, "m"),
                                                           READS_OR_NONE("held", U8, "n"),
                                                           READS("codes", I32, "n"),
                                                           READS_OR_NONE("weights", F64, "n"),
                                                           READS_OR_NONE("targets", F64, "nk"),
                                                           OTHER_ARGUMENT("n_classes"),
                                                           OTHER_ARGUMENT("tried"),
                                                           OTHER_ARGUMENT("bounds"),
                                                           OTHER_ARGUMENT("subsets"),
                                                           OTHER_ARGUMENT("step"),
                                                           OTHER_ARGUMENT("seed"),
                                                           WRITES("comparisons", I32, "td2")};
    struct call call;
    struct coder coder = {0};
    PyObject *result = NULL;
    int n_classes, tried, bounds, subsets, seed;
    double step;
    (void)self;
    if (sefr_begin_call(&call, "grow_ferns", arguments, N_ARGUMENTS, args, n_args, kwnames) &&
        sefr_get_int(call.values[N_CLASSES], "n_classes", 1, INT32_MAX, &n_classes) &&
        sefr_get_int(call.values[TRIED], "tried", 1, INT32_MAX, &tried) &&
        sefr_get_int(call.values[BOUNDS], "bounds", 1, INT32_MAX, &bounds) &&
        sefr_get_int(call.values[SUBSETS], "subsets", 1, MOST_SUBSETS, &subsets) &&
        ((step = PyFloat_AsDouble(call.values[STEP])) != -1.0 || !PyErr_Occurred()) &&
        sefr_get_int(call.values[SEED], "seed", 0, INT32_MAX, &seed)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t n = arrays[CELLS].view.shape[0], m = arrays[CELLS].view.shape[1];
        const Py_ssize_t n_targets = arrays[TARGETS].held ? arrays[TARGETS].view.shape[1] : 0;
        const Py_ssize_t *shape = arrays[COMPARISONS].view.shape;
        const struct edges edges = {.starts = data_of(&arrays[STARTS]), .m = m};
        enum outcome outcome;
        int32_t grown = 0;
        if (shape[1] < 1 || shape[1] > MOST_COMPARISONS || shape[2] != 2 || shape[0] > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "comparisons must be of 1 to %d pairs per fern", MOST_COMPARISONS);
        } else if (!sefr_check_shape(&arrays[STARTS], "starts", m + 1, -1) ||
                   !sefr_check_shape(&arrays[EQUAL], "equal", m, -1) ||
                   !sefr_check_shape(&arrays[CODES], "codes", n, -1) ||
                   (arrays[HELD].held && !sefr_check_shape(&arrays[HELD], "held", n, -1)) ||
                   (arrays[WEIGHTS].held && !sefr_check_shape(&arrays[WEIGHTS], "weights", n, -1)) ||
                   (arrays[TARGETS].held && !sefr_check_shape(&arrays[TARGETS], "targets", n, n_targets))) {
            /* an error is set */
        } else if (arrays[TARGETS].held && n_targets < 1) {
            PyErr_SetString(PyExc_ValueError, "targets must have a column");
        } else if ((outcome = sefr_prepare_coder(&coder, &edges, 0)) != FINITE) {
            sefr_refuse(outcome, 0);
        } else {
            const struct grouping by = {data_of(&arrays[CODES]), data_of(&arrays[WEIGHTS]), n_classes, n_classes};
            const struct growth growth = {
                .cells = data_of(&arrays[CELLS]),
                .n = n,
                .by = &by,
                .targets = data_of(&arrays[TARGETS]),
                .n_targets = n_targets,
                .equal = data_of(&arrays[EQUAL]),
                .held = data_of(&arrays[HELD]),
                .n_ferns = (int32_t)shape[0],
                .depth = (int32_t)shape[1],
                .tried = tried,
                .bounds = bounds,
                .subsets = subsets,
                .step = step,
                .seed = (uint64_t)seed,
            };
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_grow_ferns(&growth, &coder, data_of(&arrays[COMPARISONS]), &grown);
            Py_END_ALLOW_THREADS;
            result = outcome == FINITE ? PyLong_FromLong(grown) : sefr_refuse(outcome, n_classes);
        }
    }
    sefr_free_coder(&coder);
    sefr_end_call(&call);
    return result;
}
