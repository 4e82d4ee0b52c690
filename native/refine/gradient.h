/* One further pass: score every row with the weights so far, and add it up again, weighted by how wrong they are.
   Plain C: nothing here knows of Python. */
#ifndef SEFR_GRADIENT_H
#define SEFR_GRADIENT_H

#include "common/table.h"
#include "refine/loss.h"

/* A linear model, one score for two classes, else one per class; and which weight a row of each class has. */
struct model {
    const double *coef;          /* n_scores x m */
    const double *intercept;     /* n_scores */
    const double *class_weights; /* n_classes */
    int32_t n_scores, n_classes;
};

/* What is minimised: the loss, and the targets of the squared one (n x n_scores), whose rows are of one class. */
struct task {
    enum loss loss;
    const double *targets;
};

/* The results: C order, caller's memory, written at the end and only if the pass succeeded. */
struct gradient {
    double *coef;      /* n_scores x m: derivative of the loss by the model's coef */
    double *intercept; /* n_scores */
    double *loss;      /* 1: sum of weight * class weight * loss */
};

/* Rows by codes and weights as in summarise (one fold). The model is of x' = (x - centre) * scale, and x' = 0 where
   that is not finite. x' is kept in float32 while a row is worked on, all that is added up over rows in float64. */
enum outcome sefr_gradient(const struct table *x, const struct grouping *by, const double *centre, const double *scale,
                           const struct model *model, const struct task *task, const struct gradient *out,
                           int n_threads);

/* The same for CSR rows, all in float64. The model is of x itself; fill[j] stands in for NaN in column j. */
enum outcome sefr_gradient_csr(const struct sparse *x, const struct grouping *by, const double *fill,
                               const struct model *model, const struct task *task, const struct gradient *out,
                               int n_threads);

#endif
