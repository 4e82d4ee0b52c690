/* Raw values become bytes, 0 to 255 over the range of each feature, without a division where the exporter proved a product and
 * a shift exact for every value: byte = floor(255 (value - low) / (high - low) + 1/2), 0 below low, 255 above high.
 *
 * With d = value - low, below the range of 16 bits:
 *   narrow   (d factor + 2^23) >> 24
 *   wide     the same with a shift of 32, in two products; a range below 256 is taken times 256, so that its factor has 32 bits
 *   fine     (d factor + 2^22) >> 23, of floats, with a factor of 16 bits
 * A float becomes t = value times 2^(142 - exponent), cut towards 0: only bits are moved, so that every machine has the same;
 * then d = t - low. What is not a number becomes 0. */
#ifndef SEFR_VALUES_H
#define SEFR_VALUES_H

#include "sefr_answer.h"

/* How a feature becomes a byte; in flash. */
typedef struct {
    int16_t low;
    uint16_t range; /* high - low, or 1 */
    uint32_t factor;
} sefr_map_int16;
typedef struct {
    int32_t low;
    uint16_t range;
    uint32_t factor;
} sefr_map_int32;
typedef struct {
    uint8_t exponent;
    int32_t low;
    uint16_t range;
    uint32_t factor;
} sefr_map_float;
typedef struct {
    uint8_t exponent;
    int32_t low;
    uint16_t range;
    uint16_t factor;
} sefr_map_fine;
typedef struct {
    int32_t low, high;
} sefr_map_divide;

enum { SEFR_NARROW, SEFR_WIDE, SEFR_WIDE_AND_SHORT }; /* the last: wide, and some range is below 256 */

/* A float times 2^(142 - exponent), cut towards 0, and at most 2^30 - 1. */
static inline int32_t sefr_fixed_point(float value, uint8_t exponent) {
    union {
        float value;
        uint32_t bits;
    } word;
    uint32_t size;
    int16_t up, own;
    word.value = value;
    own = (int16_t)((word.bits >> 23) & 255U);
    size = word.bits & 0x7FFFFFUL;
    if (own) size |= 0x800000UL;
    up = (int16_t)((own ? own : 1) - exponent - 8);
    if (own == 255 || up > 6) {
        size = 0x3FFFFFFFUL;
    } else if (up < -23) {
        size = 0;
    } else if (up < 0) {
        size >>= -up;
    } else {
        size <<= up;
    }
    return word.bits >> 31 ? -(int32_t)size : (int32_t)size;
}

SEFR_WITH_CONSTANTS uint8_t sefr_byte_of_difference_(uint32_t d, uint16_t range, uint32_t factor, uint8_t how) {
    if (d >= range) return 255;
    if (how == SEFR_NARROW) return (uint8_t)((d * factor + (1UL << 23)) >> 24);
    if (range < 256) d <<= 8;
    factor = d * (factor >> 16) + ((d * (factor & 0xFFFFU)) >> 16);
    return (uint8_t)((factor + (1UL << 15)) >> 16);
}

#if defined(SEFR_AVR_ASSEMBLY) && defined(__AVR_HAVE_MUL__)
#define SEFR_BYTES_ASSEMBLY 1
/* d in r19 r18, the factor byte by byte from Z, the byte in r16; 0x80 and 0x40 are half of what is shifted out, r17 is 0. */
#define SEFR_NARROW_PRODUCT_                                                                                        \
    "lpm r20,Z+\n\tmul r18,r20\n\tmov r22,r1\n\tldi r23,0x80\n\tldi r16,0\n\t"                                       \
    "mul r19,r20\n\tadd r22,r0\n\tadc r23,r1\n\tadc r16,r17\n\t"                                                     \
    "lpm r20,Z+\n\tmul r18,r20\n\tadd r22,r0\n\tadc r23,r1\n\tadc r16,r17\n\t"                                       \
    "mul r19,r20\n\tadd r23,r0\n\tadc r16,r1\n\t"                                                                   \
    "lpm r20,Z+\n\tmul r18,r20\n\tadd r23,r0\n\tadc r16,r1\n\tmul r19,r20\n\tadd r16,r0\n\t"                          \
    "lpm r20,Z+\n\tmul r18,r20\n\tadd r16,r0\n\t"
