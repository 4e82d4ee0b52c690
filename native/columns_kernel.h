/* A block of rows of a few columns of one type. See each_dtype.h.

   The columns are turned into short rows, a chunk at a time: a row is then added to the sums of its group with whole
   vectors, which costs the same for any number of groups. */

enum { JOIN(WIDTH, TAG) = sizeof(T) == 1 ? 16 : 8 }; /* columns of a tile */

/* Add each row to the sums at its place. All of a row is read before any is written: gcc then makes vectors of it. */
INLINE void JOIN(scatter, TAG)(const T *restrict rows, const int32_t *restrict place, ptrdiff_t n,
                               SUM *restrict sums) {
    enum { WIDTH = JOIN(WIDTH, TAG) };
    for (ptrdiff_t i = 0; i < n; i++) {
        SUM *to = sums + (ptrdiff_t)place[i] * WIDTH, sum[WIDTH];
        for (int u = 0; u < WIDTH; u++) sum[u] = to[u];
        for (int u = 0; u < WIDTH; u++) sum[u] = (SUM)(sum[u] + (SUM)rows[i * WIDTH + u]);
        for (int u = 0; u < WIDTH; u++) to[u] = sum[u];
    }
}

/* Values that are not missing, and 1 where there is one; else 0 and 0. */
INLINE void JOIN(to_present, TAG)(const T *restrict rows, ptrdiff_t n, double *restrict wide, double *restrict here) {
    for (ptrdiff_t i = 0; i < n * JOIN(WIDTH, TAG); i++) {
        const double value = (double)rows[i];
        wide[i] = value == value ? value : 0.0;
        here[i] = value == value ? 1.0 : 0.0;
    }
}

INLINE void JOIN(to_doubles, TAG)(const T *restrict rows, ptrdiff_t n, double *restrict wide) {
    for (ptrdiff_t i = 0; i < n * JOIN(WIDTH, TAG); i++) wide[i] = (double)rows[i];
}

INLINE void JOIN(scatter_weighted, TAG)(const double *restrict rows, const int32_t *restrict place,
                                        const double *restrict weight, ptrdiff_t n, double *restrict sums) {
    enum { WIDTH = JOIN(WIDTH, TAG) };
    for (ptrdiff_t i = 0; i < n; i++) {
        double *to = sums + (ptrdiff_t)place[i] * WIDTH, sum[WIDTH];
        const double w = weight[i];
        for (int u = 0; u < WIDTH; u++) sum[u] = to[u] + w * rows[i * WIDTH + u];
        for (int u = 0; u < WIDTH; u++) to[u] = sum[u];
    }
}

/* Lanes are columns, repeated. With fewer lanes gcc 12 unrolls the loop over them and then makes no vectors. */
INLINE void JOIN(widen_lanes, TAG)(const T *restrict rows, ptrdiff_t n, T *restrict low, T *restrict high) {
    T least[LANES], most[LANES];
    const ptrdiff_t size = n * JOIN(WIDTH, TAG), whole = size - size % LANES;
    for (int u = 0; u < LANES; u++) least[u] = low[u], most[u] = high[u];
    for (ptrdiff_t i = 0; i < whole; i += LANES) {
        for (int u = 0; u < LANES; u++) {
            const T value = rows[i + u];
            least[u] = value < least[u] ? value : least[u];
            most[u] = value > most[u] ? value : most[u];
        }
    }
    for (ptrdiff_t i = whole; i < size; i++) {
        least[i - whole] = rows[i] < least[i - whole] ? rows[i] : least[i - whole];
        most[i - whole] = rows[i] > most[i - whole] ? rows[i] : most[i - whole];
    }
    for (int u = 0; u < LANES; u++) low[u] = least[u], high[u] = most[u];
}

/* The range of each fold; rows left out have a range of their own, that nobody reads. */
INLINE void JOIN(widen_folds, TAG)(const T *restrict rows, const int32_t *restrict fold, ptrdiff_t n, T *restrict low,
                                   T *restrict high) {
    enum { WIDTH = JOIN(WIDTH, TAG) };
    for (ptrdiff_t i = 0; i < n; i++) {
        T *to_low = low + (ptrdiff_t)fold[i] * WIDTH, *to_high = high + (ptrdiff_t)fold[i] * WIDTH;
        T least[WIDTH], most[WIDTH];
        for (int u = 0; u < WIDTH; u++) {
            const T value = rows[i * WIDTH + u];
            least[u] = value < to_low[u] ? value : to_low[u];
            most[u] = value > to_high[u] ? value : to_high[u];
        }
        for (int u = 0; u < WIDTH; u++) to_low[u] = least[u];
        for (int u = 0; u < WIDTH; u++) to_high[u] = most[u];
    }
}

