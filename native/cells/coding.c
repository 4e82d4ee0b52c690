#include "cells/coding.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cells/buckets.h"
#include "cells/lines.h"
#include "cells/numbers.h"
#include "cells/quantised.h"
#include "cells/search.h"
#include "cells/transpose.h"
#include "common/groups.h"
#include "common/threads.h"
#include "refine/tile.h"

#define KERNEL "cells/coding_kernel.inc"
#include "common/each_dtype.inc"

/* Values of a tile with the number of an edge, and failures of late, from which on numbers of 16 bits do not pay. */
enum { MOST_EQUAL = 8, MOST_FAILURES = 16, AHEAD_TILES = 4 };

/* Rows of cells that are copied to be turned: as many bytes as the floats of a tile. Of few columns a copy per row
   takes longer than it saves. */
enum { LINE_CELLS = FLOAT_COLUMNS * (int)sizeof(float), FEWEST_TURNED = 16 };

typedef void gather_function(const char *, ptrdiff_t, const int64_t *, ptrdiff_t, void *);
static gather_function *const gather_of[N_DTYPES] = OF_EACH_DTYPE(gather);

bool sefr_allocate_tile(struct cell_tile *tile, ptrdiff_t n_columns) {
    tile->cells = sefr_aligned(n_columns * TILE_ROWS, 1);
    memset(tile->doubles, 0, sizeof tile->doubles);
    tile->floats = sefr_aligned(FLOAT_COLUMNS * TILE_ROWS, sizeof(float));
    if (tile->floats) memset(tile->floats, 0, FLOAT_COLUMNS * TILE_ROWS * sizeof(float));
    tile->numbers = sefr_aligned(FLOAT_COLUMNS * TILE_ROWS * 2, 1);
    tile->failures = calloc((size_t)n_columns + 1, 1);
    return tile->cells && tile->floats && tile->numbers && tile->failures;
}

void sefr_free_tile(struct cell_tile *tile) {
    free(tile->cells);
    free(tile->floats);
    free(tile->numbers);
    free(tile->failures);
}

/* Rows with a value that is not finite: its cell, or the row is bad. */
static void settle(const struct coder *coder, const struct feature *feature, ptrdiff_t i, double value,
                   struct cell_tile *tile, uint8_t *cells) {
    if (isfinite(value)) return;
    if (coder->missing && isnan(value)) {
        cells[i] = (uint8_t)(feature->n - 1);
        return;
    }
    cells[i] = 0;
    tile->bad[i] = 1;
    tile->any_bad = true;
}

#ifdef SEFR_AVX2
/* Where the values of a column are as they were given: side by side, or `offset` bytes from where rows begin. */
struct exact {
    const float *floats;
    const double *doubles;
    const char *const *rows;
    ptrdiff_t offset;
    bool wide; /* rows of float64 */
};

static double read_exact(const struct exact *exact, int i) {
    float narrow;
    double wide;
    if (exact->floats) return (double)exact->floats[i];
    if (exact->doubles) return exact->doubles[i];
    if (exact->wide) {
        memcpy(&wide, exact->rows[i] + exact->offset, sizeof wide);
        return wide;
    }
    memcpy(&narrow, exact->rows[i] + exact->offset, sizeof narrow);
    return (double)narrow;
}

/* Values with the number of an edge, one after the other; false: they are many. */
static bool settle_equal(const struct coder *coder, ptrdiff_t j, const struct exact *exact, uint64_t equal,
                         uint8_t *cells) {
    const double *edges = coder->wide + coder->features[j].place;
    int n = 0;
    for (; equal; equal &= equal - 1, n++) {
        const int i = __builtin_ctzll(equal);
        cells[i] = (uint8_t)(cells[i] + (read_exact(exact, i) >= edges[cells[i]]));
    }
    return n <= MOST_EQUAL;
}

/* Whether 16 bits of the values of a column are tried: not again where they are often too few, as where many values
   equal edges, are missing, or lie far apart. */
