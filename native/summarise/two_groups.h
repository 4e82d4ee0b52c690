/* Rows of bytes in two groups: four rows at a time, whose sums stay in registers, 32 columns of them. */
#ifndef SEFR_TWO_GROUPS_H
#define SEFR_TWO_GROUPS_H

#include "common/avx2.h"
#include "summarise/parts.h"

#ifdef SEFR_AVX2
enum {
    PAIRED_ROWS = 64,  /* of each of four streams: 4 * 64 * 255 < 2^16 */
    PAIRED_WIDTH = 64, /* wider rows are sorted (byte_rows.c) */
    AT_ONCE = 32,      /* rows of each stream, that have room in the L1 cache beside those that are read next */
};

#define LINE(p) _mm256_loadu_si256((__m256i *)(void *)(p))
#define STORE(p, vector) _mm256_storeu_si256((__m256i *)(void *)(p), vector)

/* What 32 columns add up to, in 16 bits as unpacking leaves them. */
struct paired_sums {
    __m256i all_low, all_high, own_low, own_high;
};

/* Some rows of each of four streams. `second` has a byte per row and stream, 1 if the row is of the second group: a
   pair of rows, unpacked, times two of these bytes is what the pair adds to the second group. */
struct paired_rows {
    const uint8_t *x[4];
    const uint8_t *second;
    ptrdiff_t n, stride, ahead; /* bytes from row to row, and to what is read next, which is called into the cache */
};

/* Columns j .. j + 32. */
AVX2_INLINE void add_paired(const struct paired_rows *rows, ptrdiff_t j, struct paired_sums *sums, uint8_t *low,
                            uint8_t *high) {
    const __m256i ones = _mm256_set1_epi8(1);
    const ptrdiff_t stride = rows->stride, ahead = rows->ahead;
    const uint8_t *p = rows->x[0] + j, *q = rows->x[1] + j, *r = rows->x[2] + j, *s = rows->x[3] + j;
    __m256i least = LINE(low + j), most = LINE(high + j);
    __m256i all_low = sums->all_low, all_high = sums->all_high, own_low = sums->own_low, own_high = sums->own_high;
    for (ptrdiff_t i = 0; i < rows->n; i++, p += stride, q += stride, r += stride, s += stride) {
        const __m256i a = LINE(p), b = LINE(q), c = LINE(r), d = LINE(s);
        int16_t ab, cd;
        memcpy(&ab, rows->second + 4 * i, sizeof ab), memcpy(&cd, rows->second + 4 * i + 2, sizeof cd);
        const __m256i of_ab = _mm256_set1_epi16(ab), of_cd = _mm256_set1_epi16(cd);
        const __m256i ab_low = _mm256_unpacklo_epi8(a, b), ab_high = _mm256_unpackhi_epi8(a, b);
        const __m256i cd_low = _mm256_unpacklo_epi8(c, d), cd_high = _mm256_unpackhi_epi8(c, d);
        __builtin_prefetch(p + ahead), __builtin_prefetch(q + ahead);
        __builtin_prefetch(r + ahead), __builtin_prefetch(s + ahead);
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
    STORE(low + j, least), STORE(high + j, most);
    *sums = (struct paired_sums){all_low, all_high, own_low, own_high};
}

/* Add 32 sums of 16 bits to the first `n` totals. */
AVX2_INLINE void add_unpacked(__m256i low, __m256i high, ptrdiff_t n, double *totals) {
    uint16_t sums[32];
    STORE(sums, _mm256_permute2x128_si256(low, high, 0x20));
    STORE(sums + 16, _mm256_permute2x128_si256(low, high, 0x31));
    for (ptrdiff_t j = 0; j < n; j++) totals[j] += sums[j];
}

/* The sums of n columns go to the totals of the two groups, m apart, and start again. */
AVX2_INLINE void flush_paired(struct paired_sums *sums, ptrdiff_t n, ptrdiff_t m, double *totals) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i rest_low = _mm256_sub_epi16(sums->all_low, sums->own_low);
    const __m256i rest_high = _mm256_sub_epi16(sums->all_high, sums->own_high);
    add_unpacked(rest_low, rest_high, n, totals);
    add_unpacked(sums->own_low, sums->own_high, n, totals + m);
    *sums = (struct paired_sums){zero, zero, zero, zero};
}

/* n rows of each of four streams, whose last 32 columns may be read beyond the row; false, and nothing done: a row is
   left out. */
AVX2 static bool add_two_groups(const struct table *x, ptrdiff_t n, const ptrdiff_t *first, int32_t (*group)[ROW_BLOCK],
                                uint8_t *low, uint8_t *high, const struct part *part) {
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
    const ptrdiff_t m = x->m, stride = x->row_stride;
    struct paired_sums sums[PAIRED_WIDTH / 32];
    memset(sums, 0, sizeof sums);
    ptrdiff_t waiting = 0;
    for (ptrdiff_t i = 0; i < n; i += AT_ONCE) {
        struct paired_rows rows = {
            .second = (const uint8_t *)second + 4 * i, .n = smaller(AT_ONCE, n - i), .stride = stride};
        for (int k = 0; k < 4; k++) rows.x[k] = (const uint8_t *)x->data + (first[k] + i) * stride;
        rows.ahead = AT_ONCE * stride;
        waiting += rows.n;
        const bool full = waiting + AT_ONCE > PAIRED_ROWS || i + AT_ONCE >= n;
        for (ptrdiff_t j = 0; j < m; j += 32) {
            add_paired(&rows, j, sums + j / 32, low, high);
            if (full) flush_paired(sums + j / 32, smaller(32, m - j), m, part->sums + j);
        }
        if (full) waiting = 0;
    }
    part->counts[0] += (double)(4 * n - of_second), part->counts[1] += (double)of_second;
    return true;
}
#undef LINE
#undef STORE
#endif

#endif
