/* One further pass over rows that are coded. Plain C: nothing here knows of Python. */
#ifndef SEFR_GRADIENT_CELLS_H
#define SEFR_GRADIENT_CELLS_H

#include "refine/gradient.h"
#include "refine/shelf.h"

/* The model's coef is a table, n_scores x n_cells: a score is the intercept and one entry per column. With one score
   all is float64; with more, a row is worked on in float32. The shelf was made with this coder, for as many scores. */
enum outcome sefr_gradient_cells(const struct shelf *shelf, const struct coder *coder, const struct grouping *by,
                                 const struct model *model, const struct task *task, const struct gradient *out,
                                 int n_threads);

#endif