static inline bool may_quantise(const struct coder *coder, ptrdiff_t j, const struct cell_tile *tile) {
    return coder->features[j].quantised && tile->failures[j] <= MOST_FAILURES;
}

/* A tile is over: a column that failed in it has two failures more, another one less. */
enum { FAILURE = 3 };
static inline void forgive(uint8_t *failures) { *failures -= *failures > 0; }

/* After a search of 16 bits that left something open: whether the cells of the column are found. */
static bool conclude(const struct coder *coder, ptrdiff_t j, struct finding found, const struct exact *exact,
                     struct cell_tile *tile) {
    if (found.open == ALL_OPEN || !settle_equal(coder, j, exact, found.equal, tile->cells + j * TILE_ROWS)) {
        tile->failures[j] += FAILURE;
    }
    return found.open == SOME_OPEN;
}

/* Whether the cells of a column are found by 16 bits of its values, rounded to float32 in `near`: the values
   themselves, where they are float64, are looked at only where those bits equal an edge's. */
static inline bool code_quantised(const struct coder *coder, ptrdiff_t j, const float *near, const struct exact *exact,
                                  struct cell_tile *tile) {
    if (!may_quantise(coder, j, tile)) return false;
    const struct finding found = search_column(near, coder->quantised + j / 8, j, tile->cells + j * TILE_ROWS);
    forgive(tile->failures + j);
    return found.open == ALL_FOUND || conclude(coder, j, found, exact, tile);
}
#endif

/* Returns whether float32 holds all values. */
CLONES static bool round_to_floats(const double *restrict values, float *restrict floats) {
    int64_t differs = 0;
    for (ptrdiff_t i = 0; i < TILE_ROWS; i++) {
        floats[i] = (float)values[i];
        differs |= (double)floats[i] != values[i] ? 1 : 0;
    }
    return !differs;
}

static inline void search_floats(const struct coder *coder, ptrdiff_t j, const float *values, ptrdiff_t n,
                                 struct cell_tile *tile) {
    const struct feature *feature = &coder->features[j];
    uint8_t *cells = tile->cells + j * TILE_ROWS;
    int met;
#ifdef SEFR_TREES
    if (feature->levels <= TREE_LEVELS && can_search_trees()) {
        met = search_tree(values, coder->trees + j * TREE_FLOATS, feature->levels, cells);
    } else
#endif
    {
        met = search_plain(values, coder->narrow + feature->place, feature->levels, cells);
    }
    if (!(met & NOT_ALL_FINITE)) return;
    for (ptrdiff_t i = 0; i < n; i++) settle(coder, feature, i, (double)values[i], tile, cells);
}

static inline void code_floats(const struct coder *coder, ptrdiff_t j, const float *values, ptrdiff_t n,
                               struct cell_tile *tile) {
#ifdef SEFR_AVX2
    if (code_quantised(coder, j, values, &(struct exact){.floats = values}, tile)) return;
#endif
    search_floats(coder, j, values, n, tile);
}

/* The nearest float32 of a value that is below an edge may equal the edge's, never lie above it: what is found among
   the rounded edges is right or too high. */
static void search_doubles(const struct coder *coder, ptrdiff_t j, ptrdiff_t n, struct cell_tile *tile) {
    const double *values = tile->doubles;
    const struct feature *feature = &coder->features[j];
    const double *edges = coder->wide + feature->place;
    const int32_t n_edges = feature->n_edges;
    uint8_t *cells = tile->cells + j * TILE_ROWS;
    const bool held = round_to_floats(values, tile->floats) && feature->narrow;
    int met;
#ifdef SEFR_TREES
    if (feature->levels <= TREE_LEVELS && can_search_trees()) {
        met = search_near_tree(tile->floats, coder->near_trees + j * TREE_FLOATS, feature->levels, cells);
    } else
#endif
    {
        met = search_plain(tile->floats, coder->near + feature->place, feature->levels, cells);
    }
    if (((met & ONE_IS_EQUAL) && !held) || (met & NOT_ALL_FINITE)) {
        for (ptrdiff_t i = 0; i < n; i++) {
            int32_t at = cells[i] < n_edges ? cells[i] : n_edges;
            while (at > 0 && values[i] < edges[at - 1]) at--;
            cells[i] = (uint8_t)at;
        }
    }
    if (!(met & NOT_ALL_FINITE)) return;
    for (ptrdiff_t i = 0; i < n; i++) settle(coder, feature, i, values[i], tile, cells);
}

