/* Coding: which cell of each feature a value lies in. Plain C: nothing here knows of Python.
   Feature j is cut at its edges; its cells are numbered from 0: a value lies in the cell whose number is the count of
   edges at or below it. Where missing values have cells, that of a feature is its last.
   A fern is a further column of cells, which comparisons of the cells of features choose: each asks whether a row lies
   in a cell of a feature or a higher one, or in that very cell; the answers are the bits of the number, the first the
   highest. */
#ifndef SEFR_CODING_H
#define SEFR_CODING_H

#include "common/table.h"

enum { TILE_ROWS = 64, MOST_CELLS = 256, TREE_LEVELS = 5, TREE_FLOATS = 48, MOST_COMPARISONS = 8, FLOAT_COLUMNS = 64 };

/* One question of a fern: is the cell of the feature `bound` or higher, or, where `equal`, is it `bound`? */
struct comparison {
    int32_t feature, bound, equal;
};

/* Edges as the caller has them: those of feature j are edges[starts[j]] .. edges[starts[j + 1] - 1], rising. Without
   edges, values are cells already, in uint8. */
struct edges {
    const double *values;  /* or NULL */
    const int64_t *starts; /* m + 1, from 0 */
    ptrdiff_t m;
    bool missing;
    const int64_t *ferns; /* n_ferns + 1, from 0: where the comparisons of each begin */
    const struct comparison *comparisons;
    ptrdiff_t n_ferns, n_comparisons;
};

/* One feature, ready to be searched: 2**levels - 1 edges, the last of them +inf where it has fewer. Of a fern, its
   cells alone. */
struct feature {
    ptrdiff_t place;  /* of its edges in wide and narrow */
    int32_t first, n; /* its first cell among those of all features, and how many it has */
    int32_t levels, n_edges;
    bool narrow;    /* float32 holds its edges */
    bool quantised; /* 16 bits tell its edges apart */
};

/* The edges of eight features in 16 bits, as search_numbers meets them: see quantised.h. Those of features c and c + 4
   lie side by side. */
enum { TOP, LEFT, RIGHT, THIRD, FOURTH, EVEN_UPPER, EVEN_LOWER, ODD_UPPER, ODD_LOWER, CELL, N_TABLES };
struct quantised {
    __attribute__((aligned(32))) int8_t tables[4][N_TABLES][32];
    __attribute__((aligned(32))) float scale[8], shift[8];
    int32_t n; /* how many of the eight have tables */
};

/* The edges of a feature by upper bytes of numbers: see buckets.h. */
enum { N_BUCKETS = 192 };
struct buckets {
    __attribute__((aligned(64))) uint8_t cell[N_BUCKETS], edge[N_BUCKETS];
};

/* A private copy, checked: the caller's memory may change while it is used. */
struct coder {
    ptrdiff_t m, n_columns, n_cells; /* columns: m features, then the ferns */
    ptrdiff_t width;                 /* a power of two that no feature has more cells than */
    bool missing, coded;
    struct feature *features; /* n_columns */
    int32_t *ferns;           /* where the comparisons of each begin, and their end */
    struct comparison *comparisons;
    double *wide;  /* the edges */
    float *narrow; /* the least float32 that is not below each: for values that are float32 or narrower */
    float *near;   /* the nearest float32: where a search among float64 begins */
    float *trees;  /* per feature TREE_FLOATS: the edges level by level, where there are at most TREE_LEVELS */
    float *near_trees;
    struct quantised *quantised; /* per eight features, the last of them perhaps fewer */
    struct buckets *buckets;     /* per feature, or NULL */
};

/* BAD_STARTS: starts do not rise from 0 to n_values, or a feature has more than MOST_CELLS cells. BAD_EDGE: edges do
   not rise or are not finite. BAD_FERN: a fern has no comparison or too many, or one is of no cell. */
enum outcome sefr_prepare_coder(struct coder *coder, const struct edges *edges, ptrdiff_t n_values);
void sefr_free_coder(struct coder *coder);

/* The memory of one task. */
struct cell_tile {
    uint8_t *cells;         /* columns x TILE_ROWS */
    uint8_t bad[TILE_ROWS]; /* rows with a value that has no cell: NaN without a cell for it, or infinity */
    bool any_bad;
    ptrdiff_t ahead; /* the row from which on rows are read next, and called into the cache; only with a list of rows */
    float *floats;   /* FLOAT_COLUMNS x TILE_ROWS */
    int8_t *numbers; /* FLOAT_COLUMNS x TILE_ROWS x 2: see numbers.h */
    double doubles[TILE_ROWS];
    uint8_t *failures; /* per column: how often 16 bits were too few of late */
};

bool sefr_allocate_tile(struct cell_tile *tile, ptrdiff_t n_columns);
void sefr_free_tile(struct cell_tile *tile);

/* Code n <= TILE_ROWS rows, from `first` on, or those listed. Cells of bad values are 0. False: what should be cells
   already is outside its feature. */
bool sefr_code_tile(const struct coder *coder, const struct table *x, const int64_t *rows, ptrdiff_t first, ptrdiff_t n,
                    struct cell_tile *tile);

/* cells (n x columns) = the cell of every value and fern; FINITE, or NOT_FINITE where a value has none. */
enum outcome sefr_code_cells(const struct table *x, const struct coder *coder, uint8_t *cells, int n_threads);

/* Rows per group and cell: sums (n_groups x n_cells), counts (n_groups); low and high are not written. NOT_FINITE: a
   row that counts has a value without a cell; the results are then of no use. */
enum outcome sefr_count_cells(const struct table *x, const struct coder *coder, const struct grouping *by,
                              const struct totals *out, int n_threads);

/* out (n_rows x k) = intercept + sum over the columns of table[cell]; table (k x n_cells); NaN for a bad row. */
enum outcome sefr_cell_scores(const struct table *x, const struct coder *coder, const double *table,
                              const double *intercept, ptrdiff_t k, const int64_t *rows, ptrdiff_t n_rows, double *out,
                              int n_threads);

#endif
