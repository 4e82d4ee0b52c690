/* Cells with several numbers each, which lie side by side: those of a row's cells added up, and a row's own added to
   its cells. Plain C: nothing here knows of Python. */
#ifndef SEFR_WIDE_CELLS_H
#define SEFR_WIDE_CELLS_H

#include "cells/coding.h"

/* The first n of `pitch` rows, column by column. A cell, and a row, has `width` floats: 4, or eights. */
struct wide_rows {
    const struct coder *coder;
    const uint8_t *cells;
    ptrdiff_t n, pitch, width;
};

static inline ptrdiff_t width_of(ptrdiff_t n_scores) { return n_scores <= 4 ? 4 : (n_scores + 7) / 8 * 8; }

/* score (n x width) = the sums over the columns of table (cells x width). */
void sefr_score_wide(const struct wide_rows *rows, const float *table, float *score);

/* gradient (cells x width) += residual (n x width), for every cell of a row; sum: room for 2 * MOST_CELLS * width. */
void sefr_add_wide(const struct wide_rows *rows, const float *residual, float *sum, double *gradient);

#endif
