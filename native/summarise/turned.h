/* Eight columns of floats, turned into rows in registers and added to the sums at each row's place: the same sums in
   the same order as turning them in memory first. `n` is a multiple of four. */
#ifndef SEFR_TURNED_H
#define SEFR_TURNED_H

#include "common/avx2.h"

#ifdef SEFR_AVX2
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
            double *to = sums + (ptrdiff_t)place[i + r] * 8;
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
        double *even = sums + (ptrdiff_t)place[i] * 8, *odd = sums + (ptrdiff_t)place[i + 1] * 8;
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
#endif

#endif
