/* The Python face of the kernels: buffers in, checks, the GIL released around the work. */
#include "python/arguments.h"
#include "refine/search.h"
#include "solve/solve.h"

/* _native.pyi has the contracts. */
#define METHOD(name) {#name, (PyCFunction)(void (*)(void))sefr_py_##name, METH_FASTCALL | METH_KEYWORDS, NULL}

static PyMethodDef methods[] = {
    METHOD(summarise),          METHOD(summarise_csr),    METHOD(summarise_csc),   METHOD(scores),
    METHOD(gradient),           METHOD(gradient_csr),     METHOD(solve),           METHOD(solve_means),
    METHOD(is_delicate),        METHOD(encode_integers),  METHOD(find_edges),      METHOD(code_cells),
    METHOD(count_cells),        METHOD(cell_scores),      METHOD(shelve_cells),    METHOD(gradient_cells),
    METHOD(grow_ferns),         METHOD(begin_search),     METHOD(search_try),      METHOD(search_ask),
    METHOD(search_tell_scores), METHOD(search_tell_pass), METHOD(search_rows),     METHOD(search_best),
    METHOD(search_under),       METHOD(encode_bytes),     METHOD(encode_objects),  METHOD(step_tables),
    METHOD(step_slopes),        METHOD(shared_steps),     METHOD(signal_features), METHOD(products),
    METHOD(products_csr),       METHOD(count_pairs),      METHOD(step_products),   METHOD(choose),
    METHOD(fit_scaling),        METHOD(weigh_parts),      METHOD(leave_one_out),   METHOD(likeliest_ridges),
    {NULL, NULL, 0, NULL},
};

/* Python compares these with its own: see tests/native. */
static int add_constants(PyObject *module) {
    static const struct {
        const char *name;
        double value;
    } constants[] = {
        {"DELICATE", DELICATE}, {"FAR", FAR}, {"NARROW", NARROW}, {"WIDE", WIDE}, {"STALLED", SEFR_STALLED}};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        PyObject *value = PyFloat_FromDouble(constants[i].value);
        const int failed = !value || PyModule_AddObjectRef(module, constants[i].name, value) != 0;
        Py_XDECREF(value);
        if (failed) return -1;
    }
    return 0;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The host kernels of sefr.", 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module && add_constants(module) == 0) return module;
    Py_XDECREF(module);
    return NULL;
}
