/* How much each of several models is to say, from how well they do on rows that were held out. Plain C: nothing here
   knows of Python. */
#ifndef SEFR_PARTS_H
#define SEFR_PARTS_H

#include "common/table.h"

/* What p <= MOST_SHARES parts say of n rows of k classes: probabilities are the softmax of the sum of their logits
   (p x n x k), each times a share, plus base (n x k). */
struct held_out_parts {
    ptrdiff_t p, n, k;
    const double *logits, *base;
    const int32_t *codes;
    const double *weights;
};

/* shares (p), none below 0, of the least log loss; few rows keep to the last part. losses (p + 1): of each part by
   itself, and of the sum. */
enum outcome sefr_weigh_parts(const struct held_out_parts *parts, double *shares, double *losses);

#endif
