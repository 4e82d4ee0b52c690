#include "refine/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "common/avx2.h"

/* A pair has few enough cells for its sums to stay in the first-level cache, and for the rows to outweigh them. */
enum {
    MOST_PAIR_CELLS = 2048,
    FEWEST_ROWS_PER_CELL = 4,
    MOST_LOW = 127,
    MOST_CELLS_OF_PAIRS = 1 << 15,
    AHEAD_BYTES = 2048
};

/* Whether all pairs together are few enough for the second-level cache. */
static bool pairs_fit(const struct coder *coder) {
    ptrdiff_t sum = 0;
    for (ptrdiff_t j = 0; j + 1 < coder->m; j += 2) sum += (ptrdiff_t)coder->features[j].n * coder->features[j + 1].n;
    return sum <= MOST_CELLS_OF_PAIRS;
}

bool sefr_find_pairs(struct pairs *pairs, const struct coder *coder, ptrdiff_t n_rows) {
    *pairs = (struct pairs){.m = coder->m};
    pairs->pair = malloc(((size_t)coder->m + 1) * sizeof *pairs->pair);
    if (!pairs->pair) return false;
    const bool fit = pairs_fit(coder);
    for (ptrdiff_t j = 0; j < coder->m;) {
        const int32_t low = coder->features[j].n, high = j + 1 < coder->m ? coder->features[j + 1].n : 0;
        const ptrdiff_t both = (ptrdiff_t)low * high;
        const bool paired = fit && j % 2 == 0 && high > 1 && low <= MOST_LOW && both <= MOST_PAIR_CELLS &&
                            both * FEWEST_ROWS_PER_CELL <= n_rows;
        pairs->pair[pairs->n_pairs++] =
            (struct pair){(int32_t)j,
                          low,
                          paired ? high : 1,
                          0x10001u * (uint32_t)(paired ? (high - 1) << 8 | (low - 1) : low - 1),
                          0x10001u * (uint32_t)(paired ? low << 8 | 1 : 1),
                          pairs->n_cells};
        pairs->n_cells += paired ? both : low;
        j += paired ? 2 : 1;
    }
    return true;
}

void sefr_free_pairs(struct pairs *pairs) {
    free(pairs->pair);
    *pairs = (struct pairs){0};
}

void sefr_pair_table(const struct pairs *pairs, const struct coder *coder, const double *coef, double *table) {
    for (ptrdiff_t p = 0; p < pairs->n_pairs; p++) {
        const struct pair *pair = pairs->pair + p;
        const double *low = coef + coder->features[pair->column].first, *high = low + pair->n_low;
        double *to = table + pair->begin;
        for (int32_t h = 0; h < pair->n_high; h++, to += pair->n_low) {
            const double more = pair->n_high > 1 ? high[h] : 0.0;
            for (int32_t l = 0; l < pair->n_low; l++) to[l] = low[l] + more;
        }
    }
}

void sefr_unpair(const struct pairs *pairs, const struct coder *coder, const double *sums, double *gradient) {
    for (ptrdiff_t p = 0; p < pairs->n_pairs; p++) {
        const struct pair *pair = pairs->pair + p;
        const double *from = sums + pair->begin;
        double *low = gradient + coder->features[pair->column].first, *high = low + pair->n_low;
        for (int32_t h = 0; h < pair->n_high; h++, from += pair->n_low) {
            double sum = 0.0;
            for (int32_t l = 0; l < pair->n_low; l++) {
                low[l] += from[l];
                sum += from[l];
            }
            if (pair->n_high > 1) high[h] += sum;
        }
    }
}

/* Pairs p .. of rows first .. last; each byte is read once: another thread may change it. */
static void pair_some(const struct pairs *pairs, const struct paired_rows *rows, ptrdiff_t p, ptrdiff_t p_end,
                      ptrdiff_t first, ptrdiff_t last) {
    for (; p < p_end; p++) {
        const struct pair *pair = pairs->pair + p;
        uint16_t *at = rows->at + p * rows->pitch;
        for (ptrdiff_t i = first; i < last; i++) {
            const volatile uint8_t *cell = rows->row[i] + pair->column;
            int32_t low = cell[0];
            low = low < pair->n_low ? low : pair->n_low - 1;
            if (pair->n_high > 1) {
                int32_t high = cell[1];
                high = high < pair->n_high ? high : pair->n_high - 1;
                low += high * pair->n_low;
            }
            at[i] = (uint16_t)low;
        }
    }
}

#ifdef SEFR_AVX2
/* Two columns that lie side by side, of sixteen rows. */
AVX2_INLINE void store_pair(const struct pair *pair, __m256i both, uint16_t *at) {
    const __m256i cells = _mm256_min_epu8(both, _mm256_set1_epi32((int)pair->most));
    const __m256i factor = _mm256_set1_epi32((int)pair->factor);
    _mm256_store_si256((__m256i *)(void *)at, _mm256_maddubs_epi16(cells, factor));
}

/* Sixteen rows, sixteen columns from an even one on: the first eight rows in the lower halves, and two columns, which
   lie side by side, in 16 bits. Stores those of the pairs from p on and returns the pair after. */
