/* The element types a kernel can read, and what it promises about sums of each. */
#ifndef SEFR_DTYPE_H
#define SEFR_DTYPE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum dtype { F32, F64, I8, U8, I16, U16, I32, U32, I64, U64, N_DTYPES };

/* X(tag, type, lowest start for a running minimum, start for a running maximum) */
#define EACH_DTYPE(X)                          \
    X(F32, float, INFINITY, -INFINITY)         \
    X(F64, double, INFINITY, -INFINITY)        \
    X(I8, int8_t, INT8_MAX, INT8_MIN)          \
    X(U8, uint8_t, UINT8_MAX, 0)               \
    X(I16, int16_t, INT16_MAX, INT16_MIN)      \
    X(U16, uint16_t, UINT16_MAX, 0)            \
    X(I32, int32_t, INT32_MAX, INT32_MIN)      \
    X(U32, uint32_t, UINT32_MAX, 0)            \
    X(I64, int64_t, INT64_MAX, INT64_MIN)      \
    X(U64, uint64_t, UINT64_MAX, 0)

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

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

#endif
