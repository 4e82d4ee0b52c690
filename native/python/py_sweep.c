#include "python/binding.h"
#include "refine/sweep.h"

/* The arguments that both passes share: where rows belong, the model, and where results go. */
enum { CODES, WEIGHTS, CLASS_WEIGHTS, COEF, INTERCEPT, SLOPE, INTERCEPT_SLOPE, N_ARRAYS, N_THREADS = N_ARRAYS, N_SHARED };
#define SHARED_NAMES "codes", "weights", "class_weights", "coef", "intercept", "slope", "intercept_slope", "n_threads"

struct further_pass {
    struct array arrays[N_ARRAYS];
    struct grouping by;
    struct model model;
    struct slope out;
    double loss;
    int n_threads;
};

static void release_pass(struct further_pass *pass) {
    for (int i = 0; i < N_ARRAYS; i++) release(&pass->arrays[i]);
}

static bool hold_pass(struct further_pass *pass, PyObject *const *values) {
    struct array *arrays = pass->arrays;
    return hold_exact(&arrays[CODES], values[CODES], "codes", 1, I32, false) &&
           hold_optional(&arrays[WEIGHTS], values[WEIGHTS], "weights", 1, F64, false) &&
           hold_exact(&arrays[CLASS_WEIGHTS], values[CLASS_WEIGHTS], "class_weights", 1, F64, false) &&
           hold_exact(&arrays[COEF], values[COEF], "coef", 2, F64, false) &&
           hold_exact(&arrays[INTERCEPT], values[INTERCEPT], "intercept", 1, F64, false) &&
           hold_exact(&arrays[SLOPE], values[SLOPE], "slope", 2, F64, true) &&
           hold_exact(&arrays[INTERCEPT_SLOPE], values[INTERCEPT_SLOPE], "intercept_slope", 1, F64, true) &&
           get_int(values[N_THREADS], "n_threads", 1, INT32_MAX, &pass->n_threads);
}

/* n rows of m features fit the arrays of the pass. */
static bool check_pass(struct further_pass *pass, Py_ssize_t n, Py_ssize_t m) {
    const struct array *arrays = pass->arrays;
    const Py_ssize_t n_scores = arrays[COEF].view.shape[0], n_classes = arrays[CLASS_WEIGHTS].view.shape[0];
    if (n_classes < 2 || n_classes > INT32_MAX || n_scores != (n_classes == 2 ? 1 : n_classes)) {
        PyErr_Format(PyExc_ValueError, "%zd scores for %zd classes: one for two classes, else one a class", n_scores,
                     n_classes);
        return false;
    }
    if (!check_shape(&arrays[CODES], "codes", n, -1) || !check_shape(&arrays[COEF], "coef", n_scores, m) ||
        !check_shape(&arrays[INTERCEPT], "intercept", n_scores, -1) ||
        !check_shape(&arrays[SLOPE], "slope", n_scores, m) ||
        !check_shape(&arrays[INTERCEPT_SLOPE], "intercept_slope", n_scores, -1) ||
        (arrays[WEIGHTS].held && !check_shape(&arrays[WEIGHTS], "weights", n, -1))) {
        return false;
    }
    pass->by = (struct grouping){arrays[CODES].view.buf, arrays[WEIGHTS].held ? arrays[WEIGHTS].view.buf : NULL,
                                 (int32_t)n_classes, (int32_t)n_classes};
    pass->model = (struct model){arrays[COEF].view.buf, arrays[INTERCEPT].view.buf, arrays[CLASS_WEIGHTS].view.buf,
                                 (int32_t)n_scores, (int32_t)n_classes};
    pass->out = (struct slope){arrays[SLOPE].view.buf, arrays[INTERCEPT_SLOPE].view.buf, &pass->loss};
    return true;
}

static PyObject *answer(enum outcome outcome, const struct further_pass *pass) {
    switch (outcome) {
    case FINITE:
        return PyFloat_FromDouble(pass->loss);
    default:
        return refuse(outcome, pass->by.n_groups);
    }
}

static PyObject *run_sweep(const struct table *x, const struct array *centre, const struct array *scale,
                           struct further_pass *pass) {
    if (!check_pass(pass, x->n, x->m) || !check_shape(centre, "centre", x->m, -1) ||
        !check_shape(scale, "scale", x->m, -1)) {
        return NULL;
    }
    enum outcome outcome;
    Py_BEGIN_ALLOW_THREADS;
    outcome = sweep(x, &pass->by, centre->view.buf, scale->view.buf, &pass->model, &pass->out, pass->n_threads);
    Py_END_ALLOW_THREADS;
    return answer(outcome, pass);
}

