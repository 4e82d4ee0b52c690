/* Scores of rows: X @ coef.T + intercept, in float64 whatever the type of X. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/threads.h"
#include "score/eight.h"
#include "summarise/parts.h"

/* Four float64 at any address of a float64, and their bits. */
typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t longs __attribute__((vector_size(32)));

/* Lanes of two quads, by their numbers among eight. */
#ifdef __clang__
#define LANES_OF(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#else
#define LANES_OF(x, y, a, b, c, d) __builtin_shuffle(x, y, (longs){a, b, c, d})
#endif

INLINE double sum_quad(quad v) { return (v[0] + v[1]) + (v[2] + v[3]); }

/* sum_quad of each, to the bit. */
INLINE quad sum_four(quad a, quad b, quad c, quad d) {
    const quad ab = LANES_OF(a, b, 0, 4, 2, 6) + LANES_OF(a, b, 1, 5, 3, 7);
    const quad cd = LANES_OF(c, d, 0, 4, 2, 6) + LANES_OF(c, d, 1, 5, 3, 7);
    return LANES_OF(ab, cd, 0, 1, 4, 5) + LANES_OF(ab, cd, 2, 3, 6, 7);
}

/* Four values as float64, named one by one, because of that gcc 12 makes one conversion, and of
   __builtin_convertvector several. */
#define WIDEN(x) ((quad){(double)(x)[0], (double)(x)[1], (double)(x)[2], (double)(x)[3]})
#define QUAD_F32(x) WIDEN(x)
#define QUAD_F64(x) (*(const quad *)(x))
#ifdef __x86_64__
/* A byte or word in the last bits of 2^52 is 2^52 more than itself: an OR and a difference, each in one step, where a
   conversion of four takes two and a place among the shuffles. */
#define BITS(T, x) ((longs){(T)(x)[0], (T)(x)[1], (T)(x)[2], (T)(x)[3]})
#define SHORT(bits, zero) ((quad)((bits) | 0x4330000000000000) - (0x1p52 + (zero)))
#define QUAD_I8(x) SHORT(BITS(uint8_t, x) ^ 0x80, 0x80)
#define QUAD_U8(x) SHORT(BITS(uint8_t, x), 0)
#define QUAD_I16(x) SHORT(BITS(uint16_t, x) ^ 0x8000, 0x8000)
#define QUAD_U16(x) SHORT(BITS(uint16_t, x), 0)
#else
#define QUAD_I8(x) WIDEN(x)
#define QUAD_U8(x) WIDEN(x)
#define QUAD_I16(x) WIDEN(x)
#define QUAD_U16(x) WIDEN(x)
#endif
#define QUAD_I32(x) WIDEN(x)
#define QUAD_U32(x) WIDEN(x)
#define QUAD_I64(x) WIDEN(x)
#define QUAD_U64(x) WIDEN(x)

#ifdef BY_EIGHT
AVX512_INLINE quad add_halves(__m512d v) {
    return (quad)_mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
}
#endif

/* ROWS rows of TILE columns are scored for all classes while they are in the L1 cache (16 KB). */
enum { ROWS = 8, TILE = 256, PAGE_BYTES = 4096, LINE_BYTES = 64 };

#define KERNEL "score/scores_kernel.inc"
#include "common/each_dtype.inc"

typedef void to_double_function(const char *, ptrdiff_t, ptrdiff_t, double *);
static to_double_function *const to_double[N_DTYPES] = OF_EACH_DTYPE(to_double);
typedef void multiply_function(const char *const *, const double *, ptrdiff_t, double *);
static multiply_function *const multiply_four[N_DTYPES] = OF_EACH_DTYPE(multiply_four);
typedef void streams_function(const char *, ptrdiff_t, ptrdiff_t, ptrdiff_t, const double *, ptrdiff_t, double,
                              double *);
static streams_function *const score_streams[N_DTYPES] = OF_EACH_DTYPE(score_streams);
#ifdef BY_EIGHT
static streams_function *const score_streams_by_eight[N_DTYPES] = OF_EACH_DTYPE(score_streams_by_eight);
#endif

