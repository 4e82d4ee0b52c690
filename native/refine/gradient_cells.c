/* A further pass over rows that are coded: a score is a sum of table entries, the gradient a histogram of residuals. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "common/threads.h"
#include "refine/gradient_cells.h"
#include "refine/loss.h"
#include "refine/product.h"

/* Scores of a cell lie side by side, padded to whole vectors. FLUSH rows are added in float32 before they go to the
   float64 sums. */
enum { ROWS = 64, SIDE = 4, FLUSH = 1024 };
typedef float side __attribute__((vector_size(16), aligned(4), may_alias));

struct cells_plan {
    const uint8_t *cells;
    ptrdiff_t n;
    const struct coder *coder;
    const struct grouping *by;
    const struct model *model;
    ptrdiff_t width; /* floats per cell */
    float *table;    /* n_cells x width, or NULL with one score */
    double *wide;    /* with one score: its table, m x the coder's width */
    ptrdiff_t n_chunks, part_size;
    double *parts; /* a chunk's gradient: n_cells x n_scores, n_scores, loss */
    atomic_int error;
};

struct cells_scratch {
    int32_t *first; /* of each feature */
    int32_t *at;    /* ROWS x m: the cells of the rows in hand among those of all features */
    float *score, *residual, *sum;
    double *wide_score, *wide_sum, *weight;
    int32_t *code;
    const uint8_t **row;
};

static bool allocate_scratch(struct cells_scratch *s, const struct cells_plan *plan) {
    const ptrdiff_t m = plan->coder->m, n_scores = plan->model->n_scores;
    *s =
        (struct cells_scratch){.first = sefr_aligned(m, sizeof(int32_t)),
                               .at = sefr_aligned(plan->table ? ROWS * m : 1, sizeof(int32_t)),
                               .wide_sum = sefr_aligned(plan->table ? 1 : m * plan->coder->width, sizeof(double)),
                               .score = sefr_aligned(ROWS * plan->width, sizeof(float)),
                               .residual = sefr_aligned(ROWS * (n_scores + plan->width), sizeof(float)),
                               .sum = sefr_aligned(plan->table ? plan->coder->n_cells * plan->width : 1, sizeof(float)),
                               .wide_score = sefr_aligned(ROWS * n_scores, sizeof(double)),
                               .weight = sefr_aligned(ROWS, sizeof(double)),
                               .code = sefr_aligned(ROWS, sizeof(int32_t)),
                               .row = sefr_aligned(ROWS, sizeof(uint8_t *))};
    if (!s->first || !s->at || !s->wide_sum || !s->score || !s->residual || !s->sum || !s->wide_score || !s->weight ||
        !s->code || !s->row) {
        return false;
    }
    for (ptrdiff_t j = 0; j < m; j++) s->first[j] = plan->coder->features[j].first;
    if (plan->table) memset(s->sum, 0, (size_t)(plan->coder->n_cells * plan->width) * sizeof(float));
    if (!plan->table) memset(s->wide_sum, 0, (size_t)(m * plan->coder->width) * sizeof(double));
    memset(s->residual, 0, (size_t)(ROWS * (n_scores + plan->width)) * sizeof(float));
    return true;
}

static void free_scratch(struct cells_scratch *s) {
    free(s->first);
    free(s->at);
    free(s->score);
    free(s->residual);
    free(s->sum);
    free(s->wide_score);
    free(s->wide_sum);
    free(s->weight);
    free(s->code);
    free(s->row);
}

/* Rows that count, from `first` on; -1: a code is too large. */
static ptrdiff_t read_rows(const struct cells_plan *plan, ptrdiff_t first, ptrdiff_t n, struct cells_scratch *s) {
    ptrdiff_t kept = 0;
    if (!read_weighted_groups(plan->by, first, n, s->code, s->weight)) return -1;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (s->code[i] < 0) continue;
        s->row[kept] = plan->cells + (first + i) * plan->coder->m;
        s->weight[kept] = s->weight[i] * plan->model->class_weights[s->code[i]];
        s->code[kept++] = s->code[i];
    }
    return kept;
}

/* Where the cells of the rows lie; false: one is outside its feature. */
CLONES static bool find_cells(const struct cells_plan *plan, const struct cells_scratch *s, ptrdiff_t n) {
    const ptrdiff_t m = plan->coder->m;
    const struct feature *features = plan->coder->features;
    const int32_t *restrict begin = s->first;
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint8_t *restrict row = s->row[i];
        int32_t *restrict at = s->at + i * m;
        for (ptrdiff_t j = 0; j < m; j++) at[j] = begin[j] + row[j];
    }
    READ_ONCE_DONE();
    bool ok = true;
    for (ptrdiff_t i = 0; i < n; i++) {
        const int32_t *at = s->at + i * m;
        int outside = 0;
        for (ptrdiff_t j = 0; j < m; j++) outside |= at[j] >= begin[j] + features[j].n;
        ok &= !outside;
    }
    return ok;
}

