/* Ferns grown on rows in cells. Plain C: nothing here knows of Python. */
#ifndef SEFR_GROW_H
#define SEFR_GROW_H

#include "cells/coding.h"

enum { MOST_SUBSETS = 64 };

struct growth {
    const uint8_t *cells; /* n x m, C order, below the cells of their features */
    ptrdiff_t n;
    const struct grouping *by;
    const double *targets;  /* n x n_targets, finite, of unit variance about 0: numbers to tell instead of classes */
    ptrdiff_t n_targets;    /* 0 for classes */
    const uint8_t *equal;   /* m: whether a comparison asks for the very cell */
    const uint8_t *held;    /* n: whether a row is held out, or NULL: one in four, by its cells */
    int32_t n_ferns, depth; /* ferns, and comparisons of each */
    int32_t tried, bounds;  /* features that are drawn for a comparison, and bounds of each */
    int32_t subsets;        /* a fern is grown on one of so many parts of the rows, in turn */
    double step;            /* how much of what a fern tells about a row is taken off what is left to tell */
    uint64_t seed;
};

/* comparisons (n_ferns x depth x 2) = feature and bound of each. A fern is grown for what those before it leave to tell
   about the rows, as in boosting. For every comparison some features are drawn, and the one whose answer lowers the
   logistic loss, or of targets the squared error, most is taken, together with all comparisons of the fern before it. A
   quarter of the rows, if they are not few, or those of `held` have no say: `grown` ferns, of the n_ferns at most,
   leave it the least loss. The others are of no use. The
   order of rows does not matter where their weights are whole. None where no feature has two cells. */
enum outcome sefr_grow_ferns(const struct growth *growth, const struct coder *coder, int32_t *comparisons,
                             int32_t *grown);

#endif
