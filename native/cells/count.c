/* Rows counted per group and cell: a row is coded and counted while it is in the cache. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cells/tally.h"
#include "common/avx2.h"
#include "common/groups.h"
#include "common/threads.h"

/* Rows of one group are gathered and counted together where no column has more cells than are quickly compared with,
   there are many rows of each group, and a tile of every group has at most MOST_WAITING cells. Where columns lie apart,
   rows are taken as they come, and the cells of every group are told apart, if all are few enough. */
enum { MOST_COMPARED = 64, BATCH_CELLS = 1 << 18, MOST_WAITING = 1 << 20, FEW_GROUPS = 4 };

/* A part counts in uint32 where rows have no weights: it has fewer rows than this. */
static const ptrdiff_t MOST_PART_ROWS = (ptrdiff_t)1 << 31;

struct count_plan {
    const struct table *x;
    const struct coder *coder;
    const struct grouping *by;
    ptrdiff_t n_parts;
    ptrdiff_t batch_tiles; /* of a group, or of all, counted together; 0: rows are counted one by one */
    bool by_columns;       /* rows of all groups are counted together */
    void *parts;       /* n_parts x n_groups x columns x width, uint32 or double; n_parts x columns x n_groups x width
                          where by_columns */
    double *row_parts; /* n_parts x n_groups */
    atomic_int error;
};

/* Cells of a feature lie `width` apart from those of the next, so that nothing need be looked up. */
#define DEFINE_COUNT(name, T, step)                                                                  \
    static void name(const struct coder *coder, const struct cell_tile *tile, const int32_t *group,  \
                     const double *weight, ptrdiff_t n, T *counts) {                                 \
        const ptrdiff_t m = coder->n_columns, width = coder->width;                                  \
        (void)weight;                                                                                \
        for (ptrdiff_t i = 0; i < n; i++) {                                                          \
            if (group[i] < 0) continue;                                                              \
            T *own = counts + group[i] * m * width;                                                  \
            const uint8_t *cells = tile->cells + i;                                                  \
            for (ptrdiff_t j = 0; j < m; j++, own += width, cells += TILE_ROWS) own[*cells] += step; \
        }                                                                                            \
    }
DEFINE_COUNT(count_rows, uint32_t, 1)
DEFINE_COUNT(count_weights, double, weight[i])

/* As the rows come, those of all groups. */
static void count_as_they_come(struct count_plan *plan, ptrdiff_t task, struct cell_tile *tile) {
    const ptrdiff_t n_groups = plan->by->n_groups, size = n_groups * plan->coder->n_columns * plan->coder->width;
    const ptrdiff_t n_tiles = (plan->x->n + TILE_ROWS - 1) / TILE_ROWS, last = n_tiles * (task + 1) / plan->n_parts;
    double *rows = plan->row_parts + task * n_groups, weight[TILE_ROWS];
    int32_t group[TILE_ROWS];
    for (ptrdiff_t t = n_tiles * task / plan->n_parts; t < last && !atomic_load(&plan->error); t++) {
        const ptrdiff_t first = t * TILE_ROWS, left = plan->x->n - first, n = left < TILE_ROWS ? left : TILE_ROWS;
        if (!read_weighted_groups(plan->by, first, n, group, weight)) atomic_store(&plan->error, BAD_CODE);
        if (!sefr_code_tile(plan->coder, plan->x, NULL, first, n, tile)) atomic_store(&plan->error, BAD_CELL);
        if (atomic_load(&plan->error)) break;
        for (ptrdiff_t i = 0; i < n; i++) {
            if (group[i] < 0) continue;
            rows[group[i]] += weight[i];
            if (tile->bad[i]) atomic_store(&plan->error, NOT_FINITE);
        }
        if (plan->by->weights) {
            count_weights(plan->coder, tile, group, weight, n, (double *)plan->parts + task * size);
        } else {
            count_rows(plan->coder, tile, group, weight, n, (uint32_t *)plan->parts + task * size);
        }
    }
}

/* Rows of one group that wait: to be coded, and then, tile by tile, to be counted. */
struct batch {
    ptrdiff_t n, n_coded;
    uint8_t *cells; /* batch_tiles x columns x TILE_ROWS */
    int64_t rows[2 * TILE_ROWS];
};

/* The rows of a tile that belong to a group, a bit each, those from row n on aside. */
static uint64_t find_rows(const int32_t *group, ptrdiff_t n, int32_t own) {
    uint64_t bits = 0;
    for (ptrdiff_t i = 0; i < n; i++) bits |= (uint64_t)(group[i] == own) << i;
    return bits;
}

