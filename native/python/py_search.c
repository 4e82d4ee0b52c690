#include "python/arguments.h"

#include <string.h>

#include "refine/sample.h"

/* A search with copies of all that its objective points to. */
struct held_search {
    struct objective of;
    struct steps steps;
    struct search *search;
    void *memory;
};

static const char SEARCH_NAME[] = "sefr._native.search";

static void free_held(struct held_search *held) {
    PyMem_Free(held->search);
    PyMem_Free(held->memory);
    PyMem_Free(held);
}

static void drop_held(PyObject *capsule) { free_held(PyCapsule_GetPointer(capsule, SEARCH_NAME)); }

static struct held_search *held_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, SEARCH_NAME); }

static void *copied(char **place, const void *from, size_t size) {
    void *to = *place;
    if (!from) return NULL;
    memcpy(to, from, size);
    *place += size;
    return to;
}

/* A search of its own for an objective; NULL: an error is set. */
static struct held_search *hold_search(const struct objective *of) {
    const size_t n = (size_t)point_size(of) * sizeof(double), cells = of->steps ? (size_t)of->width : 0;
    const size_t rows = (size_t)of->n_rows;
    struct held_search *held = PyMem_Calloc(1, sizeof *held);
    if (held) {
        held->of = *of;
        held->search = PyMem_Malloc(sefr_search_size(of));
        held->memory = PyMem_Malloc(2 * n + 2 * cells * sizeof(double) + rows * 12 + cells + 1);
    }
    if (!held || !held->search || !held->memory) {
        if (held) free_held(held);
        PyErr_NoMemory();
        return NULL;
    }
    char *place = held->memory;
    struct objective *to = &held->of;
    to->prior_mean = copied(&place, of->prior_mean, n);
    to->prior_precision = copied(&place, of->prior_precision, n);
    to->weights = copied(&place, of->weights, rows * sizeof(double));
    if (of->steps) {
        held->steps = *of->steps;
        held->steps.mean = copied(&place, of->steps->mean, cells * sizeof(double));
        held->steps.scale = copied(&place, of->steps->scale, cells * sizeof(double));
        to->steps = &held->steps;
    }
    to->codes = copied(&place, of->codes, rows * sizeof(int32_t));
    if (of->steps) held->steps.begins = copied(&place, of->steps->begins, cells);
    return held;
}

static bool codes_are_classes(const struct objective *of) {
    const int32_t n_classes = of->n_scores == 1 ? 2 : (int32_t)of->n_scores;
    for (ptrdiff_t i = 0; i < of->n_rows; i++) {
        if (of->codes[i] >= 0 && of->codes[i] < n_classes) continue;
        sefr_refuse(BAD_CODE, n_classes);
        return false;
    }
    return true;
}