/* While r21 holds 0x80 alone, no carry leaves it. */
#define SEFR_WIDE_PRODUCT_(copy)                                                                                    \
    ".if %[how]==2\n\ttst r21\n\tbrne " copy "5f\n\tmov r19,r18\n\tclr r18\n\t" copy "5: \n\t.endif\n\t"              \
    "lpm r20,Z+\n\tmul r19,r20\n\tmovw r22,r0\n\tmul r18,r20\n\tadd r22,r1\n\tadc r23,r17\n\t"                       \
    "ldi r21,0x80\n\tldi r16,0\n\t"                                                                                 \
    "lpm r20,Z+\n\tmul r18,r20\n\tadd r22,r0\n\tadc r23,r1\n\tadc r21,r17\n\t"                                       \
    "mul r19,r20\n\tadd r23,r0\n\tadc r21,r1\n\tadc r16,r17\n\t"                                                     \
    "lpm r20,Z+\n\tmul r18,r20\n\tadd r23,r0\n\tadc r21,r1\n\tadc r16,r17\n\t"                                       \
    "mul r19,r20\n\tadd r21,r0\n\tadc r16,r1\n\t"                                                                   \
    "lpm r20,Z+\n\tmul r18,r20\n\tadd r21,r0\n\tadc r16,r1\n\tmul r19,r20\n\tadd r16,r0\n\t"
/* A value of 16 bits: 71 cycles if narrow. Labels begin with the number of the copy; its ends lie before or behind it. A value
 * equal to low goes on with d = 0, whose byte is 0. */
#define SEFR_INT16_BYTE_(copy, ends)                                                                                \
    "ld r18,X+\n\tld r19,X+\n\tlpm r20,Z+\n\tsub r18,r20\n\tlpm r20,Z+\n\tsbc r19,r20\n\tbrlt " copy "2" ends "\n\t"   \
    "lpm r20,Z+\n\tlpm r21,Z+\n\tcp r18,r20\n\tcpc r19,r21\n\tbrsh " copy "3" ends "\n\t"                             \
    ".if %[how]\n\t" SEFR_WIDE_PRODUCT_(copy) ".else\n\t" SEFR_NARROW_PRODUCT_ ".endif\n\t" copy "4: st Y+,r16\n\t"
#define SEFR_INT16_ENDS_(copy, step)                                                                                \
    copy "2: ldi r16,0\n\tadiw r30,6\n\trjmp " copy "4" step "\n\t"                                                  \
    copy "3: ldi r16,255\n\tadiw r30,4\n\trjmp " copy "4" step "\n\t"
#define SEFR_INT16_BYTES_                                                                                           \
    "rjmp 1f\n\t" SEFR_INT16_ENDS_("1", "f") "1: " SEFR_INT16_BYTE_("1", "b")                                        \
    ".if %[pairs]\n\t" SEFR_INT16_BYTE_("2", "f") ".endif\n\t"                                                      \
    ".if %[few]\n\tdec %A[n]\n\t.else\n\tsbiw %[n],1\n\t.endif\n\tbreq 7f\n\trjmp 1b\n\t"                            \
    ".if %[pairs]\n\t" SEFR_INT16_ENDS_("2", "b") ".endif\n\t"
