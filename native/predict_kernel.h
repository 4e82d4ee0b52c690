/* Scores of rows of one type. Included once per type with T and TAG defined. */

CLONES static double JOIN(dot, TAG)(const T *restrict x, const double *restrict w, ptrdiff_t m) {
    double sum[16] = {0.0};
    ptrdiff_t j = 0;
    for (; j + 16 <= m; j += 16) {
        for (int u = 0; u < 16; u++) sum[u] += (double)x[j + u] * w[j + u];
    }
    for (; j < m; j++) sum[0] += (double)x[j] * w[j];
    for (int half = 8; half > 0; half /= 2) {
        for (int u = 0; u < half; u++) sum[u] += sum[u + half];
    }
    return sum[0];
}

static void JOIN(score_row, TAG)(const struct table *x, ptrdiff_t row, bool direct, const double *coef,
                                 const double *intercept, ptrdiff_t k, double *out, void *scratch) {
    const char *data = x->data + row * x->row_stride;
    const T *values = (const T *)(const void *)data;
    if (!direct) {
        T *copy = scratch;
        for (ptrdiff_t j = 0; j < x->m; j++) memcpy(&copy[j], data + j * x->column_stride, sizeof(T));
        values = copy;
    }
    for (ptrdiff_t c = 0; c < k; c++) out[c] = JOIN(dot, TAG)(values, coef + c * x->m, x->m) + intercept[c];
}

#include "forget_dtype.h"
