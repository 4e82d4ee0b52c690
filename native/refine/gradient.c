#include "refine/gradient.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "common/threads.h"
#include "refine/long_rows.h"
#include "refine/tile.h"

/* A tile of rows stays in the first-level cache where rows are short, and has at least 8 rows (16 where several
   scores share the work), so that the sums are touched once for that many. A tile of columns is 8 columns of up to
   2048 rows. FLUSH lines are added in float32 before they go to the float64 sums. */
enum { TILE_FLOATS = 8192, FEWEST_ROWS = 8, MOST_ROWS = 128, COLUMN_LINES = 8, COLUMN_ROWS = 2048, FLUSH = 128 };

/* The work, cut by the shape alone, so that the result is the same for any number of threads. */
struct gradient_plan {
    const struct table *x;
    const struct grouping *by;
    const struct model *model;
    const struct task *task;
    const double *centre, *scale;
    float *narrow_centre;
    /* A tile holds x - centre in these units. They are 1, and the scale is in coef and taken into the gradient at the
       end, unless scales are such that unscaled sums could leave float32's range: then they are the scales. */
    double *unit;
    float *narrow_unit;
    bool in_units;
    float *coef; /* n_products lines of `width`, for values in the units: the vectors of the products */
    /* Softmax depends on differences of scores alone: products with the last class, and its gradient, which is minus
       the sum of the others', are spared. */
    ptrdiff_t n_products;
    void *long_coef; /* where rows are worked on without a tile: coef in their own type */
    ptrdiff_t width, n_chunks, part_size;
    ptrdiff_t step;                                        /* rows of a tile */
    ptrdiff_t ahead_of_fill, ahead_of_score, ahead_of_add; /* bytes to call into the cache at each step */
    double *parts;                                         /* a chunk's gradient: n_scores x m, n_scores, loss */
    bool by_columns;
    atomic_int error;
};

/* The memory of one task. */
struct scratch {
    float *tile, *residual, *sum;
    double *score, *weight, *target;
    int32_t *code;
    const char **rows;
    char *line;
};

static void free_scratch(struct scratch *scratch) {
    free(scratch->tile);
    free(scratch->residual);
    free(scratch->sum);
    free(scratch->score);
    free(scratch->weight);
    free(scratch->target);
    free(scratch->code);
    free(scratch->rows);
    free(scratch->line);
}

static bool allocate_scratch(struct scratch *scratch, ptrdiff_t tile_floats, ptrdiff_t n_rows, ptrdiff_t n_scores,
                             ptrdiff_t sum_width, ptrdiff_t line_values, bool targets) {
    const ptrdiff_t cells = padded(n_rows) * n_scores;
    *scratch = (struct scratch){.tile = sefr_aligned(tile_floats, sizeof(float)),
                                .residual = sefr_aligned(cells, sizeof(float)),
                                .sum = sefr_aligned(sum_width * n_scores, sizeof(float)),
                                .score = sefr_aligned(cells, sizeof(double)),
                                .weight = sefr_aligned(n_rows, sizeof(double)),
                                .target = targets ? sefr_aligned(cells, sizeof(double)) : NULL,
                                .code = sefr_aligned(n_rows, sizeof(int32_t)),
                                .rows = sefr_aligned(n_rows, sizeof(char *)),
                                .line = sefr_aligned(line_values, 8)};
    if (scratch->tile) memset(scratch->tile, 0, (size_t)tile_floats * sizeof(float));
    if (scratch->sum) memset(scratch->sum, 0, (size_t)(sum_width * n_scores) * sizeof(float));
    if (scratch->residual) memset(scratch->residual, 0, (size_t)cells * sizeof(float));
    if (targets && !scratch->target) return false;
    return scratch->tile && scratch->residual && scratch->sum && scratch->score && scratch->weight && scratch->code &&
           scratch->rows && scratch->line;
}

