/* Rows counted per group and cell: a row is coded and counted while it is in the cache. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cells/tally.h"
#include "common/groups.h"
#include "common/threads.h"

/* Rows of one group are gathered and counted together where there are at most so many groups, many rows of each, and
   no column has more cells than are quickly compared with. */
enum { MOST_BATCHES = 64, MOST_COMPARED = 64, BATCH_CELLS = 1 << 17, MOST_CALLED = 1024 };

/* A part counts in uint32 where rows have no weights: it has fewer rows than this. */
static const ptrdiff_t MOST_PART_ROWS = (ptrdiff_t)1 << 31;

#if defined(__GNUC__)
#define CALL_INTO_CACHE(address) __builtin_prefetch(address)
#else
#define CALL_INTO_CACHE(address) ((void)(address))
#endif

struct count_plan {
    const struct table *x;
    const struct coder *coder;
    const struct grouping *by;
    ptrdiff_t n_parts;
    ptrdiff_t batch_rows; /* of a group, counted together; 0: rows are counted as they come */
    void *parts;          /* n_parts x n_groups x columns x width, uint32 or double */
    double *row_parts;    /* n_parts x n_groups */
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

/* Rows of one group that wait to be counted. */
struct batch {
    ptrdiff_t n;
    int64_t rows[BATCH_ROWS];
};

/* Calls a row of a batch's first tile into the cache; coding calls those of the next itself. */
static void call_row(const struct table *x, ptrdiff_t i) {
    const ptrdiff_t n_bytes = x->m * x->column_stride;
    if (x->columns || n_bytes <= 0 || n_bytes > MOST_CALLED) return;
    for (ptrdiff_t at = 0; at < n_bytes; at += 64) CALL_INTO_CACHE(x->data + i * x->row_stride + at);
}

/* Counts the rows that wait; `cells` has room for those of a batch. */
static void count_batch(struct count_plan *plan, struct batch *batch, struct cell_tile *tile, uint8_t *cells,
                        uint32_t *counts) {
    const ptrdiff_t m = plan->coder->n_columns, width = plan->coder->width;
    for (ptrdiff_t at = 0; at < batch->n; at += TILE_ROWS) {
        const ptrdiff_t left = batch->n - at, n = left < TILE_ROWS ? left : TILE_ROWS;
        tile->cells = cells + at * m;
        tile->n_ahead = left - n;
        if (!sefr_code_tile(plan->coder, plan->x, batch->rows + at, 0, n, tile)) atomic_store(&plan->error, BAD_CELL);
        if (tile->any_bad) atomic_store(&plan->error, NOT_FINITE);
    }
    for (ptrdiff_t j = 0; j < m && !atomic_load(&plan->error); j++) {
        const struct batch_column column = {cells + j * TILE_ROWS, m * TILE_ROWS, batch->n, plan->coder->features[j].n};
        sefr_tally(&column, counts + j * width);
    }
    batch->n = 0;
}

/* Group by group, as soon as enough rows of one have come. */
static void count_by_groups(struct count_plan *plan, ptrdiff_t task, struct cell_tile *tile, struct batch *batches) {
    const ptrdiff_t n_groups = plan->by->n_groups, size = plan->coder->n_columns * plan->coder->width;
    const ptrdiff_t n_tiles = (plan->x->n + TILE_ROWS - 1) / TILE_ROWS, last = n_tiles * (task + 1) / plan->n_parts;
    double *rows = plan->row_parts + task * n_groups;
    uint32_t *counts = (uint32_t *)plan->parts + task * n_groups * size;
    uint8_t *cells = tile->cells;
    int32_t group[TILE_ROWS];
    for (ptrdiff_t t = n_tiles * task / plan->n_parts; t < last && !atomic_load(&plan->error); t++) {
        const ptrdiff_t first = t * TILE_ROWS, left = plan->x->n - first, n = left < TILE_ROWS ? left : TILE_ROWS;
        if (!read_groups(plan->by, first, n, group)) {
            atomic_store(&plan->error, BAD_CODE);
            break;
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            if (group[i] < 0) continue;
            struct batch *batch = batches + group[i];
            if (batch->n < TILE_ROWS) call_row(plan->x, first + i);
            batch->rows[batch->n++] = first + i;
            if (batch->n < plan->batch_rows) continue;
            rows[group[i]] += (double)batch->n;
            count_batch(plan, batch, tile, cells, counts + group[i] * size);
        }
    }
    for (ptrdiff_t g = 0; g < n_groups && !atomic_load(&plan->error); g++) {
        rows[g] += (double)batches[g].n;
        count_batch(plan, batches + g, tile, cells, counts + g * size);
    }
    tile->cells = cells;
}

static void run_count(void *context, ptrdiff_t task, int worker) {
    struct count_plan *plan = context;
    const bool by_groups = plan->batch_rows > 0;
    struct cell_tile tile = {0};
    struct batch *batches = by_groups ? calloc((size_t)plan->by->n_groups, sizeof *batches) : NULL;
    (void)worker;
    if (!sefr_allocate_tile(&tile, plan->coder->n_columns * (by_groups ? plan->batch_rows / TILE_ROWS : 1)) ||
        (by_groups && !batches)) {
        atomic_store(&plan->error, NO_MEMORY);
    } else if (by_groups) {
        count_by_groups(plan, task, &tile, batches);
    } else {
        count_as_they_come(plan, task, &tile);
    }
    sefr_free_tile(&tile);
    free(batches);
}

static void combine(const struct count_plan *plan, const struct totals *out) {
    const struct coder *coder = plan->coder;
    const ptrdiff_t n_groups = plan->by->n_groups, size = coder->n_columns * coder->width;
    memset(out->sums, 0, (size_t)(n_groups * coder->n_cells) * sizeof(double));
    memset(out->counts, 0, (size_t)n_groups * sizeof(double));
    for (ptrdiff_t p = 0; p < plan->n_parts; p++) {
        for (ptrdiff_t g = 0; g < n_groups; g++) {
            const double *weighted = (const double *)plan->parts + (p * n_groups + g) * size;
            const uint32_t *whole = (const uint32_t *)plan->parts + (p * n_groups + g) * size;
            double *sums = out->sums + g * coder->n_cells;
            for (ptrdiff_t j = 0; j < coder->n_columns; j++) {
                for (ptrdiff_t c = 0; c < coder->features[j].n; c++, sums++) {
                    *sums += plan->by->weights ? weighted[j * coder->width + c] : (double)whole[j * coder->width + c];
                }
            }
            out->counts[g] += plan->row_parts[p * n_groups + g];
        }
    }
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
    if (!by->weights && by->n_groups <= MOST_BATCHES && coder->width <= MOST_COMPARED &&
        x->n / plan.n_parts / by->n_groups >= BATCH_ROWS) {
        const ptrdiff_t tiles = BATCH_CELLS / TILE_ROWS / (coder->n_columns + 1);
        plan.batch_rows = TILE_ROWS * (tiles < 1 ? 1 : tiles > BATCH_TILES ? BATCH_TILES : tiles);
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
