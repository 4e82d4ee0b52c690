#include "python/arguments.h"
#include "refine/gradient_cells.h"

/* The last arguments of all passes: where rows belong, the model, and where results go. There are n rows, m features,
   k classes and r scores. */
enum {
    CODES,
    WEIGHTS,
    CLASS_WEIGHTS,
    TARGETS,
    COEF,
    INTERCEPT,
    COEF_GRADIENT,
    INTERCEPT_GRADIENT,
    N_THREADS,
    N_SHARED
};
#define SHARED                                                                                       \
    READS("codes", I32, "n"), READS_OR_NONE("weights", F64, "n"), READS("class_weights", F64, "k"),  \
        READS_OR_NONE("targets", F64, "nr"), READS("coef", F64, "rm"), READS("intercept", F64, "r"), \
        WRITES("coef_gradient", F64, "rm"), WRITES("intercept_gradient", F64, "r"), OTHER_ARGUMENT("n_threads")

struct pass {
    struct call call;
    const struct array *shared;
    struct grouping by;
    struct model model;
    struct task task;
    struct gradient out;
    double loss;
    int n_threads;
};

static bool begin_pass(struct pass *pass, Py_ssize_t first_shared) {
    pass->shared = pass->call.arrays + first_shared;
    return sefr_get_int(pass->call.values[first_shared + N_THREADS], "n_threads", 1, INT32_MAX, &pass->n_threads);
}

/* n rows of m features fit the arrays of the pass. */
static bool check_pass(struct pass *pass, Py_ssize_t n, Py_ssize_t m) {
    const struct array *shared = pass->shared;
    const Py_ssize_t n_scores = shared[COEF].view.shape[0], n_classes = shared[CLASS_WEIGHTS].view.shape[0];
    const double *targets = data_of(&shared[TARGETS]);
    if (targets && n_classes != 1) {
        PyErr_Format(PyExc_ValueError, "rows with targets are of one class, not of %zd", n_classes);
        return false;
    }
    if (!targets && (n_classes < 2 || n_classes > INT32_MAX || n_scores != (n_classes == 2 ? 1 : n_classes))) {
        PyErr_Format(PyExc_ValueError, "%zd scores for %zd classes: one for two classes, else one per class", n_scores,
                     n_classes);
        return false;
    }
    if (!sefr_check_shapes(&pass->call, "nmkr", (Py_ssize_t[]){n, m, n_classes, n_scores})) return false;
    pass->by =
        (struct grouping){data_of(&shared[CODES]), data_of(&shared[WEIGHTS]), (int32_t)n_classes, (int32_t)n_classes};
    pass->model = (struct model){data_of(&shared[COEF]), data_of(&shared[INTERCEPT]), data_of(&shared[CLASS_WEIGHTS]),
                                 (int32_t)n_scores, (int32_t)n_classes};
    pass->task = (struct task){targets ? SQUARED : loss_of_classes(n_scores), targets};
    pass->out = (struct gradient){data_of(&shared[COEF_GRADIENT]), data_of(&shared[INTERCEPT_GRADIENT]), &pass->loss};
    return true;
}

static PyObject *answer(enum outcome outcome, const struct pass *pass) {
    return outcome == FINITE ? PyFloat_FromDouble(pass->loss) : sefr_refuse(outcome, pass->by.n_groups);
}

PyObject *sefr_py_gradient(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("X"), READS("centre", F64, "m"),
                                                READS("scale", F64, "m"), SHARED};
    struct held_table table = {0};
    struct pass pass = {0};
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&pass.call, "gradient", arguments, 3 + N_SHARED, args, n_args, kwnames) &&
        begin_pass(&pass, 3) && sefr_hold_table(&table, pass.call.values[0], pass.shared[CODES].view.shape[0]) &&
        check_pass(&pass, table.x.n, table.x.m)) {
        const double *centre = data_of(&pass.call.arrays[1]), *scale = data_of(&pass.call.arrays[2]);
        enum outcome outcome;
        Py_BEGIN_ALLOW_THREADS;
        outcome = sefr_gradient(&table.x, &pass.by, centre, scale, &pass.model, &pass.task, &pass.out, pass.n_threads);
        Py_END_ALLOW_THREADS;
        result = answer(outcome, &pass);
    }
    sefr_release_table(&table);
    sefr_end_call(&pass.call);
    return result;
}

