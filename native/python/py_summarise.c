#include "python/arguments.h"

/* The last arguments of all three passes: where rows belong, and where results go. There are n rows, m features,
   g groups and f folds. */
enum { CODES, WEIGHTS, N_CLASSES, SUMS, COUNTS, LOW, HIGH, PRESENT, N_THREADS, N_SHARED };
#define SHARED                                                                                                      \
    READS("codes", I32, "n"), READS_OR_NONE("weights", F64, "n"), OTHER_ARGUMENT("n_classes"),                      \
        WRITES("sums", F64, "gm"), WRITES("counts", F64, "g"), WRITES("low", F64, "fm"), WRITES("high", F64, "fm"), \
        WRITES_OR_NONE("present", F64, "gm"), OTHER_ARGUMENT("n_threads")

struct pass {
    struct call call;
    const struct array *shared;
    struct grouping by;
    struct totals out;
    int n_threads;
};

static bool begin_pass(struct pass *pass, Py_ssize_t first_shared) {
    PyObject *const *values = pass->call.values + first_shared;
    pass->shared = pass->call.arrays + first_shared;
    return sefr_get_int(values[N_CLASSES], "n_classes", 1, INT32_MAX, &pass->by.n_classes) &&
           sefr_get_int(values[N_THREADS], "n_threads", 1, INT32_MAX, &pass->n_threads);
}

/* n rows of m features fit the arrays of the pass. */
static bool check_pass(struct pass *pass, Py_ssize_t n, Py_ssize_t m) {
    const struct array *shared = pass->shared;
    const Py_ssize_t n_groups = shared[SUMS].view.shape[0], n_classes = pass->by.n_classes;
    if (n_groups < 1 || n_groups > INT32_MAX || n_groups % n_classes != 0) {
        PyErr_Format(PyExc_ValueError, "sums has %zd rows, not a multiple of n_classes (%zd) below 2**31", n_groups,
                     n_classes);
        return false;
    }
    if (!sefr_check_shapes(&pass->call, "nmgf", (Py_ssize_t[]){n, m, n_groups, n_groups / n_classes})) return false;
    pass->by.codes = data_of(&shared[CODES]);
    pass->by.weights = data_of(&shared[WEIGHTS]);
    pass->by.n_groups = (int32_t)n_groups;
    pass->out = (struct totals){data_of(&shared[SUMS]), data_of(&shared[COUNTS]), data_of(&shared[LOW]),
                                data_of(&shared[HIGH]), data_of(&shared[PRESENT])};
    return true;
}

static PyObject *answer(enum outcome outcome, const struct pass *pass) {
    if (outcome == FINITE || outcome == NOT_FINITE) return PyBool_FromLong(outcome == FINITE);
    return sefr_refuse(outcome, pass->by.n_groups);
}

PyObject *sefr_py_summarise(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("X"), SHARED};
    struct held_table table = {0};
    struct pass pass = {0};
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&pass.call, "summarise", arguments, 1 + N_SHARED, args, n_args, kwnames) &&
        begin_pass(&pass, 1) && sefr_hold_table(&table, pass.call.values[0], pass.shared[CODES].view.shape[0]) &&
        check_pass(&pass, table.x.n, table.x.m)) {
        enum outcome outcome;
        Py_BEGIN_ALLOW_THREADS;
        outcome = sefr_summarise(&table.x, &pass.by, &pass.out, pass.n_threads);
        Py_END_ALLOW_THREADS;
        result = answer(outcome, &pass);
    }
    sefr_release_table(&table);
    sefr_end_call(&pass.call);
    return result;
}

typedef enum outcome sparse_function(const struct sparse *, const struct grouping *, const struct totals *, int);

static PyObject *summarise_sparse(const char *function, sparse_function *run, bool by_rows, PyObject *const *args,
                                  Py_ssize_t n_args, PyObject *kwnames) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("data"), OTHER_ARGUMENT("indices"),
                                                OTHER_ARGUMENT("indptr"), SHARED};
    struct held_sparse sparse = {0};
    struct pass pass = {0};
    PyObject *result = NULL;
    if (sefr_begin_call(&pass.call, function, arguments, 3 + N_SHARED, args, n_args, kwnames) && begin_pass(&pass, 3)) {
        const Py_ssize_t n = pass.shared[CODES].view.shape[0], m = pass.shared[SUMS].view.shape[1];
        if (check_pass(&pass, n, m) && sefr_hold_sparse(&sparse, pass.call.values, n, m, by_rows)) {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = run(&sparse.x, &pass.by, &pass.out, pass.n_threads);
            Py_END_ALLOW_THREADS;
            result = answer(outcome, &pass);
        }
    }
    sefr_release_sparse(&sparse);
    sefr_end_call(&pass.call);
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
