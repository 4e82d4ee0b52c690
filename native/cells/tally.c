#include "cells/tally.h"

#include <string.h>

#include "common/avx2.h"

/* Rows that follow one another count in lines of their own, so that none waits for the count before. */
static void tally_rows(const struct batch_column *column, uint32_t *counts) {
    uint16_t lines[4][MOST_CELLS];
    for (int line = 0; line < 4; line++) memset(lines[line], 0, (size_t)column->n_cells * sizeof lines[line][0]);
    for (ptrdiff_t first = 0; first < column->n_rows; first += TILE_ROWS) {
        const uint8_t *cells = column->cells + first / TILE_ROWS * column->pitch;
        const ptrdiff_t left = column->n_rows - first, n = left < TILE_ROWS ? left : TILE_ROWS;
        ptrdiff_t i = 0;
        for (; i + 4 <= n; i += 4) {
            lines[0][cells[i]]++, lines[1][cells[i + 1]]++, lines[2][cells[i + 2]]++, lines[3][cells[i + 3]]++;
        }
        for (; i < n; i++) lines[0][cells[i]]++;
    }
    for (int32_t c = 0; c < column->n_cells; c++) {
        counts[c] += (uint32_t)(lines[0][c] + lines[1][c] + lines[2][c] + lines[3][c]);
    }
}

#ifdef SEFR_AVX2
/* The sums of four lines of bytes, in 16 bits each. */
AVX2_INLINE __m128i sum_lines(__m256i a, __m256i b, __m256i c, __m256i d) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i first = _mm256_sad_epu8(a, zero), second = _mm256_slli_epi64(_mm256_sad_epu8(b, zero), 16);
    const __m256i third = _mm256_slli_epi64(_mm256_sad_epu8(c, zero), 32);
    const __m256i fourth = _mm256_slli_epi64(_mm256_sad_epu8(d, zero), 48);
    const __m256i all = _mm256_or_si256(_mm256_or_si256(first, second), _mm256_or_si256(third, fourth));
    const __m128i half = _mm_add_epi16(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    return _mm_add_epi16(half, _mm_unpackhi_epi64(half, half));
}

/* What eight cells counted, of `left` cells that are left. */
AVX2_INLINE void add_eight(__m128i found, int32_t left, uint32_t *counts) {
    if (left >= 8) {
        __m256i *to = (__m256i *)(void *)counts;
        _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), _mm256_cvtepu16_epi32(found)));
        return;
    }
    uint16_t each[8];
    _mm_storeu_si128((__m128i *)(void *)each, found);
    for (int32_t i = 0; i < left; i++) counts[i] += each[i];
}

/* Whole tiles: of 32 rows at a time each looks up what it adds to a lane's counts: two cells of four bits each, which
   hold BATCH_ROWS / 32 rows. */
AVX2 static void tally_tiles(const struct batch_column *column, uint32_t *counts) {
    const __m256i above = _mm256_set1_epi8(0x70), eight = _mm256_set1_epi8(8), four_bits = _mm256_set1_epi8(15);
    const ptrdiff_t pitch = column->pitch;
    const uint8_t *end = column->cells + column->n_rows / TILE_ROWS * pitch;
/* cells `at` and `at` + 1 of sixteen */
#define TABLE(at) _mm256_setr_epi64x((int64_t)0x1001 << 8 * (at), 0, (int64_t)0x1001 << 8 * (at), 0)
    const __m256i t0 = TABLE(0), t1 = TABLE(2), t2 = TABLE(4), t3 = TABLE(6);
#undef TABLE
    for (int32_t cell = 0; cell < column->n_cells; cell += 16) {
        const __m256i base = _mm256_set1_epi8((char)cell);
        __m256i n0 = _mm256_setzero_si256(), n1 = n0, n2 = n0, n3 = n0, n4 = n0, n5 = n0, n6 = n0, n7 = n0;
        for (const uint8_t *cells = column->cells; cells != end; cells += pitch) {
/* bit 7, which looks up 0, where a cell is not among the sixteen; the upper eight are looked up as the lower */
#define LOOK_UP(at)                                                                           \
    {                                                                                         \
        const __m256i own = _mm256_load_si256((const __m256i *)(const void *)(cells + (at))); \
        const __m256i x = _mm256_adds_epu8(_mm256_sub_epi8(own, base), above);                \
        const __m256i y = _mm256_xor_si256(x, eight);                                         \
        n0 = _mm256_add_epi8(n0, _mm256_shuffle_epi8(t0, x));                                 \
        n1 = _mm256_add_epi8(n1, _mm256_shuffle_epi8(t1, x));                                 \
        n2 = _mm256_add_epi8(n2, _mm256_shuffle_epi8(t2, x));                                 \
        n3 = _mm256_add_epi8(n3, _mm256_shuffle_epi8(t3, x));                                 \
        n4 = _mm256_add_epi8(n4, _mm256_shuffle_epi8(t0, y));                                 \
        n5 = _mm256_add_epi8(n5, _mm256_shuffle_epi8(t1, y));                                 \
        n6 = _mm256_add_epi8(n6, _mm256_shuffle_epi8(t2, y));                                 \
        n7 = _mm256_add_epi8(n7, _mm256_shuffle_epi8(t3, y));                                 \
    }
            LOOK_UP(0)
            LOOK_UP(32)
#undef LOOK_UP
        }
#define LOW(n) _mm256_and_si256(n, four_bits)
#define HIGH(n) _mm256_and_si256(_mm256_srli_epi16(n, 4), four_bits)
#define FOUR(a, b) sum_lines(LOW(a), HIGH(a), LOW(b), HIGH(b))
        const int32_t left = column->n_cells - cell;
        add_eight(_mm_unpacklo_epi64(FOUR(n0, n1), FOUR(n2, n3)), left, counts + cell);
        if (left > 8) add_eight(_mm_unpacklo_epi64(FOUR(n4, n5), FOUR(n6, n7)), left - 8, counts + cell + 8);
#undef FOUR
#undef LOW
#undef HIGH
    }
}
#endif

void sefr_tally(const struct batch_column *column, uint32_t *counts) {
#ifdef SEFR_AVX2
    if (column->n_rows % TILE_ROWS == 0 && has_avx2()) {
        tally_tiles(column, counts);
        return;
    }
#endif
    tally_rows(column, counts);
}
