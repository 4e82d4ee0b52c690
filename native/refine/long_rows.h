/* Rows too long for the first-level cache, scored and added without a tile: for one score, what a tile saves is less
   than what it costs to write. Plain C: nothing here knows of Python. */
#ifndef SEFR_LONG_ROWS_H
#define SEFR_LONG_ROWS_H

#include <stdbool.h>

#include "common/dtype.h"
#include "refine/product.h"

/* n rows of m adjacent values, float32 or float64. The centre is of their type. Where they are checked, a difference
   that is not finite counts as 0; else it makes the score not finite. */
struct long_rows {
    enum dtype type;
    const char *const *rows;
    ptrdiff_t n, m;
    const void *centre;
    bool checked;
};

/* out[i] = sum of (x - centre) * weights; weights are of the type of x, and out has room for n rounded up to four. */
void sefr_score_long(const struct long_rows *x, const void *weights, double *out, struct ahead *ahead);

/* sum += residual[i] * (x - centre) over the rows; residual is 0 from n to n rounded up to four. */
void sefr_add_long(const struct long_rows *x, const float *residual, float *sum);

#endif
