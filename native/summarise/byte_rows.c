/* Summarise rows of bytes: a block of them at a time is sorted by group, and the rows of a group are added up in
   registers, 64 columns of them at a time. */
#include <stdlib.h>
#include <string.h>

#include "common/groups.h"
#include "common/threads.h"
#include "summarise/byte_strips.h"
#include "summarise/parts.h"

#ifdef SEFR_AVX2
enum {
    BLOCK_BYTES = 1 << 15, /* of rows, which stay in the L1 cache */
    FEW_ROWS = 16,         /* of a group; a block has more bytes rather than fewer of them */
    NARROW = STRIP,        /* rows in two groups, and LANES in more, that take as long to sort as to add */
    PER_GROUP = 4,         /* columns: with fewer for each group, a block has too few rows of it */
    WIDEST = 1 << 14,      /* columns; of wider rows a block has too many bytes */
    MANY_ROWS = 4096,      /* of wide rows: there are then parts for several threads */
    PITCH = ROW_BLOCK + 8, /* from group to group, so that not all of them share a set of the cache */
};

/* Sums since the last flush, and ranges of the folds, `width` apart. */
struct byte_sums {
    uint16_t *sums;
    uint8_t *low, *high;
    ptrdiff_t *rows; /* of each group since the last flush */
    ptrdiff_t width;
};

/* How far the rows of each group, and of none, lie from the first row of the block. */
struct sorted_rows {
    ptrdiff_t *offset; /* PITCH per group */
    ptrdiff_t *n;
};

/* The sums of a group go to its totals, and start again. */
AVX2 static void flush(const struct byte_sums *state, ptrdiff_t group, ptrdiff_t m, const struct part *part) {
    uint16_t *sums = state->sums + group * state->width, ordered[LANES];
    double *totals = part->sums + group * m;
    for (ptrdiff_t j = 0; j < m; j += LANES) {
        const ptrdiff_t n = smaller(LANES, m - j);
        order_sums(sums + j, ordered);
        for (ptrdiff_t u = 0; u < n; u++) totals[j + u] += ordered[u];
    }
    memset(sums, 0, (size_t)state->width * sizeof *sums);
    part->counts[group] += (double)state->rows[group];
    state->rows[group] = 0;
}

/* Sort rows first .. first + n, `stride` apart, into two groups without a branch. False: one is left out, or of
   another group. Each code is read once, and but one bit of it used: another thread may change it. */
AVX2_INLINE bool sort_two(const struct grouping *by, ptrdiff_t first, ptrdiff_t n, ptrdiff_t stride,
                          const struct sorted_rows *sorted) {
    const volatile int32_t *codes = by->codes + first;
    ptrdiff_t *of_first = sorted->offset, *of_second = sorted->offset + PITCH, n_second = 0, offset = 0;
    int32_t any = 0;
    for (ptrdiff_t i = 0; i < n; i++, offset += stride) {
        const int32_t g = codes[i];
        of_first[i - n_second] = offset, of_second[n_second] = offset;
        any |= g, n_second += g & 1;
    }
    sorted->n[0] = n - n_second, sorted->n[1] = n_second;
    return (any & ~1) == 0;
}

/* The same for any groups; false: a code is too large. */
AVX2_INLINE bool sort_rows(const struct grouping *by, ptrdiff_t first, ptrdiff_t n, ptrdiff_t stride,
                           const struct sorted_rows *sorted) {
    int32_t group[ROW_BLOCK];
    if (by->n_groups == 2 && sort_two(by, first, n, stride, sorted)) return true;
    if (!read_groups(by, first, n, group)) return false;
    memset(sorted->n, 0, ((size_t)by->n_groups + 1) * sizeof *sorted->n);
    for (ptrdiff_t i = 0; i < n; i++) {
        const int32_t g = group[i] < 0 ? by->n_groups : group[i];
        sorted->offset[g * PITCH + sorted->n[g]++] = i * stride;
    }
    return true;
}

/* Rows of which `width` bytes each may be read; those at `next` follow. */
AVX2_INLINE void add_block(const struct pass *pass, const char *data, const char *next,
                           const struct sorted_rows *sorted, const struct byte_sums *state, const struct part *part) {
    const ptrdiff_t m = pass->x->m;
    for (int32_t g = 0; g < pass->by->n_groups; g++) {
        const ptrdiff_t rows = sorted->n[g], *offset = sorted->offset + g * PITCH;
        const ptrdiff_t fold = g / pass->by->n_classes * state->width;
        uint16_t *sums = state->sums + g * state->width;
        uint8_t *low = state->low + fold, *high = state->high + fold;
        if (rows == 0) continue;
        if (state->rows[g] + rows > ROW_BLOCK) flush(state, g, m, part);
        state->rows[g] += rows;
        ptrdiff_t j = 0;
        for (; j + LANES < m; j += STRIP) {
            next = add_strip(2, data + j, offset, rows, NULL, next, sums + j, low + j, high + j);
        }
        if (j < m) next = add_strip(1, data + j, offset, rows, NULL, next, sums + j, low + j, high + j);
    }
}