static void code_doubles(const struct coder *coder, ptrdiff_t j, ptrdiff_t n, struct cell_tile *tile) {
#ifdef SEFR_AVX2
    if (may_quantise(coder, j, tile)) {
        round_to_floats(tile->doubles, tile->floats);
        if (code_quantised(coder, j, tile->floats, &(struct exact){.doubles = tile->doubles}, tile)) return;
    }
#endif
    search_doubles(coder, j, n, tile);
}

/* What is coded already: checked and copied, whatever its stride. */
static bool copy_cells(const struct coder *coder, ptrdiff_t j, const struct column *column, const int64_t *rows,
                       ptrdiff_t first, ptrdiff_t n, struct cell_tile *tile) {
    uint8_t *cells = tile->cells + j * TILE_ROWS;
    int32_t highest = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        cells[i] = (uint8_t)((const volatile char *)column->data)[(rows ? rows[i] : first + i) * column->stride];
        highest = cells[i] > highest ? cells[i] : highest;
    }
    return highest < coder->features[j].n;
}

/* Rows of bytes to columns of a tile. */
#ifdef SEFR_AVX2
AVX2 static void turn_sixteen(const uint8_t *rows, ptrdiff_t width, uint8_t *cells) {
    for (ptrdiff_t j = 0; j < width; j += 16) {
        const ptrdiff_t column = j + 16 <= width ? j : width - 16; /* some columns twice */
        for (ptrdiff_t i = 0; i < TILE_ROWS; i += 16) {
            transpose_sixteen(rows + i * LINE_CELLS + column, LINE_CELLS, cells + column * TILE_ROWS + i, TILE_ROWS);
        }
    }
}
#endif

static void turn_cells(const uint8_t *rows, ptrdiff_t width, uint8_t *cells) {
#ifdef SEFR_AVX2
    if (width >= FEWEST_TURNED && has_avx2()) {
        turn_sixteen(rows, width, cells);
        return;
    }
#endif
    for (ptrdiff_t j = 0; j < width; j++) {
        for (ptrdiff_t i = 0; i < TILE_ROWS; i++) cells[j * TILE_ROWS + i] = rows[i * LINE_CELLS + j];
    }
}

CLONES static uint8_t highest_of(const uint8_t *cells) {
    uint8_t highest = 0;
    for (ptrdiff_t i = 0; i < TILE_ROWS; i++) highest = cells[i] > highest ? cells[i] : highest;
    return highest;
}

/* Rows of cells that lie side by side, LINE_CELLS columns at a time; rows that are not there are in the first. */
static bool copy_lines(const struct coder *coder, const struct table *x, const int64_t *rows, ptrdiff_t first,
                       ptrdiff_t n, struct cell_tile *tile) {
    uint8_t *copy = (uint8_t *)tile->floats;
    bool ok = true;
    for (ptrdiff_t begin = 0; begin < coder->m; begin += LINE_CELLS) {
        const ptrdiff_t left = coder->m - begin, width = left < LINE_CELLS ? left : LINE_CELLS;
        uint8_t *cells = tile->cells + begin * TILE_ROWS;
        for (ptrdiff_t i = 0; i < n; i++) {
            memcpy(copy + i * LINE_CELLS, x->data + (rows ? rows[i] : first + i) * x->row_stride + begin,
                   (size_t)width);
        }
        READ_ONCE_DONE();
        for (ptrdiff_t i = n; i < TILE_ROWS; i++) memset(copy + i * LINE_CELLS, 0, (size_t)width);
        turn_cells(copy, width, cells);
        for (ptrdiff_t j = 0; j < width; j++) {
            ok &= highest_of(cells + j * TILE_ROWS) < coder->features[begin + j].n;
        }
    }
    return ok;
}

