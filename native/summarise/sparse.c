#include "common/table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "common/threads.h"

/* The stored values of one column within one fold. The zeros that are not stored are added at the end. */
struct cell {
    double low, high;
    int64_t n;
};

/* The values of one column and group that are NaN, where NaN is missing. */
struct absence {
    double weight, n;
};

struct sparse_part {
    double *sums, *counts, *rows; /* rows: how many, whatever their weight */
    struct cell *cells;
    struct absence *missing;
};

struct sparse_plan {
    const struct sparse *x;
    const struct grouping *by;
    ptrdiff_t n_lines, n_tasks;
    bool by_rows;
    struct sparse_part *parts; /* one per task by rows, one in all by columns */
    ptrdiff_t n_parts;
    atomic_int error;
};

#define INDEX int32_t
#define PAIR(name, tag) JOIN(JOIN(name, 32), tag)
#define KERNEL "summarise/sparse_kernel.inc"
#include "common/each_dtype.inc"
#undef INDEX
#undef PAIR
#define INDEX int64_t
#define PAIR(name, tag) JOIN(JOIN(name, 64), tag)
#define KERNEL "summarise/sparse_kernel.inc"
#include "common/each_dtype.inc"

typedef void add_lines_function(struct sparse_plan *, ptrdiff_t, ptrdiff_t, const struct sparse_part *);

static add_lines_function *const add_csr[2][N_DTYPES] = {OF_EACH_DTYPE(add_csr_32), OF_EACH_DTYPE(add_csr_64)};
static add_lines_function *const add_csc[2][N_DTYPES] = {OF_EACH_DTYPE(add_csc_32), OF_EACH_DTYPE(add_csc_64)};

static void run_lines(void *context, ptrdiff_t task, int worker) {
    struct sparse_plan *plan = context;
    const ptrdiff_t first = plan->n_lines * task / plan->n_tasks, last = plan->n_lines * (task + 1) / plan->n_tasks;
    const int wide = plan->x->index_type == I64;
    (void)worker;
    if (plan->by_rows) {
        add_csr[wide][plan->x->type](plan, first, last, &plan->parts[task]);
    } else {
        add_csc[wide][plan->x->type](plan, first, last, &plan->parts[0]);
    }
}

static bool allocate_part(struct sparse_part *part, const struct sparse_plan *plan, bool with_missing) {
    const size_t m = (size_t)plan->x->m, n_groups = (size_t)plan->by->n_groups;
    const size_t n_cells = n_groups / (size_t)plan->by->n_classes * m;
    part->sums = calloc(n_groups * m + 1, sizeof *part->sums);
    part->counts = calloc(n_groups, sizeof *part->counts);
    part->rows = calloc(n_groups, sizeof *part->rows);
    part->cells = malloc((n_cells + 1) * sizeof *part->cells);
    part->missing = with_missing ? calloc(n_groups * m + 1, sizeof *part->missing) : NULL;
    if (!part->sums || !part->counts || !part->rows || !part->cells || (with_missing && !part->missing)) return false;
    for (size_t i = 0; i < n_cells; i++) part->cells[i] = (struct cell){INFINITY, -INFINITY, 0};
    return true;
}

/* Add a part to the first one. */
static void merge_part(const struct sparse_part *to, const struct sparse_part *from, ptrdiff_t n_groups,
                       ptrdiff_t n_cells, ptrdiff_t m) {
    for (ptrdiff_t i = 0; i < n_groups * m; i++) to->sums[i] += from->sums[i];
    for (ptrdiff_t i = 0; i < n_groups; i++) to->counts[i] += from->counts[i], to->rows[i] += from->rows[i];
    for (ptrdiff_t i = 0; i < n_cells; i++) {
        if (from->cells[i].low < to->cells[i].low) to->cells[i].low = from->cells[i].low;
        if (from->cells[i].high > to->cells[i].high) to->cells[i].high = from->cells[i].high;
        to->cells[i].n += from->cells[i].n;
    }
    for (ptrdiff_t i = 0; to->missing && i < n_groups * m; i++) {
        to->missing[i].weight += from->missing[i].weight;
        to->missing[i].n += from->missing[i].n;
    }
}

