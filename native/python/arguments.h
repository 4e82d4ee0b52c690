/* What the Python-facing files share: arguments by position or name, and buffers checked on the way in. */
#ifndef SEFR_ARGUMENTS_H
#define SEFR_ARGUMENTS_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>

#include "common/table.h"

/* A buffer held for the length of a call. `held` is false for None. */
struct array {
    Py_buffer view;
    enum dtype type;
    bool held;
};

/* How a kernel takes one of its arguments, all of which are required: as an aligned, C-contiguous array of one type,
   with a letter for the length of each dimension, or in its own way. */
struct argument {
    const char *name;
    enum { OTHER, READ, WRITTEN } use;
    enum dtype type;
    const char *shape;
    bool optional; /* None will do */
};

#define OTHER_ARGUMENT(name) {name, OTHER, F64, NULL, false}
#define READS(name, type, shape) {name, READ, type, shape, false}
#define READS_OR_NONE(name, type, shape) {name, READ, type, shape, true}
#define WRITES(name, type, shape) {name, WRITTEN, type, shape, false}
#define WRITES_OR_NONE(name, type, shape) {name, WRITTEN, type, shape, true}

enum { MOST_ARGUMENTS = 15 };

struct call {
    const struct argument *arguments;
    Py_ssize_t count;
    PyObject *values[MOST_ARGUMENTS];
    struct array arrays[MOST_ARGUMENTS];
};

#define FASTCALL PyObject *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames

/* Take arguments by position or name, and hold those that are arrays. False: an error is set. End the call anyway. */
bool sefr_begin_call(struct call *call, const char *function, const struct argument *arguments, Py_ssize_t count,
                     PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames);

/* Whether the arrays have the shapes of their arguments, with sizes[i] for letters[i]. */
bool sefr_check_shapes(const struct call *call, const char *letters, const Py_ssize_t *sizes);

void sefr_end_call(struct call *call);

static inline void *data_of(const struct array *array) { return array->held ? array->view.buf : NULL; }

/* Hold a strided buffer of `ndim` dimensions and a type the kernels know. */
bool sefr_hold(struct array *array, PyObject *object, const char *name, int ndim);

/* Hold an aligned, C-contiguous buffer of one type. */
bool sefr_hold_exact(struct array *array, PyObject *object, const char *name, int ndim, enum dtype type, bool writable);

void sefr_release(struct array *array);

/* True if the shape is (rows) or (rows, columns); columns < 0 for one dimension. */
bool sefr_check_shape(const struct array *array, const char *name, Py_ssize_t rows, Py_ssize_t columns);

/* X for the length of a call: a buffer of two dimensions, or a sequence of columns, each a buffer of its own type. */
struct held_table {
    struct table x;
    struct array array;
    struct array *arrays;
    struct column *columns;
};

/* Columns have n_rows values each; n_rows < 0: as many as the first one. */
bool sefr_hold_table(struct held_table *table, PyObject *object, Py_ssize_t n_rows);
void sefr_release_table(struct held_table *table);

/* A compressed matrix for the length of a call: data, indices and indptr, which has n_lines + 1 values. */
struct held_sparse {
    struct sparse x;
    struct array data, indices, pointer;
};

bool sefr_hold_sparse(struct held_sparse *sparse, PyObject *const *values, Py_ssize_t n, Py_ssize_t m, bool by_rows);
void sefr_release_sparse(struct held_sparse *sparse);

/* An int argument within [lowest, highest]. */
bool sefr_get_int(PyObject *object, const char *name, int lowest, int highest, int *value);

/* Raise what a kernel found wrong with its input; returns NULL. */
PyObject *sefr_refuse(enum outcome outcome, int32_t n_groups);

PyObject *sefr_py_summarise(FASTCALL);
PyObject *sefr_py_summarise_csr(FASTCALL);
PyObject *sefr_py_summarise_csc(FASTCALL);
PyObject *sefr_py_scores(FASTCALL);
PyObject *sefr_py_choose(FASTCALL);
PyObject *sefr_py_gradient(FASTCALL);
PyObject *sefr_py_gradient_csr(FASTCALL);
PyObject *sefr_py_find_edges(FASTCALL);
PyObject *sefr_py_grow_ferns(FASTCALL);
PyObject *sefr_py_code_cells(FASTCALL);
PyObject *sefr_py_count_cells(FASTCALL);
PyObject *sefr_py_cell_scores(FASTCALL);
PyObject *sefr_py_shelve_cells(FASTCALL);
PyObject *sefr_py_gradient_cells(FASTCALL);
PyObject *sefr_py_begin_search(FASTCALL);
PyObject *sefr_py_search_try(FASTCALL);
PyObject *sefr_py_search_ask(FASTCALL);
PyObject *sefr_py_search_tell_scores(FASTCALL);
PyObject *sefr_py_search_tell_pass(FASTCALL);
PyObject *sefr_py_search_rows(FASTCALL);
PyObject *sefr_py_search_best(FASTCALL);
PyObject *sefr_py_search_under(FASTCALL);
PyObject *sefr_py_step_tables(FASTCALL);
PyObject *sefr_py_step_slopes(FASTCALL);
PyObject *sefr_py_shared_steps(FASTCALL);
PyObject *sefr_py_signal_features(FASTCALL);
PyObject *sefr_py_fit_scaling(FASTCALL);
PyObject *sefr_py_weigh_parts(FASTCALL);
PyObject *sefr_py_leave_one_out(FASTCALL);
PyObject *sefr_py_products(FASTCALL);
PyObject *sefr_py_products_csr(FASTCALL);
PyObject *sefr_py_count_pairs(FASTCALL);
PyObject *sefr_py_step_products(FASTCALL);
PyObject *sefr_py_likeliest_ridges(FASTCALL);
PyObject *sefr_py_solve(FASTCALL);
PyObject *sefr_py_solve_means(FASTCALL);
PyObject *sefr_py_is_delicate(FASTCALL);
PyObject *sefr_py_encode_integers(FASTCALL);
PyObject *sefr_py_encode_bytes(FASTCALL);
PyObject *sefr_py_encode_objects(FASTCALL);

#endif
