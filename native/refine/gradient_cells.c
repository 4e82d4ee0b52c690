/* A further pass over rows that are coded: a score is a sum of table entries, the gradient a histogram of residuals. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "common/threads.h"
#include "refine/gradient_cells.h"
#include "refine/loss.h"
#include "refine/pairs.h"
#include "refine/product.h"

/* With several scores, those of a cell lie side by side, padded to whole vectors, and FLUSH rows are added in float32
   before they go to the float64 sums. With one, columns are paired, and a block of up to MOST_ROWS rows is worked on
   pair by pair, so that the table and the sums of a pair stay in the first-level cache. */
enum { ROWS = 64, SIDE = 4, FLUSH = 1024, MOST_ROWS = 4096, INDEX_ENTRIES = 1 << 17 };
typedef float side __attribute__((vector_size(16), aligned(4), may_alias));

struct cells_plan {
    const uint8_t *cells;
    ptrdiff_t n;
    const struct coder *coder;
    const struct grouping *by;
    const struct model *model;
    ptrdiff_t width; /* floats per cell */
    float *table;    /* n_cells x width, or NULL with one score */
    struct pairs pairs;
    double *paired;       /* with one score: its table, by the cells of pairs */
    ptrdiff_t block_rows; /* worked on together */
    ptrdiff_t n_chunks, part_size;
    double *parts; /* a chunk's gradient: n_cells x n_scores, n_scores, loss */
    atomic_int error;
};

struct cells_scratch {
    int32_t *first; /* of each feature */
    int32_t *at;    /* ROWS x m: the cells of the rows in hand among those of all features */
    uint16_t *pair_at;
    float *score, *residual, *sum;
    double *wide_score, *pair_sum, *weight;
    int32_t *code;
    const uint8_t **row;
};

static bool allocate_scratch(struct cells_scratch *s, const struct cells_plan *plan) {
    const ptrdiff_t m = plan->coder->m, n_scores = plan->model->n_scores, rows = plan->block_rows;
    const ptrdiff_t some = plan->table ? 1 : 0, one = plan->table ? 0 : 1, n_sums = plan->coder->n_cells * plan->width;
    *s = (struct cells_scratch){.first = sefr_aligned(m, sizeof(int32_t)),
                                .at = sefr_aligned(some * rows * m, sizeof(int32_t)),
                                .pair_at = sefr_aligned(one * rows * plan->pairs.n_pairs, sizeof(uint16_t)),
                                .score = sefr_aligned(some * rows * plan->width, sizeof(float)),
                                .residual = sefr_aligned(rows * (n_scores + plan->width), sizeof(float)),
                                .sum = sefr_aligned(some * n_sums, sizeof(float)),
                                .pair_sum = sefr_aligned(one * plan->pairs.n_cells, sizeof(double)),
                                .wide_score = sefr_aligned(rows * n_scores, sizeof(double)),
                                .weight = sefr_aligned(rows, sizeof(double)),
                                .code = sefr_aligned(rows, sizeof(int32_t)),
                                .row = sefr_aligned(rows, sizeof(uint8_t *))};
    if (!s->first || !s->at || !s->pair_at || !s->score || !s->residual || !s->sum || !s->pair_sum || !s->wide_score ||
        !s->weight || !s->code || !s->row) {
        return false;
    }
    for (ptrdiff_t j = 0; j < m; j++) s->first[j] = plan->coder->features[j].first;
    memset(s->sum, 0, (size_t)(some * n_sums) * sizeof(float));
    memset(s->pair_sum, 0, (size_t)(one * plan->pairs.n_cells) * sizeof(double));
    memset(s->residual, 0, (size_t)(rows * (n_scores + plan->width)) * sizeof(float));
    return true;
}

static void free_scratch(struct cells_scratch *s) {
    free(s->first);
    free(s->at);
    free(s->pair_at);
    free(s->score);
    free(s->residual);
    free(s->sum);
    free(s->wide_score);
    free(s->pair_sum);
    free(s->weight);
    free(s->code);
    free(s->row);
}

