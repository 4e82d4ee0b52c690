/* Rows of one type, narrow enough for the sums of all groups to stay in the cache. See each_dtype.h. */

/* Widths are padded to whole cache lines of sums, so that no row ends in a scalar loop. */
enum { JOIN(UNIT, TAG) = 64 / sizeof(SUM) };

/* Sums since the last flush, `width` apart, and the range of each fold. */
struct JOIN(sums, TAG) {
    SUM *sums;
    T *low, *high;
    int32_t *rows;  /* in each group since the last flush */
    int32_t *folds; /* of each group; NULL: one fold */
    ptrdiff_t width;
};

INLINE void JOIN(add, TAG)(const T *restrict x, ptrdiff_t width, SUM *restrict sums) {
    if (width <= SHORT_LOOP) {
        KEEP_LOOP
        for (ptrdiff_t j = 0; j < width; j++) sums[j] = (SUM)(sums[j] + (SUM)x[j]);
    } else {
        for (ptrdiff_t j = 0; j < width; j++) sums[j] = (SUM)(sums[j] + (SUM)x[j]);
    }
}

INLINE void JOIN(widen, TAG)(const T *restrict x, ptrdiff_t width, T *restrict low, T *restrict high) {
    for (ptrdiff_t j = 0; j < width; j++) {
        const T value = x[j];
        low[j] = value < low[j] ? value : low[j];
        high[j] = value > high[j] ? value : high[j];
    }
}

/* restrict holds through inlining for parameters only */
INLINE void JOIN(widen_by_four, TAG)(const T *restrict a, const T *restrict b, const T *restrict c,
                                     const T *restrict d, ptrdiff_t width, T *restrict low, T *restrict high) {
#define WIDEN(j)                                                                                                     \
    const T ab = a[j] < b[j] ? a[j] : b[j], cd = c[j] < d[j] ? c[j] : d[j], abcd = ab < cd ? ab : cd;                \
    const T AB = a[j] > b[j] ? a[j] : b[j], CD = c[j] > d[j] ? c[j] : d[j], ABCD = AB > CD ? AB : CD;                \
    low[j] = abcd < low[j] ? abcd : low[j];                                                                          \
    high[j] = ABCD > high[j] ? ABCD : high[j]
    if (width <= SHORT_LOOP) {
        KEEP_LOOP
        for (ptrdiff_t j = 0; j < width; j++) {
            WIDEN(j);
        }
    } else {
        for (ptrdiff_t j = 0; j < width; j++) {
            WIDEN(j);
        }
    }
#undef WIDEN
}

OUT_OF_LINE void JOIN(flush, TAG)(const struct JOIN(sums, TAG) *state, ptrdiff_t group, ptrdiff_t m,
                                  const struct part *part) {
    SUM *restrict sums = state->sums + group * state->width;
    double *restrict totals = part->sums + group * m;
    for (ptrdiff_t j = 0; j < m; j++) totals[j] += (double)sums[j];
    memset(sums, 0, (size_t)state->width * sizeof(SUM));
    part->counts[group] += (double)state->rows[group];
    state->rows[group] = 0;
}

/* Add and widen for many units, four at a time. */
INLINE void JOIN(add_units, TAG)(const T *x, ptrdiff_t width, SUM *sums) {
    enum { U = JOIN(UNIT, TAG) };
    ptrdiff_t j = 0;
    for (; j + 4 * U <= width; j += 4 * U) JOIN(add, TAG)(x + j, 4 * U, sums + j);
    for (; j < width; j += U) JOIN(add, TAG)(x + j, U, sums + j);
}

INLINE void JOIN(widen_units, TAG)(const T *a, const T *b, const T *c, const T *d, ptrdiff_t width, T *low, T *high) {
    enum { U = JOIN(UNIT, TAG) };
    ptrdiff_t j = 0;
    for (; j + 4 * U <= width; j += 4 * U) {
        JOIN(widen_by_four, TAG)(a + j, b + j, c + j, d + j, 4 * U, low + j, high + j);
    }
    for (; j < width; j += U) JOIN(widen_by_four, TAG)(a + j, b + j, c + j, d + j, U, low + j, high + j);
}

INLINE void JOIN(add_row, TAG)(const T *x, int32_t g, ptrdiff_t width, bool known, SUM *sums, int32_t *rows,
                               const struct JOIN(sums, TAG) *state, ptrdiff_t m, const struct part *part) {
    if (known) {
        JOIN(add, TAG)(x, width, sums + g * width);
    } else {
        JOIN(add_units, TAG)(x, width, sums + g * width);
    }
    if (++rows[g] == SUM_ROWS) JOIN(flush, TAG)(state, g, m, part);
}

/* Four rows at a time, each from a quarter of its own: memory answers several streams faster than one. What is in
   `state` is copied, because a store to a sum could change it for all the compiler knows. */
