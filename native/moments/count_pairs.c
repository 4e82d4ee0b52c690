/* Rows counted per pair of cells: a two-way histogram per pair of columns, which stays in the L1 cache (in L2 where
   columns have many cells) while a block of rows is counted into it. A block is coded first, column by column. Without
   weights counts are whole, and exact below 2^53. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/threads.h"
#include "moments/products.h"

enum {
    BLOCK_ROWS = 1 << 15, /* a count of a block fits in 16 bits, and a column of it in the L1 cache */
    CODE_TILES = 8,       /* coded by one task */
    TOGETHER = 4,         /* histograms that are counted into in turn: none waits for its count before */
    CHUNK = TILE_ROWS,    /* rows whose places are found before they are counted */
};

/* The memory of one worker. */
struct bench {
    struct cell_tile tile;
    void *tables; /* TOGETHER histograms, uint16 or double */
};

struct pairs_plan {
    const struct table *x;
    const struct coder *coder;
    const double *weights;
    double *pairs;
    ptrdiff_t n_groups; /* of at most TOGETHER columns: a task has one column and such a group */
    ptrdiff_t table_size;
    struct bench *benches;
    uint8_t *cells;        /* columns x BLOCK_ROWS */
    double *block_weights; /* BLOCK_ROWS, where there are weights */
    ptrdiff_t first, n;    /* the rows of the block */
    atomic_int error;
};

static void code_rows(void *context, ptrdiff_t task, int worker) {
    struct pairs_plan *plan = context;
    struct cell_tile *tile = &plan->benches[worker].tile;
    const ptrdiff_t end = (task + 1) * CODE_TILES * TILE_ROWS, last = end < plan->n ? end : plan->n;
    for (ptrdiff_t at = task * CODE_TILES * TILE_ROWS; at < last; at += TILE_ROWS) {
        const ptrdiff_t n = last - at < TILE_ROWS ? last - at : TILE_ROWS;
        if (!sefr_code_tile(plan->coder, plan->x, NULL, plan->first + at, n, tile))
            atomic_store(&plan->error, BAD_CELL);
        if (atomic_load(&plan->error)) return;
        for (ptrdiff_t j = 0; j < plan->coder->n_columns; j++) {
            memcpy(plan->cells + j * BLOCK_ROWS + at, tile->cells + j * TILE_ROWS, (size_t)n);
        }
        for (ptrdiff_t i = 0; plan->weights && i < n; i++) {
            plan->block_weights[at + i] = ((const volatile double *)plan->weights)[plan->first + at + i];
        }
        for (ptrdiff_t i = 0; tile->any_bad && i < n; i++) {
            if (!tile->bad[i] || (plan->weights && plan->block_weights[at + i] == 0.0)) continue;
            atomic_store(&plan->error, NOT_FINITE);
        }
    }
}

/* Some columns beside one: table t has the pairs (a, b) at a << shift[t] | b. */
struct pair_group {
    ptrdiff_t n;
    const uint8_t *one, *others[TOGETHER];
    const double *weights;
    int shift[TOGETHER];
};

CLONES static void find_places(const uint8_t *restrict one, const uint8_t *restrict other, int shift,
                               uint16_t *restrict places) {
    for (ptrdiff_t i = 0; i < CHUNK; i++) places[i] = (uint16_t)((uint16_t)one[i] << shift | other[i]);
}

#define DEFINE_COUNT(name, T, step)                                                                                  \
    static void name(const struct pair_group *group, T *tables, ptrdiff_t table_size) {                              \
        T *const t0 = tables, *const t1 = t0 + table_size, *const t2 = t1 + table_size, *const t3 = t2 + table_size; \
        uint16_t at[TOGETHER][CHUNK];                                                                                \
        for (ptrdiff_t i = 0; i < group->n; i += CHUNK) {                                                            \
            const ptrdiff_t n = group->n - i < CHUNK ? group->n - i : CHUNK;                                         \
            for (int t = 0; t < TOGETHER; t++)                                                                       \
                find_places(group->one + i, group->others[t] + i, group->shift[t], at[t]);                           \
            for (ptrdiff_t r = 0; r < n; r++) {                                                                      \
                t0[at[0][r]] += step, t1[at[1][r]] += step, t2[at[2][r]] += step, t3[at[3][r]] += step;              \
            }                                                                                                        \
        }                                                                                                            \
    }
DEFINE_COUNT(count_rows, uint16_t, 1)
DEFINE_COUNT(count_weights, double, group->weights[i + r])

/* How far numbers of cells of a column are shifted beside it. */
static int shift_of(const struct feature *feature) {
    int shift = 0;
    while (1 << shift < feature->n) shift++;
    return shift;
}

