/* Minus the logarithm of how likely the labels of some rows are, and where it is lowest: the probabilities of a row are
   the softmax of a few scores, each times a share, plus an offset per class. Plain C: nothing here knows of Python. */
#ifndef SEFR_LIKELIHOOD_H
#define SEFR_LIKELIHOOD_H

#include "common/table.h"

enum { MOST_SHARES = 3, SIDE_BY_SIDE = 64 };

/* n rows of k classes. Each has p + 2 values per class: p <= MOST_SHARES scores, what is added whatever their shares,
   and the target, which is 1 for the row's own class, or less. Shares, then offsets, are Gaussian about `centre`, of a
   `precision` (as many as move); NULL: nothing is known of them. */
struct likelihood {
    ptrdiff_t n, k, p;
    double *values, *weights, *scratch;
    const double *centre, *precision;
};

/* Take memory, all 0, for n, k and p; false: there is none. End it in any case. */
bool sefr_begin_likelihood(struct likelihood *like);
void sefr_end_likelihood(struct likelihood *like);

/* A value of a row, of its first class; that of the next class is SIDE_BY_SIDE further. */
static inline double *sefr_value_of(const struct likelihood *like, ptrdiff_t row, ptrdiff_t value) {
    const ptrdiff_t r = row % SIDE_BY_SIDE;
    return like->values + ((row - r) * (like->p + 2) + value * SIDE_BY_SIDE) * like->k + r;
}

/* What is minimised, at theta (p + k). slopes (m), and the lower triangle of curvature (m x m), unless NULL:
   derivatives by the first m of theta, which are the shares alone or all. */
double sefr_likelihood(const struct likelihood *like, const double *theta, ptrdiff_t m, double *slopes,
                       double *curvature);

/* Move the first m of theta to the minimum, by Newton's method; no share falls below 0. It ends where a step is to gain
   less than `enough` times the value. False: no memory. */
bool sefr_likeliest(const struct likelihood *like, double *theta, ptrdiff_t m, double enough);

#endif