INLINE void JOIN(add_fours, TAG)(const struct table *x, ptrdiff_t n, const ptrdiff_t *first, ptrdiff_t width,
                                 bool known, int32_t (*group)[ROW_BLOCK], const struct JOIN(sums, TAG) *state,
                                 const struct part *part) {
    const ptrdiff_t stride = x->row_stride, m = x->m;
    const ptrdiff_t from[4] = {first[0] * stride, first[1] * stride, first[2] * stride, first[3] * stride};
    const char *data = x->data;
    SUM *const sums = state->sums;
    T *const low = state->low, *const high = state->high;
    int32_t *const rows = state->rows;
    const int32_t *const folds = state->folds;
    for (ptrdiff_t i = 0; i < n; i++, data += stride) {
        const int32_t a = group[0][i], b = group[1][i], c = group[2][i], d = group[3][i];
        if ((a | b | c | d) >= 0 && !folds) {
            const T *p = (const T *)(const void *)(data + from[0]), *q = (const T *)(const void *)(data + from[1]);
            const T *r = (const T *)(const void *)(data + from[2]), *s = (const T *)(const void *)(data + from[3]);
            if (known) {
                JOIN(widen_by_four, TAG)(p, q, r, s, width, low, high);
            } else {
                JOIN(widen_units, TAG)(p, q, r, s, width, low, high);
            }
            JOIN(add_row, TAG)(p, a, width, known, sums, rows, state, m, part);
            JOIN(add_row, TAG)(q, b, width, known, sums, rows, state, m, part);
            JOIN(add_row, TAG)(r, c, width, known, sums, rows, state, m, part);
            JOIN(add_row, TAG)(s, d, width, known, sums, rows, state, m, part);
        } else {
            for (int k = 0; k < 4; k++) {
                const T *row = (const T *)(const void *)(data + from[k]);
                const int32_t g = group[k][i];
                if (g < 0) continue;
                const ptrdiff_t at = folds ? folds[g] * width : 0;
                JOIN(widen, TAG)(row, width, low + at, high + at);
                JOIN(add_row, TAG)(row, g, width, known, sums, rows, state, m, part);
            }
        }
    }
}

/* Rows of a few units have code of their own, whose loops have a length that the compiler knows. */
CLONES static void JOIN(add_block, TAG)(const struct table *x, ptrdiff_t n, const ptrdiff_t *first,
                                        int32_t (*group)[ROW_BLOCK], const struct JOIN(sums, TAG) *state,
                                        const struct part *part) {
#define FOURS(width, known) JOIN(add_fours, TAG)(x, n, first, width, known, group, state, part)
    enum { U = JOIN(UNIT, TAG) };
    const bool common = TAG == F32 || TAG == F64 || TAG == U8;
    switch (common ? state->width / U : 0) {
        case 1: FOURS(1 * U, true); break;
        case 2: FOURS(2 * U, true); break;
        case 3: FOURS(3 * U, true); break;
        case 4: FOURS(4 * U, true); break;
        case 5: FOURS(5 * U, true); break;
        case 6: FOURS(6 * U, true); break;
        case 7: FOURS(7 * U, true); break;
        case 8: FOURS(8 * U, true); break;
        default: FOURS(state->width & -(ptrdiff_t)U, false);
    }
#undef FOURS
}

/* One row, weighted, where NaN may be a missing value: it compares false, so it stays out of the range by itself. */
CLONES static void JOIN(add_weighted, TAG)(const T *restrict x, ptrdiff_t m, double weight, double *restrict sums,
                                           T *restrict low, T *restrict high, double *restrict present) {
    if (!present) {
        for (ptrdiff_t j = 0; j < m; j++) sums[j] += weight * (double)x[j];
    } else {
        for (ptrdiff_t j = 0; j < m; j++) {
            const bool there = x[j] == x[j];
            sums[j] += there ? weight * (double)x[j] : 0.0;
            present[j] += there ? weight : 0.0;
        }
    }
    JOIN(widen, TAG)(x, m, low, high);
}

/* Rows first .. last in fours; returns how many of them were added, or -1 for a bad code. The last rows of a table
   stay: what is read beyond the end of a row must be another one. */
