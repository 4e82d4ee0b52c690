#include "python/arguments.h"
#include "solve/solve.h"

enum { SUMS, COUNTS, LOW, SPAN, EPSILON, WEIGHTS, BIAS, MIDPOINTS, N_ARGUMENTS };
enum { MEANS, REST = LOW, MEANS_EPSILON, MEANS_WEIGHTS, MEANS_BIAS, MEANS_MIDPOINTS, N_MEANS_ARGUMENTS };

/* k classes, m features, r hyperplanes */
static const struct argument arguments[N_ARGUMENTS] = {
    READS("sums", F64, "km"),  READS("counts", F64, "k"),
    READS("low", F64, "m"),    READS("span", F64, "m"),
    OTHER_ARGUMENT("epsilon"), WRITES("weights", F64, "rm"),
    WRITES("bias", F64, "r"),  WRITES_OR_NONE("midpoints", F64, "rm")};
static const struct argument means_arguments[N_MEANS_ARGUMENTS] = {
    READS("means", F64, "km"),    READS("counts", F64, "k"), READS("rest", F64, "rm"),      OTHER_ARGUMENT("epsilon"),
    WRITES("weights", F64, "rm"), WRITES("bias", F64, "r"),  WRITES("midpoints", F64, "rm")};

/* What was learned, if the arrays of the call agree with each other. */
static bool get_learned(const struct call *call, struct learned *from) {
    const struct array *arrays = call->arrays;
    const Py_ssize_t k = arrays[SUMS].view.shape[0], m = arrays[SUMS].view.shape[1];
    *from = (struct learned){
        k, m, data_of(&arrays[COUNTS]), data_of(&arrays[SUMS]), data_of(&arrays[LOW]), data_of(&arrays[SPAN])};
    return sefr_check_shapes(call, "kmr", (Py_ssize_t[]){k, m, k == 2 ? 1 : k});
}

PyObject *sefr_py_solve(FASTCALL) {
    struct call call;
    struct learned from;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "solve", arguments, N_ARGUMENTS, args, n_args, kwnames) && get_learned(&call, &from)) {
        const double epsilon = PyFloat_AsDouble(call.values[EPSILON]);
        const struct planes to = {data_of(&call.arrays[WEIGHTS]), data_of(&call.arrays[BIAS]),
                                  data_of(&call.arrays[MIDPOINTS])};
        if (!PyErr_Occurred()) {
            bool solved;
            Py_BEGIN_ALLOW_THREADS;
            solved = sefr_solve(&from, epsilon, &to);
            Py_END_ALLOW_THREADS;
            result = PyBool_FromLong(solved);
        }
    }
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_solve_means(FASTCALL) {
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "solve_means", means_arguments, N_MEANS_ARGUMENTS, args, n_args, kwnames)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t k = arrays[MEANS].view.shape[0], m = arrays[MEANS].view.shape[1];
        const double epsilon = PyFloat_AsDouble(call.values[MEANS_EPSILON]);
        if (!PyErr_Occurred() && sefr_check_shapes(&call, "kmr", (Py_ssize_t[]){k, m, k == 2 ? 1 : k})) {
            const struct learned from = {k, m, data_of(&arrays[COUNTS]), data_of(&arrays[MEANS]), NULL, NULL};
            const struct planes to = {data_of(&arrays[MEANS_WEIGHTS]), data_of(&arrays[MEANS_BIAS]),
                                      data_of(&arrays[MEANS_MIDPOINTS])};
            Py_BEGIN_ALLOW_THREADS;
            sefr_solve_means(&from, data_of(&arrays[REST]), epsilon, &to);
            Py_END_ALLOW_THREADS;
            result = Py_NewRef(Py_None);
        }
    }
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_is_delicate(FASTCALL) {
    struct call call;
    struct learned from;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "is_delicate", arguments, SPAN, args, n_args, kwnames) && get_learned(&call, &from)) {
        bool delicate;
        Py_BEGIN_ALLOW_THREADS;
        delicate = sefr_is_delicate(&from);
        Py_END_ALLOW_THREADS;
        result = PyBool_FromLong(delicate);
    }
    sefr_end_call(&call);
    return result;
}
