/* A further pass over rows that are coded: a score is a sum of table entries, the gradient a histogram of residuals. */
#include "refine/gradient_cells.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "common/threads.h"
#include "refine/product.h"
#include "refine/wide_cells.h"

struct cells_plan {
    const struct shelf *shelf;
    const struct coder *coder;
    const struct grouping *by;
    const struct model *model;
    const struct task *task;
    float *table;   /* with several scores: n_cells x width */
    double *paired; /* with one: by the cells of pairs */
    ptrdiff_t part_size;
    double *parts; /* a chunk's gradient: n_cells x width (1 with one score), n_scores, loss */
    atomic_int error;
};

struct cells_scratch {
    float *residual, *by_row, *sum;
    double *score, *pair_sum, *weight, *target;
    int32_t *code;
};

/* Scores of a class lie so far from those of the next: a power of two would share places in the cache. */
static ptrdiff_t pitch_of(const struct shelf *shelf) { return shelf->rows + 24; }

static bool allocate_scratch(struct cells_scratch *s, const struct shelf *shelf, bool targets) {
    const ptrdiff_t rows = shelf->rows, pitch = pitch_of(shelf);
    *s = (struct cells_scratch){.residual = sefr_aligned(pitch * shelf->n_scores, sizeof(float)),
                                .by_row = sefr_aligned(rows * shelf->width, sizeof(float)),
                                .sum = sefr_aligned(2 * MOST_CELLS * shelf->width, sizeof(float)),
                                .score = sefr_aligned(pitch * shelf->n_scores, sizeof(double)),
                                .pair_sum = sefr_aligned(shelf->pairs.n_cells, sizeof(double)),
                                .weight = sefr_aligned(rows, sizeof(double)),
                                .target = targets ? sefr_aligned(pitch * shelf->n_scores, sizeof(double)) : NULL,
                                .code = sefr_aligned(rows, sizeof(int32_t))};
    if (targets && !s->target) return false;
    if (!s->residual || !s->by_row || !s->sum || !s->score || !s->pair_sum || !s->weight || !s->code) return false;
    memset(s->pair_sum, 0, (size_t)shelf->pairs.n_cells * sizeof(double));
    return true;
}

static void free_scratch(struct cells_scratch *s) {
    free(s->residual);
    free(s->by_row);
    free(s->sum);
    free(s->score);
    free(s->pair_sum);
    free(s->weight);
    free(s->target);
    free(s->code);
}

/* Rows that do not count, whose code is below 0, weigh nothing. Of two classes a vector chooses without looking up. */
CLONES static void weigh_two(int32_t *restrict code, double *restrict weight, ptrdiff_t n, const double *of_class,
                             bool weighted) {
    const double first = of_class[0], second = of_class[1];
    for (ptrdiff_t i = 0; i < n; i++) {
        const double own = weighted ? weight[i] : 1.0;
        weight[i] = code[i] < 0 ? 0.0 : own * (code[i] ? second : first);
        code[i] = code[i] < 0 ? 0 : code[i];
    }
}

static void weigh_several(int32_t *code, double *weight, ptrdiff_t n, const double *of_class, bool weighted) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const bool counts = code[i] >= 0;
        code[i] = counts ? code[i] : 0;
        weight[i] = counts ? (weighted ? weight[i] : 1.0) * of_class[code[i]] : 0.0;
    }
}

/* Codes and weights of rows from `first` on. False: a code is too large. */
static bool read_rows(const struct cells_plan *plan, ptrdiff_t first, ptrdiff_t n, struct cells_scratch *s) {
    const double *of_class = plan->model->class_weights;
    const bool weighted = plan->by->weights;
    if (weighted ? !read_weighted_groups(plan->by, first, n, s->code, s->weight)
                 : !read_groups(plan->by, first, n, s->code)) {
        return false;
    }
    if (plan->model->n_classes == 2) {
        weigh_two(s->code, s->weight, n, of_class, weighted);
    } else {
        weigh_several(s->code, s->weight, n, of_class, weighted);
    }
    if (plan->task->targets) {
        const ptrdiff_t n_scores = plan->model->n_scores, pitch = pitch_of(plan->shelf);
        const double *from = plan->task->targets + first * n_scores;
        for (ptrdiff_t i = 0; i < n; i++) {
            for (ptrdiff_t k = 0; k < n_scores; k++) s->target[k * pitch + i] = from[i * n_scores + k];
        }
    }
    return true;
}

static double loss_of(const struct cells_plan *plan, const struct cells_scratch *s, ptrdiff_t n, double *sums) {
    const struct scored_rows rows = {
        plan->task->loss, n, pitch_of(plan->shelf), plan->model->n_scores, s->code, s->weight, s->score, s->target};
    return sefr_loss(&rows, s->residual, sums);
}

static double pass_one(const struct cells_plan *plan, const struct cells_scratch *s, ptrdiff_t first, ptrdiff_t n,
                       double *sums) {
    const struct shelf *shelf = plan->shelf;
    const struct paired_rows rows = {shelf->paired + first * shelf->pairs.n_pairs, n, shelf->rows};
    for (ptrdiff_t i = 0; i < n; i++) s->score[i] = plan->model->intercept[0];
    sefr_score_pairs(&shelf->pairs, &rows, plan->paired, s->score);
    const double loss = loss_of(plan, s, n, sums);
    double *residual = s->score; /* the scores have served */
    for (ptrdiff_t i = 0; i < n; i++) residual[i] = (double)s->residual[i];
    sefr_add_pairs(&shelf->pairs, &rows, residual, s->pair_sum);
    return loss;
}

