/* Bytes turned round: lines to places. */
#ifndef SEFR_TRANSPOSE_BYTES_H
#define SEFR_TRANSPOSE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "common/avx2.h"

#ifdef SEFR_AVX2
/* Sixteen lines of sixteen bytes: from[line * from_pitch + place] to to[place * to_pitch + line]. */
AVX2_INLINE void transpose_sixteen(const uint8_t *from, ptrdiff_t from_pitch, uint8_t *to, ptrdiff_t to_pitch) {
    __m128i a[16], b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) a[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + i * from_pitch));
#define ROUND(x, y)                                                                                     \
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) {                                               \
        y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]), y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]); \
    }
    ROUND(a, b)
    ROUND(b, a)
    ROUND(a, b)
    ROUND(b, a)
#undef ROUND
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) _mm_storeu_si128((__m128i *)(void *)(to + i * to_pitch), a[i]);
}
#endif

#endif