/* The cells of a fern from those of the features: whole tiles, whatever lies in rows that are not there. */
CLONES static void code_fern(const struct comparison *comparisons, int32_t n, const uint8_t *features,
                             uint8_t *restrict cells) {
    memset(cells, 0, TILE_ROWS);
    for (int32_t c = 0; c < n; c++) {
        const uint8_t *restrict own = features + (ptrdiff_t)comparisons[c].feature * TILE_ROWS;
        const uint8_t bound = (uint8_t)comparisons[c].bound;
        if (comparisons[c].equal) {
            for (ptrdiff_t i = 0; i < TILE_ROWS; i++) cells[i] = (uint8_t)(2 * cells[i] + (own[i] == bound));
        } else {
            for (ptrdiff_t i = 0; i < TILE_ROWS; i++) cells[i] = (uint8_t)(2 * cells[i] + (own[i] >= bound));
        }
    }
}

#ifdef SEFR_AVX2
/* The values of a column of lines one by one, where their numbers do not settle its cells. */
static void search_line(const struct coder *coder, ptrdiff_t j, const struct exact *exact, ptrdiff_t n,
                        struct cell_tile *tile) {
    const char *const *rows = exact->rows;
    float values[TILE_ROWS] __attribute__((aligned(32)));
    if (exact->wide) {
        for (int i = 0; i < TILE_ROWS; i++) memcpy(tile->doubles + i, rows[i] + exact->offset, sizeof(double));
        search_doubles(coder, j, n, tile);
    } else {
        for (int i = 0; i < TILE_ROWS; i++) memcpy(values + i, rows[i] + exact->offset, sizeof(float));
        search_floats(coder, j, values, n, tile);
    }
}

/* Whether 16 bits of the values of columns j .. j + 7 are tried, all of them or none. */
static inline bool may_number(const struct coder *coder, ptrdiff_t j, struct cell_tile *tile) {
    uint64_t failures;
    bool all = coder->quantised[j / 8].n == 8;
    memcpy(&failures, tile->failures + j, sizeof failures);
    if (!failures || !all) return all;
    for (ptrdiff_t c = j; c < j + 8; c++) all &= may_quantise(coder, c, tile);
    for (ptrdiff_t c = j; all && c < j + 8; c++) forgive(tile->failures + c);
    return all;
}

/* A column of lines, rounded to float32 in `near`. */
static inline void code_line(const struct coder *coder, ptrdiff_t j, const float *near, const struct lines *lines,
                             ptrdiff_t n, struct cell_tile *tile) {
    if (!is_wide(lines)) {
        code_floats(coder, j, near, n, tile);
        return;
    }
    const struct exact exact = {.rows = lines->row, .offset = j * lines->size, .wide = true};
    if (!code_quantised(coder, j, near, &exact, tile)) search_line(coder, j, &exact, n, tile);
}

/* The cells of a piece's columns that have numbers, from column `first` on. */
static void code_numbers(const struct coder *coder, ptrdiff_t first, ptrdiff_t n_eights, const bool *numbered,
                         const struct lines *lines, ptrdiff_t n, struct call *call, struct cell_tile *tile) {
#ifdef SEFR_AVX512
    const bool quick = coder->buckets;
    uint64_t open = (quick ? look_up_piece : search_piece)(coder, first, n_eights, numbered, call, tile);
#else
    uint64_t open = search_piece(coder, first, n_eights, numbered, call, tile);
#endif
    for (; open; open &= open - 1) {
        const ptrdiff_t at = __builtin_ctzll(open), j = first + at;
        const struct exact exact = {.rows = lines->row, .offset = j * lines->size, .wide = is_wide(lines)};
#ifdef SEFR_AVX512
        const struct finding found = quick ? read_buckets(tile, at) : read_finding(tile, at);
#else
        const struct finding found = read_finding(tile, at);
#endif
        if (found.open == ALL_FOUND || conclude(coder, j, found, &exact, tile)) continue;
        search_line(coder, j, &exact, n, tile);
    }
}

