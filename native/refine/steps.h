/* Steps between neighbouring cells: an effect is the sum of the steps from where its run of cells begins. Plain C:
   nothing here knows of Python. */
#ifndef SEFR_STEPS_H
#define SEFR_STEPS_H

#include <stddef.h>
#include <stdint.h>

/* n cells; those with `begins` other than 0, and the first, begin a run. A weight times the scale of its cell is a
   step, whose mean over the rows is `mean`. NULL for mean: 0, for scale: 1. */
struct steps {
    const uint8_t *begins;
    const double *mean, *scale;
    ptrdiff_t n;
};

/* tables (k x n) of effects, and intercepts (k) for steps less their means, from weights (k x n) and the intercepts
   `before` (k), or 0 for NULL. */
void sefr_step_tables(const struct steps *steps, const double *weights, const double *before, ptrdiff_t k,
                      double *tables, double *intercepts);

/* Derivatives by the weights (k x n) from those by tables (k x n) and intercepts (k, or 0 for NULL). */
void sefr_step_slopes(const struct steps *steps, const double *by_table, const double *by_intercept, ptrdiff_t k,
                      double *by_weight);

/* What pairs of n rows have in common, added up to shared (n x n): of each of m columns (m x n) the lower of what the
   two have gone, and of each of k others (k x n) its worth where both are at the same place. */
struct common_steps {
    const double *gone, *places, *worth;
    ptrdiff_t m, k, n;
};

void sefr_shared_steps(const struct common_steps *steps, double *shared);

#endif
