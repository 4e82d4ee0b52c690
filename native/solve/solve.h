/* From sums to weights: equations 3 to 9 of the paper. */
#ifndef SEFR_SOLVE_H
#define SEFR_SOLVE_H

#include <stdbool.h>
#include <stddef.h>

/* Return false, and let Python use double-double, if the lowest value of a feature exceeds DELICATE times the mean
   distance from it, its values lie further from zero than FAR spans, or its span is below NARROW, or above WIDE if the
   square of the rows is multiplied in. So does a model of more than two classes one of which has more than DOMINANT
   times the rows of all others: the others are the total minus it. */
#define DELICATE 256.0
#define FAR 256.0
#define NARROW 1e-290
#define WIDE 1e290
#define DOMINANT 256.0

/* Counts (k), sums (k x m), and what features are scaled by: x' = (x - low) / span (m). */
struct learned {
    ptrdiff_t k, m;
    const double *counts, *sums, *low, *span;
};

/* For two classes one hyperplane, else k: weights (k x m) of scaled features, the biases that go with them, and where
   each feature speaks for neither side (k x m), NULL if it is not asked for. */
struct planes {
    double *weights, *bias, *midpoints;
};

/* False: what was written is not to be used, since a class has no rows, a span is not finite or below 0, or plain
   float64 would lose too much. */
bool sefr_solve(const struct learned *from, double epsilon, const struct planes *to);

/* Equations 5 to 9 from means that were taken with care: `sums` of `from` holds each class's means of the scaled
   features, `rest` those of the rest (k x m; for two classes those of the first), NaN where there is no value. */
void sefr_solve_means(const struct learned *from, const double *rest, double epsilon, const struct planes *to);

/* True if a feature lies so far from zero that its plain sum loses what distinguishes its values. */
bool sefr_is_delicate(const struct learned *from);

#endif
