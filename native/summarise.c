#include "table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "threads.h"

enum { ROW_BLOCK = 256, COLUMN_BLOCK = 4096 };

/* Sums over some of the rows. Where a fold has no value, low is +inf and high -inf. */
struct part {
    double *sums;       /* n_groups x m */
    double *counts;     /* n_groups */
    double *low, *high; /* n_folds x m */
    double *present;    /* n_groups x m, or NULL */
    double *seen;       /* n_folds: not 0 where the fold has a row */
};

/* Working memory of a row task, in the type of the table. */
struct range {
    void *low, *high, *row;
};

/* Rows of one group within a sorted block. */
struct segment {
    int32_t group, fold;
    ptrdiff_t begin, end;
};

struct block {
    ptrdiff_t n, n_segments;
    bool weighted;
    int32_t *order;
    const double *weight;
    struct segment *segments;
};

/* A row can be read in place: its values are adjacent and aligned. */
static bool rows_are_direct(const struct table *x) {
    const ptrdiff_t size = (ptrdiff_t)dtype_size(x->type);
    return (x->column_stride == size || x->m == 1) && x->row_stride % size == 0 &&
           (uintptr_t)x->data % (size_t)size == 0;
}

#define T float
#define TAG F32
#define LOWEST INFINITY
#define HIGHEST (-INFINITY)
#include "each_type.h"
#define T double
#define TAG F64
#define LOWEST INFINITY
#define HIGHEST (-INFINITY)
#include "each_type.h"
#define T int8_t
#define TAG I8
#define LOWEST INT8_MAX
#define HIGHEST INT8_MIN
#include "each_type.h"
#define T uint8_t
#define TAG U8
#define LOWEST UINT8_MAX
#define HIGHEST 0
#include "each_type.h"
#define T int16_t
#define TAG I16
#define LOWEST INT16_MAX
#define HIGHEST INT16_MIN
#include "each_type.h"
#define T uint16_t
#define TAG U16
#define LOWEST UINT16_MAX
#define HIGHEST 0
#include "each_type.h"
#define T int32_t
#define TAG I32
#define LOWEST INT32_MAX
#define HIGHEST INT32_MIN
#include "each_type.h"
#define T uint32_t
#define TAG U32
#define LOWEST UINT32_MAX
#define HIGHEST 0
#include "each_type.h"
#define T int64_t
#define TAG I64
#define LOWEST INT64_MAX
#define HIGHEST INT64_MIN
#include "each_type.h"
#define T uint64_t
#define TAG U64
#define LOWEST UINT64_MAX
#define HIGHEST 0
#include "each_type.h"

typedef void add_rows_function(const struct table *, const struct grouping *, ptrdiff_t, ptrdiff_t,
                               const struct part *, struct range, atomic_int *);
typedef void add_column_function(const struct column *, ptrdiff_t, const struct block *, const struct part *,
                                 ptrdiff_t, ptrdiff_t, void *);

static add_rows_function *const add_rows[N_DTYPES] = {add_rows_F32, add_rows_F64, add_rows_I8,  add_rows_U8,
                                                      add_rows_I16, add_rows_U16, add_rows_I32, add_rows_U32,
                                                      add_rows_I64, add_rows_U64};
static add_column_function *const add_column[N_DTYPES] = {
    add_column_F32, add_column_F64, add_column_I8,  add_column_U8,  add_column_I16,
    add_column_U16, add_column_I32, add_column_U32, add_column_I64, add_column_U64};

/* The work, cut into row chunks by the shape alone, so that the result is the same for any number of threads. */
struct plan {
    const struct table *x;
    const struct grouping *by;
    bool by_columns, with_present;
    ptrdiff_t n_chunks, part_size;
    int32_t n_folds;
    double *memory;
    atomic_int error;
};