/* Four rows times CLASSES classes, their sums in registers. */
#define DEFINE_MULTIPLY(CLASSES)                                                                                \
    CLONES static void multiply_4x##CLASSES(const double *const *rows, const double *weights, ptrdiff_t stride, \
                                            ptrdiff_t n, double(*sums)[4]) {                                    \
        const double *p = rows[0], *q = rows[1], *r = rows[2], *s = rows[3], *w[CLASSES];                       \
        quad total[CLASSES][4] = {{{0}}};                                                                       \
        ptrdiff_t j = 0;                                                                                        \
        for (int c = 0; c < CLASSES; c++) w[c] = weights + c * stride;                                          \
        for (; j + 4 <= n; j += 4) {                                                                            \
            const quad a = *(const quad *)(p + j), b = *(const quad *)(q + j);                                  \
            const quad c = *(const quad *)(r + j), d = *(const quad *)(s + j);                                  \
            for (int k = 0; k < CLASSES; k++) {                                                                 \
                const quad u = *(const quad *)(w[k] + j);                                                       \
                total[k][0] += a * u, total[k][1] += b * u, total[k][2] += c * u, total[k][3] += d * u;         \
            }                                                                                                   \
        }                                                                                                       \
        for (int k = 0; k < CLASSES; k++) {                                                                     \
            for (int i = 0; i < 4; i++) sums[k][i] = sum_quad(total[k][i]);                                     \
        }                                                                                                       \
        for (; j < n; j++) {                                                                                    \
            for (int k = 0; k < CLASSES; k++) {                                                                 \
                for (int i = 0; i < 4; i++) sums[k][i] += rows[i][j] * w[k][j];                                 \
            }                                                                                                   \
        }                                                                                                       \
    }
DEFINE_MULTIPLY(1)
DEFINE_MULTIPLY(2)
DEFINE_MULTIPLY(3)

struct score_plan {
    const struct table *x;
    const double *coef, *intercept;
    const int64_t *rows;
    ptrdiff_t n_rows, k, n_tasks;
    double *out;
    bool direct;     /* values of a row are adjacent and aligned */
    bool by_columns; /* they are nearer to those of the next row, or have a buffer per column */
    atomic_int error;
};

/* Where ROWS rows begin, and where their scores go. Rows beyond the last repeat it. */
struct batch {
    const char *data[ROWS];
    double *out[ROWS];
    int n;
};

/* One class, values read in place. */
static void score_in_place(const struct score_plan *plan, const struct batch *batch) {
    for (int r = 0; r < batch->n; r += 4) {
        double sums[4];
        multiply_four[plan->x->type](batch->data + r, plan->coef, plan->x->m, sums);
        for (int i = 0; i < 4 && r + i < batch->n; i++) *batch->out[r + i] = sums[i] + plan->intercept[0];
    }
}

static void score_tile(const struct score_plan *plan, const struct batch *batch, const double *const *x,
                       ptrdiff_t first, ptrdiff_t n) {
    const ptrdiff_t m = plan->x->m;
    double sums[3][4];
    for (int r = 0; r < batch->n; r += 4) {
        for (ptrdiff_t c = 0, step; c < plan->k; c += step) {
            const double *w = plan->coef + c * m + first;
            const ptrdiff_t left = plan->k - c;
            step = left == 4 ? 2 : smaller(3, left);
            if (step == 3) multiply_4x3(x + r, w, m, n, sums);
            if (step == 2) multiply_4x2(x + r, w, m, n, sums);
            if (step == 1) multiply_4x1(x + r, w, m, n, sums);
            for (int i = 0; i < 4 && r + i < batch->n; i++) {
                for (ptrdiff_t k = 0; k < step; k++) batch->out[r + i][c + k] += sums[k][i];
            }
        }
    }
}

static void score_batch(const struct score_plan *plan, const struct batch *batch, double (*tile)[TILE]) {
    const struct table *x = plan->x;
    const bool in_place = plan->direct && x->type == F64;
    for (int r = 0; r < batch->n; r++) memcpy(batch->out[r], plan->intercept, (size_t)plan->k * sizeof(double));
    for (ptrdiff_t first = 0; first < x->m; first += TILE) {
        const ptrdiff_t n = smaller(TILE, x->m - first);
        const double *rows[ROWS];
        for (int r = 0; r < ROWS; r++) {
            const char *data = batch->data[r] + first * x->column_stride;
            rows[r] = in_place ? (const double *)(const void *)data : tile[r < batch->n ? r : 0];
            if (!in_place && r < batch->n) to_double[x->type](data, x->column_stride, n, tile[r]);
        }
        score_tile(plan, batch, rows, first, n);
    }
}

/* Columns are read as they lie, some rows side by side. A row's products are added in the order in which they are
   for a row that lies by itself, so that the scores are the same to the bit: column j to sum j % n_lanes, then the
   lanes together, then what is left of the columns. */
enum { SIDE_BY_SIDE = 64, MOST_LANES = 8, MOST_CLASSES = 4 };

