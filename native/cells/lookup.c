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
    const double *intercept;
    double *cells; /* n_cells x k: the scores that a cell adds, side by side */
    ptrdiff_t k, n_rows, n_tasks;
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

CLONES static void look_up_some(const struct lookup_plan *plan, const struct cell_tile *tile, ptrdiff_t n,
                                double *out) {
    const ptrdiff_t k = plan->k;
    for (ptrdiff_t i = 0; i < n; i++) {
        double *restrict sums = out + i * k;
        memcpy(sums, plan->intercept, (size_t)k * sizeof(double));
        for (ptrdiff_t j = 0; j < plan->coder->n_columns; j++) {
            const double *restrict own =
                plan->cells + (plan->coder->features[j].first + tile->cells[j * TILE_ROWS + i]) * k;
            for (ptrdiff_t c = 0; c < k; c++) sums[c] += own[c];
        }
    }
}

static void run_lookup(void *context, ptrdiff_t task, int worker) {
    struct lookup_plan *plan = context;
    const ptrdiff_t n_tiles = (plan->n_rows + TILE_ROWS - 1) / TILE_ROWS, last = n_tiles * (task + 1) / plan->n_tasks;
    struct cell_tile tile = {0};
    int64_t listed[TILE_ROWS];
    (void)worker;
    if (!sefr_allocate_tile(&tile, plan->coder->n_columns)) atomic_store(&plan->error, NO_MEMORY);
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
            look_up_some(plan, &tile, n, out);
        }
        for (ptrdiff_t i = 0; tile.any_bad && i < n; i++) {
            for (ptrdiff_t c = 0; tile.bad[i] && c < plan->k; c++) out[i * plan->k + c] = NAN;
        }
    }
    sefr_free_tile(&tile);
}

enum outcome sefr_cell_scores(const struct table *x, const struct coder *coder, const double *table,
                              const double *intercept, ptrdiff_t k, const int64_t *rows, ptrdiff_t n_rows, double *out,
                              int n_threads) {
    struct lookup_plan plan = {.x = x, .coder = coder, .intercept = intercept, .k = k};
    plan.rows = rows, plan.n_rows = n_rows, plan.out = out;
    plan.cells = malloc((size_t)(coder->n_cells * k) * sizeof(double) + 1);
    if (!plan.cells) return NO_MEMORY;
    for (ptrdiff_t c = 0; c < k; c++) {
        for (ptrdiff_t i = 0; i < coder->n_cells; i++) plan.cells[i * k + c] = table[c * coder->n_cells + i];
    }
    const ptrdiff_t n_tasks = n_rows * coder->n_columns / 262144;
    plan.n_tasks = n_tasks < 1 ? 1 : n_tasks > 16 ? 16 : n_tasks;
    sefr_run_tasks(run_lookup, &plan, plan.n_tasks, n_threads);
    free(plan.cells);
    return (enum outcome)atomic_load(&plan.error);
}
