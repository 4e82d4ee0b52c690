/* Wide rows of one type and one group, eight at a time. See each_dtype.h. */

#define ROW(i) (const T *)(const void *)(data + rows[i] * stride)
#define LESS(a, b) ((a) < (b) ? (a) : (b))
#define MORE(a, b) ((a) > (b) ? (a) : (b))

/* restrict holds through inlining for parameters only */
INLINE void JOIN(add_eight, TAG)(const T *restrict x0, const T *restrict x1, const T *restrict x2,
                                 const T *restrict x3, const T *restrict x4, const T *restrict x5,
                                 const T *restrict x6, const T *restrict x7, ptrdiff_t m, SUM *restrict sums,
                                 T *restrict low, T *restrict high) {
    for (ptrdiff_t j = 0; j < m; j++) {
        const T a = x0[j], b = x1[j], c = x2[j], d = x3[j], e = x4[j], f = x5[j], g = x6[j], h = x7[j];
        const SUM ab = (SUM)((SUM)a + (SUM)b), cd = (SUM)((SUM)c + (SUM)d);
        const SUM ef = (SUM)((SUM)e + (SUM)f), gh = (SUM)((SUM)g + (SUM)h);
        sums[j] = (SUM)(sums[j] + (SUM)((SUM)(ab + cd) + (SUM)(ef + gh)));
        const T l0 = LESS(a, b), l1 = LESS(c, d), l2 = LESS(e, f), l3 = LESS(g, h);
        const T l4 = LESS(l0, l1), l5 = LESS(l2, l3), l6 = LESS(l4, l5);
        const T h0 = MORE(a, b), h1 = MORE(c, d), h2 = MORE(e, f), h3 = MORE(g, h);
        const T h4 = MORE(h0, h1), h5 = MORE(h2, h3), h6 = MORE(h4, h5);
        low[j] = LESS(l6, low[j]);
        high[j] = MORE(h6, high[j]);
    }
}

INLINE void JOIN(add_four, TAG)(const T *restrict x0, const T *restrict x1, const T *restrict x2,
                                const T *restrict x3, ptrdiff_t m, SUM *restrict sums, T *restrict low,
                                T *restrict high) {
    for (ptrdiff_t j = 0; j < m; j++) {
        const T a = x0[j], b = x1[j], c = x2[j], d = x3[j];
        sums[j] = (SUM)(sums[j] + (SUM)((SUM)((SUM)a + (SUM)b) + (SUM)((SUM)c + (SUM)d)));
        const T l0 = LESS(a, b), l1 = LESS(c, d), l2 = LESS(l0, l1);
        const T h0 = MORE(a, b), h1 = MORE(c, d), h2 = MORE(h0, h1);
        low[j] = LESS(l2, low[j]);
        high[j] = MORE(h2, high[j]);
    }
}

INLINE void JOIN(add_one, TAG)(const T *restrict x0, ptrdiff_t m, SUM *restrict sums, T *restrict low,
                               T *restrict high) {
    for (ptrdiff_t j = 0; j < m; j++) {
        const T a = x0[j];
        sums[j] = (SUM)(sums[j] + (SUM)a);
        low[j] = LESS(a, low[j]);
        high[j] = MORE(a, high[j]);
    }
}

/* At most SEGMENT rows, so that SUM does not overflow. `sums` starts at 0. */
CLONES static void JOIN(add_segment, TAG)(const char *data, ptrdiff_t stride, const int32_t *rows, ptrdiff_t n,
                                          ptrdiff_t m, void *sums, void *low, void *high) {
    for (; n >= 8; n -= 8, rows += 8) {
        /* the processor takes some lines to see that a row begins; after that it reads ahead by itself */
        for (ptrdiff_t i = 8; i < smaller(n, 16); i++) {
            for (ptrdiff_t b = 0; b < 512; b += 64) __builtin_prefetch(data + rows[i] * stride + b);
        }
        JOIN(add_eight, TAG)(ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7), m, sums, low, high);
    }
    if (n >= 4) {
        JOIN(add_four, TAG)(ROW(0), ROW(1), ROW(2), ROW(3), m, sums, low, high);
        n -= 4, rows += 4;
    }
    for (; n > 0; n--, rows++) JOIN(add_one, TAG)(ROW(0), m, sums, low, high);
}

static void JOIN(start_range, TAG)(void *low, void *high, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) ((T *)low)[i] = LOWEST, ((T *)high)[i] = HIGHEST;
}

static void JOIN(widen_range, TAG)(const void *low, const void *high, ptrdiff_t n, double *to_low, double *to_high) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const double a = (double)((const T *)low)[i], b = (double)((const T *)high)[i];
        to_low[i] = a < to_low[i] ? a : to_low[i];
        to_high[i] = b > to_high[i] ? b : to_high[i];
    }
}

static void JOIN(widen_sums, TAG)(const void *sums, ptrdiff_t n, double *to) {
    for (ptrdiff_t i = 0; i < n; i++) to[i] = (double)((const SUM *)sums)[i];
}

enum { JOIN(SUM_SIZE, TAG) = sizeof(SUM) };
_Static_assert((int)SEGMENT <= SUM_ROWS, "a segment overflows SUM");

#undef ROW
#undef LESS
#undef MORE
#include "forget_dtype.h"