#ifdef SEFR_AVX2
AVX2 static uint64_t find_rows_quickly(const int32_t *group, ptrdiff_t n, int32_t own) {
    uint64_t bits = 0;
    for (ptrdiff_t i = 0; i < TILE_ROWS; i += 8) {
        const __m256i eight = _mm256_loadu_si256((const __m256i *)(const void *)(group + i));
        const __m256 same = _mm256_castsi256_ps(_mm256_cmpeq_epi32(eight, _mm256_set1_epi32(own)));
        bits |= (uint64_t)_mm256_movemask_ps(same) << i;
    }
    return n < TILE_ROWS ? bits & (((uint64_t)1 << n) - 1) : bits;
}
#endif

/* Rows first .. first + n join the batches of their groups. Where there are few groups, group after group. */
static void gather(struct batch *batches, ptrdiff_t n_groups, const int32_t *group, ptrdiff_t first, ptrdiff_t n) {
    for (ptrdiff_t g = 0; n_groups <= FEW_GROUPS && g < n_groups; g++) {
        int64_t *to = batches[g].rows + batches[g].n;
#ifdef SEFR_AVX2
        uint64_t bits = has_avx2() ? find_rows_quickly(group, n, (int32_t)g) : find_rows(group, n, (int32_t)g);
#else
        uint64_t bits = find_rows(group, n, (int32_t)g);
#endif
        for (; bits; bits &= bits - 1) *to++ = first + __builtin_ctzll(bits);
        batches[g].n = to - batches[g].rows;
    }
    for (ptrdiff_t i = 0; n_groups > FEW_GROUPS && i < n; i++) {
        if (group[i] < 0) continue;
        struct batch *batch = batches + group[i];
        batch->rows[batch->n++] = first + i;
    }
}

/* At most a tile of the rows that wait. */
static void code_batch(struct count_plan *plan, struct batch *batch, ptrdiff_t ahead, struct cell_tile *tile) {
    const ptrdiff_t n = batch->n < TILE_ROWS ? batch->n : TILE_ROWS;
    tile->cells = batch->cells + batch->n_coded * plan->coder->n_columns;
    tile->ahead = ahead;
    if (!sefr_code_tile(plan->coder, plan->x, batch->rows, 0, n, tile)) atomic_store(&plan->error, BAD_CELL);
    if (tile->any_bad) atomic_store(&plan->error, NOT_FINITE);
    batch->n_coded += n;
    batch->n -= n;
    memmove(batch->rows, batch->rows + n, (size_t)batch->n * sizeof batch->rows[0]);
}

static void count_batch(const struct count_plan *plan, struct batch *batch, uint32_t *counts, double *rows) {
    const ptrdiff_t m = plan->coder->n_columns, width = plan->coder->width, n = batch->n_coded;
    for (ptrdiff_t j = 0; j < m; j++) {
        const int32_t n_cells = plan->coder->features[j].n;
        const struct batch_column column = {batch->cells + j * TILE_ROWS, m * TILE_ROWS, n, n_cells};
        sefr_tally(&column, counts + j * width);
    }
    *rows += (double)n;
    batch->n_coded = 0;
}

/* Group by group, as soon as enough rows of one have come. */
static void count_by_groups(struct count_plan *plan, ptrdiff_t task, struct cell_tile *tile, struct batch *batches) {
    const ptrdiff_t n_groups = plan->by->n_groups, size = plan->coder->n_columns * plan->coder->width;
    const ptrdiff_t n_tiles = (plan->x->n + TILE_ROWS - 1) / TILE_ROWS, last = n_tiles * (task + 1) / plan->n_parts;
    double *rows = plan->row_parts + task * n_groups;
    uint32_t *counts = (uint32_t *)plan->parts + task * n_groups * size;
    int32_t group[TILE_ROWS] = {0};
    ptrdiff_t ahead = 0; /* rows before were called into the cache: a tile with every tile that is coded */
    for (ptrdiff_t t = n_tiles * task / plan->n_parts; t < last && !atomic_load(&plan->error); t++) {
        const ptrdiff_t first = t * TILE_ROWS, left = plan->x->n - first, n = left < TILE_ROWS ? left : TILE_ROWS;
        if (!read_groups(plan->by, first, n, group)) {
            atomic_store(&plan->error, BAD_CODE);
            break;
        }
        gather(batches, n_groups, group, first, n);
        for (ptrdiff_t g = 0; g < n_groups; g++) {
            if (batches[g].n < TILE_ROWS) continue;
            if (ahead < first + 2 * TILE_ROWS) ahead = first + 2 * TILE_ROWS;
            code_batch(plan, batches + g, ahead, tile);
            ahead += TILE_ROWS;
            if (batches[g].n_coded < plan->batch_tiles * TILE_ROWS) continue;
            count_batch(plan, batches + g, counts + g * size, rows + g);
        }
    }
    for (ptrdiff_t g = 0; g < n_groups && !atomic_load(&plan->error); g++) {
        struct batch *batch = batches + g;
        if (batch->n_coded) count_batch(plan, batch, counts + g * size, rows + g);
        if (batch->n) code_batch(plan, batch, plan->x->n, tile);
        if (batch->n_coded) count_batch(plan, batch, counts + g * size, rows + g);
    }
}

