#include "refine/sweep.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "refine/long_rows.h"
#include "refine/loss.h"
#include "common/threads.h"
#include "refine/tile.h"

/* A tile of rows stays in the first-level cache where rows are short, and has at least 8 rows (16 where several
   scores share the work), so that the sums are touched once for that many. A tile of columns is 8 columns of up to
   2048 rows. FLUSH lines are added in float32 before they go to the float64 sums. */
enum { TILE_FLOATS = 8192, FEWEST_ROWS = 8, MOST_ROWS = 128, COLUMN_LINES = 8, COLUMN_ROWS = 2048, FLUSH = 128 };

/* The work, cut by the shape alone, so that the result is the same for any number of threads. */
struct sweep_plan {
    const struct table *x;
    const struct grouping *by;
    const struct model *model;
    const double *centre, *scale;
    float *narrow_centre;
    /* A tile holds x - centre in these units. They are 1, and the scale is in coef and taken into the slope at the
       end, unless scales are such that unscaled sums could leave float32's range: then they are the scales. */
    double *unit;
    float *narrow_unit;
    bool in_units;
    float *coef; /* n_products lines of `width`, for values in the units: the vectors of the products */
    /* Softmax depends on differences of scores alone: products with the last class, and its slope, which is minus
       the sum of the others', are spared. */
    ptrdiff_t n_products;
    void *long_coef; /* where rows are worked on without a tile: coef in their own type */
    ptrdiff_t width, n_chunks, part_size;
    ptrdiff_t step; /* rows of a tile */
    ptrdiff_t ahead_of_fill, ahead_of_score, ahead_of_add; /* bytes to call into the cache at each step */
    double *parts; /* a chunk's slope: n_scores x m, n_scores, loss */
    bool by_columns;
    atomic_int error;
};

/* The memory of one task. */
struct bench {
    float *tile, *pull, *sum;
    double *score, *weight;
    int32_t *code;
    const char **rows;
    char *scratch;
};

static void free_bench(struct bench *bench) {
    free(bench->tile);
    free(bench->pull);
    free(bench->sum);
    free(bench->score);
    free(bench->weight);
    free(bench->code);
    free(bench->rows);
    free(bench->scratch);
}

static bool allocate_bench(struct bench *bench, ptrdiff_t tile_floats, ptrdiff_t n_rows, ptrdiff_t n_scores,
                           ptrdiff_t sum_width, ptrdiff_t scratch_values) {
    const ptrdiff_t cells = padded(n_rows) * n_scores;
    *bench = (struct bench){.tile = aligned(tile_floats, sizeof(float)), .pull = aligned(cells, sizeof(float)),
                            .sum = aligned(sum_width * n_scores, sizeof(float)),
                            .score = aligned(cells, sizeof(double)), .weight = aligned(n_rows, sizeof(double)),
                            .code = aligned(n_rows, sizeof(int32_t)), .rows = aligned(n_rows, sizeof(char *)),
                            .scratch = aligned(scratch_values, 8)};
    if (bench->tile) memset(bench->tile, 0, (size_t)tile_floats * sizeof(float));
    if (bench->sum) memset(bench->sum, 0, (size_t)(sum_width * n_scores) * sizeof(float));
    if (bench->pull) memset(bench->pull, 0, (size_t)cells * sizeof(float));
    return bench->tile && bench->pull && bench->sum && bench->score && bench->weight && bench->code && bench->rows &&
           bench->scratch;
}

/* Codes and weights of rows first .. first + n into the bench, those left out without weight. */
static bool read_rows(const struct sweep_plan *plan, const struct bench *bench, ptrdiff_t first, ptrdiff_t n) {
    if (!read_weighted_groups(plan->by, first, n, bench->code, bench->weight)) return false;
    for (ptrdiff_t i = 0; i < n; i++) {
        bench->weight[i] = bench->code[i] < 0 ? 0.0 : bench->weight[i] * plan->model->class_weights[bench->code[i]];
    }
    return true;
}

/* The scores without products: the intercepts. */
static void start_scores(const struct sweep_plan *plan, double *score, ptrdiff_t n, ptrdiff_t width) {
    for (ptrdiff_t k = 0; k < plan->model->n_scores; k++) {
        for (ptrdiff_t i = 0; i < n; i++) score[k * width + i] = plan->model->intercept[k];
    }
}

