/* The element types a kernel can read, and what it promises about sums of each. */
#ifndef SEFR_DTYPE_H
#define SEFR_DTYPE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* The types, each with
     what a further pass calculates in: float holds the narrow ones exactly;
     a type that holds the sum of so many values of any size: float64 for wide types, where the number only keeps
       rounding errors small by adding block by block;
     where a running minimum and maximum start. */
#define SEFR_EACH_DTYPE(X)                                                                           \
    X(F32, float, "float32", float, double, 2048, INFINITY, -INFINITY)                               \
    X(F64, double, "float64", double, double, 2048, INFINITY, -INFINITY)                             \
    X(I8, int8_t, "int8", float, int16_t, 256, INT8_MAX, INT8_MIN)        /* 256 * -128 = -2^15 */   \
    X(U8, uint8_t, "uint8", float, uint16_t, 256, UINT8_MAX, 0)           /* 256 * 255 < 2^16 */     \
    X(I16, int16_t, "int16", float, int32_t, 32768, INT16_MAX, INT16_MIN) /* 2^15 * -2^15 = -2^30 */ \
    X(U16, uint16_t, "uint16", float, uint32_t, 32768, UINT16_MAX, 0)     /* 2^15 * 2^16 = 2^31 */   \
    X(I32, int32_t, "int32", double, double, 2048, INT32_MAX, INT32_MIN)                             \
    X(U32, uint32_t, "uint32", double, double, 2048, UINT32_MAX, 0)                                  \
    X(I64, int64_t, "int64", double, double, 2048, INT64_MAX, INT64_MIN)                             \
    X(U64, uint64_t, "uint64", double, double, 2048, UINT64_MAX, 0)

#define DTYPE_TAG(tag, ...) tag,
enum dtype { SEFR_EACH_DTYPE(DTYPE_TAG) N_DTYPES };
#undef DTYPE_TAG

/* What each_dtype.inc calls T, COMPUTED, SUM, SUM_ROWS, LOWEST and HIGHEST. */
#define DTYPE_TRAITS(tag, type, name, computed, sum, rows, lowest, highest) \
    typedef type type_##tag;                                                \
    typedef computed computed_##tag;                                        \
    typedef sum sum_##tag;                                                  \
    enum { sum_rows_##tag = rows };                                         \
    static const type lowest_##tag = lowest, highest_##tag = highest;
SEFR_EACH_DTYPE(DTYPE_TRAITS)
#undef DTYPE_TRAITS

static inline size_t dtype_size(enum dtype type) {
#define DTYPE_SIZE(tag, ...) sizeof(type_##tag),
    static const uint8_t size[N_DTYPES] = {SEFR_EACH_DTYPE(DTYPE_SIZE)};
#undef DTYPE_SIZE
    return size[type];
}

/* One kernel compiled for several instruction sets and chosen when the module loads; gcc on x86-64 Linux only. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(SEFR_ONE_TARGET)
#define SEFR_CLONES 1
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define CLONES_WITHOUT_AVX512 __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define CLONES
#define CLONES_WITHOUT_AVX512
#endif

/* Inlined into each clone, or it would run as the default one; and what a loop seldom calls, kept out of its way. */
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define OUT_OF_LINE static __attribute__((noinline))
#else
#define INLINE static inline
#define OUT_OF_LINE static
#endif

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

/* The functions name_F32, name_F64, ... as a table indexed by enum dtype. SEFR_FEW_DTYPES: only those that the page in
   the browser reads, float64 and bytes. */
#ifdef SEFR_FEW_DTYPES
#define OF_EACH_DTYPE(name) {[F64] = name##_F64, [U8] = name##_U8}
#else
#define OF_EACH_DTYPE(name)                                      \
    {name##_F32, name##_F64, name##_I8,  name##_U8,  name##_I16, \
     name##_U16, name##_I32, name##_U32, name##_I64, name##_U64}
#endif

#endif
