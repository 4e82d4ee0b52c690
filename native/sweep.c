#include "sweep.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "loss.h"
#include "product.h"
#include "threads.h"

/* A tile of rows stays in the first-level cache where rows are short, and has at least 8 rows (16 where several
   scores share the work), so that the sums are touched once for that many. A tile of columns is 8 columns of up to
   2048 rows. FLUSH lines are added in float32 before they go to the float64 sums. */
enum { TILE_FLOATS = 8192, FEWEST_ROWS = 8, MOST_ROWS = 128, COLUMN_LINES = 8, COLUMN_ROWS = 2048, FLUSH = 128 };

#define FINITE_OR_0(a) ((a) - (a) == 0 ? (a) : 0)

#define T float
#define TAG F32
#define A float
#include "tile_kernel.h"
#define T double
#define TAG F64
#define A double
#include "tile_kernel.h"
#define T int8_t
#define TAG I8
#define A float
#include "tile_kernel.h"
#define T uint8_t
#define TAG U8
#define A float
#include "tile_kernel.h"
#define T int16_t
#define TAG I16
#define A float
#include "tile_kernel.h"
#define T uint16_t
#define TAG U16
#define A float
#include "tile_kernel.h"
#define T int32_t
#define TAG I32
#define A double
#include "tile_kernel.h"
#define T uint32_t
#define TAG U32
#define A double
#include "tile_kernel.h"
#define T int64_t
#define TAG I64
#define A double
#include "tile_kernel.h"
#define T uint64_t
#define TAG U64
#define A double
#include "tile_kernel.h"

typedef void fill_rows_function(const struct table *, const ptrdiff_t *, ptrdiff_t, const void *, const void *,
                                float *, ptrdiff_t, void *);
typedef void score_long_function(const struct table *, const ptrdiff_t *, ptrdiff_t, const void *, const void *,
                                 double *);
typedef void add_long_function(const struct table *, const ptrdiff_t *, ptrdiff_t, const void *, const float *,
                               float *);
typedef void fill_line_function(const char *, ptrdiff_t, ptrdiff_t, double, double, float *, void *);

#define EACH(name)                                                                                             \
    {name##_F32, name##_F64, name##_I8, name##_U8, name##_I16, name##_U16, name##_I32, name##_U32, name##_I64, \
     name##_U64}
static fill_rows_function *const fill_rows[N_DTYPES] = EACH(fill_rows);
static score_long_function *const score_long[N_DTYPES] = EACH(score_long);
static add_long_function *const add_long[N_DTYPES] = EACH(add_long);
static fill_line_function *const fill_line[N_DTYPES] = EACH(fill_line);

/* The work, cut by the shape alone, so that the result is the same for any number of threads. */
struct sweep_plan {
    const struct table *x;
    const struct grouping *by;
    const struct model *model;
    const double *centre, *scale;
    float *narrow_centre, *narrow_scale; /* for the types that are calculated in float */
    float *coef; /* n_products lines of `width`: as vectors of the products */
    /* Softmax depends on differences of scores alone: products with the last class, and its slope, which is minus
       the sum of the others', are spared. */
    ptrdiff_t n_products;
    void *scaled; /* where rows are long and the score is one: coef times scale, in the type to calculate in */
    ptrdiff_t width, n_chunks, part_size;
    double *parts; /* a chunk's slope: n_scores x m, n_scores, loss */
    bool by_columns;
    atomic_int error;
};

/* The memory of one task. */
struct bench {
    float *tile, *pull, *sum;
    double *score, *weight;
    int32_t *code;
    ptrdiff_t *rows;
    void *scratch;
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
                            .code = aligned(n_rows, sizeof(int32_t)), .rows = aligned(n_rows, sizeof(ptrdiff_t)),
                            .scratch = scratch_values ? aligned(scratch_values, 8) : NULL};
    if (bench->tile) memset(bench->tile, 0, (size_t)tile_floats * sizeof(float));
    if (bench->sum) memset(bench->sum, 0, (size_t)(sum_width * n_scores) * sizeof(float));
    if (bench->pull) memset(bench->pull, 0, (size_t)cells * sizeof(float));
    return bench->tile && bench->pull && bench->sum && bench->score && bench->weight && bench->code && bench->rows &&
           (bench->scratch || !scratch_values);
}

/* Codes and weights of rows first .. first + n into the bench, those left out without weight. */
static bool read_rows(const struct sweep_plan *plan, const struct bench *bench, ptrdiff_t first, ptrdiff_t n) {
    if (!read_weighted_groups(plan->by, first, n, bench->code, bench->weight)) return false;
    for (ptrdiff_t i = 0; i < n; i++) {
        bench->weight[i] = bench->code[i] < 0 ? 0.0 : bench->weight[i] * plan->model->class_weights[bench->code[i]];
    }
    return true;
}

