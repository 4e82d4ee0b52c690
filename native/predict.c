#include "table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"

#define KERNEL "predict_kernel.h"
#include "each_dtype.h"

typedef void score_row_function(const struct table *, ptrdiff_t, bool, const double *, const double *, ptrdiff_t,
                                double *, void *);
static score_row_function *const score_row[N_DTYPES] = OF_EACH_DTYPE(score_row);

struct score_plan {
    const struct table *x;
    const double *coef, *intercept;
    const int64_t *rows;
    ptrdiff_t n_rows, k, n_tasks;
    double *out;
    bool direct;
    atomic_int error;
};

static void run_scores(void *context, ptrdiff_t task, int worker) {
    struct score_plan *plan = context;
    const struct table *x = plan->x;
    const ptrdiff_t first = plan->n_rows * task / plan->n_tasks, last = plan->n_rows * (task + 1) / plan->n_tasks;
    void *scratch = plan->direct ? NULL : malloc((size_t)x->m * 8 + 1);
    (void)worker;
    if (!plan->direct && !scratch) {
        atomic_store(&plan->error, NO_MEMORY);
        return;
    }
    for (ptrdiff_t i = first; i < last; i++) {
        int64_t row = plan->rows ? ((const volatile int64_t *)plan->rows)[i] : i;
        if (row < 0 || row >= x->n) {
            atomic_store(&plan->error, BAD_ROW);
            break;
        }
        score_row[x->type](x, (ptrdiff_t)row, plan->direct, plan->coef, plan->intercept, plan->k,
                           plan->out + i * plan->k, scratch);
    }
    free(scratch);
}

enum outcome scores(const struct table *x, const double *coef, const double *intercept, ptrdiff_t k,
                    const int64_t *rows, ptrdiff_t n_rows, double *out, int n_threads) {
    const ptrdiff_t size = (ptrdiff_t)dtype_size(x->type);
    ptrdiff_t tasks = n_rows * x->m / 65536;
    if (tasks > 64) tasks = 64;
    if (tasks < 1) tasks = 1;
    struct score_plan plan = {.x = x, .coef = coef, .intercept = intercept, .rows = rows, .n_rows = n_rows, .k = k,
                              .n_tasks = tasks, .out = out};
    plan.direct = (x->column_stride == size || x->m == 1) && x->row_stride % size == 0 &&
                  (uintptr_t)x->data % (size_t)size == 0;
    for (ptrdiff_t i = 0; rows && i < n_rows; i++) {
        if (rows[i] < 0 || rows[i] >= x->n) return BAD_ROW;
    }
    run_tasks(run_scores, &plan, tasks, n_threads);
    return (enum outcome)atomic_load(&plan.error);
}