/* n values of a point, c cells of steps, s rows of the sample. */
PyObject *sefr_py_begin_search(FASTCALL) {
    enum {
        SCORES_,
        BEGINS,
        MEAN,
        SCALE,
        UNIT,
        RIDGE,
        PRIOR,
        PRECISION,
        CODES,
        WEIGHTS,
        MIXES,
        POINT,
        LOSS,
        GRADIENT,
        MEMORY,
        N_ARGUMENTS
    };
    static const struct argument arguments[N_ARGUMENTS] = {OTHER_ARGUMENT("n_scores"),
                                                           READS_OR_NONE("begins", U8, "c"),
                                                           READS_OR_NONE("mean", F64, "c"),
                                                           READS_OR_NONE("scale", F64, "c"),
                                                           OTHER_ARGUMENT("unit"),
                                                           OTHER_ARGUMENT("ridge"),
                                                           READS_OR_NONE("prior_mean", F64, "n"),
                                                           READS_OR_NONE("prior_precision", F64, "n"),
                                                           READS("codes", I32, "s"),
                                                           READS("weights", F64, "s"),
                                                           OTHER_ARGUMENT("mixes"),
                                                           READS("point", F64, "n"),
                                                           OTHER_ARGUMENT("loss"),
                                                           READS("gradient", F64, "n"),
                                                           OTHER_ARGUMENT("memory")};
    struct call call;
    PyObject *result = NULL;
    int n_scores;
    (void)self;
    if (sefr_begin_call(&call, "begin_search", arguments, N_ARGUMENTS, args, n_args, kwnames) &&
        sefr_get_int(call.values[SCORES_], "n_scores", 1, INT32_MAX, &n_scores)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t n = arrays[POINT].view.shape[0], s = arrays[CODES].view.shape[0], r = n_scores;
        const Py_ssize_t c = n / r - 1;
        const struct held_search *other = call.values[MEMORY] == Py_None ? NULL : held_of(call.values[MEMORY]);
        const struct steps steps = {data_of(&arrays[BEGINS]), data_of(&arrays[MEAN]), data_of(&arrays[SCALE]), c};
        const struct objective of = {.width = c,
                                     .n_scores = r,
                                     .unit = PyFloat_AsDouble(call.values[UNIT]),
                                     .steps = steps.begins ? &steps : NULL,
                                     .ridge = PyFloat_AsDouble(call.values[RIDGE]),
                                     .prior_mean = data_of(&arrays[PRIOR]),
                                     .prior_precision = data_of(&arrays[PRECISION]),
                                     .codes = data_of(&arrays[CODES]),
                                     .weights = data_of(&arrays[WEIGHTS]),
                                     .n_rows = s,
                                     .mixes = PyObject_IsTrue(call.values[MIXES]) > 0};
        const double loss = PyFloat_AsDouble(call.values[LOSS]);
        struct held_search *held = NULL;
        if (PyErr_Occurred()) {
            /* not a number, or no search */
        } else if (c < 0 || n % r || r == 2 || s < 1 || !of.prior_mean != !of.prior_precision) {
            PyErr_Format(PyExc_ValueError, "a point of %zd values for %zd scores, %zd rows", n, r, s);
        } else if (sefr_check_shapes(&call, "ncs", (Py_ssize_t[]){n, c, s})) {
            held = hold_search(&of);
        }
        if (held) {
            sefr_begin_search(held->search, &held->of, data_of(&arrays[POINT]), loss, data_of(&arrays[GRADIENT]));
            if (!codes_are_classes(&held->of)) {
                /* an error is set */
            } else if (other && !sefr_remember(held->search, other->search)) {
                PyErr_Format(PyExc_ValueError, "memory: of points of another length");
            } else {
                result = PyCapsule_New(held, SEARCH_NAME, drop_held);
            }
            if (!result) free_held(held);
        }
    }
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_search_try(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("search"), READS("points", F64, "qn"),
                                                READS_OR_NONE("start", F64, "q")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "search_try", arguments, 3, args, n_args, kwnames)) {
        const struct held_search *held = held_of(call.values[0]);
        const Py_ssize_t q = call.arrays[1].view.shape[0];
        if (held && (q < 1 || q > MOST_ASKED || !sefr_has_begun(held->search))) {
            PyErr_Format(PyExc_ValueError, "%zd points, not 1 to %d for a search that begins", q, MOST_ASKED);
        } else if (held && sefr_check_shapes(&call, "qn", (Py_ssize_t[]){q, point_size(&held->of)})) {
            sefr_try_points(held->search, data_of(&call.arrays[1]), q, data_of(&call.arrays[2]));
            result = Py_NewRef(Py_None);
        }
    }
    sefr_end_call(&call);
    return result;
}

/* q models of r scores and m weights; s rows. */
enum { COEF = 1, INTERCEPT };

static bool check_models(const struct call *call, const struct held_search *held) {
    const Py_ssize_t most = MOST_ASKED * held->of.n_scores;
    return sefr_check_shapes(call, "qm", (Py_ssize_t[]){most, held->of.width});
}