/* Codes and weights of rows first .. first + n into memory, those left out without weight. */
static bool read_rows(const struct gradient_plan *plan, const struct scratch *scratch, ptrdiff_t first, ptrdiff_t n) {
    if (!read_weighted_groups(plan->by, first, n, scratch->code, scratch->weight)) return false;
    for (ptrdiff_t i = 0; i < n; i++) {
        scratch->weight[i] =
            scratch->code[i] < 0 ? 0.0 : scratch->weight[i] * plan->model->class_weights[scratch->code[i]];
    }
    return true;
}

/* The targets of row `row` to place i of those that are worked on. */
static void read_targets(const struct gradient_plan *plan, ptrdiff_t row, double *to, ptrdiff_t i, ptrdiff_t width) {
    const double *from = plan->task->targets;
    if (!from) return;
    const ptrdiff_t n_scores = plan->model->n_scores;
    for (ptrdiff_t k = 0; k < n_scores; k++) to[k * width + i] = from[row * n_scores + k];
}

/* The scores without products: the intercepts. */
static void start_scores(const struct gradient_plan *plan, double *score, ptrdiff_t n, ptrdiff_t width) {
    for (ptrdiff_t k = 0; k < plan->model->n_scores; k++) {
        for (ptrdiff_t i = 0; i < n; i++) score[k * width + i] = plan->model->intercept[k];
    }
}

static ptrdiff_t chunk_begin(const struct gradient_plan *plan, ptrdiff_t i, ptrdiff_t step) {
    const ptrdiff_t n_blocks = (plan->x->n + step - 1) / step, begin = n_blocks * i / plan->n_chunks * step;
    return begin < plan->x->n ? begin : plan->x->n;
}

/* A tile of rows in memory. */
struct block {
    const struct gradient_plan *plan;
    const struct scratch *scratch;
    ptrdiff_t n;        /* rows that count */
    bool direct;        /* values can be read where they are */
    bool checked;       /* some are not finite */
    struct ahead ahead; /* the rows of the next tile */
};

static struct tile tile_of(const struct block *block) {
    return (struct tile){block->scratch->tile, block->n, padded(block->plan->x->m), block->plan->width};
}

static struct long_rows long_rows_of(const struct block *block) {
    const struct gradient_plan *plan = block->plan;
    const void *centre = is_narrow(plan->x->type) ? (const void *)plan->narrow_centre : plan->centre;
    return (struct long_rows){plan->x->type, block->scratch->rows, block->n, plan->x->m, centre, block->checked};
}

static void fill_block(struct block *block) {
    const struct gradient_plan *plan = block->plan;
    const struct table *x = plan->x;
    const bool narrow = is_narrow(x->type);
    const void *centre = narrow ? (const void *)plan->narrow_centre : plan->centre;
    const void *unit = narrow ? (const void *)plan->narrow_unit : plan->unit;
    block->ahead.per_step = plan->ahead_of_fill;
    for (ptrdiff_t i = 0; i < block->n; i++) {
        const char *from = block->scratch->rows[i];
        float *to = block->scratch->tile + i * plan->width;
        look_ahead(&block->ahead);
        if (!block->direct) {
            sefr_gather(x->type, from, x->column_stride, x->m, block->scratch->line);
            from = block->scratch->line;
        }
        if (block->checked) {
            sefr_fill_checked(x->type, from, x->m, centre, unit, to);
        } else {
            sefr_fill_plain(x->type, from, x->m, centre, to);
        }
    }
}

static void score_block(struct block *block) {
    const struct gradient_plan *plan = block->plan;
    const struct tile tile = tile_of(block);
    const ptrdiff_t residuals = padded(plan->step);
    double *score = block->scratch->score;
    if (plan->long_coef) {
        const struct long_rows rows = long_rows_of(block);
        block->ahead.per_step = 4 * plan->ahead_of_fill;
        sefr_score_long(&rows, plan->long_coef, score, &block->ahead);
        for (ptrdiff_t i = 0; i < block->n; i++) score[i] += plan->model->intercept[0];
        return;
    }
    fill_block(block);
    start_scores(plan, score, block->n, residuals);
    block->ahead.per_step = plan->ahead_of_score;
    sefr_multiply_lines(&tile, plan->coef, plan->width, plan->n_products, score, residuals, &block->ahead);
}