struct row_group {
    ptrdiff_t first, n; /* in the scores */
    bool listed;
    int64_t rows[SIDE_BY_SIDE]; /* where they are listed */
};

/* Values of column j as float64: in place, or copied. */
static const double *column_values(const struct score_plan *plan, ptrdiff_t j, const struct row_group *group,
                                   double *copy) {
    const struct column column = get_column(plan->x, j);
    const ptrdiff_t n = group->n;
    if (group->listed) {
        for (ptrdiff_t i = 0; i < n; i++) {
            to_double[column.type](column.data + group->rows[i] * column.stride, 0, 1, copy + i);
        }
        return copy;
    }
    const char *data = column.data + group->first * column.stride;
    if (column.type == F64 && column.stride == sizeof(double) && (uintptr_t)data % sizeof(double) == 0) {
        return (const double *)(const void *)data;
    }
    to_double[column.type](data, column.stride, n, copy);
    return copy;
}

CLONES static void add_product(const double *restrict values, ptrdiff_t n, double weight, double *restrict sums) {
    for (ptrdiff_t i = 0; i < n; i++) sums[i] += values[i] * weight;
}

CLONES static void join_lanes(double (*restrict sums)[SIDE_BY_SIDE], int n_lanes) {
    for (ptrdiff_t i = 0; i < SIDE_BY_SIDE; i++) {
        if (n_lanes == 8) {
            for (int u = 0; u < 4; u++) sums[u][i] += sums[u + 4][i];
        }
        sums[0][i] = (sums[0][i] + sums[1][i]) + (sums[2][i] + sums[3][i]);
    }
}

/* Columns begin .. end, classes c .. c + n_classes: add to the scores. */
static void score_columns(const struct score_plan *plan, const struct row_group *group, ptrdiff_t begin, ptrdiff_t end,
                          ptrdiff_t c, ptrdiff_t n_classes) {
    const int n_lanes = plan->k == 1 && plan->x->columns ? 8 : 4;
    const ptrdiff_t whole = begin + (end - begin) / n_lanes * n_lanes;
    double sums[MOST_CLASSES][MOST_LANES][SIDE_BY_SIDE], copy[SIDE_BY_SIDE];
    memset(sums, 0, sizeof sums);
    for (ptrdiff_t j = begin; j < end; j++) {
        const double *values = column_values(plan, j, group, copy);
        for (ptrdiff_t k = 0; k < n_classes; k++) {
            if (j == whole) join_lanes(sums[k], n_lanes);
            add_product(values, group->n, plan->coef[(c + k) * plan->x->m + j],
                        sums[k][j < whole ? (j - begin) % n_lanes : 0]);
        }
    }
    for (ptrdiff_t k = 0; k < n_classes; k++) {
        if (whole == end) join_lanes(sums[k], n_lanes);
        for (ptrdiff_t i = 0; i < group->n; i++) plan->out[(group->first + i) * plan->k + c + k] += sums[k][0][i];
    }
}

static void run_columns(struct score_plan *plan, ptrdiff_t first, ptrdiff_t last) {
    const ptrdiff_t m = plan->x->m, k = plan->k, tile = k == 1 && plan->x->columns ? m : TILE;
    for (; first < last; first += SIDE_BY_SIDE) {
        struct row_group group = {.first = first, .n = smaller(SIDE_BY_SIDE, last - first), .listed = plan->rows};
        for (ptrdiff_t i = 0; i < group.n; i++) {
            memcpy(plan->out + (first + i) * k, plan->intercept, (size_t)k * sizeof(double));
            if (!plan->rows) continue;
            group.rows[i] = ((const volatile int64_t *)plan->rows)[first + i];
            if (group.rows[i] < 0 || group.rows[i] >= plan->x->n) {
                atomic_store(&plan->error, BAD_ROW);
                return;
            }
        }
        for (ptrdiff_t begin = 0; begin < m; begin += tile) {
            for (ptrdiff_t c = 0; c < k; c += MOST_CLASSES) {
                score_columns(plan, &group, begin, smaller(m, begin + tile), c, smaller(MOST_CLASSES, k - c));
            }
        }
    }
}

static bool at_same_place(ptrdiff_t bytes) { return bytes % PAGE_BYTES < LINE_BYTES; }

/* All rows: eight streams, one per row, since memory answers several faster than one; the last may be shorter. Streams
   at the same place of a page share few lines of the first cache: neither rows nor scores are to be so. */
