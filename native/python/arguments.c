#include "python/arguments.h"

#include <string.h>

static bool gather_arguments(struct call *call, const char *function, PyObject *const *args, Py_ssize_t n_args,
                             PyObject *kwnames) {
    const Py_ssize_t count = call->count;
    PyObject **values = call->values;
    Py_ssize_t n_named = kwnames ? PyTuple_Size(kwnames) : 0;
    if (n_args > count) {
        PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", function, count, n_args + n_named);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) values[i] = i < n_args ? args[i] : NULL;
    for (Py_ssize_t k = 0; k < n_named; k++) {
        PyObject *name = PyTuple_GetItem(kwnames, k);
        Py_ssize_t i = 0;
        while (i < count && PyUnicode_CompareWithASCIIString(name, call->arguments[i].name) != 0) i++;
        if (i == count || values[i]) {
            PyErr_Format(PyExc_TypeError, "%s: argument %R is %s", function, name,
                         i == count ? "unknown" : "given twice");
            return false;
        }
        values[i] = args[n_args + k];
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!values[i]) {
            PyErr_Format(PyExc_TypeError, "%s: argument '%s' is missing", function, call->arguments[i].name);
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
        sefr_release(array);
        return false;
    }
    return true;
}

bool sefr_hold(struct array *array, PyObject *object, const char *name, int ndim) {
    if (!hold_view(array, object, name, ndim, PyBUF_SIMPLE)) return false;
    if (!parse_format(array->view.format, array->view.itemsize, &array->type)) {
        PyErr_Format(PyExc_TypeError,
                     "%s has type '%s' (%zd bytes): only native float32, float64, integers and bool are read", name,
                     array->view.format ? array->view.format : "B", array->view.itemsize);
        sefr_release(array);
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

bool sefr_hold_exact(struct array *array, PyObject *object, const char *name, int ndim, enum dtype type,
                     bool writable) {
#define DTYPE_NAME(tag, type, name, ...) name,
    static const char *const names[N_DTYPES] = {SEFR_EACH_DTYPE(DTYPE_NAME)};
#undef DTYPE_NAME
    if (!hold_view(array, object, name, ndim, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE)) return false;
    if (!parse_format(array->view.format, array->view.itemsize, &array->type) || array->type != type) {
        PyErr_Format(PyExc_TypeError, "%s has type '%s', not %s", name, array->view.format ? array->view.format : "B",
                     names[type]);
    } else if (!is_contiguous(&array->view)) {
        PyErr_Format(PyExc_ValueError, "%s is not contiguous and aligned", name);
    } else {
        return true;
    }
    sefr_release(array);
    return false;
}

void sefr_release(struct array *array) {
    if (array->held) PyBuffer_Release(&array->view);
    array->held = false;
}

bool sefr_check_shape(const struct array *array, const char *name, Py_ssize_t rows, Py_ssize_t columns) {
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

bool sefr_begin_call(struct call *call, const char *function, const struct argument *arguments, Py_ssize_t count,
                     PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames) {
    *call = (struct call){.arguments = arguments, .count = count};
    if (count > MOST_ARGUMENTS) {
        PyErr_Format(PyExc_SystemError, "%s: more arguments than MOST_ARGUMENTS", function);
        return false;
    }
    if (!gather_arguments(call, function, args, n_args, kwnames)) return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        const struct argument *argument = &arguments[i];
        if (argument->use == OTHER || (argument->optional && call->values[i] == Py_None)) continue;
        if (!sefr_hold_exact(&call->arrays[i], call->values[i], argument->name, (int)strlen(argument->shape),
                             argument->type, argument->use == WRITTEN)) {
            return false;
        }
    }
    return true;
}

bool sefr_check_shapes(const struct call *call, const char *letters, const Py_ssize_t *sizes) {
    for (Py_ssize_t i = 0; i < call->count; i++) {
        const char *shape = call->arguments[i].shape;
        if (!call->arrays[i].held) continue;
        const Py_ssize_t rows = sizes[strchr(letters, shape[0]) - letters];
        const Py_ssize_t columns = shape[1] ? sizes[strchr(letters, shape[1]) - letters] : -1;
        if (!sefr_check_shape(&call->arrays[i], call->arguments[i].name, rows, columns)) return false;
    }
    return true;
}

void sefr_end_call(struct call *call) {
    for (Py_ssize_t i = 0; i < call->count; i++) sefr_release(&call->arrays[i]);
}

static bool hold_columns(struct held_table *table, PyObject *sequence, Py_ssize_t n_rows) {
    const Py_ssize_t m = PySequence_Size(sequence);
    if (m < 0) return false;
    table->arrays = PyMem_Calloc((size_t)m + 1, sizeof *table->arrays);
    table->columns = PyMem_Calloc((size_t)m + 1, sizeof *table->columns);
    if (!table->arrays || !table->columns) {
        PyErr_NoMemory();
        return false;
    }
    table->x = (struct table){.n = n_rows < 0 ? 0 : n_rows, .m = m, .columns = table->columns};
    for (Py_ssize_t j = 0; j < m; j++) {
        struct array *array = &table->arrays[j];
        char name[40];
        PyOS_snprintf(name, sizeof name, "column %zd of X", j);
        PyObject *item = PySequence_GetItem(sequence, j);
        const bool ok = item && sefr_hold(array, item, name, 1);
        Py_XDECREF(item); /* the buffer view keeps it alive */
        if (!ok) return false;
        if (n_rows < 0 && j == 0) table->x.n = array->view.shape[0];
        if (!sefr_check_shape(array, name, table->x.n, -1)) return false;
        table->columns[j] = (struct column){array->view.buf, array->view.strides[0], array->type};
    }
    return true;
}

bool sefr_hold_table(struct held_table *table, PyObject *object, Py_ssize_t n_rows) {
    const struct array *array = &table->array;
    if (!PyObject_CheckBuffer(object)) return hold_columns(table, object, n_rows);
    if (!sefr_hold(&table->array, object, "X", 2)) return false;
    table->x = (struct table){array->view.shape[0],
                              array->view.shape[1],
                              array->view.buf,
                              array->view.strides[0],
                              array->view.strides[1],
                              array->type,
                              NULL};
    return true;
}

void sefr_release_table(struct held_table *table) {
    sefr_release(&table->array);
    for (ptrdiff_t j = 0; table->arrays && j < table->x.m; j++) sefr_release(&table->arrays[j]);
    PyMem_Free(table->arrays);
    PyMem_Free(table->columns);
}

/* Hold an aligned, contiguous buffer of any type that the kernels know. */
static bool hold_line(struct array *array, PyObject *object, const char *name) {
    if (!sefr_hold(array, object, name, 1)) return false;
    const enum dtype type = array->type;
    sefr_release(array);
    return sefr_hold_exact(array, object, name, 1, type, false);
}

static bool hold_index(struct array *array, PyObject *object, const char *name) {
    if (!hold_line(array, object, name)) return false;
    if (array->type == I32 || array->type == I64) return true;
    PyErr_Format(PyExc_TypeError, "%s is not int32 or int64", name);
    return false;
}

bool sefr_hold_sparse(struct held_sparse *sparse, PyObject *const *values, Py_ssize_t n, Py_ssize_t m, bool by_rows) {
    struct array *data = &sparse->data, *indices = &sparse->indices, *pointer = &sparse->pointer;
    if (!hold_line(data, values[0], "data") || !hold_index(indices, values[1], "indices") ||
        !hold_index(pointer, values[2], "indptr") || !sefr_check_shape(indices, "indices", data->view.shape[0], -1) ||
        !sefr_check_shape(pointer, "indptr", (by_rows ? n : m) + 1, -1)) {
        return false;
    }
    sparse->x = (struct sparse){n,
                                m,
                                data->view.shape[0],
                                data->view.buf,
                                indices->view.buf,
                                pointer->view.buf,
                                data->type,
                                indices->type,
                                pointer->type};
    return true;
}

void sefr_release_sparse(struct held_sparse *sparse) {
    sefr_release(&sparse->data);
    sefr_release(&sparse->indices);
    sefr_release(&sparse->pointer);
}

bool sefr_get_int(PyObject *object, const char *name, int lowest, int highest, int *value) {
    long number = PyLong_AsLong(object);
    if (number == -1 && PyErr_Occurred()) return false;
    if (number < lowest || number > highest) {
        PyErr_Format(PyExc_ValueError, "%s is %ld, not within %d and %d", name, number, lowest, highest);
        return false;
    }
    *value = (int)number;
    return true;
}

PyObject *sefr_refuse(enum outcome outcome, int32_t n_groups) {
    switch (outcome) {
    case BAD_CODE: return PyErr_Format(PyExc_ValueError, "codes: a code is not below %d", (int)n_groups);
    case BAD_INDEX: return PyErr_Format(PyExc_ValueError, "indices: an index is outside the matrix");
    case BAD_POINTER: return PyErr_Format(PyExc_ValueError, "indptr: not ascending from 0 to the number of entries");
    case BAD_ROW: return PyErr_Format(PyExc_ValueError, "rows: a row is outside the matrix");
    case BAD_STARTS:
        return PyErr_Format(PyExc_ValueError, "starts: not rising from 0 to the number of edges, or above 256 cells");
    case BAD_EDGE: return PyErr_Format(PyExc_ValueError, "edges: not finite and rising within a feature");
    case BAD_FERN: return PyErr_Format(PyExc_ValueError, "ferns: 1 to 8 comparisons each, of cells that are there");
    case BAD_CELL: return PyErr_Format(PyExc_ValueError, "cells: a cell is outside its feature");
    default: return PyErr_NoMemory();
    }
}
