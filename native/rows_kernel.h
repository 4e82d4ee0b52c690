/* Rows of one type, narrow enough for the sums of all groups to stay in the cache. See each_dtype.h. */

/* Widths are padded to whole vectors, so that no row ends in a scalar loop. */
enum { JOIN(UNIT, TAG) = sizeof(T) == 1 ? 16 : 32 / sizeof(T) };

/* Sums since the last flush, `width` apart, and the range of each fold. */
struct JOIN(sums, TAG) {
    SUM *sums;
    T *low, *high;
    int32_t *rows; /* in each group since the last flush */
    ptrdiff_t width;
};

INLINE void JOIN(add, TAG)(const T *restrict x, ptrdiff_t width, SUM *restrict sums) {
    for (ptrdiff_t j = 0; j < width; j++) sums[j] = (SUM)(sums[j] + (SUM)x[j]);
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
    for (ptrdiff_t j = 0; j < width; j++) {
        const T ab = a[j] < b[j] ? a[j] : b[j], cd = c[j] < d[j] ? c[j] : d[j], abcd = ab < cd ? ab : cd;
        const T AB = a[j] > b[j] ? a[j] : b[j], CD = c[j] > d[j] ? c[j] : d[j], ABCD = AB > CD ? AB : CD;
        low[j] = abcd < low[j] ? abcd : low[j];
        high[j] = ABCD > high[j] ? ABCD : high[j];
    }
}

INLINE void JOIN(flush, TAG)(const struct JOIN(sums, TAG) *state, ptrdiff_t group, ptrdiff_t m,
                             const struct part *part) {
    SUM *restrict sums = state->sums + group * state->width;
    double *restrict totals = part->sums + group * m;
    for (ptrdiff_t j = 0; j < m; j++) totals[j] += (double)sums[j];
    memset(sums, 0, (size_t)state->width * sizeof(SUM));
    part->counts[group] += (double)state->rows[group];
    state->rows[group] = 0;
}

/* Four rows at a time, each from a quarter of its own: memory answers several streams faster than one. */
INLINE void JOIN(add_fours, TAG)(const struct table *x, ptrdiff_t n, const ptrdiff_t *first,
                                 int32_t (*group)[ROW_BLOCK], ptrdiff_t width, int32_t n_classes, bool folds,
                                 const struct JOIN(sums, TAG) *state, const struct part *part) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const T *rows[4];
        for (int s = 0; s < 4; s++) rows[s] = (const T *)(const void *)(x->data + (first[s] + i) * x->row_stride);
        const int32_t a = group[0][i], b = group[1][i], c = group[2][i], d = group[3][i];
        /* the fold of all four rows; with one fold, 0 without a division */
        ptrdiff_t fold = 0;
        bool together = (a | b | c | d) >= 0;
        if (together && folds) {
            fold = a / n_classes;
            together = fold == b / n_classes && fold == c / n_classes && fold == d / n_classes;
        }
        if (together) {
            JOIN(widen_by_four, TAG)(rows[0], rows[1], rows[2], rows[3], width, state->low + fold * state->width,
                                     state->high + fold * state->width);
        }
        for (int s = 0; s < 4; s++) {
            const int32_t g = group[s][i];
            if (g < 0) continue;
            if (!together) {
                const ptrdiff_t at = g / n_classes * state->width;
                JOIN(widen, TAG)(rows[s], width, state->low + at, state->high + at);
            }
            JOIN(add, TAG)(rows[s], width, state->sums + g * state->width);
            if (++state->rows[g] == SUM_ROWS) JOIN(flush, TAG)(state, g, x->m, part);
        }
    }
}

CLONES static void JOIN(add_block, TAG)(const struct table *x, ptrdiff_t n, const ptrdiff_t *first,
                                        int32_t (*group)[ROW_BLOCK], bool padded, int32_t n_classes, bool folds,
                                        const struct JOIN(sums, TAG) *state, const struct part *part) {
    if (padded) { /* a whole number of vectors, visibly */
        const ptrdiff_t width = state->width & -(ptrdiff_t)JOIN(UNIT, TAG);
        JOIN(add_fours, TAG)(x, n, first, group, width, n_classes, folds, state, part);
    } else { /* a padded read would leave the buffer */
        JOIN(add_fours, TAG)(x, n, first, group, x->m, n_classes, folds, state, part);
    }
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

/* Rows first .. last in fours; returns how many of them were added, or -1 for a bad code. */
static ptrdiff_t JOIN(sweep_fours, TAG)(const struct pass *pass, ptrdiff_t first, ptrdiff_t last,
                                        const struct JOIN(sums, TAG) *state, const struct part *part) {
    const struct table *x = pass->x;
    const ptrdiff_t quarter = (last - first) / 4;
    const bool dense = x->row_stride == x->m * (ptrdiff_t)sizeof(T);
    int32_t group[4][ROW_BLOCK];
    for (ptrdiff_t block = 0; block < quarter; block += ROW_BLOCK) {
        const ptrdiff_t n = smaller(ROW_BLOCK, quarter - block);
        ptrdiff_t start[4];
        for (int s = 0; s < 4; s++) {
            start[s] = first + s * quarter + block;
            if (!read_groups(pass->by, start[s], n, group[s])) return -1;
        }
        /* the last row read ends this many values before the end of the table */
        const bool roomy = dense && (x->n - start[3] - n) * x->m >= state->width - x->m;
        JOIN(add_block, TAG)(x, n, start, group, roomy, pass->by->n_classes, pass->n_folds > 1, state, part);
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
    const bool plain = !pass->by->weights && !part->present && rows_are_direct(pass->x);
    struct JOIN(sums, TAG) state = {.width = width};
    T *copy = malloc((size_t)m * sizeof(T) + 1);
    state.sums = calloc((size_t)((plain ? n_groups : 0) * width) + 1, sizeof(SUM));
    state.low = malloc((size_t)(n_folds * width) * sizeof(T) + 1);
    state.high = malloc((size_t)(n_folds * width) * sizeof(T) + 1);
    state.rows = calloc((size_t)n_groups, sizeof *state.rows);
    enum outcome outcome = NO_MEMORY;
    if (copy && state.sums && state.low && state.high && state.rows) {
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
    return outcome;
}

#include "forget_dtype.h"