/* r21: exponent; r20 r19 r18: digits; then t in r23 r21 r20 r19, of which r20 r19 remain as d; T: the sign. */
#define SEFR_FLOAT_BYTES_                                                                                           \
    "rjmp 1f\n\t"                                                                                                   \
    "16: andi r20,0x7F\n\tor r20,r19\n\tor r20,r18\n\tbreq 17f\n\tldi r16,0\n\tadiw r30,8\n\trjmp 4f\n\t"             \
    "17: ldi r19,255\n\tldi r20,255\n\tldi r21,255\n\tldi r23,0x3F\n\trjmp 13f\n\t"                                  \
    "20: lsl r19\n\trol r20\n\trol r21\n\trol r23\n\t21: dec r22\n\tbrpl 20b\n\trjmp 13f\n\t"                         \
    "18: lsl r18\n\trol r19\n\trol r20\n\trol r21\n\t19: dec r22\n\tbrpl 18b\n\trjmp 13f\n\t"                         \
    "8: neg r22\n\tcpi r21,255\n\tbreq 16b\n\tcpi r22,15\n\tbrsh 17b\n\tclr r21\n\tclr r23\n\tcpi r22,8\n\tbrlo 19b\n\t" \
    "mov r21,r20\n\tmov r20,r19\n\tmov r19,r18\n\tsubi r22,8\n\trjmp 21b\n\t"                                        \
    "6: inc r21\n\trjmp 11f\n\t"                                                                                    \
    "5: cpi r22,16\n\tbrsh 22f\n\tmov r19,r20\n\tclr r20\n\tsubi r22,8\n\trjmp 12f\n\t"                               \
    "22: clr r19\n\tclr r20\n\tclr r21\n\tclr r23\n\trjmp 14f\n\t"                                                   \
    "1: ld r18,X+\n\tld r19,X+\n\tld r20,X+\n\tld r21,X+\n\tlpm r22,Z+\n\tbst r21,7\n\tmov r23,r20\n\tlsl r23\n\t"    \
    "rol r21\n\tbreq 6b\n\tori r20,0x80\n\t11: sub r22,r21\n\tbrlo 8b\n\tcpi r22,8\n\tbrsh 5b\n\t"                    \
    "12: clr r21\n\tclr r23\n\ttst r22\n\tbreq 13f\n\t10: lsr r20\n\tror r19\n\tdec r22\n\tbrne 10b\n\t"              \
    "13: brtc 14f\n\tcom r23\n\tcom r21\n\tcom r20\n\tneg r19\n\tsbci r20,255\n\tsbci r21,255\n\tsbci r23,255\n\t"    \
    "14: lpm r22,Z+\n\tsub r19,r22\n\tlpm r22,Z+\n\tsbc r20,r22\n\tlpm r22,Z+\n\tsbc r21,r22\n\t"                     \
    "lpm r22,Z+\n\tsbc r23,r22\n\tbrmi 2f\n\tor r23,r21\n\tbrne 3f\n\tlpm r21,Z+\n\tlpm r22,Z+\n\t"                   \
    "cp r19,r21\n\tcpc r20,r22\n\tbrsh 15f\n\t"                                                                     \
    "lpm r21,Z+\n\tlpm r22,Z+\n\tmul r19,r21\n\tmov r18,r1\n\tldi r23,0x40\n\tldi r16,0\n\t"                          \
    "mul r20,r21\n\tadd r18,r0\n\tadc r23,r1\n\tadc r16,r17\n\t"                                                     \
    "mul r19,r22\n\tadd r18,r0\n\tadc r23,r1\n\tadc r16,r17\n\t"                                                     \
    "mul r20,r22\n\tadd r23,r0\n\tadc r16,r1\n\tlsl r23\n\trol r16\n\t"                                              \
    "4: st Y+,r16\n\tsbiw %[n],1\n\tbreq 7f\n\trjmp 1b\n\t"                                                         \
    "2: ldi r16,0\n\tadiw r30,4\n\trjmp 4b\n\t"                                                                     \
    "3: adiw r30,2\n\t15: ldi r16,255\n\tadiw r30,2\n\trjmp 4b\n\t"
