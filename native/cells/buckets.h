/* The cells of numbers by looking up their upper bytes, each a bucket with at most one edge: 64 to a vector. */
#ifndef SEFR_BUCKETS_H
#define SEFR_BUCKETS_H

#include "cells/numbers.h"
#include "common/avx512.h"

#ifdef SEFR_AVX512
/* What the buckets of 64 upper bytes hold; `low`: those that are negative. */
AVX512_INLINE __m512i look_up(const uint8_t *table, __m512i at, __mmask64 low) {
    const __m512i a = _mm512_load_si512(table), b = _mm512_load_si512(table + 64), c = _mm512_load_si512(table + 128);
    return _mm512_mask_permutexvar_epi8(_mm512_permutex2var_epi8(a, at, b), low, at, c);
}

/* The cells of TILE_ROWS numbers of a column. Returns whether all are found; the rows with the number of an edge, and
   those far below all, are `found`. */
AVX512_INLINE bool look_up_column(__m512i upper, __m512i lower, const struct buckets *by, uint8_t *cells,
                                  uint64_t found[2]) {
    const __m512i at = _mm512_max_epi8(upper, _mm512_set1_epi8(-LOW_BUCKETS));
    const __mmask64 low = _mm512_movepi8_mask(upper);
    const __m512i cell = look_up(by->cell, at, low), edge = look_up(by->edge, at, low);
    const __mmask64 beside = _mm512_movepi8_mask(cell);
    const __mmask64 equal = _mm512_mask_cmpeq_epu8_mask(beside, lower, edge);
    const __mmask64 above = _mm512_mask_cmpgt_epu8_mask(beside, lower, edge);
    const __mmask64 far = _mm512_cmpeq_epi8_mask(upper, _mm512_set1_epi8(INT8_MIN));
    const __m512i below = _mm512_and_si512(cell, _mm512_set1_epi8(CELL_BITS));
    _mm512_store_si512(cells, _mm512_mask_add_epi8(below, above, below, _mm512_set1_epi8(1)));
    found[0] = equal, found[1] = far;
    return !(equal | far);
}

/* As search_pair; what was found takes the place of the lower bytes, for read_buckets. Returns a bit per column that is
   not all found. */
AVX512_INLINE uint64_t look_up_pair(const struct buckets *by, ptrdiff_t j, ptrdiff_t at, struct cell_tile *tile) {
    const int8_t *upper = upper_bytes(tile, at), *lower = lower_bytes(tile, at);
    const __m512i upper_0 = _mm512_load_si512(upper), upper_1 = _mm512_load_si512(upper + 64);
    const __m512i lower_0 = _mm512_load_si512(lower), lower_1 = _mm512_load_si512(lower + 64);
    uint8_t *cells = tile->cells + j * TILE_ROWS;
    uint64_t found[4];
/* the lanes of one column, or of the other */
#define LANES(name, which) _mm512_shuffle_i64x2(name##_0, name##_1, which)
    const bool one = look_up_column(LANES(upper, 0x88), LANES(lower, 0x88), by + j, cells, found);
    cells += 4 * TILE_ROWS;
    const bool other = look_up_column(LANES(upper, 0xdd), LANES(lower, 0xdd), by + j + 4, cells, found + 2);
#undef LANES
    memcpy(lower_bytes(tile, at), found, sizeof found);
    return (uint64_t)!one << at | (uint64_t)!other << (at + 4);
}

/* As search_piece. */
AVX512 static uint64_t look_up_piece(const struct coder *coder, ptrdiff_t first, ptrdiff_t n_eights,
                                     const bool *numbered, struct call *call, struct cell_tile *tile) {
    uint64_t open = 0;
    for (ptrdiff_t at = 0; at < 8 * n_eights; at += 8) {
        for (ptrdiff_t pair = at; numbered[at / 8] && pair < at + 4; pair++) {
            call_share(call);
            open |= look_up_pair(coder->buckets, first + pair, pair, tile);
        }
    }
    return open;
}

/* What look_up_pair found out about column `at` of a piece. */
static struct finding read_buckets(const struct cell_tile *tile, ptrdiff_t at) {
    uint64_t found[2];
    memcpy(found, lower_bytes(tile, at) + at % 8 / 4 * (ptrdiff_t)sizeof found, sizeof found);
    return (struct finding){found[1] ? ALL_OPEN : found[0] ? SOME_OPEN : ALL_FOUND, found[0]};
}
#endif

#endif
