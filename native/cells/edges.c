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

static ptrdiff_t run_end(const double *values, ptrdiff_t n, ptrdiff_t i) {
    const double value = values[i];
    while (i < n && values[i] == value) i++;
    return i;
}

/* Edges where values that are as frequent as a bin's share have a bin each. Without them the share is less, so that
   further values are frequent, until none is. */
static ptrdiff_t edges_beside(const double *values, ptrdiff_t n, ptrdiff_t most, double *out) {
    ptrdiff_t rest = n, bins = most, before = -1, found = 0;
    double share = 0.0, held = 0.0;
    while (bins != before) {
        before = bins, share = (double)rest / (double)bins;
        rest = n, bins = most;
        for (ptrdiff_t i = 0, end; i < n; i = end) {
            end = run_end(values, n, i);
            if ((double)(end - i) >= share) rest -= end - i, bins--;
        }
    }
    const ptrdiff_t shared = 2 * bins - most; /* a bin before each frequent value may be less than full */
    const double least = (double)rest / (double)(shared > 1 ? shared : 1);
    bool alone_before = false;
    for (ptrdiff_t i = 0, end; i < n && found < most - 1; i = end) {
        end = run_end(values, n, i);
        const double count = (double)(end - i);
        const bool alone = count >= share;
        if (i > 0 && (alone || alone_before || held + count / 2 >= least)) out[found++] = values[i], held = 0.0;
        held += count;
        alone_before = alone;
    }
    return found;
}

void sefr_find_edges(const double *sorted, ptrdiff_t m, ptrdiff_t n, ptrdiff_t most, bool alone, double *edges,
                     int64_t *starts) {
    double *out = edges;
    starts[0] = 0;
    for (ptrdiff_t j = 0; j < m; j++) {
        const double *values = sorted + j * n;
        const ptrdiff_t known = count_numbers(values, n);
        ptrdiff_t found = distinct(values, known, most - 1, out);
        if (found >= most && alone) {
            found = edges_beside(values, known, most, out);
        } else if (found >= most) {
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
