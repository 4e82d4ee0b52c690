/* The cell of values by binary search among the edges of one feature. */
#ifndef SEFR_SEARCH_H
#define SEFR_SEARCH_H

#include <math.h>

#include "cells/coding.h"
#include "common/avx2.h"
#include "common/neon.h"

/* What was met: a value that is not finite, and one that equals an edge, or may. */
enum { NOT_ALL_FINITE = 1, ONE_IS_EQUAL = 2 };

/* TILE_ROWS values among 2**levels - 1 edges that rise, the last of them perhaps +inf: the count of edges at or below
   each. Level by level, so that no value waits for another, and without a branch that depends on one. */
static int search_plain(const float *values, const float *edges, int32_t levels, uint8_t *cells) {
    int32_t at[TILE_ROWS] = {0};
    int odd = 0;
    for (int32_t step = (1 << levels) >> 1; step > 0; step >>= 1) {
        const float *next = edges + step - 1;
        for (ptrdiff_t i = 0; i < TILE_ROWS; i++) at[i] += step & -(int32_t)(values[i] >= next[at[i]]);
    }
    for (ptrdiff_t i = 0; i < TILE_ROWS; i++) {
        cells[i] = (uint8_t)at[i];
        odd |= !isfinite(values[i]);
    }
    return (odd ? NOT_ALL_FINITE : 0) | ONE_IS_EQUAL;
}

#ifdef SEFR_AVX2
/* Eight values at a time: a level of the tree is a register, in which each value looks up the edge it meets next.
   Registers have names of their own: of an array of them gcc makes copies on the stack. */
struct search_state {
    __m256 odd, equal; /* NaN where a value is not finite; not 0 where one equals an edge that it met */
};

/* -1 where x is at or above the edge, else 0. */
AVX2_INLINE __m256i compare_eight(__m256 x, __m256 edge, struct search_state *met, const bool equal) {
    if (equal) met->equal = _mm256_or_ps(met->equal, _mm256_cmp_ps(x, edge, _CMP_EQ_OQ));
    return _mm256_castps_si256(_mm256_cmp_ps(x, edge, _CMP_GE_OQ));
}

/* The place among the edges of the next level. */
AVX2_INLINE __m256i go_down(__m256i at, __m256i above) { return _mm256_sub_epi32(_mm256_add_epi32(at, at), above); }

AVX2_INLINE int search_levels(const float *values, const float *tree, uint8_t *cells, const int32_t levels,
                              const bool equal) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256 t0 = _mm256_load_ps(tree), t1 = _mm256_load_ps(tree + 8), t2 = _mm256_load_ps(tree + 16);
    const __m256 t3 = _mm256_load_ps(tree + 24), low = _mm256_load_ps(tree + 32), high = _mm256_load_ps(tree + 40);
    struct search_state met = {_mm256_setzero_ps(), _mm256_setzero_ps()};
/* `at` is the place among the edges of the last level, `above` whether x is at or above that edge. */
#define SEARCH_EIGHT(at, above, offset)                                                                               \
    __m256i at = _mm256_setzero_si256(), above;                                                                       \
    {                                                                                                                 \
        const __m256 x = _mm256_load_ps(values + (offset));                                                           \
        met.odd = _mm256_fmadd_ps(x, _mm256_setzero_ps(), met.odd);                                                   \
        above = compare_eight(x, t0, &met, equal);                                                                    \
        const __m256 upper = _mm256_castsi256_ps(above);                                                              \
        if (levels > 1) at = go_down(at, above), above = compare_eight(x, _mm256_permutevar_ps(t1, at), &met, equal); \
        if (levels > 2) at = go_down(at, above), above = compare_eight(x, _mm256_permutevar_ps(t2, at), &met, equal); \
        if (levels > 3)                                                                                               \
            at = go_down(at, above), above = compare_eight(x, _mm256_permutevar8x32_ps(t3, at), &met, equal);         \
        if (levels > 4) { /* sixteen edges, in two registers */                                                       \
            at = go_down(at, above);                                                                                  \
            const __m256 l = _mm256_permutevar8x32_ps(low, at), h = _mm256_permutevar8x32_ps(high, at);               \
            above = compare_eight(x, _mm256_blendv_ps(l, h, upper), &met, equal);                                     \
        }                                                                                                             \
    }
    for (ptrdiff_t i = 0; i < TILE_ROWS; i += 32) {
        SEARCH_EIGHT(a, above_a, i)
        SEARCH_EIGHT(b, above_b, i + 8)
        SEARCH_EIGHT(c, above_c, i + 16)
        SEARCH_EIGHT(d, above_d, i + 24)
        /* the last level in bytes: four vectors at once */
        const __m256i at = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        const __m256i above =
            _mm256_packs_epi16(_mm256_packs_epi32(above_a, above_b), _mm256_packs_epi32(above_c, above_d));
        const __m256i bytes = _mm256_sub_epi8(_mm256_add_epi8(at, at), above);
        _mm256_store_si256((__m256i *)(void *)(cells + i), _mm256_permutevar8x32_epi32(bytes, order));
    }
