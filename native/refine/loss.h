/* The loss of some rows, and its derivative by each score (residual). Plain C: nothing here knows of Python. */
#ifndef SEFR_LOSS_H
#define SEFR_LOSS_H

#include <stddef.h>
#include <stdint.h>

/* n rows: their codes (below 0: left out), weights, and scores; a score of class k lies k * width from the first. */
struct scored_rows {
    ptrdiff_t n, width, n_scores;
    const int32_t *code;
    const double *weight;
    const double *score;
};

/* Returns the sum of weight * loss. Logistic for one score (code 1 is the positive side), softmax for more.
   residual[k * width + i] = weight * (probability - truth), the derivative by score k; sums[k] += over the rows. */
double sefr_loss(const struct scored_rows *rows, float *residual, double *sums);

#endif
