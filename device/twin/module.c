/* sefr.device._twin: the device library for Python, on buffers that the caller owns. Every call checks the sizes of its
 * buffers; the shapes are (classes, features), row-major, in the types of the variant. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "twin.h"

uint8_t w8s16_byte(int32_t value, int32_t low, int32_t high);

static const twin_variant *find(int weight_bits, int sum_bits) {
    if (weight_bits == 8 && sum_bits == 16) return &twin_w8s16;
    if (weight_bits == 8 && sum_bits == 32) return &twin_w8s32;
    if (weight_bits == 16 && sum_bits == 16) return &twin_w16s16;
    if (weight_bits == 16 && sum_bits == 32) return &twin_w16s32;
    PyErr_SetString(PyExc_ValueError, "weights have 8 or 16 bits, sums 16 or 32");
    return NULL;
}

static int has_size(const Py_buffer *buffer, size_t bytes, const char *name) {
    if (buffer->buf == NULL && bytes > 0) {
        PyErr_Format(PyExc_ValueError, "%s is missing", name);
        return 0;
    }
    if (buffer->buf != NULL && (size_t)buffer->len != bytes) {
        PyErr_Format(PyExc_ValueError, "%s has %zd bytes, expected %zu", name, buffer->len, bytes);
        return 0;
    }
    return 1;
}

static size_t rows_of(size_t classes) { return classes == 2 ? 1 : classes; }

static void release(Py_buffer *buffers, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) {
        if (buffers[i].buf != NULL) PyBuffer_Release(&buffers[i]);
    }
}

enum { SUMS, COUNTS, RANGES, ROWS, LABELS, WEIGHTS = ROWS, BIAS = LABELS, PARTS = 5 };

static PyObject *py_learn(PyObject *self, PyObject *args) {
    int weight_bits = 8, sum_bits;
    unsigned int half_life = 0;
    Py_ssize_t features, classes;
    Py_buffer part[PARTS] = {0};
    const twin_variant *variant;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "innw*w*z*y*y*|I", &sum_bits, &features, &classes, &part[SUMS], &part[COUNTS],
                          &part[RANGES], &part[ROWS], &part[LABELS], &half_life)) {
        return NULL;
    }
    variant = find(weight_bits, sum_bits);
    if (variant != NULL) {
        size_t m = (size_t)features, k = (size_t)classes, n = (size_t)part[LABELS].len;
        if (has_size(&part[SUMS], m * k * variant->sum_bytes, "sums") &&
            has_size(&part[COUNTS], k * variant->sum_bytes, "counts") &&
            (part[RANGES].buf == NULL || (!part[RANGES].readonly && has_size(&part[RANGES], 2 * m, "ranges"))) &&
            has_size(&part[ROWS], n * m, "rows")) {
            twin_model twin = {m, k, part[SUMS].buf, part[COUNTS].buf, NULL, NULL, part[RANGES].buf, 0, half_life, 0};
            result = PyLong_FromLong(variant->learn(&twin, part[ROWS].buf, part[LABELS].buf, n));
        }
    }
    if (result == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "ranges must be writable");
    release(part, PARTS);
    return result;
}

static PyObject *py_solve(PyObject *self, PyObject *args) {
    int weight_bits, sum_bits;
    unsigned char options = 0;
    Py_ssize_t features, classes;
    Py_buffer part[PARTS] = {0};
    const twin_variant *variant;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "iinny*y*z*w*w*|b", &weight_bits, &sum_bits, &features, &classes, &part[SUMS],
                          &part[COUNTS], &part[RANGES], &part[WEIGHTS], &part[BIAS], &options)) {
        return NULL;
    }
    variant = find(weight_bits, sum_bits);
    if (variant != NULL) {
        size_t m = (size_t)features, k = (size_t)classes;
        if (has_size(&part[SUMS], m * k * variant->sum_bytes, "sums") &&
            has_size(&part[COUNTS], k * variant->sum_bytes, "counts") &&
            (part[RANGES].buf == NULL || has_size(&part[RANGES], 2 * m, "ranges")) &&
            has_size(&part[WEIGHTS], m * rows_of(k) * variant->weight_bytes, "weights") &&
            has_size(&part[BIAS], rows_of(k) * variant->score_bytes, "bias")) {
            twin_model twin = {m,
                               k,
                               part[SUMS].buf,
                               part[COUNTS].buf,
                               part[WEIGHTS].buf,
                               part[BIAS].buf,
                               part[RANGES].buf,
                               options,
                               0,
                               0};
            result = PyLong_FromLong(variant->solve(&twin));
        }
    }
    release(part, PARTS);
    return result;
}

static PyObject *py_classify(PyObject *self, PyObject *args) {
    int weight_bits;
    unsigned long long margin = 0;
    Py_ssize_t features, classes;
    Py_buffer part[4] = {0};
    const twin_variant *variant;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "inny*y*y*w*|K", &weight_bits, &features, &classes, &part[0], &part[1], &part[2],
                          &part[3], &margin)) {
        return NULL;
    }
    variant = find(weight_bits, 16);
    if (variant != NULL) {
        size_t m = (size_t)features, k = (size_t)classes, n = (size_t)part[3].len;
        if (has_size(&part[0], m * rows_of(k) * variant->weight_bytes, "weights") &&
            has_size(&part[1], rows_of(k) * variant->score_bytes, "bias") && has_size(&part[2], n * m, "rows")) {
            twin_model twin = {m, k, NULL, NULL, part[0].buf, part[1].buf, NULL, 0, 0, margin};
            Py_BEGIN_ALLOW_THREADS;
            variant->classify(&twin, part[2].buf, part[3].buf, n);
            Py_END_ALLOW_THREADS;
            result = Py_NewRef(Py_None);
        }
    }
    release(part, 4);
    return result;
}

static PyObject *py_bytes_of_integers(PyObject *self, PyObject *args) {
    Py_ssize_t features;
    Py_buffer part[4] = {0};
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "ny*y*y*w*", &features, &part[0], &part[1], &part[2], &part[3])) return NULL;
    {
        size_t m = (size_t)features, n = (size_t)part[3].len / (m ? m : 1), i, j;
        if (has_size(&part[0], n * m * 4, "values") && has_size(&part[1], m * 4, "low") &&
            has_size(&part[2], m * 4, "high")) {
            const int32_t *value = part[0].buf, *low = part[1].buf, *high = part[2].buf;
            uint8_t *out = part[3].buf;
            for (i = 0; i < n; i++) {
                for (j = 0; j < m; j++) *out++ = w8s16_byte(*value++, low[j], high[j]);
            }
            result = Py_NewRef(Py_None);
        }
    }
    release(part, 4);
    return result;
}

static PyMethodDef methods[] = {
    {"learn", py_learn, METH_VARARGS, "learn(sum_bits, m, K, sums, counts, ranges, rows, labels, half_life=0) -> status"},
    {"solve", py_solve, METH_VARARGS,
     "solve(weight_bits, sum_bits, m, K, sums, counts, ranges, weights, bias, options=0) -> status"},
    {"classify", py_classify, METH_VARARGS, "classify(weight_bits, m, K, weights, bias, rows, labels, margin=0): a label of 255 is unknown"},
    {"bytes_of_integers", py_bytes_of_integers, METH_VARARGS, "bytes_of_integers(m, values, low, high, bytes)"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_twin", "The device library, in process.", 0, methods,
                                    NULL,                  NULL,    NULL,                              NULL};

PyMODINIT_FUNC PyInit__twin(void) { return PyModule_Create(&module); }
