/* Tiles turned round: rows of values to columns of floats, and columns of cells to rows. */
#ifndef SEFR_TRANSPOSE_H
#define SEFR_TRANSPOSE_H

#include "cells/coding.h"
#include "common/transpose_bytes.h"

#ifdef SEFR_AVX2
/* Eight values that lie side by side, float32 or, where `wide`, float64, as float32. */
AVX2_INLINE __m256 load_eight(const char *at, const bool wide) {
    if (!wide) return _mm256_loadu_ps((const float *)(const void *)at);
    const double *doubles = (const double *)(const void *)at;
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(doubles + 4)), _mm256_cvtpd_ps(_mm256_loadu_pd(doubles)));
}

/* Eight columns of eight rows, `offset` bytes from where they begin: to[column * TILE_ROWS + row]. */
AVX2_INLINE void transpose_eight(const char *const *rows, ptrdiff_t offset, const bool wide, float *to) {
#define ROW(i) load_eight(rows[i] + offset, wide)
    const __m256 r0 = ROW(0), r1 = ROW(1), r2 = ROW(2), r3 = ROW(3), r4 = ROW(4), r5 = ROW(5), r6 = ROW(6), r7 = ROW(7);
#undef ROW
    const __m256 s0 = _mm256_unpacklo_ps(r0, r1), s1 = _mm256_unpackhi_ps(r0, r1);
    const __m256 s2 = _mm256_unpacklo_ps(r2, r3), s3 = _mm256_unpackhi_ps(r2, r3);
    const __m256 s4 = _mm256_unpacklo_ps(r4, r5), s5 = _mm256_unpackhi_ps(r4, r5);
    const __m256 s6 = _mm256_unpacklo_ps(r6, r7), s7 = _mm256_unpackhi_ps(r6, r7);
#define COLUMNS(j, a, b, c, d, lanes)                                                                \
    {                                                                                                \
        const __m256 upper = _mm256_shuffle_ps(a, b, lanes), lower = _mm256_shuffle_ps(c, d, lanes); \
        _mm256_store_ps(to + (j) * TILE_ROWS, _mm256_permute2f128_ps(upper, lower, 0x20));           \
        _mm256_store_ps(to + ((j) + 4) * TILE_ROWS, _mm256_permute2f128_ps(upper, lower, 0x31));     \
    }
    COLUMNS(0, s0, s2, s4, s6, 0x44)
    COLUMNS(1, s0, s2, s4, s6, 0xee)
    COLUMNS(2, s1, s3, s5, s7, 0x44)
    COLUMNS(3, s1, s3, s5, s7, 0xee)
#undef COLUMNS
}

/* The cells of a whole tile, m columns of them, at least sixteen, to rows side by side. */
AVX2 static void transpose_cells(const uint8_t *cells, ptrdiff_t m, uint8_t *rows) {
    for (ptrdiff_t i = 0; i < TILE_ROWS; i += 16) {
        for (ptrdiff_t j = 0; j < m; j += 16) {
            const ptrdiff_t column = j + 16 <= m ? j : m - 16; /* some columns twice */
            transpose_sixteen(cells + column * TILE_ROWS + i, TILE_ROWS, rows + i * m + column, m);
        }
    }
}
#endif

#endif