static struct part get_part(const struct plan *plan, ptrdiff_t i) {
    const ptrdiff_t m = plan->x->m, n_groups = plan->by->n_groups;
    struct part part;
    part.sums = plan->memory + i * plan->part_size;
    part.counts = part.sums + n_groups * m;
    part.low = part.counts + n_groups;
    part.high = part.low + plan->n_folds * m;
    part.seen = part.high + plan->n_folds * m;
    part.present = plan->with_present ? part.seen + plan->n_folds : NULL;
    return part;
}

static ptrdiff_t chunk_start(const struct plan *plan, ptrdiff_t i) {
    /* whole row blocks, so that chunks of a long table are alike */
    ptrdiff_t n_blocks = (plan->x->n + ROW_BLOCK - 1) / ROW_BLOCK;
    ptrdiff_t start = n_blocks * i / plan->n_chunks * ROW_BLOCK;
    return start < plan->x->n ? start : plan->x->n;
}

static void run_rows(void *context, ptrdiff_t task, int worker) {
    struct plan *plan = context;
    const struct part part = get_part(plan, task);
    const size_t size = dtype_size(plan->x->type), m = (size_t)plan->x->m;
    (void)worker;
    char *memory = malloc((2 * (size_t)plan->n_folds + 1) * m * size + 1);
    if (!memory) {
        atomic_store(&plan->error, NO_MEMORY);
        return;
    }
    struct range range = {memory, memory + (size_t)plan->n_folds * m * size,
                          memory + 2 * (size_t)plan->n_folds * m * size};
    add_rows[plan->x->type](plan->x, plan->by, chunk_start(plan, task), chunk_start(plan, task + 1), &part, range,
                            &plan->error);
    free(memory);
}

/* Sort the rows of a block by group; order within a group is kept. `ends` has n_groups + 1 cells. */
static void sort_block(struct block *block, const int32_t *group, const struct grouping *by, int32_t *ends) {
    memset(ends, 0, ((size_t)by->n_groups + 1) * sizeof *ends);
    for (ptrdiff_t i = 0; i < block->n; i++) ends[group[i] + 1]++;
    /* rows left out come first, in 0 .. ends[0] */
    block->n_segments = 0;
    for (int32_t g = 0; g < by->n_groups; g++) {
        int32_t begin = ends[g];
        if (ends[g + 1]) {
            block->segments[block->n_segments++] =
                (struct segment){g, g / by->n_classes, begin, begin + ends[g + 1]};
        }
        ends[g + 1] += begin;
    }
    /* place from the back, so that ends[] become begins[] */
    for (ptrdiff_t i = block->n; i-- > 0;) block->order[--ends[group[i] + 1]] = (int32_t)i;
}

static void run_columns(void *context, ptrdiff_t task, int worker) {
    struct plan *plan = context;
    const struct table *x = plan->x;
    const struct grouping *by = plan->by;
    const struct part part = get_part(plan, task);
    const ptrdiff_t first = chunk_start(plan, task), last = chunk_start(plan, task + 1);
    ptrdiff_t size = by->n_groups > COLUMN_BLOCK ? by->n_groups : COLUMN_BLOCK;
    if (size > last - first) size = last - first;
    const ptrdiff_t most = size < by->n_groups ? size : by->n_groups;
    struct block block = {.weighted = by->weights != NULL};
    int32_t *group = malloc((size_t)size * sizeof *group + 1), *ends = malloc(((size_t)by->n_groups + 1) * sizeof *ends);
    double *weight = malloc((size_t)size * sizeof *weight + 1), *scratch = malloc((size_t)size * sizeof *scratch + 1);
    block.order = malloc((size_t)size * sizeof *block.order + 1);
    block.segments = malloc((size_t)most * sizeof *block.segments + 1);
    block.weight = weight;
    (void)worker;
    for (ptrdiff_t i = 0; i < plan->n_folds * x->m; i++) part.low[i] = INFINITY, part.high[i] = -INFINITY;
    if (!group || !ends || !weight || !scratch || !block.order || !block.segments) {
        atomic_store(&plan->error, NO_MEMORY);
    } else {
        for (ptrdiff_t start = first; start < last; start += size) {
            block.n = last - start < size ? last - start : size;
            if (!read_weighted_groups(by, start, block.n, group, weight)) {
                atomic_store(&plan->error, BAD_CODE);
                break;
            }
            sort_block(&block, group, by, ends);
            for (ptrdiff_t i = 0; i < block.n; i++) {
                if (group[i] >= 0) part.counts[group[i]] += weight[i];
            }
            for (ptrdiff_t j = 0; j < x->m; j++) {
                struct column column = {x->data + j * x->column_stride, x->row_stride, x->type};
                if (x->columns) column = x->columns[j];
                add_column[column.type](&column, start, &block, &part, j, x->m, scratch);
            }
        }
    }
    free(group);
    free(ends);
    free(weight);
    free(scratch);
    free(block.order);
    free(block.segments);
}