/* A block of rows is added in float32 before it goes to the float64 sums. */
static double pass_several(const struct cells_plan *plan, const struct cells_scratch *s, ptrdiff_t first, ptrdiff_t n,
                           double *gradient, double *sums) {
    const struct shelf *shelf = plan->shelf;
    const ptrdiff_t n_scores = shelf->n_scores, width = shelf->width, pitch = pitch_of(shelf);
    const struct wide_rows rows = {plan->coder, shelf->cells + first * shelf->m, n, shelf->rows, width};
    sefr_score_wide(&rows, plan->table, s->by_row);
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t k = 0; k < n_scores; k++) {
            s->score[k * pitch + i] = plan->model->intercept[k] + (double)s->by_row[i * width + k];
        }
    }
    const double loss = loss_of(plan, s, n, sums);
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t k = 0; k < n_scores; k++) s->by_row[i * width + k] = s->residual[k * pitch + i];
    }
    sefr_add_wide(&rows, s->by_row, s->sum, gradient);
    return loss;
}

static void run_chunk(void *context, ptrdiff_t task, int worker) {
    struct cells_plan *plan = context;
    const struct shelf *shelf = plan->shelf;
    const ptrdiff_t step = shelf->rows, n_blocks = (shelf->n + step - 1) / step;
    const ptrdiff_t last = n_blocks * (task + 1) / shelf->n_chunks;
    double *gradient = plan->parts + task * plan->part_size, *sums = gradient + plan->part_size - shelf->n_scores - 1;
    double *loss = sums + shelf->n_scores;
    struct cells_scratch s;
    (void)worker;
    if (!allocate_scratch(&s, shelf, plan->task->targets != NULL)) {
        atomic_store(&plan->error, NO_MEMORY);
        free_scratch(&s);
        return;
    }
    for (ptrdiff_t t = n_blocks * task / shelf->n_chunks; t < last; t++) {
        const ptrdiff_t first = t * step, n = shelf->n - first < step ? shelf->n - first : step;
        if (!read_rows(plan, first, n, &s)) {
            atomic_store(&plan->error, BAD_CODE);
            break;
        }
        *loss += plan->table ? pass_several(plan, &s, first, n, gradient, sums) : pass_one(plan, &s, first, n, sums);
    }
    if (plan->paired) sefr_unpair(&shelf->pairs, plan->coder, s.pair_sum, gradient);
    free_scratch(&s);
}

static bool prepare(struct cells_plan *plan) {
    const struct shelf *shelf = plan->shelf;
    const ptrdiff_t n_scores = shelf->n_scores, n_cells = plan->coder->n_cells;
    plan->part_size = n_cells * (n_scores == 1 ? 1 : shelf->width) + n_scores + 1;
    plan->parts = calloc((size_t)(shelf->n_chunks * plan->part_size), sizeof *plan->parts);
    if (!plan->parts) return false;
    if (n_scores == 1) {
        plan->paired = sefr_aligned(shelf->pairs.n_cells, sizeof *plan->paired);
        if (plan->paired) sefr_pair_table(&shelf->pairs, plan->coder, plan->model->coef, plan->paired);
        return plan->paired;
    }
    plan->table = sefr_aligned(n_cells * shelf->width, sizeof(float));
    if (!plan->table) return false;
    for (ptrdiff_t c = 0; c < n_cells; c++) {
        float *to = plan->table + c * shelf->width;
        for (ptrdiff_t k = 0; k < n_scores; k++) to[k] = (float)plan->model->coef[k * n_cells + c];
        for (ptrdiff_t k = n_scores; k < shelf->width; k++) to[k] = 0.0f;
    }
    return true;
}

CLONES static void add_part(double *restrict to, const double *restrict part, ptrdiff_t size) {
    for (ptrdiff_t i = 0; i < size; i++) to[i] += part[i];
}

static void combine(const struct cells_plan *plan, const struct gradient *out) {
    const ptrdiff_t n_scores = plan->shelf->n_scores, n_cells = plan->coder->n_cells;
    const ptrdiff_t size = plan->part_size - n_scores - 1, width = size / n_cells;
    for (ptrdiff_t i = 1; i < plan->shelf->n_chunks; i++) {
        add_part(plan->parts, plan->parts + i * plan->part_size, plan->part_size);
    }
    for (ptrdiff_t c = 0; c < n_cells; c++) {
        for (ptrdiff_t k = 0; k < n_scores; k++) out->coef[k * n_cells + c] = plan->parts[c * width + k];
    }
    memcpy(out->intercept, plan->parts + size, (size_t)n_scores * sizeof(double));
    *out->loss = plan->parts[size + n_scores];
}

enum outcome sefr_gradient_cells(const struct shelf *shelf, const struct coder *coder, const struct grouping *by,
                                 const struct model *model, const struct task *task, const struct gradient *out,
                                 int n_threads) {
    struct cells_plan plan = {.shelf = shelf, .coder = coder, .by = by, .model = model, .task = task};
    enum outcome outcome = NO_MEMORY;
    if (prepare(&plan)) {
        sefr_run_tasks(run_chunk, &plan, shelf->n_chunks, n_threads);
        outcome = (enum outcome)atomic_load(&plan.error);
        if (outcome == FINITE) combine(&plan, out);
    }
    free(plan.table);
    free(plan.paired);
    free(plan.parts);
    return outcome;
}