static bool scores_are_finite(const struct block *block) {
    const ptrdiff_t residuals = padded(block->plan->step);
    double none = 0.0; /* or NaN */
    for (ptrdiff_t k = 0; k < block->plan->n_products; k++) {
        const double *score = block->scratch->score + k * residuals;
        for (ptrdiff_t i = 0; i < block->n; i++) none += score[i] - score[i];
    }
    return none == 0.0;
}

static void add_block(struct block *block) {
    const struct gradient_plan *plan = block->plan;
    const struct tile tile = tile_of(block);
    if (plan->long_coef) {
        const struct long_rows rows = long_rows_of(block);
        for (ptrdiff_t i = block->n; i < padded(block->n); i++) block->scratch->residual[i] = 0.0f;
        sefr_add_long(&rows, block->scratch->residual, block->scratch->sum);
        return;
    }
    block->ahead.per_step = plan->ahead_of_add;
    sefr_add_lines(&tile, block->scratch->residual, padded(plan->step), plan->n_products, block->scratch->sum,
                   plan->width, &block->ahead);
}

/* The rows from `first` on are next. */
static void look_at(struct block *block, ptrdiff_t first) {
    const struct table *x = block->plan->x;
    const ptrdiff_t left = x->n - first, n = left < block->plan->step ? left : block->plan->step;
    block->ahead = (struct ahead){NULL, NULL, 0};
    if (n <= 0 || !block->direct || x->row_stride < 0 || x->row_stride > 2 * x->m * (ptrdiff_t)dtype_size(x->type)) {
        return;
    }
    block->ahead.next = x->data + first * x->row_stride;
    block->ahead.end = block->ahead.next + n * x->row_stride;
}

static void run_rows(void *context, ptrdiff_t task, int worker) {
    struct gradient_plan *plan = context;
    const struct table *x = plan->x;
    const ptrdiff_t n_scores = plan->model->n_scores, step = plan->step, last = chunk_begin(plan, task + 1, step);
    double *gradient = plan->parts + task * plan->part_size, *sums = gradient + n_scores * x->m,
           *loss = sums + n_scores;
    struct scratch scratch;
    struct block block = {.plan = plan, .scratch = &scratch, .direct = rows_are_direct(x)};
    block.checked = plan->in_units;
    (void)worker;
    if (!allocate_scratch(&scratch, step * plan->width, step, n_scores, plan->width, block.direct ? 0 : x->m,
                          plan->task->targets != NULL)) {
        atomic_store(&plan->error, NO_MEMORY);
        free_scratch(&scratch);
        return;
    }
    ptrdiff_t waiting = 0;
    for (ptrdiff_t first = chunk_begin(plan, task, step); first < last; first += step) {
        const ptrdiff_t n_read = last - first < step ? last - first : step;
        if (!read_rows(plan, &scratch, first, n_read)) {
            atomic_store(&plan->error, BAD_CODE);
            break;
        }
        block.n = 0;
        look_at(&block, first + step);
        for (ptrdiff_t i = 0; i < n_read; i++) { /* only rows that count */
            if (scratch.code[i] < 0) continue;
            scratch.rows[block.n] = x->data + (first + i) * x->row_stride;
            scratch.code[block.n] = scratch.code[i];
            read_targets(plan, first + i, scratch.target, block.n, padded(step));
            scratch.weight[block.n++] = scratch.weight[i];
        }
        if (block.n == 0) continue;
        score_block(&block);
        /* A value that is not finite makes every score so. Where one was, others are expected. */
        if (!block.checked && !scores_are_finite(&block)) {
            block.checked = true;
            score_block(&block);
        }
        const struct scored_rows scored = {plan->task->loss, block.n,        padded(step),  n_scores,
                                           scratch.code,     scratch.weight, scratch.score, scratch.target};
        *loss += sefr_loss(&scored, scratch.residual, sums);
        add_block(&block);
        if ((waiting += block.n) >= FLUSH) {
            sefr_flush_lines(scratch.sum, plan->width, x->m, plan->n_products, gradient, x->m);
            waiting = 0;
        }
    }
    sefr_flush_lines(scratch.sum, plan->width, x->m, plan->n_products, gradient, x->m);
    free_scratch(&scratch);
}

