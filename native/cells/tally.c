#include "cells/tally.h"

#include <string.h>

#include "common/avx512.h"

/* Rows that follow one another count in lines of their own, so that none waits for the count before. */
static void tally_rows(const struct batch_column *column, uint32_t *counts) {
    uint16_t lines[4][MOST_CELLS];
    memset(lines, 0, sizeof lines);
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
/* The sums of four lines of bytes, two parts of each: in four int32 of either half. */
AVX2_INLINE __m256i sum_lines(__m256i a, __m256i b, __m256i c, __m256i d) {
    const __m256i zero = _mm256_setzero_si256(), ones = _mm256_set1_epi16(1);
    const __m256i ab = _mm256_packs_epi32(_mm256_sad_epu8(a, zero), _mm256_sad_epu8(b, zero));
    const __m256i cd = _mm256_packs_epi32(_mm256_sad_epu8(c, zero), _mm256_sad_epu8(d, zero));
    return _mm256_madd_epi16(_mm256_packs_epi32(ab, cd), ones);
}

/* What eight cells counted, four in `first` and four in `second`, of `left` cells that are left. */
AVX2_INLINE void add_eight(__m256i first, __m256i second, int32_t left, uint32_t *counts) {
    const __m256i found = _mm256_add_epi32(_mm256_permute2x128_si256(first, second, 0x20),
                                           _mm256_permute2x128_si256(first, second, 0x31));
    if (left >= 8) {
        __m256i *to = (__m256i *)(void *)counts;
        _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), found));
        return;
    }
    uint32_t each[8];
    _mm256_storeu_si256((__m256i *)(void *)each, found);
    for (int32_t i = 0; i < left; i++) counts[i] += each[i];
}

/* Whole tiles, the sixteen cells from `cell` on: 32 rows at a time look up what each adds to a lane's counts, four
   cells of two bits each, which hold three such lines of rows; then two cells of four bits each, which hold BATCH_ROWS
   / 32. `between`: there are cells below and above the sixteen. */
AVX2_INLINE void tally_sixteen(const struct batch_column *column, const int32_t cell, const bool between,
                               uint32_t *counts) {
    const __m256i two_bits = _mm256_set1_epi8(0x33), four_bits = _mm256_set1_epi8(15), above = _mm256_set1_epi8(0x70);
    const __m256i base = _mm256_set1_epi8((char)-cell);
    const ptrdiff_t pitch = column->pitch;
    const uint8_t *cells = column->cells, *end = cells + column->n_rows / TILE_ROWS * pitch;
/* cells `at` to `at` + 3 */
#define ONLY(at, own) ((at) == (own) ? 0x40100401 : 0)
#define TABLE(at) _mm256_broadcastsi128_si256(_mm_set_epi32(ONLY(at, 12), ONLY(at, 8), ONLY(at, 4), ONLY(at, 0)))
    const __m256i t0 = TABLE(0), t1 = TABLE(4), t2 = TABLE(8), t3 = TABLE(12);
#undef TABLE
#undef ONLY
    __m256i even0 = _mm256_setzero_si256(), even1 = even0, even2 = even0, even3 = even0;
    __m256i odd0 = even0, odd1 = even0, odd2 = even0, odd3 = even0;
/* where a row looks: bit 7, which looks up 0, where its cell is not among the sixteen */
#define PLACE(name, at)                                                    \
    __m256i name = _mm256_load_si256((const __m256i *)(const void *)(at)); \
    if (cell > 0) name = _mm256_add_epi8(name, base);                      \
    if (cell == 0 || between) name = _mm256_adds_epu8(name, above);
#define LOOK_UP(k, at) _mm256_shuffle_epi8(t##k, at)
#define ADD(k, sum)                                                                                \
    {                                                                                              \
        const __m256i found = (sum);                                                               \
        even##k = _mm256_add_epi8(even##k, _mm256_and_si256(found, two_bits));                     \
        odd##k = _mm256_add_epi8(odd##k, _mm256_and_si256(_mm256_srli_epi16(found, 2), two_bits)); \
    }
#define TWO(k) _mm256_add_epi8(LOOK_UP(k, a), LOOK_UP(k, b))
#define THREE(k) _mm256_add_epi8(TWO(k), LOOK_UP(k, c))
#define ADD_THREE(first, second, third)                                                                      \
    {                                                                                                        \
        PLACE(a, first)                                                                                      \
        PLACE(b, second) PLACE(c, third) ADD(0, THREE(0)) ADD(1, THREE(1)) ADD(2, THREE(2)) ADD(3, THREE(3)) \
    }
    for (; end - cells >= 3 * pitch; cells += 3 * pitch) {
        ADD_THREE(cells, cells + 32, cells + pitch)
        ADD_THREE(cells + pitch + 32, cells + 2 * pitch, cells + 2 * pitch + 32)
    }
    for (; cells != end; cells += pitch) {
        PLACE(a, cells) PLACE(b, cells + 32) ADD(0, TWO(0)) ADD(1, TWO(1)) ADD(2, TWO(2)) ADD(3, TWO(3))
    }
#undef ADD_THREE
#undef THREE
#undef TWO
#undef ADD
#undef LOOK_UP
#undef PLACE
#define LOW(n) _mm256_and_si256(n, four_bits)
#define HIGH(n) _mm256_and_si256(_mm256_srli_epi16(n, 4), four_bits)
#define FOUR(k) sum_lines(LOW(even##k), LOW(odd##k), HIGH(even##k), HIGH(odd##k))
    const int32_t left = column->n_cells - cell;
    add_eight(FOUR(0), FOUR(1), left, counts + cell);
    if (left > 8) add_eight(FOUR(2), FOUR(3), left - 8, counts + cell + 8);
#undef FOUR
#undef LOW
#undef HIGH
}

