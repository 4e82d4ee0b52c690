/* Kernels written for AVX2 by hand, where a compiler makes nothing of the loop: they are compiled by gcc and clang for
   x86-64, and chosen when they are called. SEFR_PORTABLE leaves them out. */
#ifndef SEFR_AVX2_H
#define SEFR_AVX2_H

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__) && !defined(SEFR_PORTABLE)
#define SEFR_AVX2 1
#include <immintrin.h>
#include <stdbool.h>

#ifdef __clang__
#define AVX2 __attribute__((target("avx2,fma")))
#else /* gcc would otherwise split loads that are not aligned */
#define AVX2 __attribute__((target("avx2,fma,tune=haswell")))
#endif
#define AVX2_INLINE AVX2 static inline __attribute__((always_inline))

static inline bool has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

#endif
