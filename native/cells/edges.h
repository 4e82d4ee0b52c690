/* Edges from a sample of values. Plain C: nothing here knows of Python. */
#ifndef SEFR_EDGES_H
#define SEFR_EDGES_H

#include <stddef.h>
#include <stdint.h>

/* sorted (m x n): the values of each feature, rising, NaN at the end. Writes the edges of one feature after the other
   and starts (m + 1), of at most `most` cells per feature: every value but the lowest where there are so few, else the
   quantiles k / most that exceed the lowest. edges has room for m x (most - 1). */
void sefr_find_edges(const double *sorted, ptrdiff_t m, ptrdiff_t n, ptrdiff_t most, double *edges, int64_t *starts);

#endif
