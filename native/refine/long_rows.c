#include "refine/long_rows.h"

#define FINITE_OR_0(a) ((a) - (a) == 0 ? (a) : 0)

#define T float
#define TAG F32
#define VALUE(a) (a)
#include "refine/long_rows_kernel.inc"
#define T float
#define TAG CHECKED_F32
#define VALUE FINITE_OR_0
#include "refine/long_rows_kernel.inc"
#define T double
#define TAG F64
#define VALUE(a) (a)
#include "refine/long_rows_kernel.inc"
#define T double
#define TAG CHECKED_F64
#define VALUE FINITE_OR_0
#include "refine/long_rows_kernel.inc"

void sefr_score_long(const struct long_rows *x, const void *weights, double *out, struct ahead *ahead) {
    if (x->type == F32) {
        (x->checked ? score_long_CHECKED_F32 : score_long_F32)(x->rows, x->n, x->m, x->centre, weights, out, ahead);
    } else {
        (x->checked ? score_long_CHECKED_F64 : score_long_F64)(x->rows, x->n, x->m, x->centre, weights, out, ahead);
    }
}

void sefr_add_long(const struct long_rows *x, const float *residual, float *sum) {
    if (x->type == F32) {
        (x->checked ? add_long_CHECKED_F32 : add_long_F32)(x->rows, x->n, x->m, x->centre, residual, sum);
    } else {
        (x->checked ? add_long_CHECKED_F64 : add_long_F64)(x->rows, x->n, x->m, x->centre, residual, sum);
    }
}
