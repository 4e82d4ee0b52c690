/* Products of columns, summed over rows: X'X about an origin. Plain C: nothing here knows of Python.
   Symmetric matrices are packed: the upper triangle, row after row. */
#ifndef SEFR_PRODUCTS_H
#define SEFR_PRODUCTS_H

#include "cells/coding.h"

/* What is multiplied: the columns of a table, each less its origin; with `missing`, where NaN counts as 0, a column
   more per column of X, which is 1 where there was a NaN; then the targets, less their origins. */
struct factors {
    const struct table *x;
    const double *targets; /* n x n_targets, or NULL */
    ptrdiff_t n_targets;
    const double *origin;  /* m + n_targets */
    const double *weights; /* n, or NULL: 1 each; a row of weight 0 is not looked at */
    bool missing;
};

static inline ptrdiff_t n_factors(const struct factors *of) { return of->x->m * (of->missing ? 2 : 1) + of->n_targets; }
static inline ptrdiff_t packed_size(ptrdiff_t m) { return m * (m + 1) / 2; }
/* Where row i begins, less i: at + j is the place of (i, j), j >= i. */
static inline ptrdiff_t packed_row(ptrdiff_t m, ptrdiff_t i) { return i * m - i * (i + 1) / 2; }

/* sums (n_factors) and squares (packed). NOT_FINITE: a row that counts has a value that is not finite; the results are
   then of no use. The same bits for any n_threads. */
enum outcome sefr_products(const struct factors *of, double *sums, double *squares, int n_threads);

/* The same of a CSR matrix whose indices rise within a row; a value that is not stored is 0, and nothing is added for
   it, so an origin other than 0 is for columns without gaps. BAD_INDEX: an index does not rise, or is outside. */
enum outcome sefr_products_csr(const struct sparse *x, const double *origin, const double *weights, double *sums,
                               double *squares, int n_threads);

/* pairs (packed) = how many rows lie in both of two cells, or their weight. Cells are those of a coder; the diagonal
   has the rows of each cell. NOT_FINITE: a row that counts has a value without a cell. */
enum outcome sefr_count_pairs(const struct table *x, const struct coder *coder, const double *weights, double *pairs,
                              int n_threads);

#endif