static ptrdiff_t stream_rows(const struct table *x, ptrdiff_t n) {
    const ptrdiff_t eighth = (n + ROWS - 1) / ROWS, most = eighth < PAGE_BYTES / 8 ? eighth : eighth + 16;
    for (ptrdiff_t rows = eighth; rows < most; rows++) {
        if (!at_same_place(rows * x->row_stride) && !at_same_place(rows * (ptrdiff_t)sizeof(double))) return rows;
    }
    return eighth;
}

static void run_scores(void *context, ptrdiff_t task, int worker) {
    struct score_plan *plan = context;
    const struct table *x = plan->x;
    const ptrdiff_t first = plan->n_rows / plan->n_tasks * task + smaller(task, plan->n_rows % plan->n_tasks);
    const ptrdiff_t last = plan->n_rows / plan->n_tasks * (task + 1) + smaller(task + 1, plan->n_rows % plan->n_tasks);
    const ptrdiff_t step = plan->rows ? ROWS : 1, stream = plan->rows ? 1 : stream_rows(x, last - first);
    const ptrdiff_t n_batches = plan->rows ? (last - first + ROWS - 1) / ROWS : stream;
    const bool binary = plan->direct && plan->k == 1;
    double tile[ROWS][TILE];
    (void)worker;
    if (plan->by_columns) {
        run_columns(plan, first, last);
        return;
    }
    ptrdiff_t done = 0;
    if (binary && !plan->rows) {
        done = larger(0, last - first - (ROWS - 1) * stream); /* the last stream is the shortest */
        streams_function *const *const function =
#ifdef BY_EIGHT
            has_avx512() ? score_streams_by_eight :
#endif
                         score_streams;
        function[x->type](x->data + first * x->row_stride, x->row_stride, stream, done, plan->coef, x->m,
                          plan->intercept[0], plan->out + first);
    }
    for (ptrdiff_t b = done; b < n_batches; b++) {
        struct batch batch = {.n = 0};
        for (int r = 0; r < ROWS; r++) {
            const ptrdiff_t i = first + b * step + r * stream;
            if (i >= last || (!plan->rows && b >= stream)) continue;
            const int64_t row = plan->rows ? ((const volatile int64_t *)plan->rows)[i] : i;
            if (row < 0 || row >= x->n) {
                atomic_store(&plan->error, BAD_ROW);
                return;
            }
            batch.data[batch.n] = x->data + row * x->row_stride;
            batch.out[batch.n++] = plan->out + i * plan->k;
        }
        for (int r = batch.n; r < ROWS; r++) batch.data[r] = batch.data[0], batch.out[r] = batch.out[0];
        if (binary) {
            score_in_place(plan, &batch);
        } else {
            score_batch(plan, &batch, tile);
        }
    }
}

CLONES static void choose_by_sign(const double *scores, ptrdiff_t n, const uint64_t *values, uint64_t *out) {
    const uint64_t below = values[0], above = values[1];
    for (ptrdiff_t i = 0; i < n; i++) out[i] = scores[i] > 0 ? above : below;
}

void sefr_choose(const double *scores, ptrdiff_t n, ptrdiff_t k, const uint64_t *values, uint64_t *out) {
    if (k == 1) {
        choose_by_sign(scores, n, values, out);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++, scores += k) {
        double highest = scores[0];
        ptrdiff_t at = 0;
        for (ptrdiff_t c = 1; c < k; c++) {
            const bool higher = scores[c] > highest;
            highest = higher ? scores[c] : highest;
            at = higher ? c : at;
        }
        out[i] = values[at];
    }
}

enum outcome sefr_scores(const struct table *x, const double *coef, const double *intercept, ptrdiff_t k,
                         const int64_t *rows, ptrdiff_t n_rows, double *out, int n_threads) {
    const ptrdiff_t work = larger(1, x->m * larger(1, k));
    struct score_plan plan = {.x = x,
                              .coef = coef,
                              .intercept = intercept,
                              .rows = rows,
                              .n_rows = n_rows,
                              .k = k,
                              .out = out,
                              .direct = !x->columns && rows_are_direct(x)};
    plan.by_columns = !plan.direct && lies_by_columns(x);
    for (ptrdiff_t i = 0; rows && i < n_rows; i++) {
        if (rows[i] < 0 || rows[i] >= x->n) return BAD_ROW;
    }
    /* at least 64 rows and 2^20 products per task, which take longer than a thread to start; no score depends on it */
    plan.n_tasks =
        n_threads == 1 ? 1 : larger(1, smaller(16, smaller(n_rows / 64, n_rows / (((1 << 20) + work - 1) / work))));
    sefr_run_tasks(run_scores, &plan, plan.n_tasks, n_threads);
    return (enum outcome)atomic_load(&plan.error);
}