/* A cell is below the width, which is a power of two, and the place of a group a multiple of it. Rows that do not count
   are in NO_CELL, which nothing counts. */
enum { NO_CELL = 255 };

CLONES static void tell_groups_apart(uint8_t *restrict cells, const uint8_t *restrict place) {
    for (ptrdiff_t i = 0; i < TILE_ROWS; i++) cells[i] |= place[i];
}

static void count_columns(const struct count_plan *plan, const uint8_t *cells, ptrdiff_t n_tiles, uint32_t *counts) {
    const ptrdiff_t m = plan->coder->n_columns, width = plan->by->n_groups * plan->coder->width;
    for (ptrdiff_t j = 0; j < m; j++) {
        const struct batch_column column = {cells + j * TILE_ROWS, m * TILE_ROWS, n_tiles * TILE_ROWS, (int32_t)width};
        sefr_tally(&column, counts + j * width);
    }
}

/* Rows of all groups together, in the order in which they lie. */
static void count_by_columns(struct count_plan *plan, ptrdiff_t task, struct cell_tile *tile) {
    const ptrdiff_t n_groups = plan->by->n_groups, m = plan->coder->n_columns;
    const ptrdiff_t n_tiles = (plan->x->n + TILE_ROWS - 1) / TILE_ROWS, last = n_tiles * (task + 1) / plan->n_parts;
    double *rows = plan->row_parts + task * n_groups;
    uint32_t *counts = (uint32_t *)plan->parts + task * m * n_groups * plan->coder->width;
    uint8_t *cells = tile->cells, place[TILE_ROWS];
    int32_t group[TILE_ROWS];
    ptrdiff_t waiting = 0;
    for (ptrdiff_t t = n_tiles * task / plan->n_parts; t < last && !atomic_load(&plan->error); t++) {
        const ptrdiff_t first = t * TILE_ROWS, left = plan->x->n - first, n = left < TILE_ROWS ? left : TILE_ROWS;
        if (!read_groups(plan->by, first, n, group)) atomic_store(&plan->error, BAD_CODE);
        tile->cells = cells + waiting * m * TILE_ROWS;
        if (!sefr_code_tile(plan->coder, plan->x, NULL, first, n, tile)) atomic_store(&plan->error, BAD_CELL);
        if (atomic_load(&plan->error)) break;
        memset(place, NO_CELL, sizeof place);
        for (ptrdiff_t i = 0; i < n; i++) {
            if (group[i] < 0) continue;
            place[i] = (uint8_t)(group[i] * plan->coder->width);
            rows[group[i]] += 1.0;
            if (tile->bad[i]) atomic_store(&plan->error, NOT_FINITE);
        }
        for (ptrdiff_t j = 0; j < m; j++) tell_groups_apart(tile->cells + j * TILE_ROWS, place);
        if (++waiting < plan->batch_tiles && t + 1 < last) continue;
        count_columns(plan, cells, waiting, counts);
        waiting = 0;
    }
    tile->cells = cells;
}

static void run_count(void *context, ptrdiff_t task, int worker) {
    struct count_plan *plan = context;
    const ptrdiff_t n_batches = plan->batch_tiles && !plan->by_columns ? plan->by->n_groups : 0;
    const ptrdiff_t n_columns = plan->coder->n_columns, tiles = plan->batch_tiles ? plan->batch_tiles : 1;
    const ptrdiff_t n_cells = plan->batch_tiles * n_columns * TILE_ROWS;
    struct cell_tile tile = {0};
    struct batch *batches = calloc((size_t)n_batches + 1, sizeof *batches);
    (void)worker;
    if (!sefr_allocate_tile(&tile, n_columns * tiles * (n_batches ? n_batches : 1)) || !batches) {
        atomic_store(&plan->error, NO_MEMORY);
    } else if (n_batches) {
        uint8_t *cells = tile.cells;
        for (ptrdiff_t g = 0; g < n_batches; g++) batches[g].cells = cells + g * n_cells;
        count_by_groups(plan, task, &tile, batches);
        tile.cells = cells;
    } else if (plan->by_columns) {
        count_by_columns(plan, task, &tile);
    } else {
        count_as_they_come(plan, task, &tile);
    }
    sefr_free_tile(&tile);
    free(batches);
}

