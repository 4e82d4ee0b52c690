/* From values of one type to the floats of a tile. Included once per type with T, TAG and A (the type to calculate
   in: float holds the narrow types exactly) defined. */

CLONES static void JOIN(fill_plain, TAG)(const char *from, ptrdiff_t m, const void *centre, float *restrict out) {
    const T *restrict x = (const T *)(const void *)from;
    const A *restrict c = centre;
    for (ptrdiff_t j = 0; j < m; j++) out[j] = (float)((A)x[j] - c[j]);
}

CLONES static void JOIN(fill_checked, TAG)(const char *from, ptrdiff_t m, const void *centre, const void *unit,
                                           float *restrict out) {
    const T *restrict x = (const T *)(const void *)from;
    const A *restrict c = centre, *restrict s = unit;
    for (ptrdiff_t j = 0; j < m; j++) {
        const float value = (float)(((A)x[j] - c[j]) * s[j]);
        out[j] = value - value == 0.0f ? value : 0.0f;
    }
}

CLONES static void JOIN(fill_column, TAG)(const char *from, ptrdiff_t n, double centre, double scale,
                                          float *restrict out) {
    const T *restrict x = (const T *)(const void *)from;
    const A c = (A)centre, s = (A)scale;
    for (ptrdiff_t i = 0; i < n; i++) {
        const float value = (float)(((A)x[i] - c) * s);
        out[i] = value - value == 0.0f ? value : 0.0f;
    }
}

#undef T
#undef TAG
#undef A
