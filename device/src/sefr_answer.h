/* What exported models share: constants in flash, whether a record is like those that were learned, and from scores to an
 * answer. This file and those that include it need no other part of the library. Their functions are compiled for the model
 * that calls them: its sizes are constants, which decide on the loops. */
#ifndef SEFR_ANSWER_H
#define SEFR_ANSWER_H

#include <stdint.h>
#ifdef __AVR__
#include <avr/io.h>
#include <avr/pgmspace.h>
#endif

/* Of the structures in these files; an exported model names the format that it was written for. */
#define SEFR_EXPORT_FORMAT 1

#ifdef __AVR__
#ifndef SEFR_FLASH
#define SEFR_FLASH PROGMEM
#endif
#define SEFR_READ_8(address) pgm_read_byte(address)
#define SEFR_READ_16(address) pgm_read_word(address)
#define SEFR_READ_32(address) pgm_read_dword(address)
#define SEFR_READ(to, address) memcpy_P(&(to), address, sizeof(to))
#else
#ifndef SEFR_FLASH
#define SEFR_FLASH
#endif
#define SEFR_READ_8(address) (*(address))
#define SEFR_READ_16(address) (*(address))
#define SEFR_READ_32(address) (*(address))
#define SEFR_READ(to, address) ((to) = *(address))
#endif

#ifdef __GNUC__
#define SEFR_WITH_CONSTANTS static inline __attribute__((always_inline))
/* A function of its own: a loop that needs nearly all registers. */
#define SEFR_OWN_REGISTERS __attribute__((noinline, unused)) static
#else
#define SEFR_WITH_CONSTANTS static inline
#define SEFR_OWN_REGISTERS static inline
#endif
/* Assembly with the constants of a model in it, which must be known when it is compiled. */
#if defined(__AVR_HAVE_LPMX__) && defined(__AVR_HAVE_MOVW__) && defined(__OPTIMIZE__) && !defined(__clang__) && \
    !defined(SEFR_PORTABLE)
#define SEFR_AVR_ASSEMBLY 1
#endif

/* 0: a value is NaN, or lies outside of its limits: per feature the lowest and the highest value, in flash. */
#define SEFR_DEFINE_KNOWN_(name, type)                                                                              \
    static inline uint8_t name(const type *limits, unsigned features, const type *record) {                         \
        for (; features; features--, limits += 2, record++) {                                                       \
            type low, high;                                                                                         \
            SEFR_READ(low, limits);                                                                                 \
            SEFR_READ(high, limits + 1);                                                                            \
            if (!(*record >= low && *record <= high)) return 0;                                                     \
        }                                                                                                           \
        return 1;                                                                                                   \
    }
SEFR_DEFINE_KNOWN_(sefr_is_known_uint8, uint8_t)
SEFR_DEFINE_KNOWN_(sefr_is_known_int16, int16_t)
SEFR_DEFINE_KNOWN_(sefr_is_known_int32, int32_t)
SEFR_DEFINE_KNOWN_(sefr_is_known_float, float)

/* sefr_lead: the class, and by how much it leads. One score: class 1 where it is above 0; more: the first of the highest. The
 * lead has no sign, so that it always fits.
 * sefr_choose: the class, or 255 where it leads by less than the margin. */
#define SEFR_DEFINE_CHOICE_(suffix, score, difference)                                                              \
    SEFR_WITH_CONSTANTS uint8_t sefr_lead##suffix(const score *scores, uint8_t rows, difference *lead) {             \
        uint8_t row, best = 0;                                                                                      \
        score next;                                                                                                 \
        if (rows == 1) {                                                                                            \
            *lead = scores[0] > 0 ? (difference)scores[0] : (difference)(0 - (difference)scores[0]);                \
            return scores[0] > 0;                                                                                   \
        }                                                                                                           \
        for (row = 1; row < rows; row++) {                                                                          \
            if (scores[row] > scores[best]) best = row;                                                             \
        }                                                                                                           \
        next = scores[best ? 0 : 1];                                                                                \
        for (row = 0; row < rows; row++) {                                                                          \
            if (row != best && scores[row] > next) next = scores[row];                                              \
        }                                                                                                           \
        *lead = (difference)scores[best] - (difference)next;                                                        \
        return best;                                                                                                \
    }                                                                                                               \
    SEFR_WITH_CONSTANTS uint8_t sefr_choose##suffix(const score *scores, uint8_t rows, difference margin) {          \
        difference lead;                                                                                            \
        uint8_t best = sefr_lead##suffix(scores, rows, &lead);                                                      \
        return margin && lead < margin ? 255 : best;                                                                \
    }
SEFR_DEFINE_CHOICE_(, int32_t, uint32_t)
SEFR_DEFINE_CHOICE_(_wide, int64_t, uint64_t)

/* Of a model that predicts a number: a score without its lower bits, within 16 bits. Half a unit is in the bias. */
SEFR_WITH_CONSTANTS int16_t sefr_rounded(int32_t score, int8_t shift) {
    if (shift >= 0) {
        score >>= shift;
    } else if (score > 32767 >> -shift) {
        return 32767;
    } else if (score < -(32767 >> -shift)) {
        return -32767;
    } else {
        score *= (int32_t)1 << -shift;
    }
    return (int16_t)(score > 32767 ? 32767 : score < -32767 ? -32767 : score);
}

#endif
