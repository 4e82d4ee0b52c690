/* The cell of most values from 16 bits of each, its number: numbers are compared a byte at a time, 32 to a vector. */
#ifndef SEFR_QUANTISED_H
#define SEFR_QUANTISED_H

#include "cells/scale.h"

#ifdef SEFR_AVX2
/* -1 where a is above b. */
AVX2_INLINE __m256i is_above(__m256i a, __m256i b) { return _mm256_cmpgt_epi8(a, b); }

/* The place among the edges of the next level. */
AVX2_INLINE __m256i next_level(__m256i at, __m256i above) { return _mm256_sub_epi8(_mm256_add_epi8(at, at), above); }

/* The tables of a column, or of two, one in either half. */
struct tables {
    __m256i of[N_TABLES];
};

/* The cells of 32 values from the bytes of their numbers; -1 in `same` where a number is that of an edge: the value
   lies in the cell that is found or in the next. Numbers whose upper byte is -128 find nothing of use. */
AVX2_INLINE __m256i search_numbers(__m256i upper, __m256i lower, const struct tables *by, __m256i *same) {
#define LOOK_UP(table, at) _mm256_shuffle_epi8(by->of[table], at)
    /* edges of odd places below the fifth level, whose upper byte is below that of the value */
    const __m256i half = is_above(upper, by->of[TOP]);
    const __m256i quarter = is_above(upper, _mm256_blendv_epi8(by->of[LEFT], by->of[RIGHT], half));
    __m256i at = _mm256_sub_epi8(_mm256_and_si256(half, _mm256_set1_epi8(2)), quarter);
    at = next_level(at, is_above(upper, LOOK_UP(THIRD, at)));
    at = next_level(at, is_above(upper, LOOK_UP(FOURTH, at)));
    /* one of the next two edges may have the same upper byte: then the lower ones decide */
    const __m256i even = LOOK_UP(EVEN_UPPER, at), beside_even = _mm256_cmpeq_epi8(upper, even);
    const __m256i beside = _mm256_or_si256(beside_even, _mm256_cmpeq_epi8(upper, LOOK_UP(ODD_UPPER, at)));
    const __m256i edge = _mm256_blendv_epi8(LOOK_UP(ODD_LOWER, at), LOOK_UP(EVEN_LOWER, at), beside_even);
    *same = _mm256_and_si256(beside, _mm256_cmpeq_epi8(lower, edge));
    const __m256i above = _mm256_and_si256(beside, is_above(lower, edge));
    return _mm256_sub_epi8(_mm256_sub_epi8(LOOK_UP(CELL, at), is_above(upper, even)), above);
#undef LOOK_UP
}

/* What was found out about TILE_ROWS values of a column. SOME_OPEN: a bit of `equal` is set where a value has the
   number of an edge, and lies in the cell that was found or in the next. ALL_OPEN: one is far below all edges or is not
   finite, and the cells are of no use. */
struct finding {
    enum { ALL_FOUND, SOME_OPEN, ALL_OPEN } open;
    uint64_t equal;
};

/* The cells of TILE_ROWS values of feature j, side by side. */
AVX2 static struct finding search_column(const float *values, const struct quantised *eight, ptrdiff_t j,
                                         uint8_t *cells) {
    struct finding result = {ALL_FOUND, 0};
    const __m256 scale = _mm256_set1_ps(eight->scale[j % 8]), shift = _mm256_set1_ps(eight->shift[j % 8]);
    const __m256i byte = _mm256_set1_epi16(255), sign = _mm256_set1_epi8(INT8_MIN);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    struct tables by;
    __m256i same[2], far = _mm256_setzero_si256();
#pragma GCC unroll 10
    for (int t = 0; t < N_TABLES; t++) {
        const int8_t *own = eight->tables[j % 4][t] + j % 8 / 4 * 16;
        by.of[t] = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)own));
    }
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
#define EIGHT(i) quantise_eight(_mm256_load_ps(values + 32 * h + 8 * (i)), scale, shift)
        const __m256i a = _mm256_packs_epi32(EIGHT(0), EIGHT(1)), b = _mm256_packs_epi32(EIGHT(2), EIGHT(3));
#undef EIGHT
        const __m256i upper = _mm256_packs_epi16(_mm256_srai_epi16(a, 8), _mm256_srai_epi16(b, 8));
        const __m256i lower = _mm256_packus_epi16(_mm256_and_si256(a, byte), _mm256_and_si256(b, byte));
        const __m256i found = search_numbers(upper, _mm256_xor_si256(lower, sign), &by, same + h);
        far = _mm256_or_si256(far, _mm256_cmpeq_epi8(upper, sign));
        _mm256_store_si256((__m256i *)(void *)(cells + 32 * h), _mm256_permutevar8x32_epi32(found, order));
    }
    const __m256i open = _mm256_or_si256(_mm256_or_si256(same[0], same[1]), far);
    if (_mm256_testz_si256(open, open)) return result;
    for (int h = 0; h < 2; h++) {
        const int bits = _mm256_movemask_epi8(_mm256_permutevar8x32_epi32(same[h], order));
        result.equal |= (uint64_t)(uint32_t)bits << 32 * h;
    }
    result.open = _mm256_testz_si256(far, far) ? SOME_OPEN : ALL_OPEN;
    return result;
}
#endif

#endif
