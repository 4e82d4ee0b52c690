/* How far to step: the best mixture of a few points. Plain C: nothing here knows of Python. */
#ifndef SEFR_MIXTURE_H
#define SEFR_MIXTURE_H

#include "common/table.h"

enum { MOST_POINTS = 4 };

/* The scores of n_rows rows at q <= MOST_POINTS points, q x n_rows x n_scores; codes below n_classes; weights that add
   up to 1. */
struct mixture {
    const double *scores;
    const int32_t *codes;
    const double *weights;
    ptrdiff_t n_points, n_rows, n_scores, n_classes;
    const double *hessian; /* q x q, of the penalty */
    const double *start;   /* q */
    const double *slope;   /* q, or NULL */
};

/* shares (q) = the a that minimises the loss of sum_i a_i scores_i + a.hessian.a / 2, by Newton's method. With a slope,
   the derivative at the start over all rows, the rows here are trusted for the curvature alone: their own derivative is
   replaced. BAD_CODE: a code is no class. */
enum outcome sefr_minimise_mixture(const struct mixture *mixture, double *shares);

#endif