AVX2 static void tally_tiles(const struct batch_column *column, uint32_t *counts) {
    const int32_t last = (column->n_cells - 1) / 16 * 16;
    tally_sixteen(column, 0, false, counts);
    for (int32_t cell = 16; cell < last; cell += 16) tally_sixteen(column, cell, true, counts);
    if (last > 0) tally_sixteen(column, last, false, counts);
}
#endif

#ifdef SEFR_AVX512
/* Bits that are set in one, two or three of a, b and c: in one or three of them, and in two or three. */
AVX512_INLINE void add_bits(__m512i a, __m512i b, __m512i c, __m512i *ones, __m512i *twos) {
    *ones = _mm512_ternarylogic_epi64(a, b, c, 0x96);
    *twos = _mm512_ternarylogic_epi64(a, b, c, 0xe8);
}

/* How often each of the eight bits is set, per eight bytes. */
AVX512_INLINE __m512i count_bits(__m512i bytes) {
    const __m512i each = _mm512_set1_epi64((long long)0x8040201008040201);
    return _mm512_popcnt_epi8(_mm512_gf2p8affine_epi64_epi8(each, bytes, 0)); /* the eight bytes turned round */
}

/* Whole tiles, eight cells after eight: a row sets one of eight bits, and the bits of BATCH_TILES rows are added to
   numbers of three bits. A row in NO cell looks up what the last of 64 does, which is nothing. */
_Static_assert(BATCH_TILES == 7, "three bits");
AVX512 static void tally_tiles_by_bits(const struct batch_column *column, uint32_t *counts) {
    const __m512i together =
        _mm512_set_epi8(63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 60,
                        52, 44, 36, 28, 20, 12, 4, 59, 51, 43, 35, 27, 19, 11, 3, 58, 50, 42, 34, 26, 18, 10, 2, 57, 49,
                        41, 33, 25, 17, 9, 1, 56, 48, 40, 32, 24, 16, 8, 0);
    const ptrdiff_t n_tiles = column->n_rows / TILE_ROWS;
    __m512i rows[BATCH_TILES];
#pragma GCC unroll 7
    for (ptrdiff_t t = 0; t < BATCH_TILES; t++) {
        rows[t] = t < n_tiles ? _mm512_load_si512(column->cells + t * column->pitch) : _mm512_set1_epi8(-1);
    }
    for (int32_t cell = 0; cell < column->n_cells; cell += 8) {
        const __m512i own = _mm512_maskz_set1_epi64((__mmask8)(1 << cell / 8), (long long)0x8040201008040201);
#define ROW(t) _mm512_permutexvar_epi8(rows[t], own)
        __m512i ones, twos, fours, a, b, c, d, e;
        add_bits(ROW(0), ROW(1), ROW(2), &a, &c);
        add_bits(ROW(3), ROW(4), ROW(5), &b, &d);
        add_bits(a, b, ROW(6), &ones, &e);
        add_bits(c, d, e, &twos, &fours);
#undef ROW
        __m512i sum = count_bits(fours);
        sum = _mm512_add_epi8(_mm512_add_epi8(sum, sum), count_bits(twos));
        sum = _mm512_add_epi8(_mm512_add_epi8(sum, sum), count_bits(ones));
        sum = _mm512_sad_epu8(_mm512_permutexvar_epi8(together, sum), _mm512_setzero_si512());
        const int32_t left = column->n_cells - cell;
        const __mmask8 there = (__mmask8)(left < 8 ? (1 << left) - 1 : 255);
        const __m256i before = _mm256_maskz_loadu_epi32(there, counts + cell);
        _mm256_mask_storeu_epi32(counts + cell, there, _mm256_add_epi32(before, _mm512_cvtepi64_epi32(sum)));
    }
}
#endif

void sefr_tally(const struct batch_column *column, uint32_t *counts) {
#ifdef SEFR_AVX512
    if (column->n_rows % TILE_ROWS == 0 && column->n_cells < 64 && has_avx512()) {
        tally_tiles_by_bits(column, counts);
        return;
    }
#endif
#ifdef SEFR_AVX2
    if (column->n_rows % TILE_ROWS == 0 && has_avx2()) {
        tally_tiles(column, counts);
        return;
    }
#endif
    tally_rows(column, counts);
}
