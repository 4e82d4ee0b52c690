#include "cells/coding.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cells/lines.h"
#include "cells/quantised.h"
#include "cells/search.h"
#include "cells/transpose.h"
#include "common/threads.h"
#include "refine/tile.h"

#define KERNEL "cells/coding_kernel.inc"
#include "common/each_dtype.inc"

/* Values of a tile with the number of an edge, and failures of late, from which on numbers of 16 bits do not pay. */
enum { MOST_EQUAL = 8, MOST_FAILURES = 32, AHEAD_TILES = 4 };

typedef void gather_function(const char *, ptrdiff_t, const int64_t *, ptrdiff_t, void *);
static gather_function *const gather_of[N_DTYPES] = OF_EACH_DTYPE(gather);

/* The least float32 that is not below x. */
static float narrow_up(double x) {
    const float near = (float)x;
    return (double)near < x ? nextafterf(near, INFINITY) : near;
}

/* Sorted edges level by level, as search_eight meets them. */
static void plant(const float *edges, int32_t levels, float *tree) {
    for (int32_t level = 0; level < levels && levels <= TREE_LEVELS; level++) {
        const int32_t step = 1 << (levels - 1 - level), width = level < 4 ? 8 : 16;
        for (int32_t i = 0; i < width; i++) {
            tree[level < 4 ? 8 * level + i : 32 + i] = edges[(i & ((1 << level) - 1)) * 2 * step + step - 1];
        }
    }
}

static enum outcome prepare_feature(struct coder *coder, const struct edges *edges, ptrdiff_t j, int64_t start) {
    struct feature *feature = &coder->features[j];
    const ptrdiff_t n = ((ptrdiff_t)1 << feature->levels) - 1;
    double *wide = coder->wide + feature->place;
    float *narrow = coder->narrow + feature->place, *near = coder->near + feature->place;
    feature->narrow = true;
    for (ptrdiff_t i = 0; i < n; i++) {
        wide[i] = i < feature->n_edges ? ((const volatile double *)edges->values)[start + i] : INFINITY;
        if (i < feature->n_edges && (!isfinite(wide[i]) || (i > 0 && !(wide[i] > wide[i - 1])))) return BAD_EDGE;
        narrow[i] = narrow_up(wide[i]);
        near[i] = (float)wide[i];
        feature->narrow &= (double)near[i] == wide[i];
    }
    plant(narrow, feature->levels, coder->trees + j * TREE_FLOATS);
    plant(near, feature->levels, coder->near_trees + j * TREE_FLOATS);
#ifdef SEFR_AVX2
    feature->quantised = has_avx2() && quantise_edges(near, feature->n_edges, coder->quantised + j);
#endif
    return FINITE;
}

/* A column of n cells more; false: there are too many. */
static bool add_column(struct coder *coder, struct feature *feature, int32_t n) {
    if (coder->n_cells > INT32_MAX - MOST_CELLS) return false;
    feature->n = n;
    feature->first = (int32_t)coder->n_cells;
    coder->n_cells += n;
    while (coder->width < n) coder->width *= 2;
    return true;
}

/* The ferns, after the features. */
static enum outcome prepare_ferns(struct coder *coder, const struct edges *edges) {
    coder->ferns = malloc(((size_t)edges->n_ferns + 1) * sizeof *coder->ferns);
    coder->comparisons = malloc(((size_t)edges->n_comparisons + 1) * sizeof *coder->comparisons);
    if (!coder->ferns || !coder->comparisons) return NO_MEMORY;
    for (ptrdiff_t t = 0; t <= edges->n_ferns; t++) {
        const int64_t start = ((const volatile int64_t *)edges->ferns)[t];
        const int64_t own = t ? start - coder->ferns[t - 1] : 1;
        if ((t == 0 && start != 0) || own < 1 || own > MOST_COMPARISONS || start > edges->n_comparisons)
            return BAD_FERN;
        coder->ferns[t] = (int32_t)start;
        if (t && !add_column(coder, &coder->features[coder->m + t - 1], 1 << own)) return BAD_STARTS;
    }
    if (coder->ferns[edges->n_ferns] != edges->n_comparisons) return BAD_FERN;
    for (ptrdiff_t c = 0; c < edges->n_comparisons; c++) {
        const volatile struct comparison *given = edges->comparisons + c;
        const struct comparison own = {given->feature, given->bound, given->equal};
        if (own.feature < 0 || own.feature >= coder->m) return BAD_FERN;
        if (own.bound < 0 || own.bound >= coder->features[own.feature].n) return BAD_FERN;
        coder->comparisons[c] = own;
    }
    return FINITE;
}

