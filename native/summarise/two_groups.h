/* Rows of bytes in two groups: four rows at a time, whose sums stay in registers, 32 columns of them. */
#ifndef SEFR_TWO_GROUPS_H
#define SEFR_TWO_GROUPS_H

#include "common/avx2.h"
#include "summarise/parts.h"

#ifdef SEFR_AVX2
enum {
    PAIRED_ROWS = 64,  /* of each of four streams: 4 * 64 * 255 < 2^16 */
    PAIRED_WIDTH = 64, /* wider rows would leave the L1 cache between one 32 columns and the next */
};

#define LINE(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))

/* Add 32 sums of 16 bits, as unpacking leaves them, to the first `n` totals. */
AVX2_INLINE void add_unpacked(__m256i low, __m256i high, ptrdiff_t n, double *totals) {
    uint16_t sums[32];
    _mm256_storeu_si256((__m256i *)(void *)sums, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(void *)(sums + 16), _mm256_permute2x128_si256(low, high, 0x31));
    for (ptrdiff_t j = 0; j < n; j++) totals[j] += sums[j];
}

/* At most PAIRED_ROWS rows of each stream. second[i] has a byte per stream, 1 if row i is of the second group: a pair
   of rows, unpacked, times two of these bytes is what the pair adds to the second group. */
AVX2_INLINE void add_paired(const uint8_t *const *x, ptrdiff_t stride, const uint8_t (*second)[4], ptrdiff_t n,
                            ptrdiff_t width, ptrdiff_t m, uint8_t *low, uint8_t *high, double *totals) {
    const __m256i zero = _mm256_setzero_si256(), ones = _mm256_set1_epi8(1);
    for (ptrdiff_t j = 0; j < width; j += 32) {
        const uint8_t *p = x[0] + j, *q = x[1] + j, *r = x[2] + j, *s = x[3] + j;
        __m256i least = LINE(low + j), most = LINE(high + j);
        __m256i all_low = zero, all_high = zero, own_low = zero, own_high = zero;
        for (ptrdiff_t i = 0; i < n; i++, p += stride, q += stride, r += stride, s += stride) {
            const __m256i a = LINE(p), b = LINE(q), c = LINE(r), d = LINE(s);
            int16_t pair[2];
            memcpy(pair, second[i], sizeof pair);
            const __m256i of_ab = _mm256_set1_epi16(pair[0]), of_cd = _mm256_set1_epi16(pair[1]);
            const __m256i ab_low = _mm256_unpacklo_epi8(a, b), ab_high = _mm256_unpackhi_epi8(a, b);
            const __m256i cd_low = _mm256_unpacklo_epi8(c, d), cd_high = _mm256_unpackhi_epi8(c, d);
            least = _mm256_min_epu8(least, _mm256_min_epu8(_mm256_min_epu8(a, b), _mm256_min_epu8(c, d)));
            most = _mm256_max_epu8(most, _mm256_max_epu8(_mm256_max_epu8(a, b), _mm256_max_epu8(c, d)));
            all_low = _mm256_add_epi16(all_low, _mm256_maddubs_epi16(ab_low, ones));
            all_low = _mm256_add_epi16(all_low, _mm256_maddubs_epi16(cd_low, ones));
            all_high = _mm256_add_epi16(all_high, _mm256_maddubs_epi16(ab_high, ones));
            all_high = _mm256_add_epi16(all_high, _mm256_maddubs_epi16(cd_high, ones));
            own_low = _mm256_add_epi16(own_low, _mm256_maddubs_epi16(ab_low, of_ab));
            own_low = _mm256_add_epi16(own_low, _mm256_maddubs_epi16(cd_low, of_cd));
            own_high = _mm256_add_epi16(own_high, _mm256_maddubs_epi16(ab_high, of_ab));
            own_high = _mm256_add_epi16(own_high, _mm256_maddubs_epi16(cd_high, of_cd));
        }
        _mm256_storeu_si256((__m256i *)(void *)(low + j), least);
        _mm256_storeu_si256((__m256i *)(void *)(high + j), most);
        const __m256i rest_low = _mm256_sub_epi16(all_low, own_low), rest_high = _mm256_sub_epi16(all_high, own_high);
        add_unpacked(rest_low, rest_high, smaller(32, m - j), totals + j);
        add_unpacked(own_low, own_high, smaller(32, m - j), totals + m + j);
    }
}

/* n rows of each of four streams, `width` bytes of which may be read; false, and nothing done: a row is left out. */
AVX2 static bool add_two_groups(const struct table *x, ptrdiff_t n, const ptrdiff_t *first, ptrdiff_t width,
                                int32_t (*group)[ROW_BLOCK], uint8_t *low, uint8_t *high, const struct part *part) {
    uint8_t second[ROW_BLOCK][4];
    int32_t any = 0, of_second = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++) {
            any |= group[k][i];
            of_second += group[k][i];
            second[i][k] = (uint8_t)group[k][i];
        }
    }
    if (any < 0) return false;
    for (ptrdiff_t i = 0; i < n; i += PAIRED_ROWS) {
        const uint8_t *at[4];
        for (int k = 0; k < 4; k++) at[k] = (const uint8_t *)x->data + (first[k] + i) * x->row_stride;
        add_paired(at, x->row_stride, second + i, smaller(PAIRED_ROWS, n - i), width, x->m, low, high, part->sums);
    }
    part->counts[0] += (double)(4 * n - of_second), part->counts[1] += (double)of_second;
    return true;
}
#undef LINE
#endif

#endif
