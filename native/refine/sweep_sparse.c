#include "refine/sweep.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "refine/loss.h"
#include "common/threads.h"

/* coef and the slopes are kept feature by feature (m x n_scores), so that an entry touches adjacent memory. */
struct sparse_sweep {
    const struct sparse *x;
    const struct grouping *by;
    const struct model *model;
    const double *fill;
    double *coef, *parts;
    ptrdiff_t n_tasks, part_size;
    atomic_int error;
};

static inline int64_t read_index(const void *indices, enum dtype type, ptrdiff_t i) {
    return type == I32 ? ((const volatile int32_t *)indices)[i] : ((const volatile int64_t *)indices)[i];
}

#define T float
#define I int32_t
#define PAIR F32_I32
#include "refine/sweep_sparse_kernel.inc"
#define T float
#define I int64_t
#define PAIR F32_I64
#include "refine/sweep_sparse_kernel.inc"
#define T double
#define I int32_t
#define PAIR F64_I32
#include "refine/sweep_sparse_kernel.inc"
#define T double
#define I int64_t
#define PAIR F64_I64
#include "refine/sweep_sparse_kernel.inc"
#define T int8_t
#define I int32_t
#define PAIR I8_I32
#include "refine/sweep_sparse_kernel.inc"
#define T int8_t
#define I int64_t
#define PAIR I8_I64
#include "refine/sweep_sparse_kernel.inc"
#define T uint8_t
#define I int32_t
#define PAIR U8_I32
#include "refine/sweep_sparse_kernel.inc"
#define T uint8_t
#define I int64_t
#define PAIR U8_I64
#include "refine/sweep_sparse_kernel.inc"
#define T int16_t
#define I int32_t
#define PAIR I16_I32
#include "refine/sweep_sparse_kernel.inc"
#define T int16_t
#define I int64_t
#define PAIR I16_I64
#include "refine/sweep_sparse_kernel.inc"
#define T uint16_t
#define I int32_t
#define PAIR U16_I32
#include "refine/sweep_sparse_kernel.inc"
#define T uint16_t
#define I int64_t
#define PAIR U16_I64
#include "refine/sweep_sparse_kernel.inc"
#define T int32_t
#define I int32_t
#define PAIR I32_I32
#include "refine/sweep_sparse_kernel.inc"
#define T int32_t
#define I int64_t
#define PAIR I32_I64
#include "refine/sweep_sparse_kernel.inc"
#define T uint32_t
#define I int32_t
#define PAIR U32_I32
#include "refine/sweep_sparse_kernel.inc"
#define T uint32_t
#define I int64_t
#define PAIR U32_I64
#include "refine/sweep_sparse_kernel.inc"
#define T int64_t
#define I int32_t
#define PAIR I64_I32
#include "refine/sweep_sparse_kernel.inc"
#define T int64_t
#define I int64_t
#define PAIR I64_I64
#include "refine/sweep_sparse_kernel.inc"
#define T uint64_t
#define I int32_t
#define PAIR U64_I32
#include "refine/sweep_sparse_kernel.inc"
#define T uint64_t
#define I int64_t
#define PAIR U64_I64
#include "refine/sweep_sparse_kernel.inc"

typedef bool score_row_function(const struct sparse_sweep *, int64_t, int64_t, double *);
typedef bool add_row_function(const struct sparse_sweep *, int64_t, int64_t, const float *, double *);

#define BOTH(name, tag) {name##_##tag##_I32, name##_##tag##_I64}
#define EACH(name)                                                                                            \
    {BOTH(name, F32), BOTH(name, F64), BOTH(name, I8),  BOTH(name, U8),  BOTH(name, I16),                     \
     BOTH(name, U16), BOTH(name, I32), BOTH(name, U32), BOTH(name, I64), BOTH(name, U64)}
static score_row_function *const score_row[N_DTYPES][2] = EACH(score_csr_row);
static add_row_function *const add_row[N_DTYPES][2] = EACH(add_csr_row);