/* Values that lie side by side in a row, float32 or float64, a piece of FLOAT_COLUMNS columns at a time, eight after
   eight. Returns how many columns are done: whole eights. */
static ptrdiff_t code_lines(const struct coder *coder, const struct lines *lines, ptrdiff_t n, struct cell_tile *tile) {
    const ptrdiff_t m = coder->m / 8 * 8;
    bool numbered[FLOAT_COLUMNS / 8];
    for (ptrdiff_t first = 0; first < m; first += FLOAT_COLUMNS) {
        const ptrdiff_t end = m - first < FLOAT_COLUMNS ? m : first + FLOAT_COLUMNS;
        struct call call = plan_call(lines, end, coder->m, end - first);
        for (ptrdiff_t j = first; j < end; j += 8) numbered[(j - first) / 8] = may_number(coder, j, tile);
        turn_tile(lines->row, first * lines->size, (end - first) / 8, numbered, is_wide(lines),
                  coder->quantised + first / 8, &call, tile);
        for (ptrdiff_t j = first; j < end; j++) {
            if (numbered[(j - first) / 8]) continue;
            call_share(&call);
            code_line(coder, j, tile->floats + (j - first) * TILE_ROWS, lines, n, tile);
        }
        /* last: what it leaves open may take the place of floats */
        code_numbers(coder, first, (end - first) / 8, numbered, lines, n, &call, tile);
    }
    return m;
}
#endif

#ifndef SEFR_FEW_DTYPES
/* Values of float32 that lie side by side in a row, eight columns after eight, so that each row is found once for all
   of them. Returns how many columns are done. */
static ptrdiff_t code_float_lines(const struct coder *coder, const struct table *x, const int64_t *rows,
                                  ptrdiff_t first, ptrdiff_t n, struct cell_tile *tile) {
    const ptrdiff_t m = coder->m / 8 * 8;
    for (ptrdiff_t j = 0; j < m; j += 8) {
        for (ptrdiff_t i = 0; i < n; i++) {
            float eight[8];
            memcpy(eight, x->data + (rows ? rows[i] : first + i) * x->row_stride + j * (ptrdiff_t)sizeof(float),
                   sizeof eight);
            for (ptrdiff_t c = 0; c < 8; c++) tile->floats[c * TILE_ROWS + i] = eight[c];
        }
        for (ptrdiff_t c = 0; c < 8; c++) code_floats(coder, j + c, tile->floats + c * TILE_ROWS, n, tile);
    }
    return m;
}
#endif

/* Calls the rows of a column that are read AHEAD_TILES tiles later into the cache, where they lie side by side: many
   columns are too many streams for the processor to follow by itself. */
static void call_column(const struct column *column, ptrdiff_t first) {
    const char *at = column->data + (first + AHEAD_TILES * TILE_ROWS) * column->stride;
    if (column->stride > (ptrdiff_t)sizeof(double) || column->stride < 1) return;
    for (ptrdiff_t i = 0; i < TILE_ROWS * column->stride; i += LINE_BYTES) __builtin_prefetch(at + i);
}

