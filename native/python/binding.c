#include "python/binding.h"

#include <string.h>

bool gather_arguments(const char *function, const char *const *names, Py_ssize_t count, PyObject *const *args,
                      Py_ssize_t n_args, PyObject *kwnames, PyObject **values) {
    Py_ssize_t n_named = kwnames ? PyTuple_Size(kwnames) : 0;
    if (n_args > count) {
        PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", function, count, n_args + n_named);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) values[i] = i < n_args ? args[i] : NULL;
    for (Py_ssize_t k = 0; k < n_named; k++) {
        PyObject *name = PyTuple_GetItem(kwnames, k);
        Py_ssize_t i = 0;
        while (i < count && PyUnicode_CompareWithASCIIString(name, names[i]) != 0) i++;
        if (i == count || values[i]) {
            PyErr_Format(PyExc_TypeError, "%s: argument %R is %s", function, name,
                         i == count ? "unknown" : "given twice");
            return false;
        }
        values[i] = args[n_args + k];
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!values[i]) {
            PyErr_Format(PyExc_TypeError, "%s: argument '%s' is missing", function, names[i]);
            return false;
        }
    }
    return true;
}

/* The dtype of a struct format, by kind and size, so that 'l' is right on every platform. */
static bool parse_format(const char *format, Py_ssize_t size, enum dtype *type) {
    const uint16_t one = 1;
    const bool little = *(const uint8_t *)&one == 1;
    if (!format) format = "B";
    if (*format == '@' || *format == '=' || *format == '|') {
        format++;
    } else if (*format == '<' || *format == '>' || *format == '!') {
        if (size != 1 && (*format == '<') != little) return false;
        format++;
    }
    if (!*format || format[1]) return false;
    int log = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
    if (log < 0) return false;
    if (strchr("fd", *format)) {
        if (log < 2) return false;
        *type = log == 2 ? F32 : F64;
    } else if (strchr("bhilqn", *format)) {
        *type = (enum dtype)(I8 + 2 * log);
    } else if (strchr("?BHILQN", *format)) {
        *type = (enum dtype)(U8 + 2 * log);
    } else {
        return false;
    }
    return true;
}

static bool hold_view(struct array *array, PyObject *object, const char *name, int ndim, int flags) {
    array->held = false;
    if (PyObject_GetBuffer(object, &array->view, flags | PyBUF_STRIDES | PyBUF_FORMAT) != 0) return false;
    array->held = true;
    if (array->view.ndim != ndim) {
        PyErr_Format(PyExc_ValueError, "%s has %d dimensions, not %d", name, array->view.ndim, ndim);
        release(array);
        return false;
    }
    return true;
}

bool hold(struct array *array, PyObject *object, const char *name, int ndim) {
    if (!hold_view(array, object, name, ndim, PyBUF_SIMPLE)) return false;
    if (!parse_format(array->view.format, array->view.itemsize, &array->type)) {
        PyErr_Format(PyExc_TypeError,
                     "%s has type '%s' (%zd bytes): only native float32, float64, integers and bool are read", name,
                     array->view.format ? array->view.format : "B", array->view.itemsize);
        release(array);
        return false;
    }
    return true;
}

static bool is_contiguous(const Py_buffer *view) {
    Py_ssize_t expected = view->itemsize;
    for (int d = view->ndim - 1; d >= 0; d--) {
        if (view->shape[d] == 0) return true;
        if (view->shape[d] > 1 && view->strides[d] != expected) return false;
        expected *= view->shape[d];
    }
    return (uintptr_t)view->buf % (size_t)view->itemsize == 0;
}

bool hold_exact(struct array *array, PyObject *object, const char *name, int ndim, enum dtype type, bool writable) {
    static const char *const names[N_DTYPES] = {"float32", "float64", "int8",   "uint8", "int16",
                                                "uint16",  "int32",   "uint32", "int64", "uint64"};
    if (!hold_view(array, object, name, ndim, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE)) return false;
    if (!parse_format(array->view.format, array->view.itemsize, &array->type) || array->type != type) {
        PyErr_Format(PyExc_TypeError, "%s has type '%s', not %s", name,
                     array->view.format ? array->view.format : "B", names[type]);
    } else if (!is_contiguous(&array->view)) {
        PyErr_Format(PyExc_ValueError, "%s is not contiguous and aligned", name);
    } else {
        return true;
    }
    release(array);
    return false;
}

bool hold_optional(struct array *array, PyObject *object, const char *name, int ndim, enum dtype type, bool writable) {
    if (object == Py_None) {
        array->held = false;
        return true;
    }
    return hold_exact(array, object, name, ndim, type, writable);
}

void release(struct array *array) {
    if (array->held) PyBuffer_Release(&array->view);
    array->held = false;
}

bool check_shape(const struct array *array, const char *name, Py_ssize_t rows, Py_ssize_t columns) {
    const Py_ssize_t *shape = array->view.shape;
    if (columns < 0) {
        if (shape[0] == rows) return true;
        PyErr_Format(PyExc_ValueError, "%s has length %zd, not %zd", name, shape[0], rows);
        return false;
    }
    if (shape[0] == rows && shape[1] == columns) return true;
    PyErr_Format(PyExc_ValueError, "%s has shape (%zd, %zd), not (%zd, %zd)", name, shape[0], shape[1], rows, columns);
    return false;
}

bool get_int(PyObject *object, const char *name, int lowest, int highest, int *value) {
    long number = PyLong_AsLong(object);
    if (number == -1 && PyErr_Occurred()) return false;
    if (number < lowest || number > highest) {
        PyErr_Format(PyExc_ValueError, "%s is %ld, not within %d and %d", name, number, lowest, highest);
        return false;
    }
    *value = (int)number;
    return true;
}

PyObject *refuse(enum outcome outcome, int32_t n_groups) {
    switch (outcome) {
    case BAD_CODE:
        return PyErr_Format(PyExc_ValueError, "codes: a code is not below %d", (int)n_groups);
    case BAD_INDEX:
        return PyErr_Format(PyExc_ValueError, "indices: an index is outside the matrix");
    case BAD_POINTER:
        return PyErr_Format(PyExc_ValueError, "indptr: not ascending from 0 to the number of entries");
    default:
        return PyErr_NoMemory();
    }
}
