/* The loss of some rows, and its derivative by each score (residual). Plain C: nothing here knows of Python. */
#ifndef SEFR_LOSS_H
#define SEFR_LOSS_H

#include <stddef.h>
#include <stdint.h>

/* All that differs between tasks. Logistic has one score for two classes (code 1 is the positive side), softmax one per
   class, squared one per number to predict. */
enum loss { LOGISTIC, SOFTMAX, SQUARED };

static inline enum loss loss_of_classes(ptrdiff_t n_scores) { return n_scores == 1 ? LOGISTIC : SOFTMAX; }

/* n rows: their codes (below 0: left out), weights, and scores; a score of class k lies k * width from the first, and
   so do targets, of the squared loss alone. */
struct scored_rows {
    enum loss loss;
    ptrdiff_t n, width, n_scores;
    const int32_t *code;
    const double *weight;
    const double *score;
    const double *target;
};

/* Returns the sum of weight * loss; the squared loss is (score - target)^2 / 2.
   residual[k * width + i] = weight * (prediction - truth), the derivative by score k, a probability or a number being
   predicted; sums[k] += over the rows. */
double sefr_loss(const struct scored_rows *rows, float *residual, double *sums);

#endif
