#include "python/arguments.h"
#include "refine/gradient.h"

/* The arguments that both passes share: where rows belong, the model, and where results go. */
enum {
    CODES,
    WEIGHTS,
    CLASS_WEIGHTS,
    COEF,
    INTERCEPT,
    COEF_GRADIENT,
    INTERCEPT_GRADIENT,
    N_ARRAYS,
    N_THREADS = N_ARRAYS,
    N_SHARED
};
#define SHARED_NAMES \
    "codes", "weights", "class_weights", "coef", "intercept", "coef_gradient", "intercept_gradient", "n_threads"

struct further_pass {
    struct array arrays[N_ARRAYS];
    struct grouping by;
    struct model model;
    struct gradient out;
    double loss;
    int n_threads;
};

static void release_pass(struct further_pass *pass) {
    for (int i = 0; i < N_ARRAYS; i++) sefr_release(&pass->arrays[i]);
}

static bool hold_pass(struct further_pass *pass, PyObject *const *values) {
    struct array *arrays = pass->arrays;
    return sefr_hold_exact(&arrays[CODES], values[CODES], "codes", 1, I32, false) &&
           sefr_hold_optional(&arrays[WEIGHTS], values[WEIGHTS], "weights", 1, F64, false) &&
           sefr_hold_exact(&arrays[CLASS_WEIGHTS], values[CLASS_WEIGHTS], "class_weights", 1, F64, false) &&
           sefr_hold_exact(&arrays[COEF], values[COEF], "coef", 2, F64, false) &&
           sefr_hold_exact(&arrays[INTERCEPT], values[INTERCEPT], "intercept", 1, F64, false) &&
           sefr_hold_exact(&arrays[COEF_GRADIENT], values[COEF_GRADIENT], "coef_gradient", 2, F64, true) &&
           sefr_hold_exact(&arrays[INTERCEPT_GRADIENT], values[INTERCEPT_GRADIENT], "intercept_gradient", 1, F64,
                           true) &&
           sefr_get_int(values[N_THREADS], "n_threads", 1, INT32_MAX, &pass->n_threads);
}

/* n rows of m features fit the arrays of the pass. */
static bool check_pass(struct further_pass *pass, Py_ssize_t n, Py_ssize_t m) {
    const struct array *arrays = pass->arrays;
    const Py_ssize_t n_scores = arrays[COEF].view.shape[0], n_classes = arrays[CLASS_WEIGHTS].view.shape[0];
    if (n_classes < 2 || n_classes > INT32_MAX || n_scores != (n_classes == 2 ? 1 : n_classes)) {
        PyErr_Format(PyExc_ValueError, "%zd scores for %zd classes: one for two classes, else one per class", n_scores,
                     n_classes);
        return false;
    }
    if (!sefr_check_shape(&arrays[CODES], "codes", n, -1) || !sefr_check_shape(&arrays[COEF], "coef", n_scores, m) ||
        !sefr_check_shape(&arrays[INTERCEPT], "intercept", n_scores, -1) ||
        !sefr_check_shape(&arrays[COEF_GRADIENT], "coef_gradient", n_scores, m) ||
        !sefr_check_shape(&arrays[INTERCEPT_GRADIENT], "intercept_gradient", n_scores, -1) ||
        (arrays[WEIGHTS].held && !sefr_check_shape(&arrays[WEIGHTS], "weights", n, -1))) {
        return false;
    }
    pass->by = (struct grouping){arrays[CODES].view.buf, arrays[WEIGHTS].held ? arrays[WEIGHTS].view.buf : NULL,
                                 (int32_t)n_classes, (int32_t)n_classes};
    pass->model = (struct model){arrays[COEF].view.buf, arrays[INTERCEPT].view.buf, arrays[CLASS_WEIGHTS].view.buf,
                                 (int32_t)n_scores, (int32_t)n_classes};
    pass->out = (struct gradient){arrays[COEF_GRADIENT].view.buf, arrays[INTERCEPT_GRADIENT].view.buf, &pass->loss};
    return true;
}

static PyObject *answer(enum outcome outcome, const struct further_pass *pass) {
    switch (outcome) {
    case FINITE: return PyFloat_FromDouble(pass->loss);
    default: return sefr_refuse(outcome, pass->by.n_groups);
    }
}

PyObject *sefr_py_gradient(FASTCALL) {
    static const char *const names[] = {"X", "centre", "scale", SHARED_NAMES};
    PyObject *values[3 + N_SHARED], *result = NULL;
    struct array centre = {.held = false}, scale = {.held = false};
    struct held_table table = {0};
    struct further_pass pass = {0};
    (void)self;
    if (!sefr_gather_arguments("gradient", names, 3 + N_SHARED, args, n_args, kwnames, values)) return NULL;
    if (hold_pass(&pass, values + 3) && sefr_hold_exact(&centre, values[1], "centre", 1, F64, false) &&
        sefr_hold_exact(&scale, values[2], "scale", 1, F64, false) &&
        sefr_hold_table(&table, values[0], pass.arrays[CODES].view.shape[0]) &&
        check_pass(&pass, table.x.n, table.x.m) && sefr_check_shape(&centre, "centre", table.x.m, -1) &&
        sefr_check_shape(&scale, "scale", table.x.m, -1)) {
        enum outcome outcome;
        Py_BEGIN_ALLOW_THREADS;
        outcome =
            sefr_gradient(&table.x, &pass.by, centre.view.buf, scale.view.buf, &pass.model, &pass.out, pass.n_threads);
        Py_END_ALLOW_THREADS;
        result = answer(outcome, &pass);
    }
    sefr_release_table(&table);
    sefr_release(&centre);
    sefr_release(&scale);
    release_pass(&pass);
    return result;
}

PyObject *sefr_py_gradient_csr(FASTCALL) {
    static const char *const names[] = {"data", "indices", "indptr", "fill", SHARED_NAMES};
    PyObject *values[4 + N_SHARED], *result = NULL;
    struct array fill = {.held = false};
    struct held_sparse sparse = {0};
    struct further_pass pass = {0};
    (void)self;
    if (!sefr_gather_arguments("gradient_csr", names, 4 + N_SHARED, args, n_args, kwnames, values)) return NULL;
    if (hold_pass(&pass, values + 4) && sefr_hold_exact(&fill, values[3], "fill", 1, F64, false)) {
        const Py_ssize_t n = pass.arrays[CODES].view.shape[0], m = pass.arrays[COEF].view.shape[1];
        if (check_pass(&pass, n, m) && sefr_check_shape(&fill, "fill", m, -1) &&
            sefr_hold_sparse(&sparse, values, n, m, true)) {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_gradient_csr(&sparse.x, &pass.by, fill.view.buf, &pass.model, &pass.out, pass.n_threads);
            Py_END_ALLOW_THREADS;
            result = answer(outcome, &pass);
        }
    }
    sefr_release_sparse(&sparse);
    sefr_release(&fill);
    release_pass(&pass);
    return result;
}
