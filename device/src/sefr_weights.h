/* Weights in flash times a record: bytes with weights of 8 or 16 bits, whole numbers of 16 bits with scaling folded into the
 * weights, and the lines of a model that predicts a number. */
#ifndef SEFR_WEIGHTS_H
#define SEFR_WEIGHTS_H

#include "sefr_values.h"

#if defined(SEFR_AVR_ASSEMBLY) && defined(__AVR_HAVE_MUL__)
#define SEFR_PRODUCT_ASSEMBLY 1
/* A product of 8 by 8 bits into 24 bits, which hold 255 of 127 * 255: 11 cycles. */
#define SEFR_PRODUCT_8_                                                                                             \
    "ld r19,X+\n\tlpm r18,Z+\n\tmulsu r18,r19\n\tsbc r18,r18\n\tadd %A[sum],r0\n\tadc %B[sum],r1\n\tadc %C[sum],r18\n\t"
/* A product of 16 by 8 bits into 32 bits, which hold 255 of 32767 * 255: 20 cycles. */
#define SEFR_PRODUCT_16_                                                                                            \
    "ld r19,X+\n\tlpm r0,Z+\n\tlpm r18,Z+\n\tmul r0,r19\n\tadd %A[sum],r0\n\tadc %B[sum],r1\n\tadc %C[sum],%[zero]\n\t" \
    "adc %D[sum],%[zero]\n\tmulsu r18,r19\n\tsbc r18,r18\n\tadd %B[sum],r0\n\tadc %C[sum],r1\n\tadc %D[sum],r18\n\t"
/* A product of 16 by 16 bits: 36 cycles with its turn of the loop. */
#define SEFR_PRODUCT_FOLDED_                                                                                        \
    "1: ld r20,X+\n\tld r21,X+\n\tlpm r18,Z+\n\tlpm r19,Z+\n\t"                                                      \
    "mul r18,r20\n\tadd %A[sum],r0\n\tadc %B[sum],r1\n\tadc %C[sum],%[zero]\n\tadc %D[sum],%[zero]\n\t"               \
    "muls r19,r21\n\tadd %C[sum],r0\n\tadc %D[sum],r1\n\t"                                                          \
    "mulsu r19,r20\n\tsbc %D[sum],%[zero]\n\tadd %B[sum],r0\n\tadc %C[sum],r1\n\tadc %D[sum],%[zero]\n\t"             \
    "mulsu r21,r18\n\tsbc %D[sum],%[zero]\n\tadd %B[sum],r0\n\tadc %C[sum],r1\n\tadc %D[sum],%[zero]\n\t"             \
    "sbiw %[n],1\n\tbrne 1b\n\tclr r1"
/* Features beyond a multiple of eight, then eight per turn. */
#define SEFR_BY_EIGHTS_(step)                                                                                       \
    ".rept %[features]%%8\n\t" step ".endr\n\t.if %[features]>7\n\t1: \n\t.rept 8\n\t" step ".endr\n\t"                \
    "dec %[n]\n\tbreq 2f\n\trjmp 1b\n\t2: \n\t.endif\n\tclr r1\n\t"
#endif

/* The sum of weight times byte over up to 32767 features. */
SEFR_WITH_CONSTANTS int32_t sefr_sum_8(const uint8_t *x, const int8_t *weights, unsigned features) {
    int32_t sum = 0;
#ifdef SEFR_PRODUCT_ASSEMBLY
    if (features < 256) {
        uint8_t n = (uint8_t)(features / 8);
        __asm__ volatile(SEFR_BY_EIGHTS_(SEFR_PRODUCT_8_) "sbrc %C[sum],7\n\tcom %D[sum]"
                         : [sum] "+r"(sum), "+x"(x), "+z"(weights), [n] "+r"(n)
                         : [features] "n"(features)
                         : "r18", "r19", "memory");
        return sum;
    }
#elif defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN) && !defined(SEFR_PORTABLE)
    /* two products per instruction (Cortex-M4, M7, M33) */
    unsigned n;
    for (n = features / 4; n; n--, x += 4, weights += 4) {
        uint32_t values, four, two, both;
        __builtin_memcpy(&values, x, 4);
        __builtin_memcpy(&four, weights, 4);
        __asm__("uxtb16 %1,%3\n\tsxtb16 %2,%4\n\tsmlad %0,%1,%2,%0\n\t"
                "uxtb16 %1,%3,ror #8\n\tsxtb16 %2,%4,ror #8\n\tsmlad %0,%1,%2,%0"
                : "+r"(sum), "=&r"(two), "=&r"(both)
                : "r"(values), "r"(four));
    }
    features %= 4;
#endif
    for (; features; features--) sum += (int16_t)((int8_t)SEFR_READ_8(weights++) * (int16_t)*x++);
    return sum;
}

