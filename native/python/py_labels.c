#include "labels/labels.h"
#include "python/arguments.h"

/* n labels */
static const struct argument arguments[] = {OTHER_ARGUMENT("y"), WRITES("codes", I32, "n")};

static bool check_codes(const struct call *call, Py_ssize_t n) {
    return sefr_check_shapes(call, "n", (Py_ssize_t[]){n});
}

static PyObject *integer_list(const struct distinct *found, bool is_signed) {
    PyObject *list = PyList_New(found->n);
    for (ptrdiff_t k = 0; list && k < found->n; k++) {
        PyObject *item = is_signed ? PyLong_FromLongLong((long long)found->values[k])
                                   : PyLong_FromUnsignedLongLong(found->values[k]);
        if (!item || PyList_SetItem(list, k, item) != 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

static PyObject *encoded(enum labels_outcome outcome, const struct distinct *found, bool is_signed) {
    switch (outcome) {
    case LABELS_CODED: return integer_list(found, is_signed);
    case LABELS_SPREAD: return Py_NewRef(Py_None);
    case LABELS_CHANGED: PyErr_SetString(PyExc_RuntimeError, "y was changed during the call"); return NULL;
    default: return PyErr_NoMemory();
    }
}

PyObject *sefr_py_encode_integers(FASTCALL) {
    struct call call;
    struct array y = {.held = false};
    PyObject *result = NULL;
    (void)self;
    if (!sefr_begin_call(&call, "encode_integers", arguments, 2, args, n_args, kwnames) ||
        !sefr_hold(&y, call.values[0], "y", 1) || !check_codes(&call, y.view.shape[0])) {
        goto done;
    }
    if (y.type == F32 || y.type == F64) {
        PyErr_SetString(PyExc_TypeError, "y is not of integers");
    } else {
        struct column column = {y.view.buf, y.view.strides[0], y.type};
        struct distinct found = {0};
        enum labels_outcome outcome;
        Py_BEGIN_ALLOW_THREADS;
        outcome = sefr_code_integers(&column, y.view.shape[0], call.arrays[1].view.buf, &found);
        Py_END_ALLOW_THREADS;
        result = encoded(outcome, &found, y.type == I8 || y.type == I16 || y.type == I32 || y.type == I64);
        sefr_free_distinct(&found);
    }
done:
    sefr_release(&y);
    sefr_end_call(&call);
    return result;
}

PyObject *sefr_py_encode_bytes(FASTCALL) {
    struct call call;
    struct array y = {.held = false};
    PyObject *result = NULL;
    (void)self;
    if (!sefr_begin_call(&call, "encode_bytes", arguments, 2, args, n_args, kwnames) ||
        !sefr_hold(&y, call.values[0], "y", 2) || !check_codes(&call, y.view.shape[0])) {
        goto done;
    }
    if (y.view.itemsize != 1) {
        PyErr_SetString(PyExc_TypeError, "y is not of bytes");
    } else if (y.view.strides[1] != 1 && y.view.shape[1] > 1) {
        PyErr_SetString(PyExc_ValueError, "the bytes of an item of y are not adjacent");
    } else {
        struct items items = {y.view.buf, y.view.strides[0], y.view.shape[0], (size_t)y.view.shape[1]};
        struct distinct found = {0};
        enum labels_outcome outcome;
        Py_BEGIN_ALLOW_THREADS;
        outcome = sefr_code_bytes(&items, call.arrays[1].view.buf, &found);
        Py_END_ALLOW_THREADS;
        result = encoded(outcome, &found, true);
        sefr_free_distinct(&found);
    }
done:
    sefr_release(&y);
    sefr_end_call(&call);
    return result;
}

/* The code of `item`, which is added to `found` and `list` if new; -1: an error is set. */
static long code_object(PyObject *item, PyObject *found, PyObject *list) {
    PyObject *number = PyDict_GetItemWithError(found, item);
    if (number) return PyLong_AsLong(number);
    if (PyErr_Occurred()) return -1;
    Py_ssize_t code = PyList_Size(list);
    if (code > INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "more than 2**31 distinct labels");
        return -1;
    }
    number = PyLong_FromSsize_t(code);
    int failed = !number || PyDict_SetItem(found, item, number) != 0 || PyList_Append(list, item) != 0;
    Py_XDECREF(number);
    return failed ? -1 : (long)code;
}

/* Labels repeat, and mostly as the same object, so its address is asked before its hash. */
enum { RECENT = 256 };

static bool code_objects(const Py_buffer *y, int32_t *codes, PyObject *found, PyObject *list) {
    struct {
        PyObject *item; /* kept alive by `list` */
        int32_t code;
    } recent[RECENT] = {{NULL, 0}};
    for (Py_ssize_t i = 0; i < y->shape[0]; i++) {
        PyObject *item = *(PyObject *const *)((const char *)y->buf + i * y->strides[0]);
        if (!item) item = Py_None;
        size_t slot = ((uintptr_t)item >> 4) % RECENT;
        if (recent[slot].item == item) {
            codes[i] = recent[slot].code;
            continue;
        }
        Py_INCREF(item); /* its own __eq__ could drop it from the array */
        long code = code_object(item, found, list);
        if (code >= 0 && PyList_GetItem(list, code) == item) {
            recent[slot].item = item;
            recent[slot].code = (int32_t)code;
        }
        Py_DECREF(item);
        if (code < 0) return false;
        codes[i] = (int32_t)code;
    }
    return true;
}

PyObject *sefr_py_encode_objects(FASTCALL) {
    struct call call;
    Py_buffer y = {.obj = NULL};
    PyObject *result = NULL;
    (void)self;
    if (!sefr_begin_call(&call, "encode_objects", arguments, 2, args, n_args, kwnames) ||
        PyObject_GetBuffer(call.values[0], &y, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
        goto done;
    }
    if (y.ndim != 1 || !y.format || y.format[0] != 'O' || y.format[1] || (uintptr_t)y.buf % sizeof(PyObject *) ||
        y.strides[0] % (Py_ssize_t)sizeof(PyObject *)) {
        PyErr_SetString(PyExc_TypeError, "y is not a one-dimensional array of objects");
    } else if (check_codes(&call, y.shape[0])) {
        PyObject *found = PyDict_New();
        result = PyList_New(0);
        if (!found || !result || !code_objects(&y, call.arrays[1].view.buf, found, result)) {
            Py_XDECREF(result);
            result = NULL;
        }
        Py_XDECREF(found);
    }
    PyBuffer_Release(&y);
done:
    sefr_end_call(&call);
    return result;
}