/* Columns j .. j + n_lines of rows first .. first + n into a tile whose lines are columns. */
static struct tile fill_columns(const struct gradient_plan *plan, const struct scratch *scratch, ptrdiff_t j,
                                ptrdiff_t first, ptrdiff_t n) {
    const struct table *x = plan->x;
    const ptrdiff_t width = padded(n), left = x->m - j;
    const struct tile tile = {scratch->tile, left < COLUMN_LINES ? left : COLUMN_LINES, width, width};
    for (ptrdiff_t line = 0; line < tile.n_lines; line++) {
        const struct column column = get_column(x, j + line);
        const char *from = column.data + first * column.stride;
        const ptrdiff_t size = (ptrdiff_t)dtype_size(column.type);
        if (column.stride != size || (uintptr_t)from % (size_t)size) {
            sefr_gather(column.type, from, column.stride, n, scratch->line);
            from = scratch->line;
        }
        sefr_fill_column(column.type, from, n, plan->centre[j + line], plan->scale[j + line], tile.data + line * width);
        memset(tile.data + line * width + n, 0, (size_t)(width - n) * sizeof(float));
    }
    return tile;
}

/* Each column is read twice, for the scores and for the sums; the second time from a cache if the block fits one. */
static void run_columns(void *context, ptrdiff_t task, int worker) {
    struct gradient_plan *plan = context;
    const ptrdiff_t m = plan->x->m, n_scores = plan->model->n_scores, n_products = plan->n_products;
    const ptrdiff_t step = COLUMN_ROWS;
    const ptrdiff_t last = chunk_begin(plan, task + 1, step);
    double *gradient = plan->parts + task * plan->part_size, *sums = gradient + n_scores * m, *loss = sums + n_scores;
    double *part = sefr_aligned(n_scores * COLUMN_LINES, sizeof *part);
    float *factors = sefr_aligned(n_scores * PAD, sizeof *factors);
    struct ahead nothing = {NULL, NULL, 0};
    struct scratch scratch;
    (void)worker;
    if (!allocate_scratch(&scratch, COLUMN_LINES * step, step, n_scores, step, step, plan->task->targets != NULL) ||
        !part || !factors) {
        atomic_store(&plan->error, NO_MEMORY);
        goto done;
    }
    for (ptrdiff_t first = chunk_begin(plan, task, step); first < last; first += step) {
        const ptrdiff_t n = last - first < step ? last - first : step, width = padded(n);
        if (!read_rows(plan, &scratch, first, n)) {
            atomic_store(&plan->error, BAD_CODE);
            break;
        }
        start_scores(plan, scratch.score, n, width);
        for (ptrdiff_t j = 0; j < m; j += COLUMN_LINES) {
            const struct tile tile = fill_columns(plan, &scratch, j, first, n);
            for (ptrdiff_t k = 0; k < n_products; k++) {
                memcpy(factors + k * PAD, plan->coef + k * plan->width + j, (size_t)tile.n_lines * sizeof *factors);
            }
            sefr_add_lines(&tile, factors, PAD, n_products, scratch.sum, width, &nothing);
            if (j / COLUMN_LINES % (FLUSH / COLUMN_LINES) == 0) {
                sefr_flush_lines(scratch.sum, width, n, n_products, scratch.score, width);
            }
        }
        sefr_flush_lines(scratch.sum, width, n, n_products, scratch.score, width);
        for (ptrdiff_t i = 0; i < n; i++) read_targets(plan, first + i, scratch.target, i, width);
        const struct scored_rows scored = {
            plan->task->loss, n, width, n_scores, scratch.code, scratch.weight, scratch.score, scratch.target};
        *loss += sefr_loss(&scored, scratch.residual, sums);
        for (ptrdiff_t k = 0; k < n_products; k++) {
            memset(scratch.residual + k * width + n, 0, (size_t)(width - n) * sizeof(float));
        }
        for (ptrdiff_t j = 0; j < m; j += COLUMN_LINES) {
            const struct tile tile = fill_columns(plan, &scratch, j, first, n);
            memset(part, 0, (size_t)(n_products * COLUMN_LINES) * sizeof *part);
            sefr_multiply_lines(&tile, scratch.residual, width, n_products, part, COLUMN_LINES, &nothing);
            for (ptrdiff_t k = 0; k < n_products; k++) {
                for (ptrdiff_t line = 0; line < tile.n_lines; line++) {
                    gradient[k * m + j + line] += part[k * COLUMN_LINES + line];
                }
            }
        }
    }
done:
    free(part);
    free(factors);
    free_scratch(&scratch);
}