/* Add the intercepts to the products, and the score of the class that was spared. */
static void finish_scores(const struct sweep_plan *plan, double *score, ptrdiff_t n, ptrdiff_t width) {
    const struct model *model = plan->model;
    for (ptrdiff_t k = 0; k < plan->n_products; k++) {
        for (ptrdiff_t i = 0; i < n; i++) score[k * width + i] += model->intercept[k];
    }
    for (ptrdiff_t k = plan->n_products; k < model->n_scores; k++) {
        for (ptrdiff_t i = 0; i < n; i++) score[k * width + i] = model->intercept[k];
    }
}

static ptrdiff_t chunk_begin(const struct sweep_plan *plan, ptrdiff_t i, ptrdiff_t step) {
    const ptrdiff_t n_blocks = (plan->x->n + step - 1) / step, begin = n_blocks * i / plan->n_chunks * step;
    return begin < plan->x->n ? begin : plan->x->n;
}

static ptrdiff_t tile_rows(ptrdiff_t width, ptrdiff_t n_scores) {
    const ptrdiff_t rows = TILE_FLOATS / width / 8 * 8, fewest = n_scores == 1 ? FEWEST_ROWS : 2 * FEWEST_ROWS;
    return rows < fewest ? fewest : rows > MOST_ROWS ? MOST_ROWS : rows;
}

static bool is_direct(const struct table *x) {
    const ptrdiff_t size = (ptrdiff_t)dtype_size(x->type);
    return (x->column_stride == size || x->m == 1) && x->row_stride % size == 0 &&
           (uintptr_t)x->data % (size_t)size == 0;
}

static void sweep_rows(void *context, ptrdiff_t task, int worker) {
    struct sweep_plan *plan = context;
    const struct table *x = plan->x;
    const ptrdiff_t n_scores = plan->model->n_scores, n_products = plan->n_products;
    const ptrdiff_t step = tile_rows(plan->width, n_scores), pulls = padded(step);
    const ptrdiff_t last = chunk_begin(plan, task + 1, step);
    const bool in_float = x->type == F32 || dtype_size(x->type) < 4;
    const void *centre = in_float ? (const void *)plan->narrow_centre : plan->centre;
    const void *scale = in_float ? (const void *)plan->narrow_scale : plan->scale;
    double *slope = plan->parts + task * plan->part_size, *sums = slope + n_scores * x->m, *loss = sums + n_scores;
    struct bench bench;
    (void)worker;
    if (!allocate_bench(&bench, step * plan->width, step, n_scores, plan->width, is_direct(x) ? 0 : x->m)) {
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
        ptrdiff_t n = 0;
        for (ptrdiff_t i = 0; i < n_read; i++) { /* only rows that count */
            if (bench.code[i] < 0) continue;
            bench.rows[n] = first + i;
            bench.code[n] = bench.code[i];
            bench.weight[n++] = bench.weight[i];
        }
        if (n == 0) continue;
        if (plan->scaled) {
            score_long[x->type](x, bench.rows, n, centre, plan->scaled, bench.score);
        } else {
            fill_rows[x->type](x, bench.rows, n, centre, scale, bench.tile, plan->width, bench.scratch);
            multiply_lines(bench.tile, n, plan->width, plan->coef, n_products, bench.score, pulls);
        }
        finish_scores(plan, bench.score, n, pulls);
        struct answers answers = {n, pulls, n_scores, bench.code, bench.weight, bench.score};
        *loss += weigh_answers(&answers, bench.pull, sums);
        if (plan->scaled) {
            for (ptrdiff_t i = n; i < padded(n); i++) bench.pull[i] = 0.0f;
            add_long[x->type](x, bench.rows, n, centre, bench.pull, bench.sum);
        } else {
            add_lines(bench.tile, n, plan->width, bench.pull, pulls, n_products, bench.sum);
        }
        if ((waiting += n) >= FLUSH) flush_lines(bench.sum, plan->width, x->m, n_products, slope, x->m), waiting = 0;
    }
    flush_lines(bench.sum, plan->width, x->m, n_products, slope, x->m);
    free_bench(&bench);
}

