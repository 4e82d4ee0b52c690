/* Scores by table look-up: a row is coded and looked up while it is in the cache. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cells/coding.h"
#include "common/threads.h"

struct lookup_plan {
    const struct table *x;
    const struct coder *coder;
    double *intercept; /* width */
    double *cells;     /* n_cells x width: the scores that a cell adds, side by side, and zeros */
    ptrdiff_t k, width, n_rows, n_tasks;
    const int64_t *rows;
    double *out;
    atomic_int error;
};

/* One score per row: features outside, so that rows wait for no sum. */
static void look_up_one(const struct lookup_plan *plan, const struct cell_tile *tile, ptrdiff_t n, double *out) {
    double sums[TILE_ROWS];
    for (ptrdiff_t i = 0; i < n; i++) sums[i] = plan->intercept[0];
    for (ptrdiff_t j = 0; j < plan->coder->n_columns; j++) {
        const double *own = plan->cells + plan->coder->features[j].first;
        const uint8_t *cells = tile->cells + j * TILE_ROWS;
        for (ptrdiff_t i = 0; i < n; i++) sums[i] += own[cells[i]];
    }
    memcpy(out, sums, (size_t)n * sizeof(double));
}

typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));

/* Several scores per row, which are `count` vectors from the v-th on: a number that the compiler knows, so that the
   sums of a row stay in registers. */
#define DEFINE_LOOK_UP(T)                                                                                         \
    INLINE void look_up_##T(const struct lookup_plan *plan, const struct cell_tile *tile, ptrdiff_t i, int count, \
                            ptrdiff_t v, double *row) {                                                           \
        const ptrdiff_t width = plan->width;                                                                      \
        T sums[4];                                                                                                \
        memcpy(sums, (const T *)plan->intercept + v, (size_t)count * sizeof(T));                                  \
        for (ptrdiff_t j = 0; j < plan->coder->n_columns; j++) {                                                  \
            const ptrdiff_t cell = plan->coder->features[j].first + tile->cells[j * TILE_ROWS + i];               \
            const T *own = (const T *)(plan->cells + cell * width) + v;                                           \
            for (int u = 0; u < count; u++) sums[u] += own[u];                                                    \
        }                                                                                                         \
        memcpy((T *)row + v, sums, (size_t)count * sizeof(T));                                                    \
    }
DEFINE_LOOK_UP(four)
DEFINE_LOOK_UP(eight)
#undef DEFINE_LOOK_UP

CLONES static void look_up_some(const struct lookup_plan *plan, const struct cell_tile *tile, ptrdiff_t n, double *row,
                                double *out) {
    const ptrdiff_t n_vectors = plan->width / 8;
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t v = 0;
        if (plan->width == 4) look_up_four(plan, tile, i, 1, 0, row);
        for (; v + 4 <= n_vectors; v += 4) look_up_eight(plan, tile, i, 4, v, row);
        for (; v + 2 <= n_vectors; v += 2) look_up_eight(plan, tile, i, 2, v, row);
        for (; v < n_vectors; v++) look_up_eight(plan, tile, i, 1, v, row);
        memcpy(out + i * plan->k, row, (size_t)plan->k * sizeof(double));
    }
}

static void run_lookup(void *context, ptrdiff_t task, int worker) {
    struct lookup_plan *plan = context;
    const ptrdiff_t n_tiles = (plan->n_rows + TILE_ROWS - 1) / TILE_ROWS, last = n_tiles * (task + 1) / plan->n_tasks;
    struct cell_tile tile = {0};
    int64_t listed[TILE_ROWS];
    double *row = malloc((size_t)plan->width * sizeof(double));
    (void)worker;
    if (!row || !sefr_allocate_tile(&tile, plan->coder->n_columns)) atomic_store(&plan->error, NO_MEMORY);
    for (ptrdiff_t t = n_tiles * task / plan->n_tasks; t < last && !atomic_load(&plan->error); t++) {
        const ptrdiff_t first = t * TILE_ROWS, left = plan->n_rows - first, n = left < TILE_ROWS ? left : TILE_ROWS;
        double *out = plan->out + first * plan->k;
        for (ptrdiff_t i = 0; plan->rows && i < n; i++) {
            listed[i] = ((const volatile int64_t *)plan->rows)[first + i];
            if (listed[i] < 0 || listed[i] >= plan->x->n) atomic_store(&plan->error, BAD_ROW);
        }
        if (atomic_load(&plan->error)) break;
        if (!sefr_code_tile(plan->coder, plan->x, plan->rows ? listed : NULL, first, n, &tile)) {
            atomic_store(&plan->error, BAD_CELL);
            break;
        }
        if (plan->k == 1) {
            look_up_one(plan, &tile, n, out);
        } else {
            look_up_some(plan, &tile, n, row, out);
        }
        for (ptrdiff_t i = 0; tile.any_bad && i < n; i++) {
            for (ptrdiff_t c = 0; tile.bad[i] && c < plan->k; c++) out[i * plan->k + c] = NAN;
        }
    }
    sefr_free_tile(&tile);
    free(row);
}

/* From one score after the other; zeros up to the width. */
static void put_side_by_side(const double *from, ptrdiff_t n, ptrdiff_t k, ptrdiff_t width, double *to) {
    if (width == 1) {
        memcpy(to, from, (size_t)n * sizeof(double));
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++, to += width) {
        for (ptrdiff_t c = 0; c < k; c++) to[c] = from[c * n + i];
        for (ptrdiff_t c = k; c < width; c++) to[c] = 0.0;
    }
}

enum outcome sefr_cell_scores(const struct table *x, const struct coder *coder, const double *table,
                              const double *intercept, ptrdiff_t k, const int64_t *rows, ptrdiff_t n_rows, double *out,
                              int n_threads) {
    struct lookup_plan plan = {.x = x, .coder = coder, .k = k};
    plan.rows = rows, plan.n_rows = n_rows, plan.out = out;
    plan.width = k == 1 ? 1 : k <= 4 ? 4 : (k + 7) / 8 * 8;
    plan.cells = malloc((size_t)((coder->n_cells + 1) * plan.width) * sizeof(double));
    if (!plan.cells) return NO_MEMORY;
    plan.intercept = plan.cells + coder->n_cells * plan.width;
    put_side_by_side(table, coder->n_cells, k, plan.width, plan.cells);
    put_side_by_side(intercept, 1, k, plan.width, plan.intercept);
    const ptrdiff_t n_tasks = n_rows * coder->n_columns / 262144;
    plan.n_tasks = n_tasks < 1 ? 1 : n_tasks > 16 ? 16 : n_tasks;
    sefr_run_tasks(run_lookup, &plan, plan.n_tasks, n_threads);
    free(plan.cells);
    return (enum outcome)atomic_load(&plan.error);
}
