/* One further pass over rows that are coded. Plain C: nothing here knows of Python. */
#ifndef SEFR_GRADIENT_CELLS_H
#define SEFR_GRADIENT_CELLS_H

#include "cells/coding.h"
#include "refine/gradient.h"

/* cells (n x m) in C order. The model's coef is a table, n_scores x n_cells: a score is the intercept and one entry per
   feature. With one score all is float64; with more, a row is worked on in float32. BAD_CELL: with more than one score,
   a cell is outside its feature; with one it stands for the feature's last. */
enum outcome sefr_gradient_cells(const uint8_t *cells, ptrdiff_t n, const struct coder *coder,
                                 const struct grouping *by, const struct model *model, const struct gradient *out,
                                 int n_threads);

#endif
