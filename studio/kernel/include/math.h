#ifndef STUDIO_MATH_H
#define STUDIO_MATH_H

#define INFINITY __builtin_inff()
#define HUGE_VAL __builtin_huge_val()
#define fabs(x) __builtin_fabs(x)
#define isfinite(x) __builtin_isfinite(x)
#define isnan(x) __builtin_isnan(x)

#endif