static ptrdiff_t chunk_begin(const struct sweep_plan *plan, ptrdiff_t i, ptrdiff_t step) {
    const ptrdiff_t n_blocks = (plan->x->n + step - 1) / step, begin = n_blocks * i / plan->n_chunks * step;
    return begin < plan->x->n ? begin : plan->x->n;
}

/* A tile of rows on the bench. */
struct block {
    const struct sweep_plan *plan;
    const struct bench *bench;
    ptrdiff_t n;        /* rows that count */
    bool direct;        /* values can be read where they are */
    bool checked;       /* some are not finite */
    struct ahead ahead; /* the rows of the next tile */
};

static struct tile tile_of(const struct block *block) {
    return (struct tile){block->bench->tile, block->n, padded(block->plan->x->m), block->plan->width};
}

static struct long_rows long_rows_of(const struct block *block) {
    const struct sweep_plan *plan = block->plan;
    const void *centre = is_narrow(plan->x->type) ? (const void *)plan->narrow_centre : plan->centre;
    return (struct long_rows){plan->x->type, block->bench->rows, block->n, plan->x->m, centre, block->checked};
}

static void fill_block(struct block *block) {
    const struct sweep_plan *plan = block->plan;
    const struct table *x = plan->x;
    const bool narrow = is_narrow(x->type);
    const void *centre = narrow ? (const void *)plan->narrow_centre : plan->centre;
    const void *unit = narrow ? (const void *)plan->narrow_unit : plan->unit;
    block->ahead.a_step = plan->ahead_of_fill;
    for (ptrdiff_t i = 0; i < block->n; i++) {
        const char *from = block->bench->rows[i];
        float *to = block->bench->tile + i * plan->width;
        look_ahead(&block->ahead);
        if (!block->direct) {
            gather(x->type, from, x->column_stride, x->m, block->bench->scratch);
            from = block->bench->scratch;
        }
        if (block->checked) {
            fill_checked(x->type, from, x->m, centre, unit, to);
        } else {
            fill_plain(x->type, from, x->m, centre, to);
        }
    }
}

static void score_block(struct block *block) {
    const struct sweep_plan *plan = block->plan;
    const struct tile tile = tile_of(block);
    const ptrdiff_t pulls = padded(plan->step);
    double *score = block->bench->score;
    if (plan->long_coef) {
        const struct long_rows rows = long_rows_of(block);
        block->ahead.a_step = 4 * plan->ahead_of_fill;
        score_long(&rows, plan->long_coef, score, &block->ahead);
        for (ptrdiff_t i = 0; i < block->n; i++) score[i] += plan->model->intercept[0];
        return;
    }
    fill_block(block);
    start_scores(plan, score, block->n, pulls);
    block->ahead.a_step = plan->ahead_of_score;
    multiply_lines(&tile, plan->coef, plan->width, plan->n_products, score, pulls, &block->ahead);
}

static bool scores_are_finite(const struct block *block) {
    const ptrdiff_t pulls = padded(block->plan->step);
    double none = 0.0; /* or NaN */
    for (ptrdiff_t k = 0; k < block->plan->n_products; k++) {
        const double *score = block->bench->score + k * pulls;
        for (ptrdiff_t i = 0; i < block->n; i++) none += score[i] - score[i];
    }
    return none == 0.0;
}

