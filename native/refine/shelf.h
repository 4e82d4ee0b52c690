/* Cells of rows put away for passes: column by column, or pair by pair, so that a pass reads what lies side by side.
   Plain C: nothing here knows of Python. */
#ifndef SEFR_SHELF_H
#define SEFR_SHELF_H

#include "refine/pairs.h"

/* With one score, columns are paired. With several, those of a cell lie side by side, padded to `width` floats: see
   wide_cells.h. Passes work on a block of rows at a time, pair by pair or column by column, so that the table and the
   sums of a column stay in the first-level cache; what its rows have of their own, in the second. */
struct shelf {
    ptrdiff_t n, m, n_scores, width, n_chunks; /* chunks of blocks, whose sums are kept apart */
    ptrdiff_t rows;                            /* of a block; the last may have fewer */
    struct pairs pairs;                        /* with one score */
    uint16_t *paired;                          /* blocks x pairs x rows */
    uint8_t *cells;                            /* with several: blocks x columns x rows */
};

/* A private copy of cells (n x m, C order), checked: BAD_CELL where one is outside its column. */
enum outcome sefr_shelve(const uint8_t *cells, ptrdiff_t n, const struct coder *coder, ptrdiff_t n_scores,
                         struct shelf *shelf);
void sefr_free_shelf(struct shelf *shelf);

#endif
