#include "python/arguments.h"

/* The arguments that all three passes share: where rows belong, and where results go. */
struct pass {
    struct array codes, weights, sums, counts, low, high, present;
    struct grouping by;
    struct totals out;
    int n_threads;
};

enum { CODES, WEIGHTS, N_CLASSES, SUMS, COUNTS, LOW, HIGH, PRESENT, N_THREADS, N_SHARED };
#define SHARED_NAMES "codes", "weights", "n_classes", "sums", "counts", "low", "high", "present", "n_threads"

static void release_pass(struct pass *pass) {
    sefr_release(&pass->codes);
    sefr_release(&pass->weights);
    sefr_release(&pass->sums);
    sefr_release(&pass->counts);
    sefr_release(&pass->low);
    sefr_release(&pass->high);
    sefr_release(&pass->present);
}

static bool hold_pass(struct pass *pass, PyObject *const *values) {
    int n_classes;
    return sefr_get_int(values[N_CLASSES], "n_classes", 1, INT32_MAX, &n_classes) &&
           (pass->by.n_classes = n_classes, true) &&
           sefr_get_int(values[N_THREADS], "n_threads", 1, INT32_MAX, &pass->n_threads) &&
           sefr_hold_exact(&pass->codes, values[CODES], "codes", 1, I32, false) &&
           sefr_hold_optional(&pass->weights, values[WEIGHTS], "weights", 1, F64, false) &&
           sefr_hold_exact(&pass->sums, values[SUMS], "sums", 2, F64, true) &&
           sefr_hold_exact(&pass->counts, values[COUNTS], "counts", 1, F64, true) &&
           sefr_hold_exact(&pass->low, values[LOW], "low", 2, F64, true) &&
           sefr_hold_exact(&pass->high, values[HIGH], "high", 2, F64, true) &&
           sefr_hold_optional(&pass->present, values[PRESENT], "present", 2, F64, true);
}

/* n rows of m features fit the arrays of the pass. */
static bool check_pass(struct pass *pass, Py_ssize_t n, Py_ssize_t m) {
    Py_ssize_t n_groups = pass->sums.view.shape[0];
    if (n_groups < 1 || n_groups > INT32_MAX || n_groups % pass->by.n_classes != 0) {
        PyErr_Format(PyExc_ValueError, "sums has %zd rows, not a multiple of n_classes (%d) below 2**31", n_groups,
                     (int)pass->by.n_classes);
        return false;
    }
    Py_ssize_t n_folds = n_groups / pass->by.n_classes;
    if (!sefr_check_shape(&pass->codes, "codes", n, -1) || !sefr_check_shape(&pass->sums, "sums", n_groups, m) ||
        !sefr_check_shape(&pass->counts, "counts", n_groups, -1) || !sefr_check_shape(&pass->low, "low", n_folds, m) ||
        !sefr_check_shape(&pass->high, "high", n_folds, m) ||
        (pass->weights.held && !sefr_check_shape(&pass->weights, "weights", n, -1)) ||
        (pass->present.held && !sefr_check_shape(&pass->present, "present", n_groups, m))) {
        return false;
    }
    pass->by.codes = pass->codes.view.buf;
    pass->by.weights = pass->weights.held ? pass->weights.view.buf : NULL;
    pass->by.n_groups = (int32_t)n_groups;
    pass->out = (struct totals){pass->sums.view.buf, pass->counts.view.buf, pass->low.view.buf, pass->high.view.buf,
                                pass->present.held ? pass->present.view.buf : NULL};
    return true;
}

static PyObject *answer(enum outcome outcome, const struct pass *pass) {
    switch (outcome) {
    case FINITE: return PyBool_FromLong(1);
    case NOT_FINITE: return PyBool_FromLong(0);
    default: return sefr_refuse(outcome, pass->by.n_groups);
    }
}

PyObject *sefr_py_summarise(FASTCALL) {
    static const char *const names[] = {"X", SHARED_NAMES};
    PyObject *values[1 + N_SHARED], *result = NULL;
    struct held_table table = {0};
    struct pass pass = {0};
    (void)self;
    if (!sefr_gather_arguments("summarise", names, 1 + N_SHARED, args, n_args, kwnames, values)) return NULL;
    if (hold_pass(&pass, values + 1) && sefr_hold_table(&table, values[0], pass.codes.view.shape[0]) &&
        check_pass(&pass, table.x.n, table.x.m)) {
        enum outcome outcome;
        Py_BEGIN_ALLOW_THREADS;
        outcome = sefr_summarise(&table.x, &pass.by, &pass.out, pass.n_threads);
        Py_END_ALLOW_THREADS;
        result = answer(outcome, &pass);
    }
    sefr_release_table(&table);
    release_pass(&pass);
    return result;
}

typedef enum outcome sparse_function(const struct sparse *, const struct grouping *, const struct totals *, int);

static PyObject *summarise_sparse(const char *function, sparse_function *run, bool by_rows, PyObject *const *args,
                                  Py_ssize_t n_args, PyObject *kwnames) {
    static const char *const names[] = {"data", "indices", "indptr", SHARED_NAMES};
    PyObject *values[3 + N_SHARED], *result = NULL;
    struct held_sparse sparse = {0};
    struct pass pass = {0};
    if (!sefr_gather_arguments(function, names, 3 + N_SHARED, args, n_args, kwnames, values)) return NULL;
    if (hold_pass(&pass, values + 3)) {
        const Py_ssize_t n = pass.codes.view.shape[0], m = pass.sums.view.shape[1];
        if (check_pass(&pass, n, m) && sefr_hold_sparse(&sparse, values, n, m, by_rows)) {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = run(&sparse.x, &pass.by, &pass.out, pass.n_threads);
            Py_END_ALLOW_THREADS;
            result = answer(outcome, &pass);
        }
    }
    sefr_release_sparse(&sparse);
    release_pass(&pass);
    return result;
}

PyObject *sefr_py_summarise_csr(FASTCALL) {
    (void)self;
    return summarise_sparse("summarise_csr", sefr_summarise_csr, true, args, n_args, kwnames);
}

PyObject *sefr_py_summarise_csc(FASTCALL) {
    (void)self;
    return summarise_sparse("summarise_csc", sefr_summarise_csc, false, args, n_args, kwnames);
}
