/* The Python face of the kernels: buffers in, checks, the GIL released around the work. */
#include "python/binding.h"

static const char summarise_doc[] =
    "summarise(X, codes, weights, n_classes, sums, counts, low, high, present, n_threads)\n--\n\n"
    "Add up rows: sums per group, lowest and highest value per fold. True if every sum is finite.";
static const char csr_doc[] =
    "summarise_csr(data, indices, indptr, codes, weights, n_classes, sums, counts, low, high, present, n_threads)\n"
    "--\n\nAdd up the rows of a CSR matrix without duplicates; implicit zeros are values.";
static const char csc_doc[] =
    "summarise_csc(data, indices, indptr, codes, weights, n_classes, sums, counts, low, high, present, n_threads)\n"
    "--\n\nAdd up the columns of a CSC matrix without duplicates; implicit zeros are values.";
static const char scores_doc[] =
    "scores(X, coef, intercept, rows, out, n_threads)\n--\n\n"
    "Write X @ coef.T + intercept to out, in float64, for all rows or the rows listed.";
static const char gradient_doc[] =
    "gradient(X, centre, scale, codes, weights, class_weights, coef, intercept, coef_gradient, intercept_gradient, n_threads)\n"
    "--\n\nReturn the loss of a linear model of standardised features; write its derivatives.";
static const char gradient_csr_doc[] =
    "gradient_csr(data, indices, indptr, fill, codes, weights, class_weights, coef, intercept, coef_gradient, intercept_gradient, "
    "n_threads)\n--\n\nThe same for a CSR matrix and a model of its values as they are.";
static const char solve_doc[] =
    "solve(sums, counts, low, span, epsilon, weights, bias)\n--\n\n"
    "Write the hyperplanes that sums define; False, and nothing of use, where that needs care.";
static const char delicate_doc[] =
    "is_delicate(sums, counts, low)\n--\n\n"
    "Say whether a feature lies so far from zero that its plain sum loses what distinguishes its values.";
static const char integers_doc[] =
    "encode_integers(y, codes)\n--\n\n"
    "Write to codes the rank of each integer among the distinct ones, returned sorted; None if they are too spread.";
static const char bytes_doc[] =
    "encode_bytes(y, codes)\n--\n\n"
    "Code items of one size by hashing; returns the position of each one's first appearance.";
static const char objects_doc[] =
    "encode_objects(y, codes)\n--\n\n"
    "Code hashable objects in order of appearance; returns the distinct ones in that order.";

#define METHOD(name, function, doc) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL | METH_KEYWORDS, doc}

static PyMethodDef methods[] = {
    METHOD("summarise", py_summarise, summarise_doc),
    METHOD("summarise_csr", py_summarise_csr, csr_doc),
    METHOD("summarise_csc", py_summarise_csc, csc_doc),
    METHOD("scores", py_scores, scores_doc),
    METHOD("gradient", py_gradient, gradient_doc),
    METHOD("gradient_csr", py_gradient_csr, gradient_csr_doc),
    METHOD("solve", py_solve, solve_doc),
    METHOD("is_delicate", py_is_delicate, delicate_doc),
    METHOD("encode_integers", py_encode_integers, integers_doc),
    METHOD("encode_bytes", py_encode_bytes, bytes_doc),
    METHOD("encode_objects", py_encode_objects, objects_doc),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", "The host kernels of sefr.", 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&module); }