/* Columns j .. j + n_lines of rows first .. first + n into a tile whose lines are columns. */
static void fill_columns(const struct sweep_plan *plan, const struct bench *bench, ptrdiff_t j, ptrdiff_t n_lines,
                         ptrdiff_t first, ptrdiff_t n, ptrdiff_t width) {
    const struct table *x = plan->x;
    for (ptrdiff_t line = 0; line < n_lines; line++) {
        struct column column = {x->data + (j + line) * x->column_stride, x->row_stride, x->type};
        if (x->columns) column = x->columns[j + line];
        fill_line[column.type](column.data + first * column.stride, column.stride, n, plan->centre[j + line],
                               plan->scale[j + line], bench->tile + line * width, bench->scratch);
        memset(bench->tile + line * width + n, 0, (size_t)(width - n) * sizeof(float));
    }
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
        memset(bench.score, 0, (size_t)(n_scores * width) * sizeof *bench.score);
        for (ptrdiff_t j = 0; j < m; j += COLUMN_LINES) {
            const ptrdiff_t n_lines = m - j < COLUMN_LINES ? m - j : COLUMN_LINES;
            fill_columns(plan, &bench, j, n_lines, first, n, width);
            for (ptrdiff_t k = 0; k < n_products; k++) {
                memcpy(factors + k * PAD, plan->coef + k * plan->width + j, (size_t)n_lines * sizeof *factors);
            }
            add_lines(bench.tile, n_lines, width, factors, PAD, n_products, bench.sum);
            if (j / COLUMN_LINES % (FLUSH / COLUMN_LINES) == 0) {
                flush_lines(bench.sum, width, n, n_products, bench.score, width);
            }
        }
        flush_lines(bench.sum, width, n, n_products, bench.score, width);
        finish_scores(plan, bench.score, n, width);
        struct answers answers = {n, width, n_scores, bench.code, bench.weight, bench.score};
        *loss += weigh_answers(&answers, bench.pull, sums);
        for (ptrdiff_t k = 0; k < n_products; k++) {
            memset(bench.pull + k * width + n, 0, (size_t)(width - n) * sizeof(float));
        }
        for (ptrdiff_t j = 0; j < m; j += COLUMN_LINES) {
            const ptrdiff_t n_lines = m - j < COLUMN_LINES ? m - j : COLUMN_LINES;
            fill_columns(plan, &bench, j, n_lines, first, n, width);
            multiply_lines(bench.tile, n_lines, width, bench.pull, n_products, part, COLUMN_LINES);
            for (ptrdiff_t k = 0; k < n_products; k++) {
                for (ptrdiff_t line = 0; line < n_lines; line++) {
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

static bool prepare(struct sweep_plan *plan) {
    const ptrdiff_t m = plan->x->m;
    const double *coef = plan->model->coef, *last = coef + plan->n_products * m;
    const bool spared = plan->n_products < plan->model->n_scores;
    plan->coef = aligned(plan->n_products * plan->width, sizeof *plan->coef);
    plan->narrow_centre = aligned(m, sizeof(float));
    plan->narrow_scale = aligned(m, sizeof(float));
    plan->parts = calloc((size_t)(plan->n_chunks * plan->part_size), sizeof *plan->parts);
    if (!plan->coef || !plan->narrow_centre || !plan->narrow_scale || !plan->parts) return false;
    memset(plan->coef, 0, (size_t)(plan->n_products * plan->width) * sizeof *plan->coef);
    for (ptrdiff_t j = 0; j < m; j++) {
        plan->narrow_centre[j] = (float)plan->centre[j];
        plan->narrow_scale[j] = (float)plan->scale[j];
    }
    for (ptrdiff_t k = 0; k < plan->n_products; k++) {
        for (ptrdiff_t j = 0; j < m; j++) {
            plan->coef[k * plan->width + j] = (float)(spared ? coef[k * m + j] - last[j] : coef[k * m + j]);
        }
    }
    return true;
}

/* Rows of more than 1024 floats with one score need no tile, unless values are such that their unscaled sums could
   leave float32's range. Integers would be converted twice, which costs more than the tile. */
static bool prepare_long(struct sweep_plan *plan) {
    const struct table *x = plan->x;
    if (plan->by_columns || plan->model->n_scores > 1 || x->m <= 1024 || !is_direct(x)) return true;
    if (x->type != F32 && x->type != F64) return true;
    for (ptrdiff_t j = 0; j < x->m; j++) {
        const double scale = plan->scale[j];
        if (scale != 0.0 && !(scale > 1e-25 && scale < 1e25)) return true;
    }
    const bool in_float = x->type == F32;
    plan->scaled = aligned(x->m, in_float ? sizeof(float) : sizeof(double));
    if (!plan->scaled) return false;
    for (ptrdiff_t j = 0; j < x->m; j++) {
        const double weight = plan->model->coef[j] * plan->scale[j];
        if (in_float) {
            ((float *)plan->scaled)[j] = (float)weight;
        } else {
            ((double *)plan->scaled)[j] = weight;
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
    for (ptrdiff_t j = 0; plan->scaled && j < m; j++) out->coef[j] *= plan->scale[j];
    for (ptrdiff_t k = 0; plan->n_products < n_scores && k < plan->n_products; k++) {
        for (ptrdiff_t j = 0; j < m; j++) out->coef[plan->n_products * m + j] -= out->coef[k * m + j];
    }
}

enum outcome sweep(const struct table *x, const struct grouping *by, const double *centre, const double *scale,
                   const struct model *model, const struct slope *out, int n_threads) {
    const ptrdiff_t row_step = x->row_stride < 0 ? -x->row_stride : x->row_stride;
    const ptrdiff_t column_step = x->column_stride < 0 ? -x->column_stride : x->column_stride;
    struct sweep_plan plan = {.x = x, .by = by, .model = model, .centre = centre, .scale = scale};
    plan.by_columns = x->columns || (x->m > 1 && row_step < column_step);
    plan.width = padded(x->m);
    plan.n_products = model->n_scores == 1 ? 1 : model->n_scores - 1;
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
    free(plan.scaled);
    free(plan.narrow_centre);
    free(plan.narrow_scale);
    free(plan.parts);
    return outcome;
}