AVX2 static ptrdiff_t pair_sixteen(const struct pairs *pairs, const struct paired_rows *rows, ptrdiff_t p,
                                   ptrdiff_t first) {
    const ptrdiff_t column = pairs->pair[p].column;
    const uint8_t *const *row = rows->row + first;
    __m256i a[8], b[8];
#define HALF(i) _mm_loadu_si128((const __m128i *)(const void *)(row[i] + column))
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) a[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(HALF(i)), HALF(i + 8), 1);
#undef HALF
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        b[2 * i] = _mm256_unpacklo_epi16(a[i], a[i + 4]), b[2 * i + 1] = _mm256_unpackhi_epi16(a[i], a[i + 4]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_epi16(b[i], b[i + 4]), a[2 * i + 1] = _mm256_unpackhi_epi16(b[i], b[i + 4]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        b[2 * i] = _mm256_unpacklo_epi16(a[i], a[i + 4]), b[2 * i + 1] = _mm256_unpackhi_epi16(a[i], a[i + 4]);
    }
    const struct pair *pair = pairs->pair + p;
    uint16_t *at = rows->at + p * rows->pitch + first;
    if (p + 8 <= pairs->n_pairs && pair[7].column == column + 14 && pair[7].n_high > 1) { /* all are of two */
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) store_pair(pair + i, b[i], at + i * rows->pitch);
        return p + 8;
    }
    const __m256i low_byte = _mm256_set1_epi16(0xff);
    for (int i = 0; i < 8 && p < pairs->n_pairs; i++, p++, pair++, at += rows->pitch) {
        if (pair->n_high > 1) {
            store_pair(pair, b[i], at);
            continue;
        }
        const __m256i low = _mm256_and_si256(b[i], low_byte), high = _mm256_srli_epi16(b[i], 8);
        _mm256_store_si256((__m256i *)(void *)at, _mm256_min_epi16(low, _mm256_set1_epi32((int)pair->most)));
        if (++p == pairs->n_pairs) break;
        pair++, at += rows->pitch;
        _mm256_store_si256((__m256i *)(void *)at, _mm256_min_epi16(high, _mm256_set1_epi32((int)pair->most)));
    }
    return p;
}
#endif

void sefr_pair_rows(const struct pairs *pairs, const struct paired_rows *rows) {
    ptrdiff_t done = 0;
#ifdef SEFR_AVX2
    for (; has_avx2() && done + 16 <= rows->n; done += 16) {
        ptrdiff_t p = 0;
        for (ptrdiff_t at = 0; at < 16 * pairs->m; at += 64) __builtin_prefetch(rows->row[done] + AHEAD_BYTES + at);
        while (p < pairs->n_pairs && rows->end - rows->row[done + 15] >= pairs->pair[p].column + 16) {
            p = pair_sixteen(pairs, rows, p, done);
        }
        pair_some(pairs, rows, p, pairs->n_pairs, done, done + 16);
    }
#endif
    pair_some(pairs, rows, 0, pairs->n_pairs, done, rows->n);
}

/* Two pairs at a time, so that a score is read and written half as often. */
void sefr_score_pairs(const struct pairs *pairs, const struct paired_rows *rows, const double *table, double *score) {
    ptrdiff_t p = 0;
    for (; p + 2 <= pairs->n_pairs; p += 2) {
        const uint16_t *a = rows->at + p * rows->pitch, *b = a + rows->pitch;
        const double *of_a = table + pairs->pair[p].begin, *of_b = table + pairs->pair[p + 1].begin;
        ptrdiff_t i = 0;
        for (; i + 4 <= rows->n; i += 4) {
            const double s0 = of_a[a[i]] + of_b[b[i]], s1 = of_a[a[i + 1]] + of_b[b[i + 1]];
            const double s2 = of_a[a[i + 2]] + of_b[b[i + 2]], s3 = of_a[a[i + 3]] + of_b[b[i + 3]];
            score[i] += s0, score[i + 1] += s1, score[i + 2] += s2, score[i + 3] += s3;
        }
        for (; i < rows->n; i++) score[i] += of_a[a[i]] + of_b[b[i]];
    }
    if (p < pairs->n_pairs) {
        const uint16_t *a = rows->at + p * rows->pitch;
        const double *of_a = table + pairs->pair[p].begin;
        for (ptrdiff_t i = 0; i < rows->n; i++) score[i] += of_a[a[i]];
    }
}

void sefr_add_pairs(const struct pairs *pairs, const struct paired_rows *rows, const double *residual, double *sums) {
    ptrdiff_t p = 0;
    for (; p + 2 <= pairs->n_pairs; p += 2) {
        const uint16_t *a = rows->at + p * rows->pitch, *b = a + rows->pitch;
        double *of_a = sums + pairs->pair[p].begin, *of_b = sums + pairs->pair[p + 1].begin;
        ptrdiff_t i = 0;
        for (; i + 4 <= rows->n; i += 4) {
            const double r0 = residual[i], r1 = residual[i + 1], r2 = residual[i + 2], r3 = residual[i + 3];
            of_a[a[i]] += r0, of_b[b[i]] += r0;
            of_a[a[i + 1]] += r1, of_b[b[i + 1]] += r1;
            of_a[a[i + 2]] += r2, of_b[b[i + 2]] += r2;
            of_a[a[i + 3]] += r3, of_b[b[i + 3]] += r3;
        }
        for (; i < rows->n; i++) of_a[a[i]] += residual[i], of_b[b[i]] += residual[i];
    }
    if (p < pairs->n_pairs) {
        const uint16_t *a = rows->at + p * rows->pitch;
        double *of_a = sums + pairs->pair[p].begin;
        for (ptrdiff_t i = 0; i < rows->n; i++) of_a[a[i]] += residual[i];
    }
}
