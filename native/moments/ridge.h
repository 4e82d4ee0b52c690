/* Ridge regressions from products of columns, the ridge chosen by restricted likelihood. Plain C: nothing here knows
   of Python, whose reflections are those of LAPACK, which is quicker beyond 600 columns (_weights/moments.py). */
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

/* The degrees of freedom that a ridge leaves, the trace of (T + ridge I)^-1 T, from the factors of T + ridge I. */
double sefr_freedom(ptrdiff_t p, double ridge, const double *pivots, const double *below);

/* Targets of rows: `rotated` (k x p) are Q' times their products with the columns, `power` (k) the products with
   themselves, all about the means; `count` is the weight of all rows. One ridge of `ridges` (n_ridges, per row, rising)
   is taken for each target, or for all `together`. T may stand for the columns as far as they tell of the targets: then
   there are `others`, each of `square` with itself. */
struct ridge_targets {
    const double *rotated, *power, *ridges;
    ptrdiff_t k, n_ridges;
    double count;
    bool together;
    double others, square;
};

/* Of each target its ridge, per row (k), what T + ridge I gives (k x p), what is left over of `power`, the penalty
   included (k), and the degrees of freedom (k); the last two may be NULL. */
struct ridge_solutions {
    double *chosen, *solved, *left, *freedom;
};

/* The ridge of the highest restricted likelihood, and its solution. Ridges are equally likely if -2 log likelihood
   differs by no more than 1e-6, and 1e-10 per row: with two rows all of them are, and rounding must not choose. The
   strongest of them is taken. `work` has 3 p + k n_ridges. False if the matrix is that of no rows: it has a value far
   below 0. */
bool sefr_likeliest_ridges(const struct tridiagonal *t, const struct ridge_targets *of,
                           const struct ridge_solutions *to, double *work);

/* leverage (n) = x' M^-1 x of rows, by their columns (p x n). Of `matrix` (p x p) the lower triangle is read, and
   becomes that of its Cholesky factor L; the columns become those of L^-1 x. NaN where the matrix is not positive. */
void sefr_leverages(double *matrix, ptrdiff_t p, double *columns, ptrdiff_t n, double *leverage);

#endif
