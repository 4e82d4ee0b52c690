/* The host's kernels and the device library, as the page calls them: numbers and places in memory. */
#include <stdlib.h>
#include <string.h>

#include "cells/coding.h"
#include "cells/edges.h"
#include "cells/grow.h"
#include "common/table.h"
#include "common/threads.h"
#include "moments/products.h"
#include "moments/ridge.h"
#include "moments/step_products.h"
#include "refine/gradient.h"
#include "refine/gradient_cells.h"
#include "signals/signals.h"
#include "solve/solve.h"
#include "twin.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* One thread: the results do not depend on their number. */
void sefr_run_tasks(task_function *run, void *context, ptrdiff_t n_tasks, int n_threads) {
    (void)n_threads;
    for (ptrdiff_t i = 0; i < n_tasks; i++) run(context, i, 0);
}

/* m columns of n values, float64 or, where bytes[j] is not 0, bytes; at most MOST_COLUMNS. */
enum { MOST_COLUMNS = 1 << 16 };
static struct column columns[MOST_COLUMNS];

EXPORT(most_columns) ptrdiff_t studio_most_columns(void) { return MOST_COLUMNS; }

static struct table table_of(ptrdiff_t n, ptrdiff_t m, const char *const *data, const uint8_t *bytes) {
    for (ptrdiff_t j = 0; j < m; j++) {
        const bool narrow = bytes[j] != 0;
        columns[j] = (struct column){data[j], narrow ? 1 : (ptrdiff_t)sizeof(double), narrow ? U8 : F64};
    }
    return (struct table){.n = n, .m = m, .type = F64, .columns = columns};
}

/* Codes, what the results are written to, and weights or NULL; see struct grouping and struct totals. */
struct places {
    const int32_t *codes;
    int32_t n_groups, n_classes;
    double *sums, *counts, *low, *high, *present;
    const double *weights;
};

static int summarise(const struct table *x, const struct places *to) {
    const struct grouping by = {to->codes, to->weights, to->n_groups, to->n_classes};
    const struct totals out = {to->sums, to->counts, to->low, to->high, to->present};
    return (int)sefr_summarise(x, &by, &out, 1);
}

EXPORT(summarise_columns)
int studio_summarise_columns(ptrdiff_t n, ptrdiff_t m, const char *const *data, const uint8_t *bytes,
                             const struct places *to) {
    const struct table x = table_of(n, m, data, bytes);
    return summarise(&x, to);
}

EXPORT(summarise_rows)
int studio_summarise_rows(ptrdiff_t n, ptrdiff_t m, const double *data, const struct places *to) {
    const ptrdiff_t size = (ptrdiff_t)sizeof(double);
    const struct table x = {
        .n = n, .m = m, .data = (const char *)data, .row_stride = m * size, .column_stride = size, .type = F64};
    return summarise(&x, to);
}

EXPORT(scores)
int studio_scores(ptrdiff_t n, ptrdiff_t m, const char *const *data, const uint8_t *bytes, const double *coef,
                  const double *intercept, ptrdiff_t k, double *out) {
    const struct table x = table_of(n, m, data, bytes);
    return (int)sefr_scores(&x, coef, intercept, k, NULL, n, out, 1);
}

/* learned: k, m, then the places of counts, sums, low and span; planes: those of weights, bias and midpoints. */
EXPORT(solve) int studio_solve(const struct learned *from, double epsilon, const struct planes *to) {
    return sefr_solve(from, epsilon, to);
}

EXPORT(solve_means)
void studio_solve_means(const struct learned *from, const double *rest, double epsilon, const struct planes *to) {
    sefr_solve_means(from, rest, epsilon, to);
}

EXPORT(is_delicate) int studio_is_delicate(const struct learned *from) { return sefr_is_delicate(from); }

/* Where m features are cut, and the comparisons of ferns: see struct edges. */
struct cut {
    const double *edges;
    const int64_t *starts;
    ptrdiff_t m, n_edges;
    int32_t missing;
    const int64_t *ferns;
    const struct comparison *comparisons;
    ptrdiff_t n_ferns, n_comparisons;
};

static int prepare(struct coder *coder, const struct cut *cut) {
    const struct edges edges = {cut->edges, cut->starts,      cut->m,       cut->missing != 0,
                                cut->ferns, cut->comparisons, cut->n_ferns, cut->n_comparisons};
    return (int)sefr_prepare_coder(coder, &edges, cut->n_edges);
}

/* sorted: m lines of n rising values, NaN last; edges: room for m x (most - 1); starts: m + 1. */
EXPORT(find_edges)
void studio_find_edges(const double *sorted, ptrdiff_t m, ptrdiff_t n, ptrdiff_t most, int32_t alone, double *edges,
                       int64_t *starts) {
    sefr_find_edges(sorted, m, n, most, alone != 0, edges, starts);
}

