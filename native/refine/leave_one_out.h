/* Scores of rows as if a model had been fitted without them: what probabilities are fitted to. They follow from the
   curvature of the loss. Plain C: nothing here knows of Python. */
#ifndef SEFR_LEAVE_ONE_OUT_H
#define SEFR_LEAVE_ONE_OUT_H

#include "common/table.h"

/* n rows that a loss was minimised with, and their scores at the minimum: one for two classes, else one per class. */
struct fitted_rows {
    ptrdiff_t n, n_scores;
    const double *scores; /* n x n_scores */
    const int32_t *codes;
    const double *weights;       /* n: how many rows of the data each stands for */
    const double *shares;        /* n: the weights in the loss, which add up to 1 */
    const double *class_weights; /* the weight in the loss of a row of each class */
    const double *lengths;       /* n: squared, in the space of the weights; may be NULL for ALL_ROWS */
    double ridge;
};

/* What the leverage of rows is found from: the rows themselves, or products of some of them. */
enum known_by {
    ALL_ROWS, /* of two classes: the curvature along all directions */
    PAIRS,    /* directions are curved alike; the mean squared product of two rows tells how many they share */
    SPECTRUM, /* weights are more than the rows determine */
};

struct known_rows {
    enum known_by by;
    ptrdiff_t m, width;             /* products are of m rows; a score has `width` weights */
    const double *known;            /* n x width for ALL_ROWS, else m x m */
    const double *weights, *shares; /* m: of the rows that products are of; NULL for ALL_ROWS */
    double say;                     /* of SPECTRUM: how far a score moves, in units of what follows from the loss */
};

/* left_out (n x n_scores). One step of Newton's method takes out row i, or as much of it as there is: its score moves
   by h r / (1 - h d), with r its residual p - truth, d = p (1 - p), and h its leverage: its weight in the loss times x'
   (c S + ridge)^-1 x. S are the second moments of the rows, and c is the curvature of the loss along a score, the mean
   of d.

   With SPECTRUM the score moves by h r, and c is the mean of d / (1 + h d), as a row that alone holds its score holds
   no weight; h is as the row's squared length tells from the mean. Residuals of K classes add up to 0: of h, 1 / K
   would move all scores alike. S has the spectrum that m rows show under a weaker ridge: n rows that determine f
   weights under a ridge t have the spectrum of any number of rows that do so under t / (1 - f / n). */
enum outcome sefr_leave_one_out(const struct fitted_rows *of, const struct known_rows *from, double *left_out);

#endif
