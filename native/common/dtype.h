/* The element types a kernel can read, and what it promises about sums of each. */
#ifndef SEFR_DTYPE_H
#define SEFR_DTYPE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum dtype { F32, F64, I8, U8, I16, U16, I32, U32, I64, U64, N_DTYPES };

static inline size_t dtype_size(enum dtype type) {
    static const uint8_t size[N_DTYPES] = {4, 8, 1, 1, 2, 2, 4, 4, 8, 8};
    return size[type];
}

/* One kernel compiled for several instruction sets and chosen when the module loads; gcc on x86-64 Linux only. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(SEFR_ONE_TARGET)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
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

/* The functions name_F32, name_F64, ... as a table indexed by enum dtype. */
#define OF_EACH_DTYPE(name) \
    {name##_F32, name##_F64, name##_I8, name##_U8, name##_I16, name##_U16, name##_I32, name##_U32, name##_I64, name##_U64}

#endif
