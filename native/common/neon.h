/* Kernels written for NEON by hand, which every aarch64 has, where a compiler makes little of the loop. SEFR_PORTABLE
   leaves them out. */
#ifndef SEFR_NEON_H
#define SEFR_NEON_H

#if defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__)) && !defined(__AARCH64EB__) && \
    !defined(SEFR_PORTABLE)
#define SEFR_NEON 1
#include <arm_neon.h>
#endif

#endif