/* Ferns grown on rows in cells (n x m) of a cut without edges, whose codes are from 0 to n_classes, or whose targets
   are numbers, one per row (NULL: none); those that are of use, or minus an outcome. comparisons: n_ferns x depth x 2.
 */
struct grown {
    const uint8_t *cells, *held;
    const int32_t *codes;
    const double *targets;
    ptrdiff_t n;
    int32_t n_classes, n_ferns, depth, tried, bounds, subsets;
};

EXPORT(grow_ferns)
int studio_grow_ferns(const struct grown *of, const struct cut *cut, double step, int32_t *comparisons) {
    const struct grouping by = {of->codes, NULL, of->n_classes, of->n_classes};
    struct coder coder = {0};
    uint8_t *equal = calloc((size_t)cut->m + 1, 1);
    if (!equal) return -(int)NO_MEMORY;
    const struct growth growth = {.cells = of->cells,
                                  .n = of->n,
                                  .by = &by,
                                  .equal = equal,
                                  .held = of->held,
                                  .targets = of->targets,
                                  .n_targets = of->targets ? 1 : 0,
                                  .n_ferns = of->n_ferns,
                                  .depth = of->depth,
                                  .tried = of->tried,
                                  .bounds = of->bounds,
                                  .subsets = of->subsets,
                                  .step = step};
    int32_t count = 0;
    int outcome = prepare(&coder, cut);
    if (outcome == FINITE) outcome = (int)sefr_grow_ferns(&growth, &coder, comparisons, &count);
    return outcome == FINITE ? count : -outcome;
}

EXPORT(count_cells)
int studio_count_cells(ptrdiff_t n, const char *const *data, const uint8_t *bytes, const struct cut *cut,
                       const struct places *to) {
    const struct table x = table_of(n, cut->m, data, bytes);
    const struct grouping by = {to->codes, to->weights, to->n_groups, to->n_classes};
    const struct totals out = {to->sums, to->counts, NULL, NULL, NULL};
    struct coder coder = {0};
    const int outcome = prepare(&coder, cut);
    return outcome == FINITE ? (int)sefr_count_cells(&x, &coder, &by, &out, 1) : outcome;
}

EXPORT(code_cells)
int studio_code_cells(ptrdiff_t n, const char *const *data, const uint8_t *bytes, const struct cut *cut,
                      uint8_t *cells) {
    const struct table x = table_of(n, cut->m, data, bytes);
    struct coder coder = {0};
    const int outcome = prepare(&coder, cut);
    return outcome == FINITE ? (int)sefr_code_cells(&x, &coder, cells, 1) : outcome;
}

EXPORT(cell_scores)
int studio_cell_scores(ptrdiff_t n, const char *const *data, const uint8_t *bytes, const struct cut *cut,
                       const double *table, const double *intercept, ptrdiff_t k, double *out) {
    const struct table x = table_of(n, cut->m, data, bytes);
    struct coder coder = {0};
    const int outcome = prepare(&coder, cut);
    return outcome == FINITE ? (int)sefr_cell_scores(&x, &coder, table, intercept, k, NULL, n, out, 1) : outcome;
}

/* The same of cells (n x columns) of a cut without edges. */
EXPORT(coded_scores)
int studio_coded_scores(ptrdiff_t n, const uint8_t *cells, const struct cut *cut, const double *table,
                        const double *intercept, ptrdiff_t k, double *out) {
    const struct table x = {
        .n = n, .m = cut->m, .data = (const char *)cells, .row_stride = cut->m, .column_stride = 1, .type = U8};
    struct coder coder = {0};
    const int outcome = prepare(&coder, cut);
    return outcome == FINITE ? (int)sefr_cell_scores(&x, &coder, table, intercept, k, NULL, n, out, 1) : outcome;
}

/* pairs: the upper triangle of how many rows lie in two cells. */
EXPORT(count_pairs)
int studio_count_pairs(ptrdiff_t n, const char *const *data, const uint8_t *bytes, const struct cut *cut,
                       double *pairs) {
    const struct table x = table_of(n, cut->m, data, bytes);
    struct coder coder = {0};
    const int outcome = prepare(&coder, cut);
    return outcome == FINITE ? (int)sefr_count_pairs(&x, &coder, NULL, pairs, 1) : outcome;
}

EXPORT(step_products)
void studio_step_products(ptrdiff_t n, const uint8_t *begins, const double *scale, const double *packed,
                          double *products, ptrdiff_t pitch) {
    const struct step_basis basis = {begins, scale, n};
    double *reached = malloc((size_t)n * sizeof *reached);
    if (reached) sefr_step_products(&basis, packed, n, reached, products, pitch);
}

