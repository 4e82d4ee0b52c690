/* Eight columns of floats, or sixteen of bytes, turned into rows in registers and added to the sums at each row's
   place: the same sums in the same order as turning them in memory first. `n` is a multiple of four, of bytes of 32. */
#ifndef SEFR_TURNED_H
#define SEFR_TURNED_H

#include "common/avx2.h"

/* The unit of places, the narrowest tile: an address then needs no multiplication. */
enum { PLACE = 8 };

#ifdef SEFR_AVX2
enum { AHEAD_ROWS = 512 }; /* sixteen columns are too many streams for the processor to follow by itself */

AVX2_INLINE __m256 pair_of_floats(const float *lower, const float *upper) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(lower)), _mm_loadu_ps(upper), 1);
}

AVX2_INLINE void add_four(double *to, __m256d values) {
    _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), values));
}

AVX2 static void add_turned_F32(const void *const *columns, const int32_t *place, ptrdiff_t n, double *sums, float *low,
                                float *high) {
    const float *const *x = (const float *const *)columns;
    __m256 least = _mm256_loadu_ps(low), most = _mm256_loadu_ps(high);
    for (ptrdiff_t i = 0; i < n; i += 4) {
        /* columns 0 and 4, 1 and 5, ... : unpacking works within halves of a register */
        const __m256 a = pair_of_floats(x[0] + i, x[4] + i), b = pair_of_floats(x[1] + i, x[5] + i);
        const __m256 c = pair_of_floats(x[2] + i, x[6] + i), d = pair_of_floats(x[3] + i, x[7] + i);
        const __m256d ab = _mm256_castps_pd(_mm256_unpacklo_ps(a, b)), cd = _mm256_castps_pd(_mm256_unpacklo_ps(c, d));
        const __m256d AB = _mm256_castps_pd(_mm256_unpackhi_ps(a, b)), CD = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
        const __m256 rows[4] = {
            _mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)), _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)),
            _mm256_castpd_ps(_mm256_unpacklo_pd(AB, CD)), _mm256_castpd_ps(_mm256_unpackhi_pd(AB, CD))};
        _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
            double *to = sums + (ptrdiff_t)place[i + r] * (8 / PLACE);
            least = _mm256_min_ps(rows[r], least), most = _mm256_max_ps(rows[r], most);
            add_four(to, _mm256_cvtps_pd(_mm256_castps256_ps128(rows[r])));
            add_four(to + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(rows[r], 1)));
        }
    }
    _mm256_storeu_ps(low, least), _mm256_storeu_ps(high, most);
}

AVX2_INLINE __m256d pair_of_doubles(const double *lower, const double *upper) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(lower)), _mm_loadu_pd(upper), 1);
}

AVX2 static void add_turned_F64(const void *const *columns, const int32_t *place, ptrdiff_t n, double *sums,
                                double *low, double *high) {
    const double *const *x = (const double *const *)columns;
    __m256d least[2] = {_mm256_loadu_pd(low), _mm256_loadu_pd(low + 4)};
    __m256d most[2] = {_mm256_loadu_pd(high), _mm256_loadu_pd(high + 4)};
    for (ptrdiff_t i = 0; i < n; i += 2) {
        double *even = sums + (ptrdiff_t)place[i] * (8 / PLACE), *odd = sums + (ptrdiff_t)place[i + 1] * (8 / PLACE);
        __m256d rows[2][2];
        _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++) {
            const __m256d a = pair_of_doubles(x[4 * h] + i, x[4 * h + 2] + i);
            const __m256d b = pair_of_doubles(x[4 * h + 1] + i, x[4 * h + 3] + i);
            rows[0][h] = _mm256_unpacklo_pd(a, b), rows[1][h] = _mm256_unpackhi_pd(a, b);
            _Pragma("GCC unroll 2") for (int r = 0; r < 2; r++) {
                least[h] = _mm256_min_pd(rows[r][h], least[h]), most[h] = _mm256_max_pd(rows[r][h], most[h]);
            }
        }
        add_four(even, rows[0][0]), add_four(even + 4, rows[0][1]);
        add_four(odd, rows[1][0]), add_four(odd + 4, rows[1][1]);
    }
    for (int h = 0; h < 2; h++) _mm256_storeu_pd(low + 4 * h, least[h]), _mm256_storeu_pd(high + 4 * h, most[h]);
}

#define LINE(p) ((__m256i *)(void *)(p))

/* Sixteen columns of bytes: in two rounds by fours of columns, then in two by fours of rows. Either half of a register
   is a row, sixteen rows apart. */
AVX2 static void add_turned_U8(const void *const *columns, const int32_t *place, ptrdiff_t n, uint16_t *sums,
                               uint8_t *low, uint8_t *high) {
    const uint8_t *const *x = (const uint8_t *const *)columns;
    __m256i least = _mm256_loadu_si256(LINE(low)), most = _mm256_loadu_si256(LINE(high));
    for (ptrdiff_t i = 0; i < n; i += 32) {
        __m256i fours[16];
        if (i % 64 == 0) {
            _Pragma("GCC unroll 16") for (int u = 0; u < 16; u++) __builtin_prefetch(x[u] + i + AHEAD_ROWS);
        }
#define TURN_FOUR(a, b, c, d, to, step)                                                                   \
    {                                                                                                     \
        const __m256i ac = _mm256_unpacklo_epi8(a, c), bd = _mm256_unpacklo_epi8(b, d);                   \
        const __m256i AC = _mm256_unpackhi_epi8(a, c), BD = _mm256_unpackhi_epi8(b, d);                   \
        (to)[0] = _mm256_unpacklo_epi8(ac, bd), (to)[step] = _mm256_unpackhi_epi8(ac, bd);                \
        (to)[2 * (step)] = _mm256_unpacklo_epi8(AC, BD), (to)[3 * (step)] = _mm256_unpackhi_epi8(AC, BD); \
    }
        _Pragma("GCC unroll 4") for (int c = 0; c < 4; c++) {
            const __m256i p = _mm256_loadu_si256(LINE(x[c] + i)), q = _mm256_loadu_si256(LINE(x[c + 4] + i));
            const __m256i r = _mm256_loadu_si256(LINE(x[c + 8] + i)), s = _mm256_loadu_si256(LINE(x[c + 12] + i));
            TURN_FOUR(p, q, r, s, fours + c, 4)
        }
        _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++) {
            const __m256i *four = fours + 4 * k;
            __m256i rows[4];
            TURN_FOUR(four[0], four[1], four[2], four[3], rows, 1)
            _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
                least = _mm256_min_epu8(rows[r], least), most = _mm256_max_epu8(rows[r], most);
                _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++) {
                    const __m128i row = h ? _mm256_extracti128_si256(rows[r], 1) : _mm256_castsi256_si128(rows[r]);
                    __m256i *to = LINE(sums + (ptrdiff_t)place[i + 16 * h + 4 * k + r] * (16 / PLACE));
                    _mm256_storeu_si256(to, _mm256_add_epi16(_mm256_loadu_si256(to), _mm256_cvtepu8_epi16(row)));
                }
            }
        }
#undef TURN_FOUR
    }
    _mm256_storeu_si256(LINE(low), least), _mm256_storeu_si256(LINE(high), most);
}
#undef LINE
#endif

#endif
