/* Values of one type as float64. See each_dtype.h. */

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

#include "forget_dtype.h"
