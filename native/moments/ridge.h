/* Ridge regressions from products of columns, the ridge chosen by restricted likelihood. Plain C: nothing here knows
   of Python, which solves large ones through LAPACK (src/sefr/_weights/moments.py). */
#ifndef SEFR_RIDGE_H
#define SEFR_RIDGE_H

#include <stdbool.h>
#include <stddef.h>

/* A symmetric matrix as Q T Q', T tridiagonal, by Householder's reflections. */
struct tridiagonal {
    ptrdiff_t p;
    double *matrix;   /* p x p; row i has, from i + 2 on, the reflection that makes row i tridiagonal */
    double *diagonal; /* p */
    double *beside;   /* p: the last is not used */
    double *factors;  /* p */
};

/* Make `t->matrix` tridiagonal, of which the upper triangle is read; the other arrays are written. `work` has 2 p. */
void sefr_tridiagonal(const struct tridiagonal *t, double *work);

/* Q' times a vector (p), and Q times it, in place. */
void sefr_turn(const struct tridiagonal *t, double *vector);
void sefr_turn_back(const struct tridiagonal *t, double *vector);

/* T + ridge I as L D L': `pivots` and `below` (p each); false if it is not positive. */
bool sefr_factor(const struct tridiagonal *t, double ridge, double *pivots, double *below);

/* (T + ridge I)^-1 times a vector, in place. */
void sefr_solve_factored(ptrdiff_t p, const double *pivots, const double *below, double *vector);

/* Targets of rows: `cross` (k x p) are their products with the columns, `power` (k) with themselves, all about the
   means; `count` is the weight of all rows. One ridge of `ridges` (n_ridges, per row, rising) is taken for each target,
   or for all `together`. */
struct ridge_targets {
    const double *cross, *power, *ridges;
    ptrdiff_t k, n_ridges;
    double count;
    bool together;
};

/* chosen (k): the ridge of each target, per row; solved (k x p): its weights. `work` has (k + 3) p + k n_ridges. False
   if the matrix is that of no rows: it has a value far below 0. */
bool sefr_ridge(const struct tridiagonal *t, const struct ridge_targets *of, double *chosen, double *solved,
                double *work);

/* leverage (n) = x' (X'X + ridge I)^-1 x of rows (n x p). `work` has 3 p. */
bool sefr_leverage(const struct tridiagonal *t, double ridge, const double *rows, ptrdiff_t n, double *leverage,
                   double *work);

#endif
