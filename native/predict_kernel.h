/* Values of one type as float64, and times the weights of one class. See each_dtype.h. */

CLONES static void JOIN(to_double, TAG)(const char *data, ptrdiff_t stride, ptrdiff_t n, double *restrict values) {
    if (stride == (ptrdiff_t)sizeof(T) && (uintptr_t)data % sizeof(T) == 0) {
        const T *restrict x = (const T *)(const void *)data;
        for (ptrdiff_t j = 0; j < n; j++) values[j] = (double)x[j];
    } else {
        for (ptrdiff_t j = 0; j < n; j++) {
            T value; /* may not be aligned */
            memcpy(&value, data + j * stride, sizeof value);
            values[j] = (double)value;
        }
    }
}

/* Four rows times one class; two sums a row hide the latency of the multiply-add. */
CLONES static void JOIN(multiply_four, TAG)(const char *const *rows, const double *w, ptrdiff_t n, double *sums) {
    const T *p = (const T *)(const void *)rows[0], *q = (const T *)(const void *)rows[1];
    const T *r = (const T *)(const void *)rows[2], *s = (const T *)(const void *)rows[3];
    quad a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0}, g = {0}, h = {0};
    ptrdiff_t j = 0;
    for (; j + 8 <= n; j += 8) {
        const quad u = *(const quad *)(w + j), v = *(const quad *)(w + j + 4);
        a += JOIN(QUAD, TAG)(p + j) * u;
        b += JOIN(QUAD, TAG)(q + j) * u;
        c += JOIN(QUAD, TAG)(r + j) * u;
        d += JOIN(QUAD, TAG)(s + j) * u;
        e += JOIN(QUAD, TAG)(p + j + 4) * v;
        f += JOIN(QUAD, TAG)(q + j + 4) * v;
        g += JOIN(QUAD, TAG)(r + j + 4) * v;
        h += JOIN(QUAD, TAG)(s + j + 4) * v;
    }
    sums[0] = sum_quad(a + e), sums[1] = sum_quad(b + f);
    sums[2] = sum_quad(c + g), sums[3] = sum_quad(d + h);
    for (; j < n; j++) {
        sums[0] += (double)p[j] * w[j], sums[1] += (double)q[j] * w[j];
        sums[2] += (double)r[j] * w[j], sums[3] += (double)s[j] * w[j];
    }
}

#include "forget_dtype.h"