/* The record is in X, the maps in Z, the bytes in Y, which cannot be named as used, since it may be the frame. */
#define SEFR_BYTES_(text, constants)                                                                                \
    __asm__ volatile("push r28\n\tpush r29\n\tmovw r28,%[x]\n\tldi r17,0\n\t" text "7: pop r29\n\tpop r28\n\tclr r1"  \
                     : [record] "+x"(record), [maps] "+z"(maps), [n] "+w"(n)                                        \
                     : [x] "r"(x)constants                                                                          \
                     : "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "memory")
#endif

/* A record as bytes. */
SEFR_WITH_CONSTANTS void sefr_bytes_int16(const sefr_map_int16 *maps, unsigned features, uint8_t how, const int16_t *record,
                                          uint8_t *x) {
#ifdef SEFR_BYTES_ASSEMBLY
#define SEFR_TURNS_ , [how] "n"(how), [pairs] "n"(features % 2 == 0), [few] "n"(features / (features % 2 ? 1 : 2) < 256)
    unsigned n = features / (features % 2 ? 1 : 2); /* two values per turn where their number is even */
    SEFR_BYTES_(SEFR_INT16_BYTES_, SEFR_TURNS_);
#else
    for (; features; features--, maps++, record++) {
        int16_t low = (int16_t)SEFR_READ_16(&maps->low);
        uint32_t d = (uint32_t)(int32_t)*record - (uint32_t)(int32_t)low;
        *x++ = *record <= low ? 0 : sefr_byte_of_difference_(d, SEFR_READ_16(&maps->range), SEFR_READ_32(&maps->factor), how);
    }
#endif
}

SEFR_WITH_CONSTANTS void sefr_bytes_int32(const sefr_map_int32 *maps, unsigned features, uint8_t how, const int32_t *record,
                                          uint8_t *x) {
    for (; features; features--, maps++, record++) {
        int32_t low = (int32_t)SEFR_READ_32(&maps->low);
        uint32_t d = (uint32_t)*record - (uint32_t)low;
        *x++ = *record <= low ? 0 : sefr_byte_of_difference_(d, SEFR_READ_16(&maps->range), SEFR_READ_32(&maps->factor), how);
    }
}

SEFR_WITH_CONSTANTS uint8_t sefr_byte_of_float_(float value, uint8_t exponent, int32_t low, uint16_t range, uint32_t factor,
                                                uint8_t shift) {
    int32_t d = sefr_fixed_point(value, exponent) - low;
    if (value != value || d < 0) return 0;
    if (d >= (int32_t)range) return 255;
    return (uint8_t)(((uint32_t)d * factor + (1UL << (shift - 1))) >> shift);
}

SEFR_WITH_CONSTANTS void sefr_bytes_float(const sefr_map_float *maps, unsigned features, const float *record, uint8_t *x) {
    for (; features; features--, maps++, record++) {
        *x++ = sefr_byte_of_float_(*record, SEFR_READ_8(&maps->exponent), (int32_t)SEFR_READ_32(&maps->low),
                                   SEFR_READ_16(&maps->range), SEFR_READ_32(&maps->factor), 24);
    }
}

SEFR_WITH_CONSTANTS void sefr_bytes_fine(const sefr_map_fine *maps, unsigned features, const float *record, uint8_t *x) {
#ifdef SEFR_BYTES_ASSEMBLY
    unsigned n = features;
    SEFR_BYTES_(SEFR_FLOAT_BYTES_, );
#else
    for (; features; features--, maps++, record++) {
        *x++ = sefr_byte_of_float_(*record, SEFR_READ_8(&maps->exponent), (int32_t)SEFR_READ_32(&maps->low),
                                   SEFR_READ_16(&maps->range), SEFR_READ_16(&maps->factor), 23);
    }
#endif
}

/* Ranges beyond 16 bits, by division. */
SEFR_WITH_CONSTANTS uint8_t sefr_divided_byte_(int32_t value, const sefr_map_divide *map) {
    int32_t low = (int32_t)SEFR_READ_32(&map->low), high = (int32_t)SEFR_READ_32(&map->high);
    uint32_t range = (uint32_t)high - (uint32_t)low;
    if (high <= low || value <= low) return 0;
    if (value >= high) return 255;
    return (uint8_t)((255U * ((uint32_t)value - (uint32_t)low) + (range >> 1)) / range);
}

SEFR_WITH_CONSTANTS void sefr_bytes_divide_int16(const sefr_map_divide *maps, unsigned features, const int16_t *record,
                                                  uint8_t *x) {
    for (; features; features--) *x++ = sefr_divided_byte_(*record++, maps++);
}
SEFR_WITH_CONSTANTS void sefr_bytes_divide_int32(const sefr_map_divide *maps, unsigned features, const int32_t *record,
                                                  uint8_t *x) {
    for (; features; features--) *x++ = sefr_divided_byte_(*record++, maps++);
}

#endif
