/* Rows too long for the first-level cache, scored and added without a tile: for one score, what a tile saves is less
   than what it costs to write. Plain C: nothing here knows of Python. */
#ifndef SEFR_LONG_ROWS_H
#define SEFR_LONG_ROWS_H

#include "product.h"

/* n rows of m adjacent values, float32 or float64. out[i] = sum of (x - centre) * weights, where what is not finite
   counts as 0; centre and weights are of the type of x, and out has room for n rounded up to four. */
void score_long(enum dtype type, const char *const *rows, ptrdiff_t n, ptrdiff_t m, const void *centre,
                const void *weights, double *out, struct ahead *ahead);

/* sum += pull[i] * (x - centre) over the rows; pull is 0 from n to n rounded up to four. */
void add_long(enum dtype type, const char *const *rows, ptrdiff_t n, ptrdiff_t m, const void *centre,
              const float *pull, float *sum);

#endif
