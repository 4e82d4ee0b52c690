/* Bin search on 16-bit keys, 32 values per AVX2 vector; ties with an edge are settled later in full precision. */
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

/* The cells of twice 32 values from the bytes of their numbers; -1 in `same` where a number is that of an edge: the
   value lies in the cell that is found or in the next. Numbers whose upper byte is -128 find nothing of use. Two
   vectors side by side: each waits for its own steps alone. */
AVX2_INLINE void search_numbers(const __m256i upper[2], const __m256i lower[2], const struct tables *by,
                                __m256i cells[2], __m256i same[2]) {
#define LOOK_UP(table, at) _mm256_shuffle_epi8(by->of[table], at)
#define BOTH _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++)
    __m256i half[2], at[2], even[2], beside_even[2], beside[2], edge[2];
    /* of the edges that are second, fourth and so on, those whose upper byte is below that of the value */
    BOTH half[h] = is_above(upper[h], by->of[TOP]);
    BOTH at[h] = is_above(upper[h], _mm256_blendv_epi8(by->of[LEFT], by->of[RIGHT], half[h]));
    BOTH at[h] = _mm256_sub_epi8(_mm256_and_si256(half[h], _mm256_set1_epi8(2)), at[h]);
    BOTH at[h] = next_level(at[h], is_above(upper[h], LOOK_UP(THIRD, at[h])));
    BOTH at[h] = next_level(at[h], is_above(upper[h], LOOK_UP(FOURTH, at[h])));
    /* one of the next two edges may have the same upper byte: then the lower ones decide */
    BOTH even[h] = LOOK_UP(EVEN_UPPER, at[h]), beside_even[h] = _mm256_cmpeq_epi8(upper[h], even[h]);
    BOTH beside[h] = _mm256_or_si256(beside_even[h], _mm256_cmpeq_epi8(upper[h], LOOK_UP(ODD_UPPER, at[h])));
    BOTH edge[h] = _mm256_blendv_epi8(LOOK_UP(ODD_LOWER, at[h]), LOOK_UP(EVEN_LOWER, at[h]), beside_even[h]);
    BOTH cells[h] = _mm256_sub_epi8(LOOK_UP(CELL, at[h]), is_above(upper[h], even[h]));
    BOTH cells[h] = _mm256_sub_epi8(cells[h], _mm256_and_si256(beside[h], is_above(lower[h], edge[h])));
    BOTH same[h] = _mm256_and_si256(beside[h], _mm256_cmpeq_epi8(lower[h], edge[h]));
#undef BOTH
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
    __m256i upper[2], lower[2], found[2], same[2];
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
        upper[h] = _mm256_packs_epi16(_mm256_srai_epi16(a, 8), _mm256_srai_epi16(b, 8));
        lower[h] = _mm256_packus_epi16(_mm256_and_si256(a, byte), _mm256_and_si256(b, byte));
        lower[h] = _mm256_xor_si256(lower[h], sign);
    }
    search_numbers(upper, lower, &by, found, same);
    _mm256_store_si256((__m256i *)(void *)cells, _mm256_permutevar8x32_epi32(found[0], order));
    _mm256_store_si256((__m256i *)(void *)(cells + 32), _mm256_permutevar8x32_epi32(found[1], order));
    const __m256i lowest = _mm256_min_epi8(upper[0], upper[1]);
    const __m256i far = _mm256_cmpeq_epi8(lowest, sign);
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
