/* The cell of most values from 16 bits of each: quantised values are compared a byte at a time, 32 to a vector. */
#ifndef SEFR_QUANTISED_H
#define SEFR_QUANTISED_H

#include <math.h>
#include <string.h>

#include "cells/coding.h"
#include "common/avx2.h"

#ifdef SEFR_AVX2
/* The edges of a feature lie from FIRST_EDGE to LAST_EDGE when quantised: values well below the first have numbers of
   their own too, and values above the last need none. HIGHEST stands for an edge that nothing is above, NO_EDGE for the
   upper byte of one that nothing equals. With fewer edges than FEWEST_EDGES a search among floats takes no longer. */
_Static_assert(TILE_ROWS == 64, "two halves of 32");
enum {
    FIRST_EDGE = -8000,
    LAST_EDGE = 30000,
    HIGHEST = INT16_MAX,
    NO_EDGE = INT8_MIN,
    FEWEST_EDGES = 8,
    MOST_EDGES = 31
};

/* value * scale - shift, rounded: it never falls where the value rises, unless it is too large for an int32. */
AVX2_INLINE __m256i quantise_eight(const float *values, __m256 scale, __m256 shift) {
    return _mm256_cvtps_epi32(_mm256_fmsub_ps(_mm256_load_ps(values), scale, shift));
}

/* The bytes of an edge as they are compared: the lower ones are shifted to signed numbers. */
static inline int8_t upper_byte(int32_t edge) { return (int8_t)(edge >> 8); }
static inline int8_t lower_byte(int32_t edge) { return (int8_t)((edge & 255) - 128); }

/* Whether a feature's edges, given as float32, are few and far enough from each other: no two with one upper byte.
   Where float32 tells eight edges apart, rounding moves none of them by more than 1,000: all are far from HIGHEST. */
AVX2 static bool quantise_edges(const float *edges, int32_t n, struct quantised *to) {
    __attribute__((aligned(32))) float padded[MOST_EDGES + 1] = {0};
    __attribute__((aligned(32))) int32_t at[MOST_EDGES + 1];
    if (n < FEWEST_EDGES || n > MOST_EDGES) return false;
    const double span = (double)edges[n - 1] - (double)edges[0];
    to->scale = (float)((LAST_EDGE - FIRST_EDGE) / span);
    to->shift = (float)((double)edges[0] * (double)to->scale - FIRST_EDGE);
    if (!(isfinite(to->scale) && isfinite(to->shift))) return false;
    memcpy(padded, edges, (size_t)n * sizeof *edges);
    const __m256 scale = _mm256_set1_ps(to->scale), shift = _mm256_set1_ps(to->shift);
    for (ptrdiff_t i = 0; i <= MOST_EDGES; i += 8) {
        _mm256_store_si256((__m256i *)(void *)(at + i), quantise_eight(padded + i, scale, shift));
    }
    for (int32_t i = n; i <= MOST_EDGES; i++) at[i] = HIGHEST;
    for (int32_t i = 0; i < n; i++) {
        if (i > 0 && upper_byte(at[i]) <= upper_byte(at[i - 1])) return false;
    }
    for (int32_t i = 0; i < 16; i++) {
        to->level[0][i] = upper_byte(at[15]);
        to->level[1][i] = upper_byte(at[7]);
        to->level[2][i] = upper_byte(at[23]);
        to->level[3][i] = upper_byte(at[8 * (i & 3) + 3]);
        to->level[4][i] = upper_byte(at[4 * (i & 7) + 1]);
        to->level[5][i] = upper_byte(at[2 * i]);
        to->upper[0][i] = i < n ? upper_byte(at[i]) : NO_EDGE,
        to->upper[1][i] = 16 + i < n ? upper_byte(at[16 + i]) : NO_EDGE;
        to->lower[0][i] = lower_byte(at[i]), to->lower[1][i] = lower_byte(at[16 + i]);
    }
    return true;
}

/* -1 where a is above b. */
AVX2_INLINE __m256i is_above(__m256i a, __m256i b) { return _mm256_cmpgt_epi8(a, b); }

/* The place among the edges of the next level. */
AVX2_INLINE __m256i next_level(__m256i at, __m256i above) { return _mm256_sub_epi8(_mm256_add_epi8(at, at), above); }