bool sefr_code_tile(const struct coder *coder, const struct table *x, const int64_t *rows, ptrdiff_t first, ptrdiff_t n,
                    struct cell_tile *tile) {
    ptrdiff_t j = 0;
    bool ok = true;
    memset(tile->bad, 0, sizeof tile->bad);
    tile->any_bad = false;
    const bool side_by_side = !x->columns && x->column_stride == (ptrdiff_t)dtype_size(x->type);
    if (side_by_side && coder->coded && coder->m >= FEWEST_TURNED) {
        ok = copy_lines(coder, x, rows, first, n, tile);
        j = coder->m;
    }
#ifdef SEFR_AVX2
    if (side_by_side && (x->type == F32 || x->type == F64) && n > 0 && has_avx2()) {
        struct lines lines;
        find_lines(x, rows, first, n, rows ? tile->ahead : first + n, &lines);
        j = code_lines(coder, &lines, n, tile);
    }
#endif
#ifndef SEFR_FEW_DTYPES
    if (j == 0 && side_by_side && x->type == F32) j = code_float_lines(coder, x, rows, first, n, tile);
#endif
    for (; j < coder->m; j++) {
        const struct column column = get_column(x, j);
        if (!rows) call_column(&column, first);
        if (coder->coded) {
            ok &= copy_cells(coder, j, &column, rows, first, n, tile);
        } else if (is_narrow(column.type)) {
            gather_of[column.type](rows ? column.data : column.data + first * column.stride, column.stride, rows, n,
                                   tile->floats);
            code_floats(coder, j, tile->floats, n, tile);
        } else {
            gather_of[column.type](rows ? column.data : column.data + first * column.stride, column.stride, rows, n,
                                   tile->doubles);
            code_doubles(coder, j, n, tile);
        }
    }
    for (; j < coder->n_columns; j++) {
        const int32_t *own = coder->ferns + (j - coder->m);
        code_fern(coder->comparisons + own[0], own[1] - own[0], tile->cells, tile->cells + j * TILE_ROWS);
    }
    return ok;
}

struct code_plan {
    const struct table *x;
    const struct coder *coder;
    uint8_t *cells;
    ptrdiff_t n_tasks;
    atomic_int error, bad;
};

/* The cells of n rows, side by side. */
static void write_rows(const uint8_t *cells, ptrdiff_t m, ptrdiff_t n, uint8_t *rows) {
#ifdef SEFR_AVX2
    if (n == TILE_ROWS && m >= 16 && has_avx2()) {
        transpose_cells(cells, m, rows);
        return;
    }
#endif
    for (ptrdiff_t j = 0; j < m; j++) {
        for (ptrdiff_t i = 0; i < n; i++) rows[i * m + j] = cells[j * TILE_ROWS + i];
    }
}

static void run_coding(void *context, ptrdiff_t task, int worker) {
    struct code_plan *plan = context;
    const ptrdiff_t m = plan->coder->n_columns, n_tiles = (plan->x->n + TILE_ROWS - 1) / TILE_ROWS;
    const ptrdiff_t last = n_tiles * (task + 1) / plan->n_tasks;
    struct cell_tile tile = {0};
    (void)worker;
    if (!sefr_allocate_tile(&tile, m)) atomic_store(&plan->error, NO_MEMORY);
    for (ptrdiff_t t = n_tiles * task / plan->n_tasks; t < last && !atomic_load(&plan->error); t++) {
        const ptrdiff_t first = t * TILE_ROWS, left = plan->x->n - first, n = left < TILE_ROWS ? left : TILE_ROWS;
        if (!sefr_code_tile(plan->coder, plan->x, NULL, first, n, &tile)) atomic_store(&plan->error, BAD_CELL);
        if (tile.any_bad) atomic_store(&plan->bad, 1);
        write_rows(tile.cells, m, n, plan->cells + first * m);
    }
    sefr_free_tile(&tile);
}

enum outcome sefr_code_cells(const struct table *x, const struct coder *coder, uint8_t *cells, int n_threads) {
    struct code_plan plan = {.x = x, .coder = coder, .cells = cells};
    const ptrdiff_t n_tasks = x->n * coder->n_columns / 262144;
    plan.n_tasks = n_tasks < 1 ? 1 : n_tasks > 16 ? 16 : n_tasks;
    sefr_run_tasks(run_coding, &plan, plan.n_tasks, n_threads);
    const enum outcome outcome = (enum outcome)atomic_load(&plan.error);
    return outcome == FINITE && atomic_load(&plan.bad) ? NOT_FINITE : outcome;
}
