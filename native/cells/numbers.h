/* Rows of values turned to the numbers of columns: 16 bits of each value, quantised in the order of rows, so that half
   as many bytes change places as in a tile of floats. */
#ifndef SEFR_NUMBERS_H
#define SEFR_NUMBERS_H

#include "cells/lines.h"
#include "cells/quantised.h"
#include "cells/transpose.h"

#ifdef SEFR_AVX2
/* Sixteen rows of eight columns, `offset` bytes from where rows begin: the lower bytes of columns c and c + 4, sixteen
   each, to to + c * 2 * TILE_ROWS, the upper ones to to + (4 + c) * 2 * TILE_ROWS. */
AVX2_INLINE void number_sixteen(const char *const *rows, ptrdiff_t offset, const bool wide,
                                const struct quantised *eight, int8_t *to) {
    const __m256 scale = _mm256_load_ps(eight->scale), shift = _mm256_load_ps(eight->shift);
    __m256i a[8], b[8];
#define ROW(i) quantise_eight(load_eight(rows[i] + offset, wide), scale, shift)
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) a[k] = _mm256_packs_epi32(ROW(2 * k), ROW(2 * k + 1));
#undef ROW
/* vectors `apart` from each other: the bytes of a row go apart, those of rows come together */
#define ROUND(from, to, apart)                                              \
    _Pragma("GCC unroll 8") for (int k = 0; k < 8; k++) {                   \
        if (k & (apart)) continue;                                          \
        to[k] = _mm256_unpacklo_epi8(from[k], from[k + (apart)]);           \
        to[k + (apart)] = _mm256_unpackhi_epi8(from[k], from[k + (apart)]); \
    }
    ROUND(a, b, 4)
    ROUND(b, a, 2)
    ROUND(a, b, 1)
    ROUND(b, a, 4)
#undef ROUND
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) _mm256_store_si256((__m256i *)(void *)(to + k * 2 * TILE_ROWS), a[k]);
}

/* A tile of rows, from column `first` on, eight columns after eight: where `numbered`, numbers to `numbers`, else
   floats to `floats`. */
AVX2_INLINE void turn_rows(const char *const *rows, ptrdiff_t offset, ptrdiff_t n_eights, const bool *numbered,
                           const bool wide, const struct quantised *eights, struct call *call, struct cell_tile *tile) {
    const ptrdiff_t size = (ptrdiff_t)(wide ? sizeof(double) : sizeof(float));
    ptrdiff_t n_numbered = 0;
    for (ptrdiff_t e = 0; e < n_eights; e++) n_numbered += numbered[e];
    for (ptrdiff_t i = 0; n_numbered > 0 && i < TILE_ROWS; i += 16) {
        for (ptrdiff_t e = 0; e < n_eights; e++) {
            if (!numbered[e]) continue;
            call_share(call);
            number_sixteen(rows + i, offset + e * 8 * size, wide, eights + e,
                           tile->numbers + e * 16 * TILE_ROWS + 2 * i);
        }
    }
    for (ptrdiff_t i = 0; n_numbered < n_eights && i < TILE_ROWS; i += 8) {
        for (ptrdiff_t e = 0; e < n_eights; e++) {
            if (numbered[e]) continue;
            transpose_eight(rows + i, offset + e * 8 * size, wide, tile->floats + e * 8 * TILE_ROWS + i);
        }
    }
}

AVX2 static void turn_tile(const char *const *rows, ptrdiff_t offset, ptrdiff_t n_eights, const bool *numbered,
                           bool wide, const struct quantised *eights, struct call *call, struct cell_tile *tile) {
    if (wide) {
        turn_rows(rows, offset, n_eights, numbered, true, eights, call, tile);
    } else {
        turn_rows(rows, offset, n_eights, numbered, false, eights, call, tile);
    }
}

/* The bytes of a piece's numbers: of column `at` and the one that lies beside it, sixteen of the one and of the other
   in turns, first those of the column whose number is lower. */