static ptrdiff_t JOIN(sweep_fours, TAG)(const struct pass *pass, ptrdiff_t first, ptrdiff_t last,
                                        const struct JOIN(sums, TAG) *state, const struct part *part) {
    const struct table *x = pass->x;
    const ptrdiff_t beyond = (state->width - x->m) * (ptrdiff_t)sizeof(T);
    const ptrdiff_t spare = (beyond + x->row_stride - 1) / x->row_stride;
    const ptrdiff_t quarter = larger(0, smaller(last, x->n - spare) - first) / 4;
    int32_t group[4][ROW_BLOCK];
    for (ptrdiff_t block = 0; block < quarter; block += ROW_BLOCK) {
        const ptrdiff_t n = smaller(ROW_BLOCK, quarter - block);
        ptrdiff_t start[4];
        for (int s = 0; s < 4; s++) {
            start[s] = first + s * quarter + block;
            if (!read_groups(pass->by, start[s], n, group[s])) return -1;
        }
        JOIN(add_block, TAG)(x, n, start, group, state, part);
    }
    for (int32_t g = 0; g < pass->by->n_groups; g++) {
        if (state->rows[g]) JOIN(flush, TAG)(state, g, x->m, part);
    }
    return 4 * quarter;
}

/* The rest, one by one: few rows, or weights, or NaN that is missing, or values that are not adjacent. */
static bool JOIN(sweep_rows, TAG)(const struct pass *pass, ptrdiff_t first, ptrdiff_t last,
                                  const struct JOIN(sums, TAG) *state, T *copy, const struct part *part) {
    const struct table *x = pass->x;
    const ptrdiff_t m = x->m;
    const bool direct = rows_are_direct(x);
    int32_t group[ROW_BLOCK];
    double weight[ROW_BLOCK];
    for (ptrdiff_t block = first; block < last; block += ROW_BLOCK) {
        const ptrdiff_t n = smaller(ROW_BLOCK, last - block);
        if (!read_weighted_groups(pass->by, block, n, group, weight)) return false;
        for (ptrdiff_t i = 0; i < n; i++) {
            const int32_t g = group[i];
            if (g < 0) continue;
            const char *data = x->data + (block + i) * x->row_stride;
            const T *row = direct ? (const T *)(const void *)data : copy;
            /* memcpy, because the values may not be aligned */
            for (ptrdiff_t j = 0; !direct && j < m; j++) memcpy(&copy[j], data + j * x->column_stride, sizeof(T));
            const ptrdiff_t at = g / pass->by->n_classes * state->width;
            JOIN(add_weighted, TAG)(row, m, weight[i], part->sums + g * m, state->low + at, state->high + at,
                                    part->present ? part->present + g * m : NULL);
            part->counts[g] += weight[i];
            state->rows[g] = 1; /* no flush comes: a mark that the group is there */
        }
    }
    return true;
}

static enum outcome JOIN(add_rows, TAG)(const struct pass *pass, ptrdiff_t first, ptrdiff_t last,
                                        struct part *part) {
    const ptrdiff_t m = pass->x->m, n_groups = pass->by->n_groups, n_folds = pass->n_folds;
    const ptrdiff_t width = (m + JOIN(UNIT, TAG) - 1) / JOIN(UNIT, TAG) * JOIN(UNIT, TAG);
    const bool plain = !pass->by->weights && !part->present && rows_are_direct(pass->x) && pass->x->row_stride > 0;
    struct JOIN(sums, TAG) state = {.width = width};
    T *copy = malloc((size_t)m * sizeof(T) + 1);
    state.sums = calloc((size_t)((plain ? n_groups : 0) * width) + 1, sizeof(SUM));
    state.low = malloc((size_t)(n_folds * width) * sizeof(T) + 1);
    state.high = malloc((size_t)(n_folds * width) * sizeof(T) + 1);
    state.rows = calloc((size_t)n_groups, sizeof *state.rows);
    state.folds = n_folds > 1 ? malloc((size_t)n_groups * sizeof *state.folds) : NULL;
    enum outcome outcome = NO_MEMORY;
    if (copy && state.sums && state.low && state.high && state.rows && (n_folds == 1 || state.folds)) {
        for (int32_t g = 0; state.folds && g < n_groups; g++) state.folds[g] = g / pass->by->n_classes;
        for (ptrdiff_t i = 0; i < n_folds * width; i++) state.low[i] = LOWEST, state.high[i] = HIGHEST;
        ptrdiff_t done = plain ? JOIN(sweep_fours, TAG)(pass, first, last, &state, part) : 0;
        outcome = done >= 0 && JOIN(sweep_rows, TAG)(pass, first + done, last, &state, copy, part) ? FINITE : BAD_CODE;
        for (ptrdiff_t g = 0; g < n_groups; g++) {
            /* a count that is not 0 or a mark: the fold has a row */
            if (part->counts[g] == 0.0 && !state.rows[g]) continue;
            const ptrdiff_t fold = g / pass->by->n_classes;
            for (ptrdiff_t j = 0; j < m; j++) {
                part->low[fold * m + j] = (double)state.low[fold * width + j];
                part->high[fold * m + j] = (double)state.high[fold * width + j];
            }
        }
    }
    free(copy);
    free(state.sums);
    free(state.low);
    free(state.high);
    free(state.rows);
    free(state.folds);
    return outcome;
}

#include "forget_dtype.h"