/* Whether values have to be scaled at once: by columns they always are. */
static bool needs_units(const struct gradient_plan *plan) {
    if (plan->by_columns) return true;
    for (ptrdiff_t j = 0; j < plan->x->m; j++) {
        const double scale = plan->scale[j];
        if (scale != 0.0 && !(scale > 1e-25 && scale < 1e25)) return true;
    }
    return false;
}

static bool prepare(struct gradient_plan *plan) {
    const ptrdiff_t m = plan->x->m;
    const double *coef = plan->model->coef, *last = coef + plan->n_products * m;
    const bool spared = plan->n_products < plan->model->n_scores;
    plan->coef = sefr_aligned(plan->n_products * plan->width, sizeof(float));
    plan->narrow_centre = sefr_aligned(m, sizeof(float));
    plan->narrow_unit = sefr_aligned(m, sizeof(float));
    plan->unit = sefr_aligned(m, sizeof(double));
    plan->parts = calloc((size_t)(plan->n_chunks * plan->part_size), sizeof *plan->parts);
    if (!plan->coef || !plan->narrow_centre || !plan->narrow_unit || !plan->unit || !plan->parts) return false;
    memset(plan->coef, 0, (size_t)(plan->n_products * plan->width) * sizeof *plan->coef);
    plan->in_units = needs_units(plan);
    for (ptrdiff_t j = 0; j < m; j++) {
        plan->unit[j] = plan->in_units ? plan->scale[j] : 1.0;
        plan->narrow_unit[j] = (float)plan->unit[j];
        plan->narrow_centre[j] = (float)plan->centre[j];
    }
    for (ptrdiff_t k = 0; k < plan->n_products; k++) {
        for (ptrdiff_t j = 0; j < m; j++) {
            const double weight = spared ? coef[k * m + j] - last[j] : coef[k * m + j];
            plan->coef[k * plan->width + j] = (float)(plan->in_units ? weight : weight * plan->scale[j]);
        }
    }
    return true;
}

/* Rows of more than 1024 floats with one score need no tile. Integers would be converted twice, which costs more. */
static bool prepare_long(struct gradient_plan *plan) {
    const struct table *x = plan->x;
    if (plan->in_units || plan->n_products > 1 || x->m <= 1024 || !rows_are_direct(x)) return true;
    if (x->type != F32 && x->type != F64) return true;
    plan->long_coef = sefr_aligned(x->m, dtype_size(x->type));
    if (!plan->long_coef) return false;
    for (ptrdiff_t j = 0; j < x->m; j++) {
        const double weight = plan->model->coef[j] * plan->scale[j];
        if (x->type == F32) {
            ((float *)plan->long_coef)[j] = (float)weight;
        } else {
            ((double *)plan->long_coef)[j] = weight;
        }
    }
    return true;
}

