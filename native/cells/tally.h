/* How many rows of a batch lie in each cell of a column. Plain C: nothing here knows of Python. */
#ifndef SEFR_TALLY_H
#define SEFR_TALLY_H

#include "cells/coding.h"

/* A batch has fewer than 16 times 32 rows: see tally.c. */
enum { BATCH_TILES = 7, BATCH_ROWS = BATCH_TILES * TILE_ROWS };

/* The cells of one column: TILE_ROWS at a time, `pitch` bytes from one tile to the next. */
struct batch_column {
    const uint8_t *cells;
    ptrdiff_t pitch, n_rows; /* at most BATCH_ROWS */
    int32_t n_cells;         /* each cell is below, or 255, which is not counted */
};

/* counts (n_cells) += rows in each. */
void sefr_tally(const struct batch_column *column, uint32_t *counts);

#endif
