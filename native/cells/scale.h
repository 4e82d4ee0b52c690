/* The scale on which the values of a feature have numbers of 16 bits. */
#ifndef SEFR_SCALE_H
#define SEFR_SCALE_H

#include "cells/coding.h"
#include "common/avx512.h"

#ifdef SEFR_AVX2
/* The edges of a feature have the numbers FIRST_EDGE to LAST_EDGE: values well below the first have numbers of their
   own too, and values above the last need none. LOWEST stands for an edge that every value is above whose number is of
   use: it fills up those of a feature that has fewer than MOST_EDGES. With fewer edges than FEWEST_EDGES a search among
   floats takes no longer. */
_Static_assert(TILE_ROWS == 64, "four quarters of 16, two halves of 32");
enum { FIRST_EDGE = -8000, LAST_EDGE = 30000, LOWEST = INT16_MIN, FEWEST_EDGES = 8, MOST_EDGES = 31 };

/* value * scale - shift, rounded: it never falls where the value rises, unless it is too large for an int32. */
AVX2_INLINE __m256i quantise_eight(__m256 values, __m256 scale, __m256 shift) {
    return _mm256_cvtps_epi32(_mm256_fmsub_ps(values, scale, shift));
}

/* Upper bytes from -LOW_BUCKETS on have buckets of their own: the edges', which are FIRST_EDGE - 1000 or more, are
   among them. Those of 0 and more come first. */
enum { LOW_BUCKETS = 64, HIGH_BUCKETS = 128, HAS_EDGE = 128, CELL_BITS = 31 };
_Static_assert(LOW_BUCKETS + HIGH_BUCKETS == N_BUCKETS && FIRST_EDGE - 1000 > -256 * LOW_BUCKETS, "");
#endif

#endif