static inline int8_t *lower_bytes(const struct cell_tile *tile, ptrdiff_t at) {
    return tile->numbers + (at / 8 * 8 + at % 4) * 2 * TILE_ROWS;
}
static inline int8_t *upper_bytes(const struct cell_tile *tile, ptrdiff_t at) {
    return lower_bytes(tile, at) + 8 * TILE_ROWS;
}

/* The cells of columns `at` and `at` + 4 of a piece, features `j` and `j` + 4. Returns whether all are found; where
   numbers are those of edges takes the place of the lower bytes, for read_finding. */
AVX2_INLINE bool search_pair(const struct quantised *eight, ptrdiff_t j, ptrdiff_t at, struct cell_tile *tile) {
    const __m256i sign = _mm256_set1_epi8(INT8_MIN), *upper_at = (const __m256i *)(const void *)upper_bytes(tile, at);
    __m256i *lower_at = (__m256i *)(void *)lower_bytes(tile, at);
    __m128i *first = (__m128i *)(void *)(tile->cells + j * TILE_ROWS), *second = first + 4 * TILE_ROWS / 16;
    __m256i any = _mm256_setzero_si256(), lowest = any, upper[2], lower[2], cells[2], same[2];
    struct tables by;
#pragma GCC unroll 10
    for (int t = 0; t < N_TABLES; t++) {
        by.of[t] = _mm256_load_si256((const __m256i *)(const void *)eight->tables[at % 4][t]);
    }
#pragma GCC unroll 2
    for (ptrdiff_t q = 0; q < 4; q += 2) {
#define BOTH _Pragma("GCC unroll 2") for (ptrdiff_t h = 0; h < 2; h++)
        BOTH upper[h] = _mm256_load_si256(upper_at + q + h);
        BOTH lower[h] = _mm256_xor_si256(_mm256_load_si256(lower_at + q + h), sign);
        search_numbers(upper, lower, &by, cells, same);
        BOTH {
            any = _mm256_or_si256(any, same[h]), lowest = _mm256_min_epi8(lowest, upper[h]);
            _mm256_store_si256(lower_at + q + h, same[h]);
            _mm_store_si128(first + q + h, _mm256_castsi256_si128(cells[h]));
            _mm_store_si128(second + q + h, _mm256_extracti128_si256(cells[h], 1));
        }
#undef BOTH
    }
    const __m256i open = _mm256_or_si256(any, _mm256_cmpeq_epi8(lowest, sign));
    return _mm256_testz_si256(open, open);
}

/* The cells of a piece's columns that have numbers, from column `first` on. Returns those of its columns that may not
   be all found, a bit each: to stop at each at once would cost the processor what it has begun of the next. */
AVX2 static uint64_t search_piece(const struct coder *coder, ptrdiff_t first, ptrdiff_t n_eights, const bool *numbered,
                                  struct call *call, struct cell_tile *tile) {
    uint64_t open = 0;
    for (ptrdiff_t at = 0; at < 8 * n_eights; at += 8) {
        for (ptrdiff_t pair = at; numbered[at / 8] && pair < at + 4; pair++) {
            call_share(call);
            const bool all = search_pair(coder->quantised + (first + at) / 8, first + pair, pair, tile);
            open |= (uint64_t)(all ? 0 : 0x11) << pair;
        }
    }
    return open;
}

/* What search_pair found out about column `at` of a piece. */
AVX2 static struct finding read_finding(const struct cell_tile *tile, ptrdiff_t at) {
    const __m128i *upper = (const __m128i *)(const void *)upper_bytes(tile, at) + at % 8 / 4;
    const __m128i *same = (const __m128i *)(const void *)lower_bytes(tile, at) + at % 8 / 4;
    struct finding found = {ALL_FOUND, 0};
    int far = 0;
    for (int q = 0; q < 4; q++) {
        far |= _mm_movemask_epi8(_mm_cmpeq_epi8(upper[2 * q], _mm_set1_epi8(INT8_MIN)));
        found.equal |= (uint64_t)(uint32_t)_mm_movemask_epi8(same[2 * q]) << 16 * q;
    }
    found.open = far ? ALL_OPEN : found.equal ? SOME_OPEN : ALL_FOUND;
    return found;
}
#endif

#endif
