/* X'X of sparse rows: every pair of stored values of a row. A task has some of the rows of the result and looks at all
   rows of X, so that sums are added up in the same order for any number of threads. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/threads.h"
#include "moments/products.h"

enum { MOST_TASKS = 16, TASK_ENTRIES = 1 << 16 };

struct csr_plan {
    const struct sparse *x;
    const double *origin, *weights;
    double *sums, *squares;
    ptrdiff_t n_tasks;
    ptrdiff_t first[MOST_TASKS + 1]; /* the first column of each task: all have about as many products */
    atomic_int error;
};

/* A row in memory of its own. */
struct row {
    ptrdiff_t n;
    int64_t *columns;
    double *values;
};

#define KERNEL "moments/csr_kernel.inc"
#include "common/each_dtype.inc"

typedef bool read_row_function(const struct csr_plan *, int64_t, int64_t, struct row *);
static read_row_function *const read_row[N_DTYPES] = OF_EACH_DTYPE(read_row);

/* The values of the row from `at` on, times that one. */
static void add_products(const struct row *row, ptrdiff_t at, double weight, ptrdiff_t m, double *squares) {
    const double value = weight * row->values[at];
    double *to = squares + packed_row(m, row->columns[at]);
    for (ptrdiff_t b = at; b < row->n; b++) to[row->columns[b]] += value * row->values[b];
}

static void run_csr(void *context, ptrdiff_t task, int worker) {
    struct csr_plan *plan = context;
    const ptrdiff_t m = plan->x->m, first = plan->first[task], last = plan->first[task + 1];
    struct row row = {0, malloc((size_t)(m + 1) * sizeof(int64_t)), malloc((size_t)(m + 1) * sizeof(double))};
    (void)worker;
    if (!row.columns || !row.values) atomic_store(&plan->error, NO_MEMORY);
    for (ptrdiff_t i = 0; i < plan->x->n && !atomic_load(&plan->error); i++) {
        const double weight = plan->weights ? ((const volatile double *)plan->weights)[i] : 1.0;
        int64_t begin, end;
        if (!read_line(plan->x, i, &begin, &end)) {
            atomic_store(&plan->error, BAD_POINTER);
        } else if (!read_row[plan->x->type](plan, begin, end, &row)) {
            atomic_store(&plan->error, BAD_INDEX);
        } else if (weight != 0.0) {
            for (ptrdiff_t a = 0; a < row.n; a++) {
                if (row.columns[a] < first || row.columns[a] >= last) continue;
                plan->sums[row.columns[a]] += weight * row.values[a];
                add_products(&row, a, weight, m, plan->squares);
            }
        }
    }
    free(row.columns);
    free(row.values);
}

enum outcome sefr_products_csr(const struct sparse *x, const double *origin, const double *weights, double *sums,
                               double *squares, int n_threads) {
    struct csr_plan plan = {.x = x, .origin = origin, .weights = weights, .sums = sums, .squares = squares};
    plan.n_tasks = x->n_entries / TASK_ENTRIES;
    plan.n_tasks = plan.n_tasks < 1 ? 1 : plan.n_tasks > MOST_TASKS ? MOST_TASKS : plan.n_tasks;
    if (plan.n_tasks > n_threads) plan.n_tasks = n_threads; /* no bit depends on it */
    for (ptrdiff_t t = 1; t < plan.n_tasks; t++) {
        /* of m columns, those before m (1 - sqrt(1 - t / tasks)) have t / tasks of the triangle */
        plan.first[t] = (ptrdiff_t)((double)x->m * (1.0 - sqrt(1.0 - (double)t / (double)plan.n_tasks)));
    }
    plan.first[plan.n_tasks] = x->m;
    memset(sums, 0, (size_t)x->m * sizeof *sums);
    memset(squares, 0, (size_t)packed_size(x->m) * sizeof *squares);
    sefr_run_tasks(run_csr, &plan, plan.n_tasks, n_threads);
    const enum outcome outcome = (enum outcome)atomic_load(&plan.error);
    if (outcome != FINITE) return outcome;
    double zero = 0.0;
    for (ptrdiff_t i = 0; i < packed_size(x->m); i++) zero += squares[i] - squares[i];
    for (ptrdiff_t j = 0; j < x->m; j++) zero += sums[j] - sums[j];
    return zero == 0.0 ? FINITE : NOT_FINITE;
}