static void combine(const struct gradient_plan *plan, const struct gradient *out) {
    const ptrdiff_t m = plan->x->m, n_scores = plan->model->n_scores;
    memset(out->coef, 0, (size_t)(n_scores * m) * sizeof(double));
    memset(out->intercept, 0, (size_t)n_scores * sizeof(double));
    *out->loss = 0.0;
    for (ptrdiff_t i = 0; i < plan->n_chunks; i++) {
        const double *part = plan->parts + i * plan->part_size;
        for (ptrdiff_t j = 0; j < n_scores * m; j++) out->coef[j] += part[j];
        for (ptrdiff_t k = 0; k < n_scores; k++) out->intercept[k] += part[n_scores * m + k];
        *out->loss += part[n_scores * m + n_scores];
    }
    for (ptrdiff_t k = 0; !plan->in_units && k < plan->n_products; k++) {
        for (ptrdiff_t j = 0; j < m; j++) out->coef[k * m + j] *= plan->scale[j];
    }
    for (ptrdiff_t k = 0; plan->n_products < n_scores && k < plan->n_products; k++) {
        for (ptrdiff_t j = 0; j < m; j++) out->coef[plan->n_products * m + j] -= out->coef[k * m + j];
    }
}

/* How long tiles are, and how the call for the next one is spread over the work on this one: with one score, which
   waits for memory anyway, over the rows as they are read, else over the products. */
static void choose_tiles(struct gradient_plan *plan) {
    const ptrdiff_t m = plan->x->m, n = plan->n_products, fewest = n == 1 ? FEWEST_ROWS : 2 * FEWEST_ROWS;
    plan->width = padded(m);
    if (plan->width % 256 == 0) plan->width += PAD; /* or the lines of a place would meet in few places of a cache */
    const ptrdiff_t rows = TILE_FLOATS / plan->width / 8 * 8;
    plan->step = rows < fewest ? fewest : rows > MOST_ROWS ? MOST_ROWS : rows;
    const ptrdiff_t row_bytes = plan->x->row_stride > 0 ? plan->x->row_stride : 0, bytes = plan->step * row_bytes;
    const ptrdiff_t scoring = plan->step / 4 * ((n + 2) / 3) * ((m + STRIP_PLACES - 1) / STRIP_PLACES);
    const ptrdiff_t adding = plan->width / PAD * ((n + 4) / 5);
    plan->ahead_of_fill = n == 1 ? row_bytes : 0;
    plan->ahead_of_score = n == 1 ? 0 : (bytes / 2 / scoring + 63) / 64 * 64;
    plan->ahead_of_add = n == 1 ? 0 : (bytes / 2 / adding + 63) / 64 * 64;
}

enum outcome sefr_gradient(const struct table *x, const struct grouping *by, const double *centre, const double *scale,
                           const struct model *model, const struct task *task, const struct gradient *out,
                           int n_threads) {
    struct gradient_plan plan = {.x = x, .by = by, .model = model, .task = task, .centre = centre, .scale = scale};
    plan.by_columns = lies_by_columns(x);
    plan.n_products = model->n_scores - (task->loss == SOFTMAX);
    choose_tiles(&plan);
    /* a chunk reads at least 4 times what its own sums take, and 2**18 values */
    ptrdiff_t chunks = x->n / (4 * (ptrdiff_t)model->n_scores + 1), limit = x->n * x->m / 262144;
    if (plan.by_columns && limit > x->n / COLUMN_ROWS) limit = x->n / COLUMN_ROWS;
    if (chunks > limit) chunks = limit;
    plan.n_chunks = chunks < 1 ? 1 : chunks > 16 ? 16 : chunks;
    plan.part_size = model->n_scores * x->m + model->n_scores + 1;
    enum outcome outcome = NO_MEMORY;
    if (prepare(&plan) && prepare_long(&plan)) {
        sefr_run_tasks(plan.by_columns ? run_columns : run_rows, &plan, plan.n_chunks, n_threads);
        outcome = (enum outcome)atomic_load(&plan.error);
        if (outcome == FINITE) combine(&plan, out);
    }
    free(plan.coef);
    free(plan.long_coef);
    free(plan.unit);
    free(plan.narrow_unit);
    free(plan.narrow_centre);
    free(plan.parts);
    return outcome;
}
