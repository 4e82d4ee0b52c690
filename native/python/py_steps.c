#include "python/arguments.h"

#include "refine/steps.h"

/* c cells, k tables. The cells come first: what begins a run, means, scales. */
enum { BEGINS, MEAN, SCALE, FROM, INTERCEPTS, TO, INTERCEPTS_TO, N_ARGUMENTS };
#define CELLS READS("begins", U8, "c"), READS_OR_NONE("mean", F64, "c"), READS_OR_NONE("scale", F64, "c")

static struct steps steps_of(const struct array *arrays) {
    return (struct steps){.begins = data_of(&arrays[BEGINS]),
                          .mean = data_of(&arrays[MEAN]),
                          .scale = data_of(&arrays[SCALE]),
                          .n = arrays[BEGINS].view.shape[0]};
}

static bool check(const struct call *call) {
    const Py_ssize_t sizes[] = {call->arrays[BEGINS].view.shape[0], call->arrays[FROM].view.shape[0]};
    return sefr_check_shapes(call, "ck", sizes);
}

PyObject *sefr_py_step_tables(FASTCALL) {
    static const struct argument arguments[N_ARGUMENTS] = {CELLS, READS("weights", F64, "kc"),
                                                           READS_OR_NONE("before", F64, "k"),
                                                           WRITES("tables", F64, "kc"), WRITES("intercepts", F64, "k")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "step_tables", arguments, N_ARGUMENTS, args, n_args, kwnames) && check(&call)) {
        const struct array *arrays = call.arrays;
        const struct steps steps = steps_of(arrays);
        Py_BEGIN_ALLOW_THREADS;
        sefr_step_tables(&steps, data_of(&arrays[FROM]), data_of(&arrays[INTERCEPTS]), arrays[FROM].view.shape[0],
                         data_of(&arrays[TO]), data_of(&arrays[INTERCEPTS_TO]));
        Py_END_ALLOW_THREADS;
        result = Py_NewRef(Py_None);
    }
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_step_slopes(FASTCALL) {
    static const struct argument arguments[N_ARGUMENTS - 1] = {
        CELLS, READS("by_table", F64, "kc"), READS_OR_NONE("by_intercept", F64, "k"), WRITES("by_weight", F64, "kc")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "step_slopes", arguments, N_ARGUMENTS - 1, args, n_args, kwnames) && check(&call)) {
        const struct array *arrays = call.arrays;
        const struct steps steps = steps_of(arrays);
        Py_BEGIN_ALLOW_THREADS;
        sefr_step_slopes(&steps, data_of(&arrays[FROM]), data_of(&arrays[INTERCEPTS]), arrays[FROM].view.shape[0],
                         data_of(&arrays[TO]));
        Py_END_ALLOW_THREADS;
        result = Py_NewRef(Py_None);
    }
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_shared_steps(FASTCALL) {
    enum { GONE, PLACES, WORTH, SHARED, N_SHARED };
    static const struct argument arguments[N_SHARED] = {READS("gone", F64, "mn"), READS("places", F64, "kn"),
                                                        READS("worth", F64, "kn"), WRITES("shared", F64, "nn")};
    struct call call;
    PyObject *result = NULL;
    (void)self;
    if (sefr_begin_call(&call, "shared_steps", arguments, N_SHARED, args, n_args, kwnames)) {
        const struct array *arrays = call.arrays;
        const Py_ssize_t m = arrays[GONE].view.shape[0], k = arrays[PLACES].view.shape[0];
        const Py_ssize_t n = arrays[SHARED].view.shape[0];
        if (sefr_check_shapes(&call, "mkn", (Py_ssize_t[]){m, k, n})) {
            const struct common_steps steps = {.gone = data_of(&arrays[GONE]),
                                               .places = data_of(&arrays[PLACES]),
                                               .worth = data_of(&arrays[WORTH]),
                                               .m = m,
                                               .k = k,
                                               .n = n};
            Py_BEGIN_ALLOW_THREADS;
            sefr_shared_steps(&steps, data_of(&arrays[SHARED]));
            Py_END_ALLOW_THREADS;
            result = Py_NewRef(Py_None);
        }
    }
    sefr_end_call(&call);
    return result;
}
