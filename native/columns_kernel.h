/* A block of one column. See each_dtype.h. */

/* The range is found by halving: element j with element j + n / 2, until one is left. A plain loop over elements, so it
   is vectorised. The odd last element is kept aside. */

INLINE void JOIN(halve_range, TAG)(const T *restrict a, const T *restrict b, const T *restrict c,
                                   const T *restrict d, ptrdiff_t half, T *restrict lows, T *restrict highs) {
    for (ptrdiff_t j = 0; j < half; j++) lows[j] = a[j] < b[j] ? a[j] : b[j];
    for (ptrdiff_t j = 0; j < half; j++) highs[j] = c[j] > d[j] ? c[j] : d[j];
}

/* The range of a whole block. `lows` and `highs` have room for n values: a half, a quarter, and so on. */
INLINE void JOIN(range_of, TAG)(const T *x, ptrdiff_t n, T *lows, T *highs, T *low, T *high) {
    const T *from_low = x, *from_high = x;
    T least = LOWEST, most = HIGHEST;
    while (n > 1) {
        const ptrdiff_t half = n / 2;
        if (n % 2) {
            least = from_low[n - 1] < least ? from_low[n - 1] : least;
            most = from_high[n - 1] > most ? from_high[n - 1] : most;
        }
        JOIN(halve_range, TAG)(from_low, from_low + half, from_high, from_high + half, half, lows, highs);
        from_low = lows, from_high = highs;
        lows += half, highs += half, n = half;
    }
    *low = from_low[0] < least ? from_low[0] : least;
    *high = from_high[0] > most ? from_high[0] : most;
}

INLINE void JOIN(to_doubles, TAG)(const T *restrict x, ptrdiff_t n, double *restrict values) {
    for (ptrdiff_t j = 0; j < n; j++) values[j] = (double)x[j];
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
        JOIN(range_of, TAG)(x, block->n, block->lows, block->highs, &low, &high);
        JOIN(stretch, TAG)(part, block->segments[0].fold * m + j, low, high);
    }
    const double *values = TAG == F64 ? (const double *)(const void *)x : block->values;
    if (block->n_segments <= FEW_GROUPS && TAG != F64) JOIN(to_doubles, TAG)(x, block->n, block->values);
    for (ptrdiff_t s = 0; s < block->n_segments; s++) {
        const struct segment *segment = &block->segments[s];
        double *sum = &part->sums[segment->group * m + j];
        if (block->n_segments <= FEW_GROUPS) {
            *sum += sum_masked(values, block->masks + s * block->size, block->n);
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