enum outcome sefr_prepare_coder(struct coder *coder, const struct edges *edges, ptrdiff_t n_values) {
    const ptrdiff_t m = edges->m;
    const int32_t extra = edges->missing ? 2 : 1;
    ptrdiff_t n_edges = 0;
    *coder = (struct coder){.m = m, .width = 1, .missing = edges->missing, .coded = !edges->values};
    coder->n_columns = m + edges->n_ferns;
    coder->features = calloc((size_t)coder->n_columns + 1, sizeof *coder->features);
    int64_t *starts = malloc(((size_t)m + 1) * sizeof *starts);
    enum outcome outcome = coder->features && starts ? FINITE : NO_MEMORY;
    for (ptrdiff_t j = 0; outcome == FINITE && j <= m; j++) {
        starts[j] = ((const volatile int64_t *)edges->starts)[j];
        if (j == 0 && starts[j] != 0) outcome = BAD_STARTS;
        if (j == m && edges->values && starts[j] != n_values) outcome = BAD_STARTS;
    }
    for (ptrdiff_t j = 0; outcome == FINITE && j < m; j++) {
        struct feature *feature = &coder->features[j];
        const int64_t own = starts[j + 1] - starts[j];
        if (own < 0 || own + extra > MOST_CELLS) {
            outcome = BAD_STARTS;
            break;
        }
        feature->n_edges = (int32_t)own;
        if (!add_column(coder, feature, feature->n_edges + extra)) {
            outcome = BAD_STARTS;
            break;
        }
        feature->levels = 1; /* without an edge, one that nothing reaches */
        while ((1 << feature->levels) - 1 < feature->n_edges) feature->levels++;
        feature->place = n_edges;
        n_edges += ((ptrdiff_t)1 << feature->levels) - 1;
    }
    if (outcome == FINITE && edges->n_ferns) outcome = prepare_ferns(coder, edges);
    if (outcome == FINITE && edges->values) {
        coder->wide = malloc(((size_t)n_edges + 1) * sizeof *coder->wide);
        coder->narrow = malloc(((size_t)n_edges + 1) * sizeof *coder->narrow);
        coder->near = malloc(((size_t)n_edges + 1) * sizeof *coder->near);
        coder->trees = sefr_aligned(m * TREE_FLOATS, sizeof *coder->trees);
        coder->near_trees = sefr_aligned(m * TREE_FLOATS, sizeof *coder->near_trees);
        coder->quantised = sefr_aligned(m, sizeof *coder->quantised);
        if (!coder->wide || !coder->narrow || !coder->near || !coder->trees || !coder->near_trees || !coder->quantised)
            outcome = NO_MEMORY;
        if (outcome == FINITE) {
            memset(coder->trees, 0, (size_t)m * TREE_FLOATS * sizeof *coder->trees);
            memset(coder->near_trees, 0, (size_t)m * TREE_FLOATS * sizeof *coder->near_trees);
        }
        for (ptrdiff_t j = 0; outcome == FINITE && j < m; j++) outcome = prepare_feature(coder, edges, j, starts[j]);
    }
    free(starts);
    if (outcome != FINITE) sefr_free_coder(coder);
    return outcome;
}

void sefr_free_coder(struct coder *coder) {
    free(coder->features);
    free(coder->ferns);
    free(coder->comparisons);
    free(coder->wide);
    free(coder->narrow);
    free(coder->near);
    free(coder->trees);
    free(coder->near_trees);
    free(coder->quantised);
    *coder = (struct coder){0};
}

bool sefr_allocate_tile(struct cell_tile *tile, ptrdiff_t n_columns) {
    tile->cells = sefr_aligned(n_columns * TILE_ROWS, 1);
    memset(tile->doubles, 0, sizeof tile->doubles);
    tile->floats = sefr_aligned(FLOAT_COLUMNS * TILE_ROWS, sizeof(float));
    if (tile->floats) memset(tile->floats, 0, FLOAT_COLUMNS * TILE_ROWS * sizeof(float));
    tile->failures = calloc((size_t)n_columns + 1, 1);
    return tile->cells && tile->floats && tile->failures;
}

