/* Four rows at a time of one type, T, which is also what is calculated in. Included with T, TAG and VALUE, which is what
   a difference counts as. */

CLONES static void JOIN(score_four, TAG)(const T *restrict a, const T *restrict b, const T *restrict c,
                                         const T *restrict d, ptrdiff_t m, const T *restrict centre,
                                         const T *restrict weights, double *restrict out) {
    T sum[4][16] = {{0}};
    ptrdiff_t j = 0;
    for (; j + 16 <= m; j += 16) {
        for (int u = 0; u < 16; u++) {
            const T w = weights[j + u], t = centre[j + u];
            sum[0][u] += VALUE(a[j + u] - t) * w;
            sum[1][u] += VALUE(b[j + u] - t) * w;
            sum[2][u] += VALUE(c[j + u] - t) * w;
            sum[3][u] += VALUE(d[j + u] - t) * w;
        }
    }
    for (; j < m; j++) {
        sum[0][0] += VALUE(a[j] - centre[j]) * weights[j];
        sum[1][0] += VALUE(b[j] - centre[j]) * weights[j];
        sum[2][0] += VALUE(c[j] - centre[j]) * weights[j];
        sum[3][0] += VALUE(d[j] - centre[j]) * weights[j];
    }
    for (int i = 0; i < 4; i++) {
        out[i] = 0.0;
        for (int u = 0; u < 16; u++) out[i] += (double)sum[i][u];
    }
}

CLONES static void JOIN(add_four, TAG)(const T *restrict a, const T *restrict b, const T *restrict c,
                                       const T *restrict d, ptrdiff_t m, const T *restrict centre, const float *pull,
                                       float *restrict sum) {
    const T p = pull[0], q = pull[1], r = pull[2], s = pull[3];
    for (ptrdiff_t j = 0; j < m; j++) {
        const T t = centre[j];
        sum[j] += (float)((VALUE(a[j] - t) * p + VALUE(b[j] - t) * q) +
                          (VALUE(c[j] - t) * r + VALUE(d[j] - t) * s));
    }
}

#define ROW(k) (const T *)(const void *)rows[i + k < n ? i + k : n - 1]

static void JOIN(score_long, TAG)(const char *const *rows, ptrdiff_t n, ptrdiff_t m, const void *centre,
                                  const void *weights, double *out, struct ahead *ahead) {
    for (ptrdiff_t i = 0; i < n; i += 4) {
        look_ahead(ahead);
        JOIN(score_four, TAG)(ROW(0), ROW(1), ROW(2), ROW(3), m, centre, weights, out + i);
    }
}

static void JOIN(add_long, TAG)(const char *const *rows, ptrdiff_t n, ptrdiff_t m, const void *centre,
                                const float *pull, float *sum) {
    for (ptrdiff_t i = 0; i < n; i += 4) {
        JOIN(add_four, TAG)(ROW(0), ROW(1), ROW(2), ROW(3), m, centre, pull + i, sum);
    }
}

#undef ROW
#undef T
#undef TAG
#undef VALUE
