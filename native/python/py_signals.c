#include "python/arguments.h"
#include "signals/signals.h"

enum { WINDOWS, DILATIONS, KERNELS, THRESHOLDS, LEVELS, SEGMENTS, LOWEST, HIGHEST, FEATURES, N_THREADS, N_ARGUMENTS };

/* n windows, a axes, l samples, d dilations, c counts, f features */
static const struct argument arguments[N_ARGUMENTS] = {
    READS("windows", I32, "nal"), READS("dilations", I32, "d"), OTHER_ARGUMENT("kernels"), OTHER_ARGUMENT("thresholds"),
    READS("levels", I8, "c"),     OTHER_ARGUMENT("segments"),   READS("lowest", I32, "a"), READS("highest", I32, "a"),
    WRITES("features", U8, "nf"), OTHER_ARGUMENT("n_threads")};

/* Where the arrays are read once: another thread may change them during the call. */
static bool check_plan(const struct signal_plan *plan) {
    if (plan->length < 2 || plan->length > SIGNAL_LONGEST) {
        PyErr_Format(PyExc_ValueError, "windows have %zd samples, not 2 to %d", plan->length, SIGNAL_LONGEST);
        return false;
    }
    if (SIGNAL_KERNELS % plan->kernels) {
        PyErr_SetString(PyExc_ValueError, "kernels must divide 84");
        return false;
    }
    for (ptrdiff_t i = 0; i < plan->n_dilations; i++) {
        if (plan->dilations[i] < 1 || plan->dilations[i] >= plan->length) {
            PyErr_SetString(PyExc_ValueError, "a dilation must be at least 1 and below the length");
            return false;
        }
    }
    for (ptrdiff_t i = 0; i < plan->axes; i++) {
        if (plan->lowest[i] < -SIGNAL_FURTHEST || plan->lowest[i] >= plan->highest[i] ||
            plan->highest[i] > SIGNAL_FURTHEST) {
            PyErr_SetString(PyExc_ValueError, "a range must go up and lie within 28 bits");
            return false;
        }
    }
    return true;
}

PyObject *sefr_py_signal_features(FASTCALL) {
    struct call call;
    PyObject *result = NULL;
    int kernels, thresholds, segments, n_threads;
    int32_t *own = NULL;
    (void)self;
    if (!sefr_begin_call(&call, "signal_features", arguments, N_ARGUMENTS, args, n_args, kwnames) ||
        !sefr_get_int(call.values[KERNELS], "kernels", 1, SIGNAL_KERNELS, &kernels) ||
        !sefr_get_int(call.values[THRESHOLDS], "thresholds", 1, 1 << 16, &thresholds) ||
        !sefr_get_int(call.values[N_THREADS], "n_threads", 1, 1 << 20, &n_threads)) {
        goto done;
    }
    const struct array *arrays = call.arrays;
    const Py_ssize_t n = arrays[WINDOWS].view.shape[0], axes = arrays[WINDOWS].view.shape[1];
    const Py_ssize_t length = arrays[WINDOWS].view.shape[2], n_dilations = arrays[DILATIONS].view.shape[0];
    if (!sefr_get_int(call.values[SEGMENTS], "segments", 0, (int)(length / 2), &segments)) goto done;
    struct signal_plan plan = {.length = length,
                               .axes = axes,
                               .n_dilations = n_dilations,
                               .kernels = kernels,
                               .thresholds = thresholds,
                               .levels = data_of(&arrays[LEVELS]),
                               .segments = segments};
    const Py_ssize_t counts = signal_counts(&plan);
    const Py_ssize_t sizes[] = {n, axes, length, n_dilations, counts, counts + signal_statistics(&plan)};
    if (!sefr_check_shapes(&call, "naldcf", sizes)) goto done;
    own = PyMem_Malloc((size_t)(n_dilations + 2 * axes + 1) * sizeof *own); /* not to be changed after the check */
    if (!own) {
        PyErr_NoMemory();
        goto done;
    }
    memcpy(own, data_of(&arrays[DILATIONS]), (size_t)n_dilations * sizeof *own);
    memcpy(own + n_dilations, data_of(&arrays[LOWEST]), (size_t)axes * sizeof *own);
    memcpy(own + n_dilations + axes, data_of(&arrays[HIGHEST]), (size_t)axes * sizeof *own);
    plan.dilations = own;
    plan.lowest = own + n_dilations;
    plan.highest = own + n_dilations + axes;
    if (check_plan(&plan)) {
        bool enough;
        Py_BEGIN_ALLOW_THREADS;
        enough = sefr_signal_features(&plan, data_of(&arrays[WINDOWS]), n, data_of(&arrays[FEATURES]), n_threads);
        Py_END_ALLOW_THREADS;
        result = enough ? Py_NewRef(Py_None) : PyErr_NoMemory();
    }
done:
    PyMem_Free(own);
    sefr_end_call(&call);
    return result;
}