/* One row: scored and added while it is in the cache. */
static enum outcome sweep_row(const struct sparse_sweep *plan, ptrdiff_t i, double *score, float *pull,
                              double *part) {
    const struct sparse *x = plan->x;
    const ptrdiff_t n_scores = plan->model->n_scores;
    const int wide = x->index_type == I64;
    int32_t code;
    double weight;
    if (!read_weighted_groups(plan->by, i, 1, &code, &weight)) return BAD_CODE;
    const int64_t begin = read_index(x->pointer, x->pointer_type, i), end = read_index(x->pointer, x->pointer_type, i + 1);
    if (begin < 0 || end < begin || end > x->n_entries) return BAD_POINTER;
    if (code < 0) return FINITE;
    weight *= plan->model->class_weights[code];
    memcpy(score, plan->model->intercept, (size_t)n_scores * sizeof *score);
    if (!score_row[x->type][wide](plan, begin, end, score)) return BAD_INDEX;
    struct answers answers = {1, 1, n_scores, &code, &weight, score};
    double *sums = part + n_scores * x->m;
    sums[n_scores] += weigh_answers(&answers, pull, sums);
    return add_row[x->type][wide](plan, begin, end, pull, part) ? FINITE : BAD_INDEX;
}

static void sweep_lines(void *context, ptrdiff_t task, int worker) {
    struct sparse_sweep *plan = context;
    const ptrdiff_t n = plan->x->n, n_scores = plan->model->n_scores;
    double *score = malloc((size_t)n_scores * sizeof *score);
    float *pull = malloc((size_t)n_scores * sizeof *pull);
    enum outcome outcome = score && pull ? FINITE : NO_MEMORY;
    (void)worker;
    for (ptrdiff_t i = n * task / plan->n_tasks; outcome == FINITE && i < n * (task + 1) / plan->n_tasks; i++) {
        outcome = sweep_row(plan, i, score, pull, plan->parts + task * plan->part_size);
    }
    if (outcome != FINITE) atomic_store(&plan->error, outcome);
    free(score);
    free(pull);
}

static void combine(const struct sparse_sweep *plan, const struct slope *out) {
    const ptrdiff_t m = plan->x->m, n_scores = plan->model->n_scores;
    double *total = plan->parts;
    for (ptrdiff_t i = 1; i < plan->n_tasks; i++) {
        const double *part = plan->parts + i * plan->part_size;
        for (ptrdiff_t j = 0; j < plan->part_size; j++) total[j] += part[j];
    }
    for (ptrdiff_t k = 0; k < n_scores; k++) {
        for (ptrdiff_t j = 0; j < m; j++) out->coef[k * m + j] = total[j * n_scores + k];
        out->intercept[k] = total[n_scores * m + k];
    }
    *out->loss = total[n_scores * m + n_scores];
}

enum outcome sweep_csr(const struct sparse *x, const struct grouping *by, const double *fill,
                       const struct model *model, const struct slope *out, int n_threads) {
    const ptrdiff_t m = x->m, n_scores = model->n_scores;
    /* a part may cost at most a quarter of reading its share of the entries */
    ptrdiff_t tasks = x->n_entries / 65536, limit = x->n_entries / (4 * m + 1);
    if (tasks > limit) tasks = limit;
    struct sparse_sweep plan = {.x = x, .by = by, .model = model, .fill = fill};
    plan.n_tasks = tasks < 1 ? 1 : tasks > 16 ? 16 : tasks;
    plan.part_size = n_scores * m + n_scores + 1;
    plan.coef = malloc((size_t)(n_scores * m) * sizeof *plan.coef + 1);
    plan.parts = calloc((size_t)(plan.n_tasks * plan.part_size), sizeof *plan.parts);
    enum outcome outcome = NO_MEMORY;
    if (plan.coef && plan.parts) {
        for (ptrdiff_t k = 0; k < n_scores; k++) {
            for (ptrdiff_t j = 0; j < m; j++) plan.coef[j * n_scores + k] = model->coef[k * m + j];
        }
        run_tasks(sweep_lines, &plan, plan.n_tasks, n_threads);
        outcome = (enum outcome)atomic_load(&plan.error);
        if (outcome == FINITE) combine(&plan, out);
    }
    free(plan.coef);
    free(plan.parts);
    return outcome;
}