/* Move the sums to the totals, before SUM overflows. */
INLINE void JOIN(settle, TAG)(SUM *restrict sums, ptrdiff_t size, double *restrict totals) {
    for (ptrdiff_t i = 0; i < size; i++) totals[i] += (double)sums[i];
    memset(sums, 0, (size_t)size * sizeof *sums);
}

/* `lanes` ranges of the tile's columns, one after the other, belong to each fold of the block. */
static void JOIN(flush_range, TAG)(const T *low, const T *high, const struct block *block, const struct tile *tile,
                                   const struct part *part, ptrdiff_t m, int lanes) {
    for (ptrdiff_t f = 0; f < block->n_folds; f++) {
        for (int u = 0; u < tile->n; u++) {
            const ptrdiff_t cell = block->folds[f] * m + tile->j[u];
            /* a column that is NaN throughout, or absent from a fold, leaves the start values */
            for (ptrdiff_t l = f * lanes; l < (f + 1) * lanes; l++) {
                const T least = low[l * JOIN(WIDTH, TAG) + u], most = high[l * JOIN(WIDTH, TAG) + u];
                if (least > most) continue;
                if ((double)least < part->low[cell]) part->low[cell] = (double)least;
                if ((double)most > part->high[cell]) part->high[cell] = (double)most;
            }
        }
    }
}

/* Rows first .. first + n of the tile, as rows. */
INLINE void JOIN(turn, TAG)(const struct tile *tile, ptrdiff_t first, ptrdiff_t n, void *loose, T *rows) {
    const void *at[WIDEST];
    for (int u = 0; u < JOIN(WIDTH, TAG); u++) {
        const struct column *column = &tile->columns[u];
        const char *data = column->data + first * column->stride;
        at[u] = data;
        if (column->stride != (ptrdiff_t)sizeof(T) || (uintptr_t)data % sizeof(T)) {
            T *copy = (T *)loose + u * CHUNK;
            for (ptrdiff_t i = 0; i < n; i++) memcpy(&copy[i], data + i * column->stride, sizeof(T));
            at[u] = copy;
        }
    }
    if (sizeof(T) == 1) turn_bytes(at, n, rows);
    if (sizeof(T) == 2) turn_halves(at, n, rows);
    if (sizeof(T) == 4) turn_words(at, n, rows);
    if (sizeof(T) == 8) turn_doubles(at, n, rows);
}

/* With weights, or with NaN that is missing. */
INLINE void JOIN(add_weighted, TAG)(const T *rows, const struct block *block, ptrdiff_t i, ptrdiff_t n, bool present) {
    if (present) {
        JOIN(to_present, TAG)(rows, n, block->wide, block->here);
        JOIN(scatter_weighted, TAG)(block->here, block->place + i, block->weight + i, n, block->present);
    } else {
        JOIN(to_doubles, TAG)(rows, n, block->wide);
    }
    JOIN(scatter_weighted, TAG)(block->wide, block->place + i, block->weight + i, n, block->totals);
}

CLONES static void JOIN(add_tile, TAG)(const struct tile *tile, ptrdiff_t first, const struct block *block,
                                       const struct part *part, ptrdiff_t m) {
    enum { WIDTH = JOIN(WIDTH, TAG) };
    _Static_assert(SUM_ROWS % CHUNK == 0, "sums settle after whole chunks");
    const ptrdiff_t size = (block->n_slots * block->copies + 1) * WIDTH;
    const ptrdiff_t n_ranges = block->one_fold ? LANES / WIDTH : block->n_folds + 1;
    T *low = block->low, *high = block->high, *rows = block->rows;
    for (ptrdiff_t i = 0; i < n_ranges * WIDTH; i++) low[i] = LOWEST, high[i] = HIGHEST;
    memset(block->sums, 0, (size_t)size * sizeof(SUM));
    memset(block->totals, 0, (size_t)size * sizeof(double));
    if (part->present) memset(block->present, 0, (size_t)size * sizeof(double));
    for (ptrdiff_t i = 0; i < block->n; i += CHUNK) {
        const ptrdiff_t n = smaller(CHUNK, block->n - i);
        JOIN(turn, TAG)(tile, first + i, n, block->loose, rows);
        if (block->one_fold) {
            JOIN(widen_lanes, TAG)(rows, n, low, high);
        } else {
            JOIN(widen_folds, TAG)(rows, block->fold + i, n, low, high);
        }
        if (block->weighted || part->present) {
            JOIN(add_weighted, TAG)(rows, block, i, n, part->present != NULL);
        } else {
            JOIN(scatter, TAG)(rows, block->place + i, n, block->sums);
            if ((i + CHUNK) % SUM_ROWS == 0) JOIN(settle, TAG)(block->sums, size, block->totals);
        }
    }
    if (!block->weighted && !part->present) JOIN(settle, TAG)(block->sums, size, block->totals);
    JOIN(flush_range, TAG)(low, high, block, tile, part, m, block->one_fold ? LANES / WIDTH : 1);
}

#include "forget_dtype.h"