/* Four rows at a time. Cells of a feature lie `wide` apart from those of the next, a power of two that a cell stays
   below. */
static void score_one(const struct cells_plan *plan, const struct cells_scratch *s, ptrdiff_t n) {
    const ptrdiff_t m = plan->coder->m, wide = plan->coder->width;
    const uint8_t mask = (uint8_t)(wide - 1);
    for (ptrdiff_t i = 0; i < n; i += 4) {
        const uint8_t *p = s->row[i], *q = s->row[i + 1 < n ? i + 1 : i];
        const uint8_t *u = s->row[i + 2 < n ? i + 2 : i], *v = s->row[i + 3 < n ? i + 3 : i];
        const double *table = plan->wide;
        double a = plan->model->intercept[0], b = a, c = a, d = a;
        for (ptrdiff_t j = 0; j < m; j++, table += wide) {
            a += table[p[j] & mask], b += table[q[j] & mask], c += table[u[j] & mask], d += table[v[j] & mask];
        }
        s->wide_score[i] = a;
        if (i + 1 < n) s->wide_score[i + 1] = b;
        if (i + 2 < n) s->wide_score[i + 2] = c;
        if (i + 3 < n) s->wide_score[i + 3] = d;
    }
}

static void add_one(const struct cells_plan *plan, const struct cells_scratch *s, ptrdiff_t n) {
    const ptrdiff_t m = plan->coder->m, wide = plan->coder->width;
    const uint8_t mask = (uint8_t)(wide - 1);
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint8_t *row = s->row[i];
        const double residual = (double)s->residual[i];
        double *sum = s->wide_sum;
        for (ptrdiff_t j = 0; j < m; j++, sum += wide) sum[row[j] & mask] += residual;
    }
}

CLONES static void score_some(const struct cells_plan *plan, const struct cells_scratch *s, ptrdiff_t n) {
    const ptrdiff_t m = plan->coder->m, width = plan->width, n_scores = plan->model->n_scores;
    for (ptrdiff_t i = 0; i < n; i++) {
        const int32_t *at = s->at + i * m;
        float *restrict score = s->score + i * width;
        for (ptrdiff_t v = 0; v < width; v += SIDE) {
            const float *table = plan->table + v;
            side a = {0}, b = {0};
            ptrdiff_t j = 0;
            for (; j + 2 <= m; j += 2) {
                a += *(const side *)(table + at[j] * width);
                b += *(const side *)(table + at[j + 1] * width);
            }
            if (j < m) a += *(const side *)(table + at[j] * width);
            *(side *)(score + v) = a + b;
        }
    }
    for (ptrdiff_t k = 0; k < n_scores; k++) {
        for (ptrdiff_t i = 0; i < n; i++) {
            s->wide_score[k * ROWS + i] = plan->model->intercept[k] + (double)s->score[i * width + k];
        }
    }
}

CLONES static void add_some(const struct cells_plan *plan, const struct cells_scratch *s, ptrdiff_t n) {
    const ptrdiff_t m = plan->coder->m, width = plan->width, n_scores = plan->model->n_scores;
    float *restrict by_row = s->residual + ROWS * n_scores;
    for (ptrdiff_t k = 0; k < n_scores; k++) {
        for (ptrdiff_t i = 0; i < n; i++) by_row[i * width + k] = s->residual[k * ROWS + i];
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        const int32_t *at = s->at + i * m;
        for (ptrdiff_t v = 0; v < width; v += SIDE) {
            const side residual = *(const side *)(by_row + i * width + v);
            float *sum = s->sum + v;
            for (ptrdiff_t j = 0; j < m; j++) *(side *)(sum + at[j] * width) += residual;
        }
    }
}

static void flush(const struct cells_plan *plan, const struct cells_scratch *s, double *gradient) {
    const ptrdiff_t n_scores = plan->model->n_scores;
    if (!plan->table) return; /* added in float64 from the start */
    for (ptrdiff_t c = 0; c < plan->coder->n_cells; c++) {
        for (ptrdiff_t k = 0; k < n_scores; k++) gradient[c * n_scores + k] += (double)s->sum[c * plan->width + k];
    }
    memset(s->sum, 0, (size_t)(plan->coder->n_cells * plan->width) * sizeof(float));
}