/* Rows that count, from `first` on; -1: a code is too large. */
static ptrdiff_t read_rows(const struct cells_plan *plan, ptrdiff_t first, ptrdiff_t n, struct cells_scratch *s) {
    const ptrdiff_t m = plan->coder->m;
    const double *class_weights = plan->model->class_weights;
    const uint8_t *row = plan->cells + first * m;
    ptrdiff_t kept = 0;
    if (plan->by->weights ? !read_weighted_groups(plan->by, first, n, s->code, s->weight)
                          : !read_groups(plan->by, first, n, s->code)) {
        return -1;
    }
    for (ptrdiff_t i = 0; i < n; i++, row += m) {
        const int32_t code = s->code[i];
        if (code < 0) continue;
        s->row[kept] = row;
        s->weight[kept] = plan->by->weights ? s->weight[i] * class_weights[code] : class_weights[code];
        s->code[kept++] = code;
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

static struct paired_rows rows_in_hand(const struct cells_plan *plan, const struct cells_scratch *s, ptrdiff_t n) {
    return (struct paired_rows){s->row, plan->cells + plan->n * plan->coder->m, n, plan->block_rows, s->pair_at};
}

static void score_one(const struct cells_plan *plan, const struct cells_scratch *s, ptrdiff_t n) {
    const struct paired_rows rows = rows_in_hand(plan, s, n);
    for (ptrdiff_t i = 0; i < n; i++) s->wide_score[i] = plan->model->intercept[0];
    sefr_pair_rows(&plan->pairs, &rows);
    sefr_score_pairs(&plan->pairs, &rows, plan->paired, s->wide_score);
}

static void add_one(const struct cells_plan *plan, const struct cells_scratch *s, ptrdiff_t n) {
    const struct paired_rows rows = rows_in_hand(plan, s, n);
    double *residual = s->wide_score; /* the scores have served */
    for (ptrdiff_t i = 0; i < n; i++) residual[i] = (double)s->residual[i];
    sefr_add_pairs(&plan->pairs, &rows, residual, s->pair_sum);
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
    if (!plan->table) return; /* added in float64 from the start, and unpaired at the end */
    for (ptrdiff_t c = 0; c < plan->coder->n_cells; c++) {
        for (ptrdiff_t k = 0; k < n_scores; k++) gradient[c * n_scores + k] += (double)s->sum[c * plan->width + k];
    }
    memset(s->sum, 0, (size_t)(plan->coder->n_cells * plan->width) * sizeof(float));
}

static void run_chunk(void *context, ptrdiff_t task, int worker) {
    struct cells_plan *plan = context;
    const ptrdiff_t n_scores = plan->model->n_scores, step = plan->block_rows, n_blocks = (plan->n + step - 1) / step;
    const ptrdiff_t last = n_blocks * (task + 1) / plan->n_chunks;
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
    for (ptrdiff_t t = n_blocks * task / plan->n_chunks; t < last; t++) {
        const ptrdiff_t left = plan->n - t * step, n = read_rows(plan, t * step, left < step ? left : step, &s);
        if (n < 0 || (plan->table && !find_cells(plan, &s, n))) {
            atomic_store(&plan->error, n < 0 ? BAD_CODE : BAD_CELL);
            break;
        }
        if (plan->table) {
            score_some(plan, &s, n);
        } else {
            score_one(plan, &s, n);
        }
        const struct scored_rows scored = {n, step, n_scores, s.code, s.weight, s.wide_score};
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
    if (!plan->table) sefr_unpair(&plan->pairs, plan->coder, s.pair_sum, gradient);
    free_scratch(&s);
}

/* With one score. */
static bool prepare_pairs(struct cells_plan *plan) {
    if (!sefr_find_pairs(&plan->pairs, plan->coder, plan->n / plan->n_chunks)) return false;
    const ptrdiff_t rows = INDEX_ENTRIES / (plan->pairs.n_pairs + 1) / ROWS * ROWS;
    const ptrdiff_t most = plan->n < MOST_ROWS ? (plan->n + ROWS - 1) / ROWS * ROWS : MOST_ROWS;
    plan->block_rows = rows > most ? most : rows;
    if (plan->block_rows < ROWS) plan->block_rows = ROWS;
    plan->paired = sefr_aligned(plan->pairs.n_cells, sizeof *plan->paired);
    if (!plan->paired) return false;
    sefr_pair_table(&plan->pairs, plan->coder, plan->model->coef, plan->paired);
    return true;
}

static bool prepare(struct cells_plan *plan) {
    const ptrdiff_t n_scores = plan->model->n_scores, n_cells = plan->coder->n_cells;
    plan->width = (n_scores + SIDE - 1) / SIDE * SIDE;
    plan->block_rows = ROWS;
    plan->part_size = n_cells * n_scores + n_scores + 1;
    plan->parts = calloc((size_t)(plan->n_chunks * plan->part_size), sizeof *plan->parts);
    if (!plan->parts) return false;
    if (n_scores == 1) return prepare_pairs(plan);
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
    free(plan.paired);
    sefr_free_pairs(&plan.pairs);
    free(plan.parts);
    return outcome;
}
