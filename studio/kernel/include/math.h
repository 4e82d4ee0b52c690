#ifndef STUDIO_MATH_H
#define STUDIO_MATH_H

#include <stdint.h>

#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
#define HUGE_VAL __builtin_huge_val()
#define fabs(x) __builtin_fabs(x)
#define sqrt(x) __builtin_sqrt(x)
#define isfinite(x) __builtin_isfinite(x)
#define isnan(x) __builtin_isnan(x)

/* The page's own: Math.log. */
__attribute__((import_module("page"), import_name("log"))) double log(double x);

/* The float after a finite one that is not the highest, upwards. */
static inline float studio_next_up(float x) {
    union {
        float value;
        int32_t bits;
    } at = {x};
    if (x == 0.0f) return 1.4e-45f;
    at.bits += at.bits < 0 ? -1 : 1;
    return at.value;
}
#define nextafterf(x, towards) studio_next_up(x) /* the kernels go upwards alone */

#endif