/* Ridge regressions of k targets on p columns, and the leverage of some rows for the ridge of the first target. */
struct ridges {
    ptrdiff_t p, k, n_ridges, n_rows;
    int32_t together;
    double *matrix, *cross;
    const double *power, *ridges, *rows;
    double *chosen, *solved, *leverage;
};

EXPORT(solve_ridges) int studio_solve_ridges(const struct ridges *of, double count) {
    const size_t p = (size_t)of->p, k = (size_t)of->k, n = (size_t)of->n_rows;
    double *work = malloc((6 * p + k * (size_t)of->n_ridges) * sizeof *work);
    double *matrix = malloc((p + n) * p * sizeof *matrix), *columns = matrix + p * p;
    if (!work || !matrix) return 0;
    for (size_t j = 0; j < p; j++) {
        for (size_t i = j; n && i < p; i++) matrix[i * p + j] = of->matrix[j * p + i];
        for (size_t i = 0; i < n; i++) columns[j * n + i] = of->rows[i * p + j];
    }
    const struct tridiagonal t = {of->p, of->matrix, work, work + p, work + 2 * p};
    const struct ridge_targets targets = {of->cross,    of->power, of->ridges,        of->k,
                                          of->n_ridges, count,     of->together != 0, 0.0,
                                          0.0};
    const struct ridge_solutions to = {of->chosen, of->solved, NULL, NULL};
    sefr_tridiagonal(&t, work + 3 * p);
    for (size_t c = 0; c < k; c++) sefr_turn(&t, of->cross + c * p);
    if (!sefr_likeliest_ridges(&t, &targets, &to, work + 3 * p)) return 0;
    for (size_t c = 0; c < k; c++) sefr_turn_back(&t, of->solved + c * p);
    if (!n) return 1;
    for (size_t j = 0; j < p; j++) matrix[j * p + j] += of->chosen[0] * count;
    sefr_leverages(matrix, of->p, columns, of->n_rows, of->leverage);
    return 1;
}

/* One further pass: the class of each row, the model, where loss and derivatives go, and weights or NULL. */
struct pass {
    const int32_t *codes;
    struct model model;
    struct gradient out;
    const double *weights;
};

EXPORT(gradient)
int studio_gradient(ptrdiff_t n, ptrdiff_t m, const char *const *data, const uint8_t *bytes, const double *centre,
                    const double *scale, const struct pass *pass) {
    const struct table x = table_of(n, m, data, bytes);
    const struct grouping by = {pass->codes, pass->weights, pass->model.n_classes, pass->model.n_classes};
    const struct task task = {loss_of_classes(pass->model.n_scores), NULL};
    return (int)sefr_gradient(&x, &by, centre, scale, &pass->model, &task, &pass->out, 1);
}

/* cells (n x m), as code_cells writes them. */
EXPORT(gradient_cells)
int studio_gradient_cells(ptrdiff_t n, const uint8_t *cells, const struct cut *cut, const struct pass *pass) {
    const struct grouping by = {pass->codes, pass->weights, pass->model.n_classes, pass->model.n_classes};
    const struct task task = {loss_of_classes(pass->model.n_scores), NULL};
    struct coder coder = {0};
    struct shelf shelf = {0};
    int outcome = prepare(&coder, cut);
    if (outcome == FINITE) outcome = (int)sefr_shelve(cells, n, &coder, pass->model.n_scores, &shelf);
    if (outcome != FINITE) return outcome;
    return (int)sefr_gradient_cells(&shelf, &coder, &by, &pass->model, &task, &pass->out, 1);
}

/* Recorded values in steps of a resolution, as samples of 16 bits; halves go to even numbers, as in Python. */
EXPORT(samples_of) void studio_samples_of(ptrdiff_t n, const double *values, double step, int16_t *samples) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const double steps = __builtin_rint(values[i] / step);
        samples[i] = (int16_t)(steps < INT16_MIN ? INT16_MIN : steps > INT16_MAX ? INT16_MAX : steps);
    }
}

EXPORT(signal_features)
int studio_signal_features(const struct signal_plan *plan, const int16_t *windows, ptrdiff_t n, uint8_t *features) {
    const ptrdiff_t size = n * plan->axes * plan->length;
    int32_t *samples = malloc((size_t)size * sizeof *samples + 1); /* not 0 bytes, which may be NULL */
    if (!samples) return 0;
    for (ptrdiff_t i = 0; i < size; i++) samples[i] = windows[i];
    const int enough = sefr_signal_features(plan, samples, n, features, 1);
    free(samples);
    return enough;
}

/* The device library with 32-bit sums: weights of 8 or 16 bits from sums of bytes. */
EXPORT(solve_bytes) int studio_solve_bytes(int weight_bits, const twin_model *model) {
    return (weight_bits == 8 ? &twin_w8s32 : &twin_w16s32)->solve(model);
}
