/* Kernels written for AVX-512 with VBMI by hand, which looks bytes up among 128: beside those of avx2.h, chosen where
   the processor has it. Compiled by gcc alone: some versions of clang want "evex512" among the targets, others do not
   know it. SEFR_NO_AVX512 leaves them out. */
#ifndef SEFR_AVX512_H
#define SEFR_AVX512_H

#include "common/avx2.h"

#if defined(SEFR_AVX2) && !defined(SEFR_NO_AVX512) && !defined(__clang__) && __GNUC__ >= 9
#define SEFR_AVX512 1
#define AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,gfni")))
#define AVX512_INLINE AVX512 static inline __attribute__((always_inline))

static inline bool has_avx512(void) {
    return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("gfni") && has_avx2();
}
#endif

#endif
