/* Ferns grown on rows in cells. Plain C: nothing here knows of Python. */
#ifndef SEFR_GROW_H
#define SEFR_GROW_H

#include "cells/coding.h"

struct growth {
    const uint8_t *cells; /* n x m, C order, below the cells of their features */
    ptrdiff_t n;
    const struct grouping *by;
    const uint8_t *equal;   /* m: whether a comparison asks for the very cell */
    int32_t n_ferns, depth; /* ferns, and comparisons of each */
    int32_t tried, bounds;  /* features that are drawn for a comparison, and bounds of each */
    uint64_t seed;
};

/* comparisons (n_ferns x depth x 2) = feature and bound of each. For every comparison some features are drawn, and the
   one whose answer tells the classes of the rows apart best is taken, together with all comparisons of the fern before
   it: the Gini impurity of the cells so far is least. The order of rows does not matter where their weights are whole.
   False where no feature has two cells: nothing is written then. */
enum outcome sefr_grow_ferns(const struct growth *growth, const struct coder *coder, int32_t *comparisons, bool *grown);

#endif