PyObject *sefr_py_gradient_csr(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("data"), OTHER_ARGUMENT("indices"),
                                                OTHER_ARGUMENT("indptr"), READS("fill", F64, "m"), SHARED};
    struct held_sparse sparse = {0};
    struct pass pass = {0};
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&pass.call, "gradient_csr", arguments, 4 + N_SHARED, args, n_args, kwnames) &&
        begin_pass(&pass, 4)) {
        const Py_ssize_t n = pass.shared[CODES].view.shape[0], m = pass.shared[COEF].view.shape[1];
        if (check_pass(&pass, n, m) && sefr_hold_sparse(&sparse, pass.call.values, n, m, true)) {
            const double *fill = data_of(&pass.call.arrays[3]);
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_gradient_csr(&sparse.x, &pass.by, fill, &pass.model, &pass.task, &pass.out, pass.n_threads);
            Py_END_ALLOW_THREADS;
            result = answer(outcome, &pass);
        }
    }
    sefr_release_sparse(&sparse);
    sefr_end_call(&pass.call);
    return result;
}

/* What passes over cells read: a shelf, and the coder that it was made with. */
struct shelved_cells {
    struct coder coder;
    struct shelf shelf;
};

static const char SHELF_NAME[] = "sefr._native.shelf";

static void free_shelved(struct shelved_cells *cells) {
    sefr_free_coder(&cells->coder);
    sefr_free_shelf(&cells->shelf);
    PyMem_Free(cells);
}

static void drop_shelved(PyObject *capsule) { free_shelved(PyCapsule_GetPointer(capsule, SHELF_NAME)); }

PyObject *sefr_py_shelve_cells(FASTCALL) {
    static const struct argument arguments[] = {READS("cells", U8, "nm"), READS("starts", I64, "s"),
                                                OTHER_ARGUMENT("missing"), OTHER_ARGUMENT("n_scores")};
    struct call call;
    struct shelved_cells *made = NULL;
    PyObject *result = NULL;
    int n_scores;
    (void)self;
    if (sefr_begin_call(&call, "shelve_cells", arguments, 4, args, n_args, kwnames) &&
        sefr_get_int(call.values[3], "n_scores", 1, INT32_MAX, &n_scores)) {
        const Py_ssize_t n = call.arrays[0].view.shape[0], m = call.arrays[0].view.shape[1];
        const int missing = PyObject_IsTrue(call.values[2]);
        const struct edges edges = {.starts = data_of(&call.arrays[1]), .m = m, .missing = missing > 0};
        if (missing >= 0 && sefr_check_shape(&call.arrays[1], "starts", m + 1, -1)) {
            made = PyMem_Calloc(1, sizeof *made);
            enum outcome outcome = made ? sefr_prepare_coder(&made->coder, &edges, 0) : NO_MEMORY;
            if (outcome == FINITE) {
                Py_BEGIN_ALLOW_THREADS;
                outcome = sefr_shelve(data_of(&call.arrays[0]), n, &made->coder, n_scores, &made->shelf);
                Py_END_ALLOW_THREADS;
            }
            result = outcome == FINITE ? PyCapsule_New(made, SHELF_NAME, drop_shelved) : sefr_refuse(outcome, 0);
        }
    }
    if (made && !result) free_shelved(made);
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_gradient_cells(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("shelf"), SHARED};
    struct pass pass = {0};
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&pass.call, "gradient_cells", arguments, 1 + N_SHARED, args, n_args, kwnames) &&
        begin_pass(&pass, 1)) {
        const struct shelved_cells *cells = PyCapsule_GetPointer(pass.call.values[0], SHELF_NAME);
        if (!cells || !check_pass(&pass, cells->shelf.n, cells->coder.n_cells)) {
            /* an error is set */
        } else if (pass.model.n_scores != cells->shelf.n_scores) {
            PyErr_Format(PyExc_ValueError, "shelf is for %zd scores, not %d", (Py_ssize_t)cells->shelf.n_scores,
                         (int)pass.model.n_scores);
        } else {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_gradient_cells(&cells->shelf, &cells->coder, &pass.by, &pass.model, &pass.task, &pass.out,
                                          pass.n_threads);
            Py_END_ALLOW_THREADS;
            result = answer(outcome, &pass);
        }
    }
    sefr_end_call(&pass.call);
    return result;
}
