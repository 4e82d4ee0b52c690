/* Edges from a sample of values. Plain C: nothing here knows of Python. */
#ifndef SEFR_EDGES_H
#define SEFR_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sorted (m x n): the values of each feature, rising, NaN at the end. Writes the edges of one feature after the other
   and starts (m + 1), of at most `most` cells per feature: every value but the lowest where there are so few, else the
   quantiles k / most that exceed the lowest. With `alone`, a value that is as frequent as a bin's share has a bin of
   its own, and the others share the bins that are left: a feature that is mostly 0 is still cut where it is not. edges
   has room for m x (most - 1). */
void sefr_find_edges(const double *sorted, ptrdiff_t m, ptrdiff_t n, ptrdiff_t most, bool alone, double *edges,
                     int64_t *starts);

#endif
