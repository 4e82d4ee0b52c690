#include "refine/shelf.h"

#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "common/transpose_bytes.h"
#include "refine/product.h"
#include "refine/wide_cells.h"

enum {
    STEP = 64,
    STEP_ROWS = 256,
    OWN_PITCH = STEP_ROWS + 64,
    MOST_ROWS = 8192,
    PAIRED_ENTRIES = 1 << 18,
    WIDE_FLOATS = 1 << 14
};

#ifdef SEFR_AVX2
/* Sixteen rows of at least sixteen cells. */
AVX2 static void put_sixteen(const uint8_t *rows, ptrdiff_t m, uint8_t *columns, ptrdiff_t pitch) {
    for (ptrdiff_t j = 0; j < m; j += 16) {
        const ptrdiff_t column = j + 16 <= m ? j : m - 16; /* some columns twice */
        transpose_sixteen(rows + column, m, columns + column * pitch, pitch);
    }
}
#endif

/* n rows of m cells to columns of `pitch` cells. */
static void put_rows(const uint8_t *rows, ptrdiff_t n, ptrdiff_t m, uint8_t *columns, ptrdiff_t pitch) {
    ptrdiff_t done = 0;
#ifdef SEFR_AVX2
    for (; m >= 16 && has_avx2() && done + 16 <= n; done += 16) put_sixteen(rows + done * m, m, columns + done, pitch);
#endif
    for (ptrdiff_t j = 0; j < m; j++) {
        for (ptrdiff_t i = done; i < n; i++) columns[j * pitch + i] = rows[i * m + j];
        memset(columns + j * pitch + n, 0, (size_t)(pitch - n));
    }
}

CLONES static uint8_t highest_of(const uint8_t *cells, ptrdiff_t n) {
    uint8_t highest = 0;
    for (ptrdiff_t i = 0; i < n; i++) highest = cells[i] > highest ? cells[i] : highest;
    return highest;
}

/* Whole steps, at most so many rows, and no more than there are. */
static ptrdiff_t rows_of_block(ptrdiff_t n, ptrdiff_t most) {
    const ptrdiff_t all = (n + STEP - 1) / STEP * STEP;
    most = most > MOST_ROWS ? MOST_ROWS : most / STEP * STEP;
    most = most > all ? all : most;
    return most < STEP ? STEP : most;
}

/* How the rows are cut: a chunk has 2**18 cells, and 4 times as many as its own sums are. */
static enum outcome plan_shelf(struct shelf *shelf, const struct coder *coder) {
    const ptrdiff_t values = shelf->n * shelf->m, most = values / 262144, fit = values / (4 * coder->n_cells + 1);
    const ptrdiff_t chunks = most < fit ? most : fit;
    shelf->n_chunks = chunks < 1 ? 1 : chunks > 16 ? 16 : chunks;
    ptrdiff_t size = shelf->m;
    if (shelf->n_scores == 1) {
        if (!sefr_find_pairs(&shelf->pairs, coder, shelf->n / shelf->n_chunks)) return NO_MEMORY;
        size = shelf->pairs.n_pairs;
        shelf->rows = rows_of_block(shelf->n, PAIRED_ENTRIES / (size + 1));
    } else {
        shelf->width = width_of(shelf->n_scores);
        shelf->rows = rows_of_block(shelf->n, WIDE_FLOATS / shelf->width);
    }
    const ptrdiff_t padded_rows = (shelf->n + shelf->rows - 1) / shelf->rows * shelf->rows;
    if (shelf->n_scores == 1) {
        shelf->paired = sefr_aligned(padded_rows * size, sizeof *shelf->paired);
    } else {
        shelf->cells = sefr_aligned(padded_rows * size, sizeof *shelf->cells);
    }
    return shelf->paired || shelf->cells ? FINITE : NO_MEMORY;
}

/* STEP_ROWS rows at most, which are turned round in `own` first: columns of the shelf lie so far apart that what is
   written to many of them at once would share places in the cache. */
static bool put_step(struct shelf *shelf, const struct coder *coder, const uint8_t *rows, ptrdiff_t first, ptrdiff_t n,
                     uint8_t *own) {
    const ptrdiff_t m = shelf->m, begin = first % shelf->rows, block = first - begin;
    bool ok = true;
    put_rows(rows, n, m, own, OWN_PITCH);
    READ_ONCE_DONE();
    for (ptrdiff_t j = 0; j < m; j++) ok &= highest_of(own + j * OWN_PITCH, n) < coder->features[j].n;
    const ptrdiff_t left = shelf->rows - begin, filled = left < STEP_ROWS ? left : STEP_ROWS;
    if (shelf->paired) {
        const struct paired_cells to = {shelf->paired + block * shelf->pairs.n_pairs + begin, filled, shelf->rows};
        sefr_pair_columns(&shelf->pairs, own, OWN_PITCH, &to);
    }
    for (ptrdiff_t j = 0; shelf->cells && j < m; j++) {
        memcpy(shelf->cells + block * m + j * shelf->rows + begin, own + j * OWN_PITCH, (size_t)filled);
    }
    return ok;
}

enum outcome sefr_shelve(const uint8_t *cells, ptrdiff_t n, const struct coder *coder, ptrdiff_t n_scores,
                         struct shelf *shelf) {
    *shelf = (struct shelf){.n = n, .m = coder->m, .n_scores = n_scores};
    enum outcome outcome = plan_shelf(shelf, coder);
    uint8_t *own = sefr_aligned(shelf->m * OWN_PITCH, 1);
    if (!own) outcome = NO_MEMORY;
    for (ptrdiff_t first = 0; outcome == FINITE && first < n;) {
        const ptrdiff_t left = shelf->rows - first % shelf->rows, step = left < STEP_ROWS ? left : STEP_ROWS;
        const ptrdiff_t rows = n - first < step ? n - first : step;
        if (!put_step(shelf, coder, cells + first * shelf->m, first, rows, own)) outcome = BAD_CELL;
        first += step;
    }
    free(own);
    return outcome;
}

void sefr_free_shelf(struct shelf *shelf) {
    sefr_free_pairs(&shelf->pairs);
    free(shelf->paired);
    free(shelf->cells);
    *shelf = (struct shelf){0};
}