static void combine(const struct plan *plan, const struct totals *out) {
    const ptrdiff_t m = plan->x->m, n_groups = plan->by->n_groups;
    memset(out->sums, 0, (size_t)(n_groups * m) * sizeof(double));
    memset(out->counts, 0, (size_t)n_groups * sizeof(double));
    if (out->present) memset(out->present, 0, (size_t)(n_groups * m) * sizeof(double));
    for (ptrdiff_t i = 0; i < plan->n_folds * m; i++) out->low[i] = INFINITY, out->high[i] = -INFINITY;
    for (ptrdiff_t k = 0; k < plan->n_chunks; k++) {
        const struct part part = get_part(plan, k);
        for (ptrdiff_t i = 0; i < n_groups * m; i++) out->sums[i] += part.sums[i];
        for (ptrdiff_t i = 0; i < n_groups; i++) out->counts[i] += part.counts[i];
        for (ptrdiff_t i = 0; i < plan->n_folds * m; i++) {
            if (part.low[i] < out->low[i]) out->low[i] = part.low[i];
            if (part.high[i] > out->high[i]) out->high[i] = part.high[i];
        }
        for (ptrdiff_t i = 0; out->present && i < n_groups * m; i++) out->present[i] += part.present[i];
    }
}

static enum outcome check_finite(const struct totals *out, ptrdiff_t n_sums, ptrdiff_t n_groups) {
    /* x - x is 0 for a finite x and NaN otherwise */
    double zero = 0.0;
    for (ptrdiff_t i = 0; i < n_sums; i++) zero += out->sums[i] - out->sums[i];
    for (ptrdiff_t i = 0; i < n_groups; i++) zero += out->counts[i] - out->counts[i];
    return zero == 0.0 ? FINITE : NOT_FINITE;
}

enum outcome summarise(const struct table *x, const struct grouping *by, const struct totals *out, int n_threads) {
    const ptrdiff_t n_folds = by->n_groups / by->n_classes;
    struct plan plan = {.x = x, .by = by, .with_present = out->present != NULL, .n_folds = (int32_t)n_folds};
    const ptrdiff_t row_step = x->row_stride < 0 ? -x->row_stride : x->row_stride;
    const ptrdiff_t column_step = x->column_stride < 0 ? -x->column_stride : x->column_stride;
    plan.by_columns = x->columns || (x->m > 1 && row_step < column_step);
    ptrdiff_t chunks = x->n / 4096, limit = x->n / (64 * by->n_groups + 1);
    if (chunks > 16) chunks = 16;
    if (chunks > limit) chunks = limit;
    plan.n_chunks = chunks < 1 ? 1 : chunks;
    plan.part_size = by->n_groups * x->m * (out->present ? 2 : 1) + by->n_groups + 2 * n_folds * x->m + n_folds;
    plan.memory = calloc((size_t)(plan.n_chunks * plan.part_size) + 1, sizeof(double));
    if (!plan.memory) return NO_MEMORY;
    run_tasks(plan.by_columns ? run_columns : run_rows, &plan, plan.n_chunks, n_threads);
    enum outcome outcome = (enum outcome)atomic_load(&plan.error);
    if (outcome == FINITE) {
        combine(&plan, out);
        outcome = check_finite(out, by->n_groups * x->m, by->n_groups);
    }
    free(plan.memory);
    return outcome;
}
