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

#undef T
#undef TAG
#undef A