/* What was found out about TILE_ROWS values. SOME_OPEN: a bit of `equal` is set where a value has the number of an
   edge, and lies in the cell that was found or in the next. ALL_OPEN: one is far below all edges or is not finite, and
   the cells are of no use. */
enum { ALL_FOUND, SOME_OPEN, ALL_OPEN };

/* The cells of TILE_ROWS values. */
AVX2 static int search_quantised(const float *values, const struct quantised *by, uint8_t *cells, uint64_t *equal) {
#define TABLE(row) _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)(row)))
    const __m256i top = TABLE(by->level[0]), left = TABLE(by->level[1]), right = TABLE(by->level[2]);
    const __m256i third = TABLE(by->level[3]), fourth = TABLE(by->level[4]), fifth = TABLE(by->level[5]);
    const __m256i upper_low = TABLE(by->upper[0]), upper_high = TABLE(by->upper[1]);
    const __m256i lower_low = TABLE(by->lower[0]), lower_high = TABLE(by->lower[1]);
#undef TABLE
    const __m256 scale = _mm256_set1_ps(by->scale), shift = _mm256_set1_ps(by->shift);
    const __m256i byte = _mm256_set1_epi16(255), two = _mm256_set1_epi8(2), sign = _mm256_set1_epi8(INT8_MIN);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    /* two halves of the tile side by side: each waits for its own steps alone */
    __m256i upper[2], lower[2], above[2], at[2], same[2];
#define BOTH _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++)
    BOTH {
        const float *own = values + 32 * h;
        const __m256i a = _mm256_packs_epi32(quantise_eight(own, scale, shift), quantise_eight(own + 8, scale, shift));
        const __m256i b =
            _mm256_packs_epi32(quantise_eight(own + 16, scale, shift), quantise_eight(own + 24, scale, shift));
        upper[h] = _mm256_packs_epi16(_mm256_srai_epi16(a, 8), _mm256_srai_epi16(b, 8));
        lower[h] = _mm256_xor_si256(_mm256_packus_epi16(_mm256_and_si256(a, byte), _mm256_and_si256(b, byte)), sign);
    }
    /* edges whose upper byte is below that of the value */
    BOTH above[h] = is_above(upper[h], top);
    BOTH at[h] = is_above(upper[h], _mm256_blendv_epi8(left, right, above[h]));
    BOTH at[h] = _mm256_sub_epi8(_mm256_and_si256(above[h], two), at[h]);
    BOTH at[h] = next_level(at[h], is_above(upper[h], _mm256_shuffle_epi8(third, at[h])));
    BOTH at[h] = next_level(at[h], is_above(upper[h], _mm256_shuffle_epi8(fourth, at[h])));
    BOTH at[h] = next_level(at[h], is_above(upper[h], _mm256_shuffle_epi8(fifth, at[h])));
    /* the next edge may have the same upper byte: then the lower ones decide */
    BOTH {
        const __m256i next_upper =
            _mm256_blendv_epi8(_mm256_shuffle_epi8(upper_low, at[h]), _mm256_shuffle_epi8(upper_high, at[h]), above[h]);
        const __m256i next_lower =
            _mm256_blendv_epi8(_mm256_shuffle_epi8(lower_low, at[h]), _mm256_shuffle_epi8(lower_high, at[h]), above[h]);
        const __m256i beside = _mm256_cmpeq_epi8(upper[h], next_upper);
        same[h] = _mm256_and_si256(beside, _mm256_cmpeq_epi8(lower[h], next_lower));
        at[h] = _mm256_sub_epi8(at[h], _mm256_and_si256(beside, is_above(lower[h], next_lower)));
        _mm256_store_si256((__m256i *)(void *)(cells + 32 * h), _mm256_permutevar8x32_epi32(at[h], order));
    }
#undef BOTH
    const __m256i any = _mm256_or_si256(same[0], same[1]), lowest = _mm256_min_epi8(upper[0], upper[1]);
    const __m256i far = _mm256_cmpeq_epi8(lowest, sign), open = _mm256_or_si256(any, far);
    if (_mm256_testz_si256(open, open)) return ALL_FOUND;
    if (!_mm256_testz_si256(far, far)) return ALL_OPEN;
    *equal = 0;
    for (int i = 0; i < 2; i++) {
        const int bits = _mm256_movemask_epi8(_mm256_permutevar8x32_epi32(same[i], order));
        *equal |= (uint64_t)(uint32_t)bits << 32 * i;
    }
    return SOME_OPEN;
}
#endif

#endif