PyObject *sefr_py_search_ask(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("search"), WRITES("coef", F64, "qm"),
                                                WRITES("intercept", F64, "q")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "search_ask", arguments, 3, args, n_args, kwnames)) {
        struct held_search *held = held_of(call.values[0]);
        if (held && check_models(&call, held)) {
            enum asked asked;
            ptrdiff_t q;
            Py_BEGIN_ALLOW_THREADS;
            asked = sefr_ask(held->search);
            q = sefr_models_asked(held->search, &held->of, data_of(&call.arrays[COEF]),
                                  data_of(&call.arrays[INTERCEPT]));
            Py_END_ALLOW_THREADS;
            result = asked == NOTHING ? Py_NewRef(Py_None) : PyLong_FromSsize_t(asked == PASS ? 0 : q);
        }
    }
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_search_tell_scores(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("search"), READS("scores", F64, "sq")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "search_tell_scores", arguments, 2, args, n_args, kwnames)) {
        struct held_search *held = held_of(call.values[0]);
        const ptrdiff_t q = held ? sefr_scores_asked(held->search) : 0;
        if (held && !q) {
            PyErr_Format(PyExc_ValueError, "no scores were asked for");
        } else if (held && sefr_check_shapes(&call, "sq", (Py_ssize_t[]){held->of.n_rows, q * held->of.n_scores})) {
            enum outcome outcome;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_tell_scores(held->search, &held->of, data_of(&call.arrays[1]));
            Py_END_ALLOW_THREADS;
            result = outcome == FINITE ? Py_NewRef(Py_None) : sefr_refuse(outcome, 0);
        }
    }
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_search_tell_pass(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("search"), READS("coef", F64, "rm"),
                                                READS("intercept", F64, "r"), OTHER_ARGUMENT("loss")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "search_tell_pass", arguments, 4, args, n_args, kwnames)) {
        struct held_search *held = held_of(call.values[0]);
        const double loss = held ? PyFloat_AsDouble(call.values[3]) : 0.0;
        if (PyErr_Occurred()) {
            /* not a number, or no search */
        } else if (!sefr_pass_is_asked(held->search)) {
            PyErr_Format(PyExc_ValueError, "no pass was asked for");
        } else if (sefr_check_shapes(&call, "rm", (Py_ssize_t[]){held->of.n_scores, held->of.width})) {
            double lowest;
            Py_BEGIN_ALLOW_THREADS;
            lowest = sefr_tell_pass(held->search, &held->of, loss, data_of(&call.arrays[COEF]),
                                    data_of(&call.arrays[INTERCEPT]), NULL);
            Py_END_ALLOW_THREADS;
            result = PyFloat_FromDouble(lowest);
        }
    }
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_search_rows(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("search"), READS("rows", F64, "sm"),
                                                WRITES("curve", F64, "p")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "search_rows", arguments, 3, args, n_args, kwnames)) {
        struct held_search *held = held_of(call.values[0]);
        const Py_ssize_t passes = call.arrays[2].view.shape[0];
        if (held && sefr_check_shapes(&call, "smp", (Py_ssize_t[]){held->of.n_rows, held->of.width, passes})) {
            enum outcome outcome;
            ptrdiff_t made;
            Py_BEGIN_ALLOW_THREADS;
            outcome = sefr_search_rows(held->search, &held->of, data_of(&call.arrays[1]), passes,
                                       data_of(&call.arrays[2]), &made);
            Py_END_ALLOW_THREADS;
            result = outcome == FINITE ? PyLong_FromSsize_t(made) : sefr_refuse(outcome, 0);
        }
    }
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_search_best(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("search"), WRITES("point", F64, "n"),
                                                WRITES_OR_NONE("gradient", F64, "n")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "search_best", arguments, 3, args, n_args, kwnames)) {
        const struct held_search *held = held_of(call.values[0]);
        if (held && sefr_check_shapes(&call, "n", (Py_ssize_t[]){point_size(&held->of)})) {
            result = PyFloat_FromDouble(sefr_best(held->search, data_of(&call.arrays[1]), data_of(&call.arrays[2])));
        }
    }
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_search_under(FASTCALL) {
    static const struct argument arguments[] = {OTHER_ARGUMENT("search"), OTHER_ARGUMENT("ridge")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "search_under", arguments, 2, args, n_args, kwnames)) {
        const struct held_search *before = held_of(call.values[0]);
        const double ridge = before ? PyFloat_AsDouble(call.values[1]) : 0.0;
        struct held_search *held = PyErr_Occurred() ? NULL : hold_search(&before->of);
        if (held) {
            held->of.ridge = ridge;
            sefr_move_search(held->search, &held->of, before->search, &before->of);
            result = PyCapsule_New(held, SEARCH_NAME, drop_held);
            if (!result) free_held(held);
        }
    }
    sefr_end_call(&call);
    return result;
}