static void add_table(const struct pairs_plan *plan, const struct feature *one, const struct feature *other,
                      const void *tables, ptrdiff_t at) {
    const ptrdiff_t n_cells = plan->coder->n_cells;
    const int shift = shift_of(other);
    for (int32_t a = 0; a < one->n; a++) {
        double *to = plan->pairs + packed_row(n_cells, one->first + a) + other->first;
        if (plan->weights) {
            const double *from = (const double *)tables + at + ((ptrdiff_t)a << shift);
            for (int32_t b = one == other ? a : 0; b < other->n; b++) to[b] += from[b];
        } else {
            const uint16_t *from = (const uint16_t *)tables + at + ((ptrdiff_t)a << shift);
            for (int32_t b = one == other ? a : 0; b < other->n; b++) to[b] += from[b];
        }
    }
}

/* Column `task / n_groups` beside up to TOGETHER of those from itself on; a group that has fewer counts its last again,
   into a table that is not added. */
static void count_group(void *context, ptrdiff_t task, int worker) {
    struct pairs_plan *plan = context;
    const struct coder *coder = plan->coder;
    const ptrdiff_t i = task / plan->n_groups, first = i + task % plan->n_groups * TOGETHER;
    const ptrdiff_t left = coder->n_columns - first, n = left < TOGETHER ? left : TOGETHER;
    if (n <= 0) return;
    struct pair_group group = {.n = plan->n, .one = plan->cells + i * BLOCK_ROWS, .weights = plan->block_weights};
    for (ptrdiff_t t = 0; t < TOGETHER; t++) {
        const ptrdiff_t j = first + (t < n ? t : n - 1);
        group.others[t] = plan->cells + j * BLOCK_ROWS;
        group.shift[t] = shift_of(&coder->features[j]);
    }
    void *tables = plan->benches[worker].tables;
    const size_t size = plan->weights ? sizeof(double) : sizeof(uint16_t);
    for (ptrdiff_t t = 0; t < TOGETHER; t++) {
        const size_t used = (size_t)coder->features[i].n << group.shift[t];
        memset((char *)tables + (size_t)(t * plan->table_size) * size, 0, used * size);
    }
    if (plan->weights) {
        count_weights(&group, tables, plan->table_size);
    } else {
        count_rows(&group, tables, plan->table_size);
    }
    for (ptrdiff_t t = 0; t < n; t++) {
        add_table(plan, &coder->features[i], &coder->features[first + t], tables, t * plan->table_size);
    }
}

static bool allocate(struct pairs_plan *plan, int n_workers) {
    const size_t size = (size_t)(TOGETHER * plan->table_size) * (plan->weights ? sizeof(double) : sizeof(uint16_t));
    plan->cells = calloc((size_t)plan->coder->n_columns * BLOCK_ROWS + 1, 1);
    plan->block_weights = plan->weights ? malloc(BLOCK_ROWS * sizeof(double)) : NULL;
    plan->benches = calloc((size_t)n_workers, sizeof *plan->benches);
    if (!plan->cells || !plan->benches || (plan->weights && !plan->block_weights)) return false;
    for (int w = 0; w < n_workers; w++) {
        plan->benches[w].tables = malloc(size);
        if (!plan->benches[w].tables || !sefr_allocate_tile(&plan->benches[w].tile, plan->coder->n_columns))
            return false;
    }
    return true;
}

enum outcome sefr_count_pairs(const struct table *x, const struct coder *coder, const double *weights, double *pairs,
                              int n_threads) {
    struct pairs_plan plan = {.x = x, .coder = coder, .weights = weights, .pairs = pairs};
    const int n_workers = n_threads < MOST_THREADS ? n_threads : MOST_THREADS;
    int widest = 0;
    for (ptrdiff_t j = 0; j < coder->n_columns; j++) {
        const int shift = shift_of(&coder->features[j]);
        widest = shift > widest ? shift : widest;
    }
    plan.table_size = (ptrdiff_t)1 << 2 * widest;
    plan.n_groups = (coder->n_columns + TOGETHER - 1) / TOGETHER;
    memset(pairs, 0, (size_t)packed_size(coder->n_cells) * sizeof *pairs);
    if (!allocate(&plan, n_workers)) atomic_store(&plan.error, NO_MEMORY);
    for (; plan.first < x->n && !atomic_load(&plan.error); plan.first += BLOCK_ROWS) {
        const ptrdiff_t left = x->n - plan.first, per_task = CODE_TILES * TILE_ROWS;
        plan.n = left < BLOCK_ROWS ? left : BLOCK_ROWS;
        sefr_run_tasks(code_rows, &plan, (plan.n + per_task - 1) / per_task, n_workers);
        if (atomic_load(&plan.error)) break;
        sefr_run_tasks(count_group, &plan, coder->n_columns * plan.n_groups, n_workers);
    }
    for (int w = 0; plan.benches && w < n_workers; w++) {
        sefr_free_tile(&plan.benches[w].tile);
        free(plan.benches[w].tables);
    }
    free(plan.benches);
    free(plan.cells);
    free(plan.block_weights);
    return (enum outcome)atomic_load(&plan.error);
}