void sefr_free_tile(struct cell_tile *tile) {
    free(tile->cells);
    free(tile->floats);
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
/* Where float64 values are that float32 may not hold: side by side, or `offset` bytes from where rows begin. */
struct exact {
    const double *values;
    const char *const *rows;
    ptrdiff_t offset;
};

/* Values with the number of an edge, one after the other; false: they are many. */
static bool settle_equal(const struct coder *coder, const struct feature *feature, const float *near,
                         const struct exact *exact, uint64_t equal, uint8_t *cells) {
    const double *edges = coder->wide + feature->place;
    int n = 0;
    for (; equal; equal &= equal - 1) {
        const int i = __builtin_ctzll(equal);
        double value = exact && exact->values ? exact->values[i] : (double)near[i];
        if (exact && exact->rows) memcpy(&value, exact->rows[i] + exact->offset, sizeof value);
        cells[i] = (uint8_t)(cells[i] + (value >= edges[cells[i]]));
        n++;
    }
    return n <= MOST_EQUAL;
}

/* Whether 16 bits of the values of a column are tried: not again where they are often too few, as where many values
   equal edges, are missing, or lie far apart. */
static inline bool may_quantise(const struct coder *coder, ptrdiff_t j, const struct cell_tile *tile) {
    return coder->features[j].quantised && tile->failures[j] <= MOST_FAILURES;
}

/* Whether the cells of a column are found by 16 bits of its values, rounded to float32 in `near`: the values
   themselves, where they are float64, are looked at only where those bits equal an edge's. */
static inline bool code_quantised(const struct coder *coder, ptrdiff_t j, const float *near, const struct exact *exact,
                                  struct cell_tile *tile) {
    const struct feature *feature = &coder->features[j];
    uint8_t *cells = tile->cells + j * TILE_ROWS, *failures = tile->failures + j;
    uint64_t equal;
    if (!may_quantise(coder, j, tile)) return false;
    const int found = search_quantised(near, coder->quantised + j, cells, &equal);
    if (found == ALL_FOUND) {
        *failures -= *failures > 0;
        return true;
    }
    if (found == ALL_OPEN || !settle_equal(coder, feature, near, exact, equal, cells)) {
        *failures += 2;
    }
    return found == SOME_OPEN;
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

static void code_floats(const struct coder *coder, ptrdiff_t j, const float *values, ptrdiff_t n,
                        struct cell_tile *tile) {
    const struct feature *feature = &coder->features[j];
    uint8_t *cells = tile->cells + j * TILE_ROWS;
    int met;
#ifdef SEFR_AVX2
    if (code_quantised(coder, j, values, NULL, tile)) return;
    if (feature->levels <= TREE_LEVELS && has_avx2()) {
        met = search_tree(values, coder->trees + j * TREE_FLOATS, feature->levels, cells);
    } else
#endif
    {
        met = search_plain(values, coder->narrow + feature->place, feature->levels, cells);
    }
    if (!(met & NOT_ALL_FINITE)) return;
    for (ptrdiff_t i = 0; i < n; i++) settle(coder, feature, i, (double)values[i], tile, cells);
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
#ifdef SEFR_AVX2
    if (feature->levels <= TREE_LEVELS && has_avx2()) {
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
        if (code_quantised(coder, j, tile->floats, &(struct exact){.values = tile->doubles}, tile)) return;
    }
#endif
    search_doubles(coder, j, n, tile);
}

/* What is coded already: checked and copied. */
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
/* The values of a column of lines one by one, where float32 does not settle its cells. */
static void code_line_doubles(const struct coder *coder, ptrdiff_t j, const struct lines *lines, ptrdiff_t n,
                              struct cell_tile *tile) {
    for (ptrdiff_t i = 0; i < TILE_ROWS; i++) {
        memcpy(tile->doubles + i, lines->row[i] + j * lines->size, sizeof tile->doubles[i]);
    }
    search_doubles(coder, j, n, tile);
}

/* Values that lie side by side in a row, float32 or float64, a piece of FLOAT_COLUMNS columns at a time. Returns how
   many columns are done: whole eights. */
static ptrdiff_t code_lines(const struct coder *coder, const struct lines *lines, ptrdiff_t n, struct cell_tile *tile) {
    const ptrdiff_t m = coder->m / 8 * 8;
    const bool wide = lines->size == (ptrdiff_t)sizeof(double);
    for (ptrdiff_t first = 0; first < m; first += FLOAT_COLUMNS) {
        const ptrdiff_t end = m - first < FLOAT_COLUMNS ? m : first + FLOAT_COLUMNS;
        struct call call = plan_call(lines, end, coder->m, end - first);
        transpose_tile(lines->row, first * lines->size, (end - first) / 8, wide, tile->floats);
        for (ptrdiff_t j = first; j < end; j++) {
            const float *near = tile->floats + (j - first) * TILE_ROWS;
            call_share(&call);
            if (!wide) {
                code_floats(coder, j, near, n, tile);
            } else if (!code_quantised(coder, j, near, &(struct exact){.rows = lines->row, .offset = j * lines->size},
                                       tile)) {
                code_line_doubles(coder, j, lines, n, tile);
            }
        }
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
#ifdef SEFR_AVX2
    const bool in_lines = !x->columns && ((x->type == F32 && x->column_stride == (ptrdiff_t)sizeof(float)) ||
                                          (x->type == F64 && x->column_stride == (ptrdiff_t)sizeof(double)));
    if (!coder->coded && in_lines && n > 0 && has_avx2()) {
        struct lines lines;
        find_lines(x, rows, first, n, rows ? tile->ahead : first + n, &lines);
        j = code_lines(coder, &lines, n, tile);
    }
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
