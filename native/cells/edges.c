#include "cells/edges.h"

#include <math.h>

/* How many of n rising values are numbers: NaN lies at the end. */
static ptrdiff_t count_numbers(const double *values, ptrdiff_t n) {
    while (n > 0 && isnan(values[n - 1])) n--;
    return n;
}

/* The distinct values after the first, up to `room` of them; room + 1 where there are more. */
static ptrdiff_t distinct(const double *values, ptrdiff_t n, ptrdiff_t room, double *out) {
    ptrdiff_t found = 0;
    for (ptrdiff_t i = 1; i < n; i++) {
        if (values[i] == values[i - 1]) continue;
        if (found == room) return room + 1;
        out[found++] = values[i];
    }
    return found;
}

void sefr_find_edges(const double *sorted, ptrdiff_t m, ptrdiff_t n, ptrdiff_t most, double *edges, int64_t *starts) {
    double *out = edges;
    starts[0] = 0;
    for (ptrdiff_t j = 0; j < m; j++) {
        const double *values = sorted + j * n;
        const ptrdiff_t known = count_numbers(values, n);
        ptrdiff_t found = distinct(values, known, most - 1, out);
        if (found >= most) {
            found = 0;
            for (ptrdiff_t k = 1; k < most; k++) {
                /* the least value with k / most of all values at or below it */
                const double quantile = values[(k * known + most - 1) / most - 1];
                if (quantile > (found ? out[found - 1] : values[0])) out[found++] = quantile;
            }
        }
        out += found;
        starts[j + 1] = out - edges;
    }
}
