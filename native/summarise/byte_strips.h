/* Columns of rows of bytes of one group, added up in registers; 64 columns are a strip.

   Sums of 32 columns are 32 of 16 bits: two columns at a time as one number, then the odd columns alone. Of 256 rows
   the second are exact, since 256 * 255 < 2^16; the first, less 256 times the second and modulo 2^16, are the even
   columns. */
#ifndef SEFR_BYTE_STRIPS_H
#define SEFR_BYTE_STRIPS_H

#include <stddef.h>
#include <stdint.h>

#include "common/avx2.h"

#ifdef SEFR_AVX2
enum { LANES = 32 /* columns of a register */, STRIP = 2 * LANES };

#define LINE(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, vector) _mm256_storeu_si256((__m256i *)(void *)(p), vector)

/* Add rows data + offset[i] in `registers` (1 or 2) of columns. With each row a line that is needed later is called
   into the cache: data + later[i], or, if `later` is NULL, the next line from `next` on. Returns the line after these.
 */
AVX2_INLINE const char *add_strip(const int registers, const char *data, const ptrdiff_t *offset, ptrdiff_t n,
                                  const ptrdiff_t *later, const char *next, uint16_t *sums, uint8_t *low,
                                  uint8_t *high) {
    __m256i both[2], odd[2], least[2], most[2];
    _Pragma("GCC unroll 2") for (int v = 0; v < registers; v++) {
        both[v] = LINE(sums + LANES * v), odd[v] = LINE(sums + LANES * v + LANES / 2);
        least[v] = LINE(low + LANES * v), most[v] = LINE(high + LANES * v);
    }
    _Pragma("GCC unroll 2") for (ptrdiff_t i = 0; i < n; i++) {
        const char *row = data + offset[i];
        __builtin_prefetch(later ? data + later[i] : next);
        next += later ? 0 : 64;
        _Pragma("GCC unroll 2") for (int v = 0; v < registers; v++) {
            const __m256i values = LINE(row + LANES * v);
            both[v] = _mm256_add_epi16(both[v], values);
            odd[v] = _mm256_add_epi16(odd[v], _mm256_srli_epi16(values, 8));
            least[v] = _mm256_min_epu8(least[v], values), most[v] = _mm256_max_epu8(most[v], values);
        }
    }
    _Pragma("GCC unroll 2") for (int v = 0; v < registers; v++) {
        STORE(sums + LANES * v, both[v]), STORE(sums + LANES * v + LANES / 2, odd[v]);
        STORE(low + LANES * v, least[v]), STORE(high + LANES * v, most[v]);
    }
    return next;
}

/* The sums of 32 columns, in their order. */
AVX2_INLINE void order_sums(const uint16_t *sums, uint16_t *ordered) {
    const __m256i odd = LINE(sums + LANES / 2);
    const __m256i even = _mm256_sub_epi16(LINE(sums), _mm256_slli_epi16(odd, 8));
    /* unpacking works within halves of a register */
    const __m256i a = _mm256_unpacklo_epi16(even, odd), b = _mm256_unpackhi_epi16(even, odd);
    STORE(ordered, _mm256_permute2x128_si256(a, b, 0x20));
    STORE(ordered + LANES / 2, _mm256_permute2x128_si256(a, b, 0x31));
}

#undef LINE
#undef STORE
#endif

#endif