#undef SEARCH_EIGHT
    const int odd = _mm256_movemask_ps(_mm256_cmp_ps(met.odd, met.odd, _CMP_UNORD_Q));
    return (odd ? NOT_ALL_FINITE : 0) | (_mm256_movemask_ps(met.equal) ? ONE_IS_EQUAL : 0);
}

static inline bool can_search_trees(void) { return has_avx2(); }
#define TREE_TARGET AVX2
#endif

#ifdef SEFR_NEON
/* Four values at a time, as above; a vector of a level's edges is looked up by bytes. */
struct search_state {
    float32x4_t odd; /* NaN where a value is not finite */
    uint32x4_t equal;
};

INLINE uint32x4_t compare_four(float32x4_t x, uint8x16_t edge, struct search_state *met, const bool equal) {
    const float32x4_t own = vreinterpretq_f32_u8(edge);
    if (equal) met->equal = vorrq_u32(met->equal, vceqq_f32(x, own));
    return vcgeq_f32(x, own);
}

/* The place among the edges of the next level, and its bytes. */
INLINE uint32x4_t go_down(uint32x4_t at, uint32x4_t above) { return vsliq_n_u32(above, at, 1); }
INLINE uint8x16_t bytes_at(uint32x4_t at) {
    return vreinterpretq_u8_u32(vmlaq_u32(vdupq_n_u32(0x03020100), at, vdupq_n_u32(0x04040404)));
}

/* The cells of four values. */
INLINE uint32x4_t search_four(float32x4_t x, const uint8_t *tree, const int32_t levels, const bool equal,
                              struct search_state *met) {
    uint32x4_t at = vshrq_n_u32(compare_four(x, vld1q_u8(tree), met, equal), 31);
    met->odd = vfmaq_n_f32(met->odd, x, 0.0f);
    if (levels > 1) at = go_down(at, compare_four(x, vqtbl1q_u8(vld1q_u8(tree + 32), bytes_at(at)), met, equal));
    if (levels > 2) at = go_down(at, compare_four(x, vqtbl1q_u8(vld1q_u8(tree + 64), bytes_at(at)), met, equal));
    if (levels > 3) {
        const uint8x16x2_t eight = {{vld1q_u8(tree + 96), vld1q_u8(tree + 112)}};
        at = go_down(at, compare_four(x, vqtbl2q_u8(eight, bytes_at(at)), met, equal));
    }
    if (levels > 4) {
        const uint8x16x4_t sixteen = {
            {vld1q_u8(tree + 128), vld1q_u8(tree + 144), vld1q_u8(tree + 160), vld1q_u8(tree + 176)}};
        at = go_down(at, compare_four(x, vqtbl4q_u8(sixteen, bytes_at(at)), met, equal));
    }
    return at;
}

INLINE int search_levels(const float *values, const float *tree, uint8_t *cells, const int32_t levels,
                         const bool equal) {
    struct search_state met = {vdupq_n_f32(0.0f), vdupq_n_u32(0)};
    const uint8_t *bytes = (const uint8_t *)tree;
    for (ptrdiff_t i = 0; i < TILE_ROWS; i += 16) {
#define FOUR(q) vreinterpretq_u16_u32(search_four(vld1q_f32(values + i + 4 * (q)), bytes, levels, equal, &met))
        const uint16x8_t low = vuzp1q_u16(FOUR(0), FOUR(1)), high = vuzp1q_u16(FOUR(2), FOUR(3));
#undef FOUR
        vst1q_u8(cells + i, vuzp1q_u8(vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high)));
    }
    const bool odd = vminvq_u32(vceqq_f32(met.odd, met.odd)) == 0;
    return (odd ? NOT_ALL_FINITE : 0) | (vmaxvq_u32(met.equal) ? ONE_IS_EQUAL : 0);
}

static inline bool can_search_trees(void) { return true; }
#define TREE_TARGET
#endif

#if defined(SEFR_AVX2) || defined(SEFR_NEON)
#define SEFR_TREES 1
/* TILE_ROWS values among at most 31 edges. */
#define DEFINE_SEARCH(name, equal)                                                                        \
    TREE_TARGET static int name(const float *values, const float *tree, int32_t levels, uint8_t *cells) { \
        switch (levels) {                                                                                 \
        case 1: return search_levels(values, tree, cells, 1, equal);                                      \
        case 2: return search_levels(values, tree, cells, 2, equal);                                      \
        case 3: return search_levels(values, tree, cells, 3, equal);                                      \
        case 4: return search_levels(values, tree, cells, 4, equal);                                      \
        default: return search_levels(values, tree, cells, 5, equal);                                     \
        }                                                                                                 \
    }
DEFINE_SEARCH(search_tree, false) /* does not look whether a value equals an edge */
DEFINE_SEARCH(search_near_tree, true)
#undef DEFINE_SEARCH
#endif

#endif