static PyObject *sweep_columns_of(PyObject *sequence, const struct array *centre, const struct array *scale,
                                  struct further_pass *pass) {
    const Py_ssize_t n = pass->arrays[CODES].view.shape[0], m = PySequence_Size(sequence);
    if (m < 0) return NULL;
    struct array *arrays = PyMem_Calloc((size_t)m + 1, sizeof *arrays);
    struct column *columns = PyMem_Calloc((size_t)m + 1, sizeof *columns);
    PyObject *result = NULL;
    bool ok = arrays && columns;
    if (!ok) PyErr_NoMemory();
    for (Py_ssize_t j = 0; ok && j < m; j++) {
        char name[40];
        PyOS_snprintf(name, sizeof name, "column %zd of X", j);
        PyObject *item = PySequence_GetItem(sequence, j);
        ok = item && hold(&arrays[j], item, name, 1) && check_shape(&arrays[j], name, n, -1);
        Py_XDECREF(item); /* the buffer view keeps it alive */
        if (ok) columns[j] = (struct column){arrays[j].view.buf, arrays[j].view.strides[0], arrays[j].type};
    }
    if (ok) {
        struct table x = {.n = n, .m = m, .columns = columns};
        result = run_sweep(&x, centre, scale, pass);
    }
    for (Py_ssize_t j = 0; arrays && j < m; j++) release(&arrays[j]);
    PyMem_Free(arrays);
    PyMem_Free(columns);
    return result;
}

PyObject *py_sweep(FASTCALL) {
    static const char *const names[] = {"X", "centre", "scale", SHARED_NAMES};
    PyObject *values[3 + N_SHARED], *result = NULL;
    struct array x = {.held = false}, centre = {.held = false}, scale = {.held = false};
    struct further_pass pass = {0};
    (void)self;
    if (!gather_arguments("sweep", names, 3 + N_SHARED, args, n_args, kwnames, values)) return NULL;
    if (hold_pass(&pass, values + 3) && hold_exact(&centre, values[1], "centre", 1, F64, false) &&
        hold_exact(&scale, values[2], "scale", 1, F64, false)) {
        if (!PyObject_CheckBuffer(values[0])) {
            result = sweep_columns_of(values[0], &centre, &scale, &pass);
        } else if (hold(&x, values[0], "X", 2)) {
            struct table table = {x.view.shape[0], x.view.shape[1], x.view.buf, x.view.strides[0], x.view.strides[1],
                                  x.type, NULL};
            result = run_sweep(&table, &centre, &scale, &pass);
        }
    }
    release(&x);
    release(&centre);
    release(&scale);
    release_pass(&pass);
    return result;
}

static bool hold_index(struct array *array, PyObject *object, const char *name) {
    if (!hold(array, object, name, 1)) return false;
    enum dtype type = array->type;
    release(array);
    if (type == I32 || type == I64) return hold_exact(array, object, name, 1, type, false);
    PyErr_Format(PyExc_TypeError, "%s is not int32 or int64", name);
    return false;
}

static bool hold_entries(struct array *array, PyObject *object) {
    if (!hold(array, object, "data", 1)) return false;
    enum dtype type = array->type;
    release(array);
    return hold_exact(array, object, "data", 1, type, false);
}

PyObject *py_sweep_csr(FASTCALL) {
    static const char *const names[] = {"data", "indices", "indptr", "fill", SHARED_NAMES};
    PyObject *values[4 + N_SHARED], *result = NULL;
    struct array data = {.held = false}, indices = {.held = false}, pointer = {.held = false}, fill = {.held = false};
    struct further_pass pass = {0};
    (void)self;
    if (!gather_arguments("sweep_csr", names, 4 + N_SHARED, args, n_args, kwnames, values)) return NULL;
    if (hold_pass(&pass, values + 4) && hold_entries(&data, values[0]) && hold_index(&indices, values[1], "indices") &&
        hold_index(&pointer, values[2], "indptr") && hold_exact(&fill, values[3], "fill", 1, F64, false)) {
        const Py_ssize_t n = pass.arrays[CODES].view.shape[0], m = pass.arrays[COEF].view.shape[1];
        struct sparse x = {n, m, data.view.shape[0], data.view.buf, indices.view.buf, pointer.view.buf,
                           data.type, indices.type, pointer.type};
        if (check_pass(&pass, n, m) && check_shape(&fill, "fill", m, -1) &&
            check_shape(&indices, "indices", x.n_entries, -1) && check_shape(&pointer, "indptr", n + 1, -1)) {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sweep_csr(&x, &pass.by, fill.view.buf, &pass.model, &pass.out, pass.n_threads);
            Py_END_ALLOW_THREADS;
            result = answer(outcome, &pass);
        }
    }
    release(&data);
    release(&indices);
    release(&pointer);
    release(&fill);
    release_pass(&pass);
    return result;
}
