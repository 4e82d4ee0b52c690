/* Summarise columns: Fortran order, or one buffer a column. */
#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "parts.h"
#include "threads.h"

/* Rows of a block: its order and groups stay in the L1 cache while the columns pass by. */
enum { COLUMN_BLOCK = 2048 };

/* Up to here a group is summed by looking at every row. */
enum { FEW_GROUPS = 3 };

/* Rows of one group within a sorted block. */
struct segment {
    int32_t group, fold;
    ptrdiff_t begin, end;
};

struct block {
    ptrdiff_t n, n_segments;
    bool weighted;
    bool one_fold; /* every row is in, and all in one fold */
    int32_t *order, *group, *ends;
    double *weight;
    struct segment *segments;
    void *scratch, *lows, *highs;
    double *values;
    int64_t *masks; /* FEW_GROUPS x size: all ones where the row is of the segment's group */
    ptrdiff_t size;
};

typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t quad_mask __attribute__((vector_size(32), aligned(8), may_alias));

/* The sum of the values whose mask is set. The bits are masked, not the numbers: 0 times NaN is not 0. */
INLINE double sum_masked(const double *values, const int64_t *masks, ptrdiff_t n) {
    quad a = {0}, b = {0}, c = {0}, d = {0};
    double sum = 0.0;
    ptrdiff_t j = 0;
    for (; j + 16 <= n; j += 16) {
        a += (quad)(*(const quad_mask *)(values + j) & *(const quad_mask *)(masks + j));
        b += (quad)(*(const quad_mask *)(values + j + 4) & *(const quad_mask *)(masks + j + 4));
        c += (quad)(*(const quad_mask *)(values + j + 8) & *(const quad_mask *)(masks + j + 8));
        d += (quad)(*(const quad_mask *)(values + j + 12) & *(const quad_mask *)(masks + j + 12));
    }
    for (; j < n; j++) sum += masks[j] ? values[j] : 0.0;
    a = (a + b) + (c + d);
    return sum + ((a[0] + a[1]) + (a[2] + a[3]));
}

#define KERNEL "columns_kernel.h"
#include "each_dtype.h"

typedef void add_column_function(const struct column *, ptrdiff_t, const struct block *, const struct part *,
                                 ptrdiff_t, ptrdiff_t, void *);
static add_column_function *const add_column[N_DTYPES] = OF_EACH_DTYPE(add_column);

/* Sort the rows of a block by group; order within a group is kept. Rows left out come first. */
static void sort_block(struct block *block, const struct grouping *by) {
    int32_t *ends = block->ends;
    memset(ends, 0, ((size_t)by->n_groups + 1) * sizeof *ends);
    for (ptrdiff_t i = 0; i < block->n; i++) ends[block->group[i] + 1]++;
    block->n_segments = 0;
    block->one_fold = ends[0] == 0;
    for (int32_t g = 0; g < by->n_groups; g++) {
        const int32_t begin = ends[g];
        if (ends[g + 1]) {
            struct segment *segment = &block->segments[block->n_segments++];
            *segment = (struct segment){g, g / by->n_classes, begin, begin + ends[g + 1]};
            if (segment->fold != block->segments[0].fold) block->one_fold = false;
        }
        ends[g + 1] += begin;
    }
    for (ptrdiff_t i = block->n; i-- > 0;) block->order[--ends[block->group[i] + 1]] = (int32_t)i;
    if (block->n_segments == 0) block->one_fold = false;
    for (ptrdiff_t s = 0; block->n_segments <= FEW_GROUPS && s < block->n_segments; s++) {
        for (ptrdiff_t i = 0; i < block->n; i++) {
            block->masks[s * block->size + i] = -(int64_t)(block->group[i] == block->segments[s].group);
        }
    }
}

static bool allocate_block(struct block *block, ptrdiff_t size, ptrdiff_t n_groups) {
    block->group = malloc((size_t)size * sizeof *block->group + 1);
    block->ends = malloc(((size_t)n_groups + 1) * sizeof *block->ends);
    block->weight = malloc((size_t)size * sizeof *block->weight + 1);
    block->scratch = malloc((size_t)size * sizeof(double) + 1);
    block->lows = malloc((size_t)size * sizeof(double) + 1);
    block->highs = malloc((size_t)size * sizeof(double) + 1);
    block->values = malloc((size_t)size * sizeof(double) + 1);
    block->masks = malloc((size_t)size * FEW_GROUPS * sizeof *block->masks + 1);
    block->size = size;
    block->order = malloc((size_t)size * sizeof *block->order + 1);
    block->segments = malloc((size_t)smaller(size, n_groups) * sizeof *block->segments + 1);
    return block->group && block->ends && block->weight && block->scratch && block->lows && block->highs && block->values && block->masks &&
           block->order && block->segments;
}

static void free_block(struct block *block) {
    free(block->group);
    free(block->ends);
    free(block->weight);
    free(block->scratch);
    free(block->lows);
    free(block->highs);
    free(block->values);
    free(block->masks);
    free(block->order);
    free(block->segments);
}

static void add_block(const struct pass *pass, ptrdiff_t start, struct block *block, const struct part *part) {
    const struct table *x = pass->x;
    sort_block(block, pass->by);
    for (ptrdiff_t i = 0; i < block->n; i++) {
        if (block->group[i] >= 0) part->counts[block->group[i]] += block->weight[i];
    }
    for (ptrdiff_t j = 0; j < x->m; j++) {
        struct column column = {x->data + j * x->column_stride, x->row_stride, x->type};
        if (x->columns) column = x->columns[j];
        add_column[column.type](&column, start, block, part, j, x->m, block->scratch);
    }
}

static void run_columns(void *context, ptrdiff_t task, int worker) {
    struct pass *pass = context;
    const struct part part = get_part(pass, task);
    const ptrdiff_t first = part_start(pass, task), last = part_start(pass, task + 1);
    /* sorting costs a step per group, so a block has at least as many rows */
    const ptrdiff_t size = smaller(last - first, larger(COLUMN_BLOCK, pass->by->n_groups));
    struct block block = {.weighted = pass->by->weights != NULL};
    (void)worker;
    for (ptrdiff_t i = 0; i < pass->n_folds * pass->x->m; i++) part.low[i] = INFINITY, part.high[i] = -INFINITY;
    if (!allocate_block(&block, size, pass->by->n_groups)) {
        atomic_store(&pass->error, NO_MEMORY);
    } else {
        for (ptrdiff_t start = first; start < last; start += size) {
            block.n = smaller(size, last - start);
            if (!read_weighted_groups(pass->by, start, block.n, block.group, block.weight)) {
                atomic_store(&pass->error, BAD_CODE);
                break;
            }
            add_block(pass, start, &block, &part);
        }
    }
    free_block(&block);
}

enum outcome summarise_columns(const struct table *x, const struct grouping *by, const struct totals *out,
                               int n_threads) {
    struct pass pass = {.x = x, .by = by, .with_present = out->present != NULL};
    if (!begin_pass(&pass, 16, COLUMN_BLOCK)) return NO_MEMORY;
    run_tasks(run_columns, &pass, pass.n_parts, n_threads);
    return end_pass(&pass, out);
}
