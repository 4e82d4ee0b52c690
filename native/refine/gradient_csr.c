#include "refine/gradient.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "common/threads.h"

/* coef and the gradients are kept feature by feature (m x n_scores), so that an entry touches adjacent memory. */
struct csr_plan {
    const struct sparse *x;
    const struct grouping *by;
    const struct model *model;
    const struct task *task;
    const double *fill;
    double *coef, *parts;
    ptrdiff_t n_tasks, part_size;
    atomic_int error;
};

#define INDEX int32_t
#define PAIR(name, tag) JOIN(JOIN(name, 32), tag)
#define KERNEL "refine/gradient_csr_kernel.inc"
#include "common/each_dtype.inc"
#undef INDEX
#undef PAIR
#define INDEX int64_t
#define PAIR(name, tag) JOIN(JOIN(name, 64), tag)
#define KERNEL "refine/gradient_csr_kernel.inc"
#include "common/each_dtype.inc"

typedef bool score_row_function(const struct csr_plan *, int64_t, int64_t, double *);
typedef bool add_row_function(const struct csr_plan *, int64_t, int64_t, const float *, double *);

static score_row_function *const score_row[2][N_DTYPES] = {OF_EACH_DTYPE(score_csr_row_32),
                                                           OF_EACH_DTYPE(score_csr_row_64)};
static add_row_function *const add_row[2][N_DTYPES] = {OF_EACH_DTYPE(add_csr_row_32), OF_EACH_DTYPE(add_csr_row_64)};

/* One row: scored and added while it is in the cache. */
static enum outcome add_gradient_of_row(const struct csr_plan *plan, ptrdiff_t i, double *score, float *residual,
                                        double *part) {
    const struct sparse *x = plan->x;
    const ptrdiff_t n_scores = plan->model->n_scores;
    const int wide = x->index_type == I64;
    int32_t code;
    double weight;
    if (!read_weighted_groups(plan->by, i, 1, &code, &weight)) return BAD_CODE;
    int64_t begin, end;
    if (!read_line(x, i, &begin, &end)) return BAD_POINTER;
    if (code < 0) return FINITE;
    weight *= plan->model->class_weights[code];
    memcpy(score, plan->model->intercept, (size_t)n_scores * sizeof *score);
    if (!score_row[wide][x->type](plan, begin, end, score)) return BAD_INDEX;
    const double *target = plan->task->targets ? plan->task->targets + i * n_scores : NULL;
    const struct scored_rows scored = {plan->task->loss, 1, 1, n_scores, &code, &weight, score, target};
    double *sums = part + n_scores * x->m;
    sums[n_scores] += sefr_loss(&scored, residual, sums);
    return add_row[wide][x->type](plan, begin, end, residual, part) ? FINITE : BAD_INDEX;
}

static void run_csr_rows(void *context, ptrdiff_t task, int worker) {
    struct csr_plan *plan = context;
    const ptrdiff_t n = plan->x->n, n_scores = plan->model->n_scores;
    double *score = malloc((size_t)n_scores * sizeof *score);
    float *residual = malloc((size_t)n_scores * sizeof *residual);
    enum outcome outcome = score && residual ? FINITE : NO_MEMORY;
    (void)worker;
    for (ptrdiff_t i = n * task / plan->n_tasks; outcome == FINITE && i < n * (task + 1) / plan->n_tasks; i++) {
        outcome = add_gradient_of_row(plan, i, score, residual, plan->parts + task * plan->part_size);
    }
    if (outcome != FINITE) atomic_store(&plan->error, outcome);
    free(score);
    free(residual);
}

static void combine(const struct csr_plan *plan, const struct gradient *out) {
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

enum outcome sefr_gradient_csr(const struct sparse *x, const struct grouping *by, const double *fill,
                               const struct model *model, const struct task *task, const struct gradient *out,
                               int n_threads) {
    const ptrdiff_t m = x->m, n_scores = model->n_scores;
    /* a part may cost at most a quarter of reading its share of the entries */
    ptrdiff_t tasks = x->n_entries / 65536, limit = x->n_entries / (4 * m + 1);
    if (tasks > limit) tasks = limit;
    struct csr_plan plan = {.x = x, .by = by, .model = model, .task = task, .fill = fill};
    plan.n_tasks = tasks < 1 ? 1 : tasks > 16 ? 16 : tasks;
    plan.part_size = n_scores * m + n_scores + 1;
    plan.coef = malloc((size_t)(n_scores * m) * sizeof *plan.coef + 1);
    plan.parts = calloc((size_t)(plan.n_tasks * plan.part_size), sizeof *plan.parts);
    enum outcome outcome = NO_MEMORY;
    if (plan.coef && plan.parts) {
        for (ptrdiff_t k = 0; k < n_scores; k++) {
            for (ptrdiff_t j = 0; j < m; j++) plan.coef[j * n_scores + k] = model->coef[k * m + j];
        }
        sefr_run_tasks(run_csr_rows, &plan, plan.n_tasks, n_threads);
        outcome = (enum outcome)atomic_load(&plan.error);
        if (outcome == FINITE) combine(&plan, out);
    }
    free(plan.coef);
    free(plan.parts);
    return outcome;
}