/* The same over any number of features. */
SEFR_WITH_CONSTANTS int64_t sefr_sum_8_wide(const uint8_t *x, const int8_t *weights, unsigned features) {
    int64_t sum = 0;
    while (features) {
        uint16_t part = features < 32767 ? (uint16_t)features : 32767;
        sum += sefr_sum_8(x, weights, part);
        x += part, weights += part, features -= part;
    }
    return sum;
}

/* The same with weights of 16 bits. */
SEFR_WITH_CONSTANTS int64_t sefr_sum_16(const uint8_t *x, const int16_t *weights, unsigned features) {
    int64_t total = 0;
    int32_t sum = 0;
#ifdef SEFR_PRODUCT_ASSEMBLY
    if (features < 256) {
        uint8_t n = (uint8_t)(features / 8);
        __asm__ volatile(SEFR_BY_EIGHTS_(SEFR_PRODUCT_16_)
                         : [sum] "+r"(sum), "+x"(x), "+z"(weights), [n] "+r"(n)
                         : [features] "n"(features), [zero] "r"((uint8_t)0)
                         : "r18", "r19", "memory");
        return sum;
    }
#endif
    if (features <= 256) { /* 256 products of 32767 * 255 are below 2^31 */
        for (; features; features--) sum += (int16_t)SEFR_READ_16(weights++) * (int32_t)*x++;
        return sum;
    }
    for (; features; features--) total += (int16_t)SEFR_READ_16(weights++) * (int32_t)*x++;
    return total;
}

/* The sum of weight times value: the weights are so small together that 32 bits hold it for any values. */
SEFR_WITH_CONSTANTS int32_t sefr_sum_folded(const int16_t *x, const int16_t *weights, unsigned features) {
    int32_t sum = 0;
#ifdef SEFR_PRODUCT_ASSEMBLY
    __asm__ volatile(SEFR_PRODUCT_FOLDED_
                     : [sum] "+r"(sum), "+x"(x), "+z"(weights), [n] "+w"(features)
                     : [zero] "r"((uint8_t)0)
                     : "r18", "r19", "r20", "r21", "memory");
#else
    for (; features; features--) sum += (int32_t)(int16_t)SEFR_READ_16(weights++) * *x++;
#endif
    return sum;
}

/* Of a line, per feature: the lowest value and the range that were learned, in floats where the point is, and the weight of a
 * step within them, whose upper half has the sign. */
typedef struct {
    int16_t low;
    uint16_t range;
    int16_t upper;
    uint16_t lower;
} sefr_line_int16;
typedef struct {
    int32_t low;
    uint16_t range;
    uint8_t exponent;
    int16_t upper;
    uint16_t lower;
} sefr_line_float;

/* The upper 32 bits of a product of 48. */
SEFR_WITH_CONSTANTS int32_t sefr_step_product_(uint16_t above, int16_t upper, uint16_t lower) {
    return (int32_t)upper * above + (int32_t)((uint32_t)lower * above >> 16);
}

#define SEFR_DEFINE_LINE_(name, type)                                                                               \
    SEFR_WITH_CONSTANTS int32_t name(const sefr_line_int16 *lines, unsigned features, const type *record) {          \
        int32_t sum = 0;                                                                                            \
        for (; features; features--, lines++, record++) {                                                           \
            uint16_t above, range = SEFR_READ_16(&lines->range);                                                    \
            int16_t low = (int16_t)SEFR_READ_16(&lines->low);                                                       \
            if (*record <= low) continue;                                                                           \
            above = (uint16_t)((uint16_t)*record - (uint16_t)low);                                                  \
            if (above > range) above = range;                                                                       \
            sum += sefr_step_product_(above, (int16_t)SEFR_READ_16(&lines->upper), SEFR_READ_16(&lines->lower));    \
        }                                                                                                           \
        return sum;                                                                                                 \
    }
SEFR_DEFINE_LINE_(sefr_sum_line_uint8, uint8_t)
SEFR_DEFINE_LINE_(sefr_sum_line_int16, int16_t)

SEFR_WITH_CONSTANTS int32_t sefr_sum_line_float(const sefr_line_float *lines, unsigned features, const float *record) {
    int32_t sum = 0;
    for (; features; features--, lines++, record++) {
        int32_t d = sefr_fixed_point(*record, SEFR_READ_8(&lines->exponent)) - (int32_t)SEFR_READ_32(&lines->low);
        uint16_t above, range = SEFR_READ_16(&lines->range);
        if (d <= 0) continue;
        above = d < (int32_t)range ? (uint16_t)d : range;
        sum += sefr_step_product_(above, (int16_t)SEFR_READ_16(&lines->upper), SEFR_READ_16(&lines->lower));
    }
    return sum;
}

#endif
