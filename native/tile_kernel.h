/* From values of one type to the floats of a tile. Included once per type with T, TAG and A (the type to calculate
   in: float holds the narrow types exactly) defined. What is not finite becomes 0. */

CLONES static void JOIN(fill_row, TAG)(const T *restrict x, ptrdiff_t m, const void *centre, const void *scale,
                                       float *restrict out) {
    const A *restrict c = centre, *restrict s = scale;
    for (ptrdiff_t j = 0; j < m; j++) {
        const float value = (float)(((A)x[j] - c[j]) * s[j]);
        out[j] = value - value == 0.0f ? value : 0.0f;
    }
}

static void JOIN(fill_loose_row, TAG)(const char *data, ptrdiff_t stride, ptrdiff_t m, const void *centre,
                                      const void *scale, float *out, void *scratch) {
    T *copy = scratch;
    for (ptrdiff_t j = 0; j < m; j++) memcpy(&copy[j], data + j * stride, sizeof(T));
    JOIN(fill_row, TAG)(copy, m, centre, scale, out);
}

CLONES static void JOIN(fill_column, TAG)(const T *restrict x, ptrdiff_t n, double centre, double scale,
                                          float *restrict out) {
    const A c = (A)centre, s = (A)scale;
    for (ptrdiff_t i = 0; i < n; i++) {
        const float value = (float)(((A)x[i] - c) * s);
        out[i] = value - value == 0.0f ? value : 0.0f;
    }
}

static void JOIN(fill_line, TAG)(const char *data, ptrdiff_t stride, ptrdiff_t n, double centre, double scale,
                                 float *out, void *scratch) {
    const T *x = (const T *)(const void *)data;
    if (stride != (ptrdiff_t)sizeof(T) || (uintptr_t)data % sizeof(T)) {
        T *copy = scratch;
        for (ptrdiff_t i = 0; i < n; i++) memcpy(&copy[i], data + i * stride, sizeof(T));
        x = copy;
    }
    JOIN(fill_column, TAG)(x, n, centre, scale, out);
}

static void JOIN(fill_rows, TAG)(const struct table *x, const ptrdiff_t *rows, ptrdiff_t n, const void *centre,
                                 const void *scale, float *tile, ptrdiff_t width, void *scratch) {
    const ptrdiff_t ahead = rows[n - 1] + 1 - rows[0], row_bytes = x->m * (ptrdiff_t)sizeof(T);
    for (ptrdiff_t i = 0; i < n; i++) {
        const char *data = x->data + rows[i] * x->row_stride;
        if (!scratch && rows[i] + ahead < x->n) { /* the next tile comes while this one is worked on */
            const char *next = data + ahead * x->row_stride;
            for (ptrdiff_t byte = 0; byte < row_bytes; byte += 64) __builtin_prefetch(next + byte, 0, 2);
        }
        if (scratch) {
            JOIN(fill_loose_row, TAG)(data, x->column_stride, x->m, centre, scale, tile + i * width, scratch);
        } else {
            JOIN(fill_row, TAG)((const T *)(const void *)data, x->m, centre, scale, tile + i * width);
        }
    }
}

/* Four rows scored without a tile, for one score and rows too long for the first-level cache: what a tile saves there
   is less than what it costs to write. `weights` have the scale in them. */
CLONES static void JOIN(score_four, TAG)(const T *restrict a, const T *restrict b, const T *restrict c,
                                         const T *restrict d, ptrdiff_t m, const A *restrict centre,
                                         const A *restrict weights, double *restrict out) {
    A sum[4][16] = {{0}};
    ptrdiff_t j = 0;
    for (; j + 16 <= m; j += 16) {
        for (int u = 0; u < 16; u++) {
            const A w = weights[j + u], t = centre[j + u];
            sum[0][u] += FINITE_OR_0((A)a[j + u] - t) * w;
            sum[1][u] += FINITE_OR_0((A)b[j + u] - t) * w;
            sum[2][u] += FINITE_OR_0((A)c[j + u] - t) * w;
            sum[3][u] += FINITE_OR_0((A)d[j + u] - t) * w;
        }
    }
    for (; j < m; j++) {
        sum[0][0] += FINITE_OR_0((A)a[j] - centre[j]) * weights[j];
        sum[1][0] += FINITE_OR_0((A)b[j] - centre[j]) * weights[j];
        sum[2][0] += FINITE_OR_0((A)c[j] - centre[j]) * weights[j];
        sum[3][0] += FINITE_OR_0((A)d[j] - centre[j]) * weights[j];
    }
    for (int i = 0; i < 4; i++) {
        out[i] = 0.0;
        for (int u = 0; u < 16; u++) out[i] += (double)sum[i][u];
    }
}

CLONES static void JOIN(add_four, TAG)(const T *restrict a, const T *restrict b, const T *restrict c,
                                       const T *restrict d, ptrdiff_t m, const A *restrict centre, const float *pull,
                                       float *restrict sum) {
    const A p = (A)pull[0], q = (A)pull[1], r = (A)pull[2], s = (A)pull[3];
    for (ptrdiff_t j = 0; j < m; j++) {
        const A t = centre[j];
        sum[j] += (float)((FINITE_OR_0((A)a[j] - t) * p + FINITE_OR_0((A)b[j] - t) * q) +
                          (FINITE_OR_0((A)c[j] - t) * r + FINITE_OR_0((A)d[j] - t) * s));
    }
}

/* n rows, their number rounded up to four by rows without weight. */
static void JOIN(score_long, TAG)(const struct table *x, const ptrdiff_t *rows, ptrdiff_t n, const void *centre,
                                  const void *weights, double *out) {
    const ptrdiff_t ahead = rows[n - 1] + 1 - rows[0], bytes = x->m * (ptrdiff_t)sizeof(T);
    for (ptrdiff_t i = 0; i < n; i += 4) {
        const char *row[4];
        for (int k = 0; k < 4; k++) {
            row[k] = x->data + rows[i + k < n ? i + k : n - 1] * x->row_stride;
            if (i + k < n && rows[i + k] + ahead < x->n) { /* the next rows come while these are worked on */
                const char *next = row[k] + ahead * x->row_stride;
                for (ptrdiff_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(next + byte, 0, 2);
            }
        }
        JOIN(score_four, TAG)((const T *)(const void *)row[0], (const T *)(const void *)row[1],
                              (const T *)(const void *)row[2], (const T *)(const void *)row[3], x->m, centre, weights,
                              out + i);
    }
}

static void JOIN(add_long, TAG)(const struct table *x, const ptrdiff_t *rows, ptrdiff_t n, const void *centre,
                                const float *pull, float *sum) {
    for (ptrdiff_t i = 0; i < n; i += 4) {
        const char *row[4];
        for (int k = 0; k < 4; k++) row[k] = x->data + rows[i + k < n ? i + k : n - 1] * x->row_stride;
        JOIN(add_four, TAG)((const T *)(const void *)row[0], (const T *)(const void *)row[1],
                            (const T *)(const void *)row[2], (const T *)(const void *)row[3], x->m, centre, pull + i,
                            sum);
    }
}

#undef T
#undef TAG
#undef A
