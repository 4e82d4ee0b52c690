#include "refine/tile.h"

#include <string.h>

#define KERNEL "refine/tile_kernel.inc"
#include "common/each_dtype.inc"

typedef void plain_function(const char *, ptrdiff_t, const void *, float *);
typedef void checked_function(const char *, ptrdiff_t, const void *, const void *, float *);
typedef void column_function(const char *, ptrdiff_t, double, double, float *);

static plain_function *const plain_of[N_DTYPES] = OF_EACH_DTYPE(fill_plain);
static checked_function *const checked_of[N_DTYPES] = OF_EACH_DTYPE(fill_checked);
static column_function *const column_of[N_DTYPES] = OF_EACH_DTYPE(fill_column);

void sefr_fill_plain(enum dtype type, const char *from, ptrdiff_t m, const void *centre, float *out) {
    plain_of[type](from, m, centre, out);
}

void sefr_fill_checked(enum dtype type, const char *from, ptrdiff_t m, const void *centre, const void *unit,
                       float *out) {
    checked_of[type](from, m, centre, unit, out);
}

void sefr_fill_column(enum dtype type, const char *from, ptrdiff_t n, double centre, double scale, float *out) {
    column_of[type](from, n, centre, scale, out);
}

void sefr_gather(enum dtype type, const char *from, ptrdiff_t stride, ptrdiff_t n, char *to) {
    switch (dtype_size(type)) {
    case 1:
        for (ptrdiff_t i = 0; i < n; i++) to[i] = from[i * stride];
        break;
    case 2:
        for (ptrdiff_t i = 0; i < n; i++) memcpy(to + 2 * i, from + i * stride, 2);
        break;
    case 4:
        for (ptrdiff_t i = 0; i < n; i++) memcpy(to + 4 * i, from + i * stride, 4);
        break;
    default:
        for (ptrdiff_t i = 0; i < n; i++) memcpy(to + 8 * i, from + i * stride, 8);
    }
}