static void add_block(struct block *block) {
    const struct sweep_plan *plan = block->plan;
    const struct tile tile = tile_of(block);
    if (plan->long_coef) {
        const struct long_rows rows = long_rows_of(block);
        for (ptrdiff_t i = block->n; i < padded(block->n); i++) block->bench->pull[i] = 0.0f;
        add_long(&rows, block->bench->pull, block->bench->sum);
        return;
    }
    block->ahead.a_step = plan->ahead_of_add;
    add_lines(&tile, block->bench->pull, padded(plan->step), plan->n_products, block->bench->sum, plan->width,
              &block->ahead);
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

static void sweep_rows(void *context, ptrdiff_t task, int worker) {
    struct sweep_plan *plan = context;
    const struct table *x = plan->x;
    const ptrdiff_t n_scores = plan->model->n_scores, step = plan->step, last = chunk_begin(plan, task + 1, step);
    double *slope = plan->parts + task * plan->part_size, *sums = slope + n_scores * x->m, *loss = sums + n_scores;
    struct bench bench;
    struct block block = {.plan = plan, .bench = &bench, .direct = rows_are_direct(x)};
    block.checked = plan->in_units;
    (void)worker;
    if (!allocate_bench(&bench, step * plan->width, step, n_scores, plan->width, block.direct ? 0 : x->m)) {
        atomic_store(&plan->error, NO_MEMORY);
        free_bench(&bench);
        return;
    }
    ptrdiff_t waiting = 0;
    for (ptrdiff_t first = chunk_begin(plan, task, step); first < last; first += step) {
        const ptrdiff_t n_read = last - first < step ? last - first : step;
        if (!read_rows(plan, &bench, first, n_read)) {
            atomic_store(&plan->error, BAD_CODE);
            break;
        }
        block.n = 0;
        look_at(&block, first + step);
        for (ptrdiff_t i = 0; i < n_read; i++) { /* only rows that count */
            if (bench.code[i] < 0) continue;
            bench.rows[block.n] = x->data + (first + i) * x->row_stride;
            bench.code[block.n] = bench.code[i];
            bench.weight[block.n++] = bench.weight[i];
        }
        if (block.n == 0) continue;
        score_block(&block);
        /* A value that is not finite makes every score so. Where one was, others are expected. */
        if (!block.checked && !scores_are_finite(&block)) {
            block.checked = true;
            score_block(&block);
        }
        const struct answers answers = {block.n, padded(step), n_scores, bench.code, bench.weight, bench.score};
        *loss += weigh_answers(&answers, bench.pull, sums);
        add_block(&block);
        if ((waiting += block.n) >= FLUSH) {
            flush_lines(bench.sum, plan->width, x->m, plan->n_products, slope, x->m);
            waiting = 0;
        }
    }
    flush_lines(bench.sum, plan->width, x->m, plan->n_products, slope, x->m);
    free_bench(&bench);
}

/* Columns j .. j + n_lines of rows first .. first + n into a tile whose lines are columns. */
static struct tile fill_columns(const struct sweep_plan *plan, const struct bench *bench, ptrdiff_t j, ptrdiff_t first,
                                ptrdiff_t n) {
    const struct table *x = plan->x;
    const ptrdiff_t width = padded(n), left = x->m - j;
    const struct tile tile = {bench->tile, left < COLUMN_LINES ? left : COLUMN_LINES, width, width};
    for (ptrdiff_t line = 0; line < tile.n_lines; line++) {
        const struct column column = get_column(x, j + line);
        const char *from = column.data + first * column.stride;
        const ptrdiff_t size = (ptrdiff_t)dtype_size(column.type);
        if (column.stride != size || (uintptr_t)from % (size_t)size) {
            gather(column.type, from, column.stride, n, bench->scratch);
            from = bench->scratch;
        }
        fill_column(column.type, from, n, plan->centre[j + line], plan->scale[j + line], tile.data + line * width);
        memset(tile.data + line * width + n, 0, (size_t)(width - n) * sizeof(float));
    }
    return tile;
}

/* Each column is read twice, for the scores and for the sums; the second time from a cache if the block fits one. */
static void sweep_columns(void *context, ptrdiff_t task, int worker) {
    struct sweep_plan *plan = context;
    const ptrdiff_t m = plan->x->m, n_scores = plan->model->n_scores, n_products = plan->n_products;
    const ptrdiff_t step = COLUMN_ROWS;
    const ptrdiff_t last = chunk_begin(plan, task + 1, step);
    double *slope = plan->parts + task * plan->part_size, *sums = slope + n_scores * m, *loss = sums + n_scores;
    double *part = aligned(n_scores * COLUMN_LINES, sizeof *part);
    float *factors = aligned(n_scores * PAD, sizeof *factors);
    struct ahead nothing = {NULL, NULL, 0};
    struct bench bench;
    (void)worker;
    if (!allocate_bench(&bench, COLUMN_LINES * step, step, n_scores, step, step) || !part || !factors) {
        atomic_store(&plan->error, NO_MEMORY);
        goto done;
    }
    for (ptrdiff_t first = chunk_begin(plan, task, step); first < last; first += step) {
        const ptrdiff_t n = last - first < step ? last - first : step, width = padded(n);
        if (!read_rows(plan, &bench, first, n)) {
            atomic_store(&plan->error, BAD_CODE);
            break;
        }
        start_scores(plan, bench.score, n, width);
        for (ptrdiff_t j = 0; j < m; j += COLUMN_LINES) {
            const struct tile tile = fill_columns(plan, &bench, j, first, n);
            for (ptrdiff_t k = 0; k < n_products; k++) {
                memcpy(factors + k * PAD, plan->coef + k * plan->width + j, (size_t)tile.n_lines * sizeof *factors);
            }
            add_lines(&tile, factors, PAD, n_products, bench.sum, width, &nothing);
            if (j / COLUMN_LINES % (FLUSH / COLUMN_LINES) == 0) {
                flush_lines(bench.sum, width, n, n_products, bench.score, width);
            }
        }
        flush_lines(bench.sum, width, n, n_products, bench.score, width);
        const struct answers answers = {n, width, n_scores, bench.code, bench.weight, bench.score};
        *loss += weigh_answers(&answers, bench.pull, sums);
        for (ptrdiff_t k = 0; k < n_products; k++) {
            memset(bench.pull + k * width + n, 0, (size_t)(width - n) * sizeof(float));
        }
        for (ptrdiff_t j = 0; j < m; j += COLUMN_LINES) {
            const struct tile tile = fill_columns(plan, &bench, j, first, n);
            memset(part, 0, (size_t)(n_products * COLUMN_LINES) * sizeof *part);
            multiply_lines(&tile, bench.pull, width, n_products, part, COLUMN_LINES, &nothing);
            for (ptrdiff_t k = 0; k < n_products; k++) {
                for (ptrdiff_t line = 0; line < tile.n_lines; line++) {
                    slope[k * m + j + line] += part[k * COLUMN_LINES + line];
                }
            }
        }
    }
done:
    free(part);
    free(factors);
    free_bench(&bench);
}

/* Whether values have to be scaled at once: by columns they always are. */
static bool needs_units(const struct sweep_plan *plan) {
    if (plan->by_columns) return true;
    for (ptrdiff_t j = 0; j < plan->x->m; j++) {
        const double scale = plan->scale[j];
        if (scale != 0.0 && !(scale > 1e-25 && scale < 1e25)) return true;
    }
    return false;
}

static bool prepare(struct sweep_plan *plan) {
    const ptrdiff_t m = plan->x->m;
    const double *coef = plan->model->coef, *last = coef + plan->n_products * m;
    const bool spared = plan->n_products < plan->model->n_scores;
    plan->coef = aligned(plan->n_products * plan->width, sizeof(float));
    plan->narrow_centre = aligned(m, sizeof(float));
    plan->narrow_unit = aligned(m, sizeof(float));
    plan->unit = aligned(m, sizeof(double));
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
static bool prepare_long(struct sweep_plan *plan) {
    const struct table *x = plan->x;
    if (plan->in_units || plan->n_products > 1 || x->m <= 1024 || !rows_are_direct(x)) return true;
    if (x->type != F32 && x->type != F64) return true;
    plan->long_coef = aligned(x->m, dtype_size(x->type));
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

static void combine(const struct sweep_plan *plan, const struct slope *out) {
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
static void choose_tiles(struct sweep_plan *plan) {
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

enum outcome sweep(const struct table *x, const struct grouping *by, const double *centre, const double *scale,
                   const struct model *model, const struct slope *out, int n_threads) {
    struct sweep_plan plan = {.x = x, .by = by, .model = model, .centre = centre, .scale = scale};
    plan.by_columns = lies_by_columns(x);
    plan.n_products = model->n_scores == 1 ? 1 : model->n_scores - 1;
    choose_tiles(&plan);
    /* a chunk reads at least 4 times what its own sums take, and 2**18 values */
    ptrdiff_t chunks = x->n / (4 * (ptrdiff_t)model->n_scores + 1), limit = x->n * x->m / 262144;
    if (plan.by_columns && limit > x->n / COLUMN_ROWS) limit = x->n / COLUMN_ROWS;
    if (chunks > limit) chunks = limit;
    plan.n_chunks = chunks < 1 ? 1 : chunks > 16 ? 16 : chunks;
    plan.part_size = model->n_scores * x->m + model->n_scores + 1;
    enum outcome outcome = NO_MEMORY;
    if (prepare(&plan) && prepare_long(&plan)) {
        run_tasks(plan.by_columns ? sweep_columns : sweep_rows, &plan, plan.n_chunks, n_threads);
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
