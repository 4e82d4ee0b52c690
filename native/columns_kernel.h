/* A block of one column. See each_dtype.h. */

enum { JOIN(LANES, TAG) = sizeof(T) < 4 ? 16 : 64 / sizeof(T) };

/* The range of a whole block: one group or many, all of one fold. */
INLINE void JOIN(range_of, TAG)(const T *restrict x, ptrdiff_t n, T *low, T *high) {
    enum { L = JOIN(LANES, TAG) };
    T lows[L], highs[L];
    ptrdiff_t i = 0;
    for (int u = 0; u < L; u++) lows[u] = LOWEST, highs[u] = HIGHEST;
    for (; i + L <= n; i += L) {
        for (int u = 0; u < L; u++) lows[u] = x[i + u] < lows[u] ? x[i + u] : lows[u];
        for (int u = 0; u < L; u++) highs[u] = x[i + u] > highs[u] ? x[i + u] : highs[u];
    }
    for (; i < n; i++) lows[0] = x[i] < lows[0] ? x[i] : lows[0], highs[0] = x[i] > highs[0] ? x[i] : highs[0];
    for (int u = 1; u < L; u++) {
        lows[0] = lows[u] < lows[0] ? lows[u] : lows[0];
        highs[0] = highs[u] > highs[0] ? highs[u] : highs[0];
    }
    *low = lows[0];
    *high = highs[0];
}

/* The sum of one group by looking at every row: faster than following `order` as long as groups are few.
   Selecting and adding are two loops, because gcc 12 miscompiles them as one under
   -fno-trapping-math, which a packager may set. */
INLINE double JOIN(sum_where, TAG)(const T *restrict x, const int32_t *restrict group, int32_t g, ptrdiff_t n,
                                   T *restrict chosen) {
    enum { L = JOIN(LANES, TAG) };
    double sums[L] = {0.0}, sum = 0.0;
    ptrdiff_t i = 0;
    for (ptrdiff_t r = 0; r < n; r++) chosen[r] = group[r] == g ? x[r] : (T)0;
    for (; i + L <= n; i += L) {
        for (int u = 0; u < L; u++) sums[u] += (double)chosen[i + u];
    }
    for (; i < n; i++) sum += (double)chosen[i];
    for (int u = 0; u < L; u++) sum += sums[u];
    return sum;
}

INLINE double JOIN(sum_in_order, TAG)(const T *restrict x, const int32_t *restrict order, ptrdiff_t n) {
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4) {
        a += (double)x[order[i]];
        b += (double)x[order[i + 1]];
        c += (double)x[order[i + 2]];
        d += (double)x[order[i + 3]];
    }
    for (; i < n; i++) a += (double)x[order[i]];
    return (a + b) + (c + d);
}

INLINE void JOIN(stretch, TAG)(const struct part *part, ptrdiff_t cell, T low, T high) {
    if ((double)low < part->low[cell]) part->low[cell] = (double)low;
    if ((double)high > part->high[cell]) part->high[cell] = (double)high;
}

/* Weights, or NaN that is missing. */
static void JOIN(add_weighted_column, TAG)(const T *restrict x, const struct block *block, const struct part *part,
                                           ptrdiff_t j, ptrdiff_t m) {
    for (ptrdiff_t s = 0; s < block->n_segments; s++) {
        const struct segment *segment = &block->segments[s];
        double sum = 0.0, present = 0.0;
        T low = LOWEST, high = HIGHEST;
        bool any = false;
        for (ptrdiff_t r = segment->begin; r < segment->end; r++) {
            const int32_t i = block->order[r];
            const T value = x[i];
            if (part->present && value != value) continue;
            sum += block->weight[i] * (double)value;
            present += block->weight[i];
            low = value < low ? value : low;
            high = value > high ? value : high;
            any = true;
        }
        part->sums[segment->group * m + j] += sum;
        if (part->present) part->present[segment->group * m + j] += present;
        if (any) JOIN(stretch, TAG)(part, segment->fold * m + j, low, high);
    }
}

CLONES static void JOIN(add_plain_column, TAG)(const T *restrict x, const struct block *block,
                                               const struct part *part, ptrdiff_t j, ptrdiff_t m) {
    T low, high;
    if (block->one_fold) {
        JOIN(range_of, TAG)(x, block->n, &low, &high);
        JOIN(stretch, TAG)(part, block->segments[0].fold * m + j, low, high);
    }
    for (ptrdiff_t s = 0; s < block->n_segments; s++) {
        const struct segment *segment = &block->segments[s];
        double *sum = &part->sums[segment->group * m + j];
        if (block->n_segments <= FEW_GROUPS) {
            *sum += JOIN(sum_where, TAG)(x, block->group, segment->group, block->n, block->chosen);
        } else {
            *sum += JOIN(sum_in_order, TAG)(x, block->order + segment->begin, segment->end - segment->begin);
        }
        if (block->one_fold) continue;
        low = LOWEST, high = HIGHEST;
        for (ptrdiff_t r = segment->begin; r < segment->end; r++) {
            const T value = x[block->order[r]];
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        JOIN(stretch, TAG)(part, segment->fold * m + j, low, high);
    }
}

static void JOIN(add_column, TAG)(const struct column *column, ptrdiff_t first, const struct block *block,
                                  const struct part *part, ptrdiff_t j, ptrdiff_t m, void *scratch) {
    const char *data = column->data + first * column->stride;
    const T *x = (const T *)(const void *)data;
    if (column->stride != (ptrdiff_t)sizeof(T) || (uintptr_t)data % sizeof(T)) {
        T *copy = scratch;
        for (ptrdiff_t i = 0; i < block->n; i++) memcpy(&copy[i], data + i * column->stride, sizeof(T));
        x = copy;
    }
    if (block->weighted || part->present) {
        JOIN(add_weighted_column, TAG)(x, block, part, j, m);
    } else {
        JOIN(add_plain_column, TAG)(x, block, part, j, m);
    }
}

#include "forget_dtype.h"
