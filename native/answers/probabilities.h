/* From scores to probabilities that mean what they say: bias-corrected temperature scaling. Plain C: nothing here knows
   of Python. */
#ifndef SEFR_PROBABILITIES_H
#define SEFR_PROBABILITIES_H

#include "common/table.h"

/* p_k is proportional to exp(s_k / T + b_k): 1 / T, the offsets b (k), and how well each of them is known (k + 1). */
struct scaling {
    double inverse;
    double *offsets, *precision;
};

/* n rows that were held out, of k classes: scores (n x n_scores; the one of two classes is the second's less the
   first's), codes, how many rows of the data each stands for (weights), and how many were looked at (evidence). */
struct held_out {
    ptrdiff_t n, k, n_scores;
    const double *scores;
    const int32_t *codes;
    const double *weights, *evidence;
};

/* Find the temperature and the offsets that make the labels of the rows most likely. counts (k) say how much the rows
   of each class weigh, NULL: as they come; prior is what earlier rows have told, or NULL. Offsets are left at 0, where
   they cannot contradict the answers, unless Akaike's information criterion asks for them; the base rates stand unless
   the Bayesian one, stricter, speaks for the scores. */
enum outcome sefr_fit_scaling(const struct held_out *rows, const double *counts, const struct scaling *prior,
                              struct scaling *found);

#endif
