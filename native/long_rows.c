#include "long_rows.h"

#define FINITE_OR_0(a) ((a) - (a) == 0 ? (a) : 0)

#define T float
#define TAG F32
#include "long_kernel.h"
#define T double
#define TAG F64
#include "long_kernel.h"

void score_long(enum dtype type, const char *const *rows, ptrdiff_t n, ptrdiff_t m, const void *centre,
                const void *weights, double *out, struct ahead *ahead) {
    (type == F32 ? score_long_F32 : score_long_F64)(rows, n, m, centre, weights, out, ahead);
}

void add_long(enum dtype type, const char *const *rows, ptrdiff_t n, ptrdiff_t m, const void *centre,
              const float *pull, float *sum) {
    (type == F32 ? add_long_F32 : add_long_F64)(rows, n, m, centre, pull, sum);
}