static void run_chunk(void *context, ptrdiff_t task, int worker) {
    struct cells_plan *plan = context;
    const ptrdiff_t n_scores = plan->model->n_scores, n_tiles = (plan->n + ROWS - 1) / ROWS;
    const ptrdiff_t last = n_tiles * (task + 1) / plan->n_chunks;
    double *gradient = plan->parts + task * plan->part_size, *sums = gradient + plan->coder->n_cells * n_scores;
    double *loss = sums + n_scores;
    struct cells_scratch s;
    ptrdiff_t waiting = 0;
    (void)worker;
    if (!allocate_scratch(&s, plan)) {
        atomic_store(&plan->error, NO_MEMORY);
        free_scratch(&s);
        return;
    }
    for (ptrdiff_t t = n_tiles * task / plan->n_chunks; t < last; t++) {
        const ptrdiff_t left = plan->n - t * ROWS, n = read_rows(plan, t * ROWS, left < ROWS ? left : ROWS, &s);
        if (n < 0 || (plan->table && !find_cells(plan, &s, n))) {
            atomic_store(&plan->error, n < 0 ? BAD_CODE : BAD_CELL);
            break;
        }
        if (plan->table) {
            score_some(plan, &s, n);
        } else {
            score_one(plan, &s, n);
        }
        const struct scored_rows scored = {n, ROWS, n_scores, s.code, s.weight, s.wide_score};
        *loss += sefr_loss(&scored, s.residual, sums);
        if (plan->table) {
            add_some(plan, &s, n);
        } else {
            add_one(plan, &s, n);
        }
        if ((waiting += n) >= FLUSH) {
            flush(plan, &s, gradient);
            waiting = 0;
        }
    }
    flush(plan, &s, gradient);
    for (ptrdiff_t j = 0; !plan->table && j < plan->coder->m; j++) {
        const struct feature *feature = &plan->coder->features[j];
        memcpy(gradient + feature->first, s.wide_sum + j * plan->coder->width, (size_t)feature->n * sizeof(double));
    }
    free_scratch(&s);
}

static bool prepare(struct cells_plan *plan) {
    const ptrdiff_t n_scores = plan->model->n_scores, n_cells = plan->coder->n_cells;
    plan->width = (n_scores + SIDE - 1) / SIDE * SIDE;
    plan->part_size = n_cells * n_scores + n_scores + 1;
    plan->parts = calloc((size_t)(plan->n_chunks * plan->part_size), sizeof *plan->parts);
    if (!plan->parts) return false;
    if (n_scores == 1) {
        const ptrdiff_t wide = plan->coder->width;
        plan->wide = calloc((size_t)(plan->coder->m * wide) + 1, sizeof *plan->wide);
        for (ptrdiff_t j = 0; plan->wide && j < plan->coder->m; j++) {
            const struct feature *feature = &plan->coder->features[j];
            memcpy(plan->wide + j * wide, plan->model->coef + feature->first, (size_t)feature->n * sizeof(double));
        }
        return plan->wide;
    }
    plan->table = sefr_aligned(n_cells * plan->width, sizeof(float));
    if (!plan->table) return false;
    memset(plan->table, 0, (size_t)(n_cells * plan->width) * sizeof(float));
    for (ptrdiff_t k = 0; k < n_scores; k++) {
        for (ptrdiff_t c = 0; c < n_cells; c++) {
            plan->table[c * plan->width + k] = (float)plan->model->coef[k * n_cells + c];
        }
    }
    return true;
}

static void combine(const struct cells_plan *plan, const struct gradient *out) {
    const ptrdiff_t n_scores = plan->model->n_scores, n_cells = plan->coder->n_cells;
    memset(out->coef, 0, (size_t)(n_scores * n_cells) * sizeof(double));
    memset(out->intercept, 0, (size_t)n_scores * sizeof(double));
    *out->loss = 0.0;
    for (ptrdiff_t i = 0; i < plan->n_chunks; i++) {
        const double *part = plan->parts + i * plan->part_size;
        for (ptrdiff_t c = 0; c < n_cells; c++) {
            for (ptrdiff_t k = 0; k < n_scores; k++) out->coef[k * n_cells + c] += part[c * n_scores + k];
        }
        for (ptrdiff_t k = 0; k < n_scores; k++) out->intercept[k] += part[n_scores * n_cells + k];
        *out->loss += part[n_scores * n_cells + n_scores];
    }
}

enum outcome sefr_gradient_cells(const uint8_t *cells, ptrdiff_t n, const struct coder *coder,
                                 const struct grouping *by, const struct model *model, const struct gradient *out,
                                 int n_threads) {
    struct cells_plan plan = {.cells = cells, .n = n, .coder = coder, .by = by, .model = model};
    /* a chunk reads 2**18 values, and 4 times as many as its own sums are */
    const ptrdiff_t values = n * coder->m, most = values / 262144, fit = values / (4 * coder->n_cells + 1);
    const ptrdiff_t chunks = most < fit ? most : fit;
    plan.n_chunks = chunks < 1 ? 1 : chunks > 16 ? 16 : chunks;
    enum outcome outcome = NO_MEMORY;
    if (prepare(&plan)) {
        sefr_run_tasks(run_chunk, &plan, plan.n_chunks, n_threads);
        outcome = (enum outcome)atomic_load(&plan.error);
        if (outcome == FINITE) combine(&plan, out);
    }
    free(plan.table);
    free(plan.wide);
    free(plan.parts);
    return outcome;
}