/* Write the totals; where a fold has more rows than stored values in a column, 0 is one of its values. */
static enum outcome finish(const struct sparse_part *part, const struct grouping *by, ptrdiff_t m,
                           const struct totals *out) {
    double zero = 0.0;
    for (ptrdiff_t g = 0; g < by->n_groups; g++) {
        out->counts[g] = part->counts[g];
        zero += out->counts[g] - out->counts[g];
        for (ptrdiff_t j = 0; j < m; j++) {
            const ptrdiff_t i = g * m + j;
            out->sums[i] = part->sums[i];
            zero += part->sums[i] - part->sums[i];
            if (!out->present) continue;
            /* exactly 0, not a rounding error, where all are missing */
            out->present[i] = part->missing[i].n == part->rows[g] ? 0.0 : part->counts[g] - part->missing[i].weight;
        }
    }
    for (ptrdiff_t fold = 0; fold < by->n_groups / by->n_classes; fold++) {
        double rows = 0.0;
        for (ptrdiff_t k = 0; k < by->n_classes; k++) rows += part->rows[fold * by->n_classes + k];
        for (ptrdiff_t i = fold * m; i < (fold + 1) * m; i++) {
            const struct cell *cell = &part->cells[i];
            const bool zeros = rows > (double)cell->n;
            out->low[i] = zeros && cell->low > 0.0 ? 0.0 : cell->low;
            out->high[i] = zeros && cell->high < 0.0 ? 0.0 : cell->high;
        }
    }
    return zero == 0.0 ? FINITE : NOT_FINITE;
}

static void count_rows(struct sparse_plan *plan) {
    for (ptrdiff_t i = 0; i < plan->x->n; i++) {
        int32_t group;
        double weight;
        if (!read_weighted_groups(plan->by, i, 1, &group, &weight)) {
            atomic_store(&plan->error, BAD_CODE);
            return;
        }
        if (group < 0) continue;
        plan->parts[0].counts[group] += weight;
        plan->parts[0].rows[group] += 1.0;
    }
}

static enum outcome run_plan(struct sparse_plan *plan, const struct totals *out, int n_threads) {
    const ptrdiff_t m = plan->x->m, n_groups = plan->by->n_groups, n_cells = n_groups / plan->by->n_classes * m;
    bool ok = true;
    plan->parts = calloc((size_t)plan->n_parts, sizeof *plan->parts);
    if (!plan->parts) return NO_MEMORY;
    for (ptrdiff_t i = 0; ok && i < plan->n_parts; i++) ok = allocate_part(&plan->parts[i], plan, out->present != NULL);
    enum outcome outcome = NO_MEMORY;
    if (ok) {
        if (!plan->by_rows) count_rows(plan);
        sefr_run_tasks(run_lines, plan, plan->n_tasks, n_threads);
        outcome = (enum outcome)atomic_load(&plan->error);
        if (outcome == FINITE) {
            for (ptrdiff_t i = 1; i < plan->n_parts; i++) {
                merge_part(&plan->parts[0], &plan->parts[i], n_groups, n_cells, m);
            }
            outcome = finish(&plan->parts[0], plan->by, m, out);
        }
    }
    for (ptrdiff_t i = 0; i < plan->n_parts; i++) {
        free(plan->parts[i].sums);
        free(plan->parts[i].counts);
        free(plan->parts[i].rows);
        free(plan->parts[i].cells);
        free(plan->parts[i].missing);
    }
    free(plan->parts);
    return outcome;
}

enum outcome sefr_summarise_csr(const struct sparse *x, const struct grouping *by, const struct totals *out,
                                int n_threads) {
    /* a part may cost at most a quarter of reading its share of the entries */
    ptrdiff_t tasks = x->n_entries / 65536, limit = x->n_entries / (8 * by->n_groups * x->m + 1);
    if (tasks > 16) tasks = 16;
    if (tasks > limit) tasks = limit;
    if (tasks < 1) tasks = 1;
    struct sparse_plan plan = {.x = x, .by = by, .n_lines = x->n, .n_tasks = tasks, .by_rows = true, .n_parts = tasks};
    return run_plan(&plan, out, n_threads);
}

enum outcome sefr_summarise_csc(const struct sparse *x, const struct grouping *by, const struct totals *out,
                                int n_threads) {
    ptrdiff_t tasks = x->n_entries / 65536;
    if (tasks > 64) tasks = 64;
    if (tasks > x->m) tasks = x->m;
    if (tasks < 1) tasks = 1;
    struct sparse_plan plan = {.x = x, .by = by, .n_lines = x->m, .n_tasks = tasks, .by_rows = false, .n_parts = 1};
    return run_plan(&plan, out, n_threads);
}