static void combine(const struct count_plan *plan, const struct totals *out) {
    const struct coder *coder = plan->coder;
    const ptrdiff_t n_groups = plan->by->n_groups, width = coder->width, size = n_groups * coder->n_columns * width;
    const ptrdiff_t group_pitch = plan->by_columns ? width : coder->n_columns * width;
    const ptrdiff_t column_pitch = plan->by_columns ? n_groups * width : width;
    memset(out->sums, 0, (size_t)(n_groups * coder->n_cells) * sizeof(double));
    memset(out->counts, 0, (size_t)n_groups * sizeof(double));
    for (ptrdiff_t p = 0; p < plan->n_parts; p++) {
        for (ptrdiff_t g = 0; g < n_groups; g++) {
            const double *weighted = (const double *)plan->parts + p * size + g * group_pitch;
            const uint32_t *whole = (const uint32_t *)plan->parts + p * size + g * group_pitch;
            double *sums = out->sums + g * coder->n_cells;
            for (ptrdiff_t j = 0; j < coder->n_columns; j++) {
                const ptrdiff_t at = j * column_pitch;
                for (ptrdiff_t c = 0; c < coder->features[j].n; c++, sums++) {
                    *sums += plan->by->weights ? weighted[at + c] : (double)whole[at + c];
                }
            }
            out->counts[g] += plan->row_parts[p * n_groups + g];
        }
    }
}

/* Whether the values of a column lie closer to each other than those of a row. */
static bool columns_lie_apart(const struct table *x) {
    const ptrdiff_t row = x->row_stride < 0 ? -x->row_stride : x->row_stride;
    const ptrdiff_t column = x->column_stride < 0 ? -x->column_stride : x->column_stride;
    return x->columns || row < column;
}

enum outcome sefr_count_cells(const struct table *x, const struct coder *coder, const struct grouping *by,
                              const struct totals *out, int n_threads) {
    struct count_plan plan = {.x = x, .coder = coder, .by = by};
    const ptrdiff_t size = by->n_groups * coder->n_columns * coder->width;
    /* a part reads 2**18 values, and 4 times as many as it counts into */
    const ptrdiff_t values = x->n * coder->n_columns, most = values / 262144, fit = values / (4 * size + 1);
    plan.n_parts = most < fit ? most : fit;
    plan.n_parts = plan.n_parts < 1 ? 1 : plan.n_parts > 16 ? 16 : plan.n_parts;
    if (x->n / plan.n_parts >= MOST_PART_ROWS) plan.n_parts = x->n / MOST_PART_ROWS + 1;
    plan.by_columns = !by->weights && columns_lie_apart(x) && by->n_groups * coder->width <= MOST_COMPARED &&
                      x->n / plan.n_parts >= BATCH_ROWS;
    const ptrdiff_t waiting = by->n_groups * coder->n_columns * TILE_ROWS;
    if (plan.by_columns) {
        plan.batch_tiles = BATCH_TILES;
    } else if (!by->weights && coder->width <= MOST_COMPARED && waiting <= MOST_WAITING &&
               x->n / plan.n_parts / by->n_groups >= BATCH_ROWS) {
        const ptrdiff_t tiles = BATCH_CELLS / (waiting + 1);
        plan.batch_tiles = tiles < 1 ? 1 : tiles > BATCH_TILES ? BATCH_TILES : tiles;
    }
    plan.parts = calloc((size_t)(plan.n_parts * size) + 1, by->weights ? sizeof(double) : sizeof(uint32_t));
    plan.row_parts = calloc((size_t)(plan.n_parts * by->n_groups) + 1, sizeof(double));
    enum outcome outcome = NO_MEMORY;
    if (plan.parts && plan.row_parts) {
        sefr_run_tasks(run_count, &plan, plan.n_parts, n_threads);
        outcome = (enum outcome)atomic_load(&plan.error);
        if (outcome == FINITE) combine(&plan, out);
    }
    free(plan.parts);
    free(plan.row_parts);
    return outcome;
}