/* Add rows first .. last. False: a code is too large. */
AVX2 static bool add_byte_rows(const struct pass *pass, ptrdiff_t first, ptrdiff_t last,
                               const struct sorted_rows *sorted, const struct byte_sums *state, char *copy,
                               const struct part *part) {
    const struct table *x = pass->x;
    const ptrdiff_t stride = x->row_stride, few = FEW_ROWS * (ptrdiff_t)pass->by->n_groups;
    const ptrdiff_t block = smaller(ROW_BLOCK, larger(BLOCK_BYTES / stride, few));
    for (ptrdiff_t i = first, n; i < last; i += n) {
        const char *data = x->data + i * stride;
        n = smaller(block, smaller(x->n - 1, last) - i);
        for (ptrdiff_t k = 0; k < n; k += 64 / (ptrdiff_t)sizeof(int32_t))
            __builtin_prefetch(pass->by->codes + i + n + k);
        if (n == 0) { /* the last row of the table, beyond which nothing may be read */
            n = 1;
            data = memcpy(copy, data, (size_t)x->m);
        }
        if (!sort_rows(pass->by, i, n, stride, sorted)) return false;
        add_block(pass, data, data + n * stride, sorted, state, part);
    }
    return true;
}

static enum outcome add_part(const struct pass *pass, ptrdiff_t first, ptrdiff_t last, struct part *part) {
    const ptrdiff_t m = pass->x->m, n_groups = pass->by->n_groups, n_folds = pass->n_folds;
    const ptrdiff_t width = (m + LANES - 1) / LANES * LANES;
    struct byte_sums state = {.width = width};
    struct sorted_rows sorted;
    enum outcome outcome = NO_MEMORY;
    char *copy = calloc((size_t)width, 1);
    state.sums = calloc((size_t)(n_groups * width), sizeof *state.sums);
    state.low = malloc((size_t)(n_folds * width));
    state.high = calloc((size_t)(n_folds * width), 1);
    state.rows = calloc((size_t)n_groups, sizeof *state.rows);
    sorted.offset = malloc((size_t)((n_groups + 1) * PITCH) * sizeof *sorted.offset);
    sorted.n = malloc((size_t)(n_groups + 1) * sizeof *sorted.n);
    if (copy && state.sums && state.low && state.high && state.rows && sorted.offset && sorted.n) {
        memset(state.low, UINT8_MAX, (size_t)(n_folds * width));
        outcome = add_byte_rows(pass, first, last, &sorted, &state, copy, part) ? FINITE : BAD_CODE;
        for (ptrdiff_t g = 0; g < n_groups; g++) {
            if (state.rows[g]) flush(&state, g, m, part);
            const ptrdiff_t fold = g / pass->by->n_classes;
            for (ptrdiff_t j = 0; part->counts[g] > 0.0 && j < m; j++) {
                part->low[fold * m + j] = state.low[fold * width + j];
                part->high[fold * m + j] = state.high[fold * width + j];
            }
        }
    }
    free(copy), free(state.sums), free(state.low), free(state.high), free(state.rows);
    free(sorted.offset), free(sorted.n);
    return outcome;
}

static void run_byte_rows(void *context, ptrdiff_t task, int worker) {
    struct pass *pass = context;
    struct part part = sefr_get_part(pass, task);
    (void)worker;
    for (ptrdiff_t i = 0; i < pass->n_folds * pass->x->m; i++) part.low[i] = INFINITY, part.high[i] = -INFINITY;
    enum outcome outcome = add_part(pass, sefr_part_start(pass, task), sefr_part_start(pass, task + 1), &part);
    if (outcome != FINITE) atomic_store(&pass->error, outcome);
}

static bool can_sort(const struct table *x, const struct grouping *by, const struct totals *out) {
    const bool plain = x->type == U8 && !by->weights && !out->present && rows_are_direct(x);
    const ptrdiff_t least = larger(by->n_groups > 2 ? LANES : NARROW, PER_GROUP * (ptrdiff_t)by->n_groups);
    /* lines that follow are called into the cache: they must be those of the next rows */
    if (!plain || x->row_stride < x->m || x->row_stride > x->m + STRIP || x->m < least || !has_avx2()) return false;
    return x->m < WIDE_ROW || (by->n_groups <= 2 && x->m <= WIDEST && x->n >= MANY_ROWS);
}
#endif

task_function *sefr_task_of_byte_rows(const struct table *x, const struct grouping *by, const struct totals *out) {
#ifdef SEFR_AVX2
    if (can_sort(x, by, out)) return run_byte_rows;
#endif
    (void)x, (void)by, (void)out;
    return NULL;
}
