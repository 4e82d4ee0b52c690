/* What the kernels read and write. Plain C: nothing here knows of Python. */
#ifndef SEFR_TABLE_H
#define SEFR_TABLE_H

#include <stdbool.h>

#include "common/dtype.h"

/* n values, `stride` bytes apart (any sign, zero included). */
struct column {
    const char *data;
    ptrdiff_t stride;
    enum dtype type;
};

/* An n x m table: strided values of one type, or m columns of their own types where `columns` is not NULL. */
struct table {
    ptrdiff_t n, m;
    const char *data;
    ptrdiff_t row_stride, column_stride;
    enum dtype type;
    const struct column *columns;
};

/* A row can be read in place: its values are adjacent and aligned. */
static inline bool rows_are_direct(const struct table *x) {
    const ptrdiff_t size = (ptrdiff_t)dtype_size(x->type);
    return (x->column_stride == size || x->m == 1) && x->row_stride % size == 0 &&
           (uintptr_t)x->data % (size_t)size == 0;
}

/* Neighbours in a column are nearer to each other than neighbours in a row, or columns have buffers of their own. */
static inline bool lies_by_columns(const struct table *x) {
    const ptrdiff_t row_step = x->row_stride < 0 ? -x->row_stride : x->row_stride;
    const ptrdiff_t column_step = x->column_stride < 0 ? -x->column_stride : x->column_stride;
    return x->columns || (x->m > 1 && row_step < column_step);
}

static inline struct column get_column(const struct table *x, ptrdiff_t j) {
    if (x->columns) return x->columns[j];
    return (struct column){x->data + j * x->column_stride, x->row_stride, x->type};
}

/* Which group a row belongs to: codes[i], or none where negative or of weight 0. Group g is of fold g / n_classes. */
struct grouping {
    const int32_t *codes;
    const double *weights; /* or NULL: 1 each */
    int32_t n_groups, n_classes;
};

/* The results of a pass: C order, caller's memory, written at the end of the pass and only if it succeeded. */
struct totals {
    double *sums;       /* n_groups x m */
    double *counts;     /* n_groups */
    double *low, *high; /* n_folds x m */
    double *present;    /* n_groups x m, or NULL where NaN is a value */
};

/* A compressed table: line i (a row of CSR, a column of CSC) has the entries pointer[i] .. pointer[i + 1]. */
struct sparse {
    ptrdiff_t n, m, n_entries;
    const void *data;
    const void *indices, *pointer;
    enum dtype type, index_type, pointer_type;
};

/* Read once: another thread may change it. */
static inline int64_t read_index(const void *indices, enum dtype type, ptrdiff_t i) {
    return type == I32 ? ((const volatile int32_t *)indices)[i] : ((const volatile int64_t *)indices)[i];
}

/* Where line i begins and ends; false: outside the entries. */
static inline bool read_line(const struct sparse *x, ptrdiff_t i, int64_t *begin, int64_t *end) {
    *begin = read_index(x->pointer, x->pointer_type, i);
    *end = read_index(x->pointer, x->pointer_type, i + 1);
    return *begin >= 0 && *begin <= *end && *end <= x->n_entries;
}

enum outcome {
    FINITE,
    NOT_FINITE,
    BAD_CODE,
    BAD_INDEX,
    BAD_POINTER,
    BAD_ROW,
    BAD_STARTS,
    BAD_EDGE,
    BAD_CELL,
    BAD_FERN,
    NO_MEMORY
};

enum outcome sefr_summarise(const struct table *x, const struct grouping *by, const struct totals *out, int n_threads);
enum outcome sefr_summarise_csr(const struct sparse *x, const struct grouping *by, const struct totals *out,
                                int n_threads);
enum outcome sefr_summarise_csc(const struct sparse *x, const struct grouping *by, const struct totals *out,
                                int n_threads);

/* out (n_rows x k) = x[rows] @ coef.T + intercept; rows NULL: all of them. */
enum outcome sefr_scores(const struct table *x, const double *coef, const double *intercept, ptrdiff_t k,
                         const int64_t *rows, ptrdiff_t n_rows, double *out, int n_threads);

/* out[i] = the value of the highest of k scores, the first if several are; if k is 1, values[scores[i] > 0]. */
void sefr_choose(const double *scores, ptrdiff_t n, ptrdiff_t k, const uint64_t *values, uint64_t *out);

#endif
