/* Columns of cells two by two: a pair of cells is one cell of the two, so that a row has half as many to look up and to
   add to. Plain C: nothing here knows of Python. */
#ifndef SEFR_PAIRS_H
#define SEFR_PAIRS_H

#include "cells/coding.h"

/* One column, or two that are neighbours: the cell is low + n_low * high. */
struct pair {
    int32_t column, n_low, n_high; /* n_high is 1 where there is one column */
    ptrdiff_t begin;               /* its first cell among those of all pairs */
};

struct pairs {
    struct pair *pair;
    ptrdiff_t n_pairs, n_cells;
};

/* Columns are paired where that pays with so many rows. False: no memory. */
bool sefr_find_pairs(struct pairs *pairs, const struct coder *coder, ptrdiff_t n_rows);
void sefr_free_pairs(struct pairs *pairs);

/* table (n_cells) = what a cell of each pair adds to a score; coef is as the coder's cells are. */
void sefr_pair_table(const struct pairs *pairs, const struct coder *coder, const double *coef, double *table);

/* gradient (the coder's cells) += the sums over the cells of pairs that hold each. */
void sefr_unpair(const struct pairs *pairs, const struct coder *coder, const double *sums, double *gradient);

/* Where the cells of pairs go: those of n rows, pair after pair `pitch` apart. */
struct paired_cells {
    uint16_t *at;
    ptrdiff_t n, pitch;
};

/* From those of columns, which lie `pitch` apart. */
void sefr_pair_columns(const struct pairs *pairs, const uint8_t *columns, ptrdiff_t pitch,
                       const struct paired_cells *to);

/* The first n of `pitch` rows that are worked on together: their cells, pair by pair. */
struct paired_rows {
    const uint16_t *at;
    ptrdiff_t n, pitch;
};

/* score[i] += table entries of row i; sums[cells of row i] += residual[i]. */
void sefr_score_pairs(const struct pairs *pairs, const struct paired_rows *rows, const double *table, double *score);
void sefr_add_pairs(const struct pairs *pairs, const struct paired_rows *rows, const double *residual, double *sums);

#endif
