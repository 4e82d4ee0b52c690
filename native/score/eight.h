/* Eight values of each type as float64, for NEON (EIGHT) and for AVX-512 (OCT). */
#ifndef SEFR_EIGHT_H
#define SEFR_EIGHT_H

#include "common/avx512.h"
#include "common/dtype.h"
#include "common/neon.h"

#ifdef SEFR_NEON
/* Eight values as float64, two and two. Bytes and words are moved to the upper bits of 64 and converted as if these
   were a fraction, so that a table lookup and a conversion make two of them. */
struct eight {
    float64x2_t two[4];
};
#define EIGHT(a, b, c, d) ((struct eight){{a, b, c, d}})
#define BYTE_AT(i)                                                   \
    vcombine_u8(vcreate_u8(0xffffffffffffffu | (uint64_t)(i) << 56), \
                vcreate_u8(0xffffffffffffffu | ((uint64_t)(i) + 1) << 56))
#define WORD_AT(i)                                                                       \
    vcombine_u8(vcreate_u8(0xffffffffffffu | (uint64_t)(0x101 * 2 * (i) + 0x100) << 48), \
                vcreate_u8(0xffffffffffffu | (uint64_t)(0x101 * 2 * (i) + 0x302) << 48))
#define MOVED(at, x, i) vreinterpretq_u64_u8(vqtbl1q_u8(x, at(i)))
#define UNSIGNED_AT(at, bits, x, i) vcvtq_n_f64_u64(MOVED(at, x, i), bits)
#define SIGNED_AT(at, bits, x, i) vcvtq_n_f64_s64(vreinterpretq_s64_u64(MOVED(at, x, i)), bits)
#define EACH(kind, at, bits, x) \
    EIGHT(kind(at, bits, x, 0), kind(at, bits, x, 2), kind(at, bits, x, 4), kind(at, bits, x, 6))
#define BYTES(x) vcombine_u8(vld1_u8((const uint8_t *)(x)), vdup_n_u8(0))
#define WORDS(x) vreinterpretq_u8_u16(vld1q_u16((const uint16_t *)(x)))
#define PAIRS(two, x) EIGHT(two(x), two((x) + 2), two((x) + 4), two((x) + 6))
#define TWO_F32(x) vcvt_f64_f32(vld1_f32(x))
#define TWO_I32(x) vcvtq_f64_s64(vmovl_s32(vld1_s32(x)))
#define TWO_U32(x) vcvtq_f64_u64(vmovl_u32(vld1_u32(x)))
#define TWO_I64(x) vcvtq_f64_s64(vld1q_s64(x))
#define TWO_U64(x) vcvtq_f64_u64(vld1q_u64(x))
#define EIGHT_F32(x) PAIRS(TWO_F32, x)
#define EIGHT_F64(x) PAIRS(vld1q_f64, x)
#define EIGHT_I8(x) EACH(SIGNED_AT, BYTE_AT, 56, BYTES(x))
#define EIGHT_U8(x) EACH(UNSIGNED_AT, BYTE_AT, 56, BYTES(x))
#define EIGHT_I16(x) EACH(SIGNED_AT, WORD_AT, 48, WORDS(x))
#define EIGHT_U16(x) EACH(UNSIGNED_AT, WORD_AT, 48, WORDS(x))
#define EIGHT_I32(x) PAIRS(TWO_I32, x)
#define EIGHT_U32(x) PAIRS(TWO_U32, x)
#define EIGHT_I64(x) PAIRS(TWO_I64, x)
#define EIGHT_U64(x) PAIRS(TWO_U64, x)
#endif

/* Only beside kernels that fuse products with sums, as these do: the bits are to be the same. */
#if defined(SEFR_AVX512) && (defined(SEFR_CLONES) || defined(__FMA__))
#define BY_EIGHT 1
/* Eight values as float64. Integers go through 64 bits, of which a conversion takes one step and not two. */
#define BYTES(x) _mm_loadl_epi64((const __m128i *)(const void *)(x))
#define WORDS(x) _mm_loadu_si128((const __m128i *)(const void *)(x))
#define INTS(x) _mm256_loadu_si256((const __m256i *)(const void *)(x))
#define LONGS(x) _mm512_loadu_si512(x)
#define OCT_F32(x) _mm512_cvtps_pd(_mm256_loadu_ps(x))
#define OCT_F64(x) _mm512_loadu_pd(x)
#define OCT_I8(x) _mm512_cvtepi64_pd(_mm512_cvtepi8_epi64(BYTES(x)))
#define OCT_U8(x) _mm512_cvtepi64_pd(_mm512_cvtepu8_epi64(BYTES(x)))
#define OCT_I16(x) _mm512_cvtepi64_pd(_mm512_cvtepi16_epi64(WORDS(x)))
#define OCT_U16(x) _mm512_cvtepi64_pd(_mm512_cvtepu16_epi64(WORDS(x)))
#define OCT_I32(x) _mm512_cvtepi32_pd(INTS(x))
#define OCT_U32(x) _mm512_cvtepu32_pd(INTS(x))
#define OCT_I64(x) _mm512_cvtepi64_pd(LONGS(x))
#define OCT_U64(x) _mm512_cvtepu64_pd(LONGS(x))
#endif

#endif
