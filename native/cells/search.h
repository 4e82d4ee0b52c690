/* The cell of values by binary search among the edges of one feature. */
#ifndef SEFR_SEARCH_H
#define SEFR_SEARCH_H

#include <math.h>

#include "cells/coding.h"

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__) && !defined(SEFR_ONE_TARGET)
#define SEFR_SEARCH_AVX2 1
#include <immintrin.h>
#endif

/* The count of edges at or below x; 2**levels - 1 edges that rise, the last of them perhaps +inf. */
static inline int32_t search_float(float x, const float *edges, int32_t levels) {
    int32_t at = 0;
    for (int32_t step = (1 << levels) >> 1; step > 0; step >>= 1) at += x >= edges[at + step - 1] ? step : 0;
    return at;
}

/* TILE_ROWS values; returns whether all are finite. */
static inline bool search_plain(const float *values, const float *edges, int32_t levels, uint8_t *cells) {
    int odd = 0;
    for (ptrdiff_t i = 0; i < TILE_ROWS; i++) {
        cells[i] = (uint8_t)search_float(values[i], edges, levels);
        odd |= !isfinite(values[i]);
    }
    return !odd;
}

#ifdef SEFR_SEARCH_AVX2
static inline bool has_avx2(void) {
    static int known = -1;
    if (known < 0) known = __builtin_cpu_supports("avx2") ? 1 : 0;
    return known;
}

/* Eight values at a time: a level of the tree is a register, in which each value looks up the edge it meets next. */
__attribute__((target("avx2"), always_inline)) static inline __m256i search_eight(__m256 x, const __m256 *tree,
                                                                                  int32_t levels) {
    __m256i at = _mm256_castps_si256(_mm256_cmp_ps(x, tree[0], _CMP_GE_OQ));
    at = _mm256_sub_epi32(_mm256_setzero_si256(), at);
    for (int32_t level = 1; level < 4; level++) {
        if (level >= levels) return at;
        const __m256 edge = _mm256_permutevar8x32_ps(tree[level], at);
        const __m256i above = _mm256_castps_si256(_mm256_cmp_ps(x, edge, _CMP_GE_OQ));
        at = _mm256_sub_epi32(_mm256_add_epi32(at, at), above);
    }
    if (levels < 5) return at;
    const __m256 low = _mm256_permutevar8x32_ps(tree[4], at), high = _mm256_permutevar8x32_ps(tree[5], at);
    const __m256 edge = _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)));
    const __m256i above = _mm256_castps_si256(_mm256_cmp_ps(x, edge, _CMP_GE_OQ));
    return _mm256_sub_epi32(_mm256_add_epi32(at, at), above);
}

/* Not 0 where one of eight values is not finite. */
__attribute__((target("avx2"), always_inline)) static inline __m256 find_odd(__m256 x) {
    const __m256 none = _mm256_sub_ps(x, x); /* or NaN */
    return _mm256_cmp_ps(none, none, _CMP_UNORD_Q);
}

__attribute__((target("avx2"), always_inline)) static inline bool search_levels(const float *values, const float *from,
                                                                                uint8_t *cells, int32_t levels) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256 tree[6], odd = _mm256_setzero_ps();
    for (int32_t level = 0; level < 6; level++) tree[level] = _mm256_loadu_ps(from + 8 * level);
    for (ptrdiff_t i = 0; i < TILE_ROWS; i += 32) {
        __m256i found[4];
        for (int u = 0; u < 4; u++) {
            const __m256 x = _mm256_loadu_ps(values + i + 8 * u);
            odd = _mm256_or_ps(odd, find_odd(x));
            found[u] = search_eight(x, tree, levels);
        }
        const __m256i bytes =
            _mm256_packus_epi16(_mm256_packs_epi32(found[0], found[1]), _mm256_packs_epi32(found[2], found[3]));
        _mm256_storeu_si256((__m256i *)(void *)(cells + i), _mm256_permutevar8x32_epi32(bytes, order));
    }
    return _mm256_movemask_ps(odd) == 0;
}

/* TILE_ROWS values among at most 31 edges; returns whether all are finite. */
__attribute__((target("avx2"))) static bool search_tree(const float *values, const float *tree, int32_t levels,
                                                        uint8_t *cells) {
    switch (levels) {
    case 1: return search_levels(values, tree, cells, 1);
    case 2: return search_levels(values, tree, cells, 2);
    case 3: return search_levels(values, tree, cells, 3);
    case 4: return search_levels(values, tree, cells, 4);
    default: return search_levels(values, tree, cells, 5);
    }
}

/* Eight columns of eight rows: to[column * TILE_ROWS + row]. */
__attribute__((target("avx2"))) static inline void transpose_eight(const char *rows, ptrdiff_t stride, float *to) {
    __m256 r[8], s[8];
    for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps((const float *)(const void *)(rows + i * stride));
    for (int i = 0; i < 8; i += 2) {
        s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(to + i * TILE_ROWS, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * TILE_ROWS, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

__attribute__((target("avx2"))) static void transpose_tile(const char *rows, ptrdiff_t stride, float *to) {
    for (ptrdiff_t i = 0; i < TILE_ROWS; i += 8) transpose_eight(rows + i * stride, stride, to + i);
}
#endif

#endif
