/* A model with bins, as sefr.device.export writes it: the cell that each value lies in adds its entry to each score, and so
 * does the cell of each interaction (fern).
 *
 *     SEFR_TABLE(model, int16_t)               // after model_table and what it points to, all constants
 *     model_scores(record, scores);
 *
 * blocks: per feature a block of 2^depth cells, a tree, then the entries of a missing value if there are any. A tree is the
 *   entries of one cell; or a threshold, the tree of the cells below it and the tree of the others. So a search reads on where
 *   a value is below a threshold, and skips a tree where it is not. Of a threshold of 32 bits the upper 16 stand first, and the
 *   lower ones after the cells below it: they are read only where the upper ones are equal. A threshold of floats is a whole
 *   number in their order (sefr_float_key), that of an int32 has its sign turned.
 * fern_blocks: per fern its questions, each a feature, the lowest number of its cell that is a yes and, if bounded, how many
 *   further ones are; then the entries of its cells, from the last, where each answer is a yes, to the first.
 * An entry is stored with half of its range added to it; the bias takes that off again. Numbers are little endian.
 *
 * The fields of a table are constants where a function below is called, and each call is compiled for them. On an AVR a search
 * takes 6 or 7 cycles per step for a byte, 10 or 11 for an int16, and 10 or 13 for an int32 or a float whose upper half is not
 * the threshold's; a question 13, or 17 if bounded, and 5 more where ferns have different numbers of them. */
#ifndef SEFR_TABLE_H
#define SEFR_TABLE_H

#include "sefr_answer.h"

enum { SEFR_UINT8, SEFR_INT16, SEFR_INT32, SEFR_FLOAT }; /* types of a raw value */

typedef struct {
    uint16_t features;
    uint8_t value;          /* type of a raw value */
    uint8_t rows;           /* scores: 1 for two classes and for a number */
    uint8_t entry_bytes;    /* of an entry: 1 or 2 */
    uint8_t depth;          /* of every block, or of the deepest */
    uint16_t depths;        /* bit d: a block has depth d, and every block begins with its own; 0: all have the same */
    uint8_t missing;        /* 1: blocks end with the entries of NaN */
    const uint8_t *blocks;  /* in flash, as fern_blocks and biases */
    int32_t bias;           /* of one score */
    const int32_t *biases;  /* of several */
    uint16_t ferns;
    uint8_t questions;      /* of every fern; 0: each begins with its own number of them */
    uint8_t feature_bytes;  /* of the number of a feature: 1 or 2 */
    uint8_t bounded;
    const uint8_t *fern_blocks;
} sefr_table;

SEFR_WITH_CONSTANTS uint8_t sefr_value_bytes_(const sefr_table *table) {
    return table->value == SEFR_UINT8 ? 1 : table->value == SEFR_INT16 ? 2 : 4;
}

/* Bytes of the entries of a cell. */
SEFR_WITH_CONSTANTS unsigned sefr_row_bytes_(const sefr_table *table) { return (unsigned)table->rows * table->entry_bytes; }

SEFR_WITH_CONSTANTS unsigned sefr_half_(const uint8_t *at) {
#if defined(__ARM_FEATURE_UNALIGNED) && !defined(__ARM_BIG_ENDIAN)
    uint16_t value;
    __builtin_memcpy(&value, at, 2); /* one load where the chip reads at any address */
    return value;
#else
    return SEFR_READ_8(at) | (unsigned)SEFR_READ_8(at + 1) << 8;
#endif
}

#ifdef SEFR_AVR_ASSEMBLY
#include "sefr_table_avr.h"
#endif

/* A whole number in the order of floats; 0 for what is not a number. */
#ifdef __AVR__
__attribute__((noinline, unused)) static
#else
static inline
#endif
uint32_t sefr_float_key(float value) {
    union {
        float value;
        uint32_t bits;
    } word;
    word.value = value;
#ifdef SEFR_AVR_ASSEMBLY
    __asm__("rjmp 1f\n\t" SEFR_FLOAT_RARE_("%A0", "%B0", "%C0", "%D0", "") "1: " SEFR_FLOAT_KEY_("%D0") : "+d"(word.bits));
    return word.bits;
#else
    if ((word.bits & 0x7FFFFFFFUL) > 0x7F800000UL) return 0;
    return word.bits ^ ((uint32_t)(-(int32_t)(word.bits >> 31)) | 0x80000000UL);
#endif
}

/* A raw value as it is compared: with a sign if it is an int16, else without. */
SEFR_WITH_CONSTANTS uint32_t sefr_compared_(const sefr_table *table, const void *record, unsigned j) {
    switch (table->value) {
    case SEFR_UINT8: return ((const uint8_t *)record)[j];
    case SEFR_INT16: return (uint32_t)(int32_t)((const int16_t *)record)[j];
    case SEFR_INT32: return (uint32_t)((const int32_t *)record)[j] ^ 0x80000000UL;
    default: return sefr_float_key(((const float *)record)[j]);
    }
}

/* Adds the entries at a place to the sums; returns what is added where there is but one. */
SEFR_WITH_CONSTANTS uint32_t sefr_add_entries_(const sefr_table *table, const uint8_t *at, int32_t *sums) {
    uint8_t row;
    if (table->rows == 1) return table->entry_bytes == 1 ? SEFR_READ_8(at) : sefr_half_(at);
    for (row = 0; row < table->rows; row++, at += table->entry_bytes) {
        sums[row] += (int32_t)(table->entry_bytes == 1 ? SEFR_READ_8(at) : sefr_half_(at));
    }
    return 0;
}

/* Sets the sums to 0, of several scores. */
SEFR_WITH_CONSTANTS void sefr_table_begin(const sefr_table *table, int32_t *sums) {
    uint8_t row;
    if (table->rows == 1) return;
    for (row = 0; row < table->rows; row++) sums[row] = 0;
}

/* Adds the entry of each feature's cell: to the sums, or, of one score, returns their sum. With ferns, cells[j] becomes the
 * number of the cell: 255 for a missing value. */
SEFR_WITH_CONSTANTS uint32_t sefr_table_search(const sefr_table *table, const void *record, uint8_t *cells, int32_t *sums) {
#ifdef SEFR_AVR_ASSEMBLY
    return sefr_search_avr_(table, record, cells, sums);
#else
    const uint8_t *block = table->blocks;
    uint8_t size = sefr_value_bytes_(table);
    unsigned j, row_bytes = sefr_row_bytes_(table), cell_bytes = size + row_bytes;
    uint32_t sum = 0;
    for (j = 0; j < table->features; j++) {
        uint32_t value = sefr_compared_(table, record, j);
        uint8_t depth = table->depths ? SEFR_READ_8(block++) : table->depth, level = depth;
        unsigned number = 0;
        const uint8_t *cell = block;
        block += (cell_bytes << depth) - size + (table->missing ? row_bytes : 0);
        while (level--) {
            unsigned further = cell_bytes << level;
            uint8_t below;
            if (size == 4) {
                unsigned high = (uint16_t)(value >> 16), upper = sefr_half_(cell);
                below = high < upper || (high == upper && (uint16_t)value < sefr_half_(cell + further - 2));
                cell += below ? 2 : further;
            } else {
                below = table->value == SEFR_INT16 ? (int32_t)value < (int16_t)sefr_half_(cell) : value < SEFR_READ_8(cell);
                cell += below ? size : further;
            }
            if (table->ferns && !below) number |= 1U << level;
        }
        if (table->missing && !value) {
            number = 255;
            cell = block - row_bytes;
        }
        if (table->ferns) cells[j] = (uint8_t)number;
        sum += sefr_add_entries_(table, cell, sums);
    }
    return sum;
#endif
}

/* The same for interactions, from the numbers of the cells. */
SEFR_WITH_CONSTANTS uint32_t sefr_table_ferns(const sefr_table *table, const uint8_t *cells, int32_t *sums) {
    const uint8_t *at = table->fern_blocks;
    unsigned fern, row_bytes = sefr_row_bytes_(table);
    uint32_t sum = 0;
#ifdef SEFR_AVR_ASSEMBLY
    if (SEFR_HAS_FERN_ASSEMBLY_(table)) return sefr_ferns_avr_(table, cells, sums);
#endif
    for (fern = 0; fern < table->ferns; fern++) {
        uint8_t questions = table->questions ? table->questions : SEFR_READ_8(at++), left = questions;
        unsigned cell = 0;
        for (; left; left--) {
            unsigned feature = SEFR_READ_8(at++);
            if (table->feature_bytes == 2) feature |= (unsigned)SEFR_READ_8(at++) << 8;
            if (table->bounded) {
                cell = cell + cell + ((uint8_t)(cells[feature] - SEFR_READ_8(at)) > SEFR_READ_8(at + 1));
                at += 2;
            } else {
                cell = cell + cell + (cells[feature] < SEFR_READ_8(at));
                at++;
            }
        }
        sum += sefr_add_entries_(table, at + cell * row_bytes, sums);
        at += row_bytes << questions;
    }
    return sum;
}

/* Makes scores of the sums. */
SEFR_WITH_CONSTANTS void sefr_table_end(const sefr_table *table, int32_t *scores, uint32_t sum) {
    uint8_t row = table->rows;
    if (row == 1) {
        scores[0] = (int32_t)sum + table->bias;
        return;
    }
    while (row--) {
#ifdef SEFR_AVR_ASSEMBLY
        if (sefr_is_narrow_(table)) { /* sums of 16 bits, one after the other: the last is moved first */
            uint16_t narrow;
            __builtin_memcpy(&narrow, (const uint8_t *)scores + 2U * row, 2);
            scores[row] = narrow;
        }
#endif
        scores[row] += (int32_t)SEFR_READ_32(table->biases + row);
    }
}

/* name_scores(record, scores), of a table without ferns and with them. */
#define SEFR_TABLE(name, value_type)                                                                                \
    SEFR_OWN_REGISTERS uint32_t name##_search(const value_type *record, int32_t *sums) {                              \
        return sefr_table_search(&name##_table, record, 0, sums);                                                   \
    }                                                                                                               \
    static inline void name##_scores(const value_type *record, int32_t *scores) {                                   \
        sefr_table_begin(&name##_table, scores);                                                                    \
        sefr_table_end(&name##_table, scores, name##_search(record, scores));                                       \
    }
#define SEFR_FERN_TABLE(name, value_type, features)                                                                 \
    SEFR_OWN_REGISTERS uint32_t name##_search(const value_type *record, uint8_t *cells, int32_t *sums) {              \
        return sefr_table_search(&name##_table, record, cells, sums);                                               \
    }                                                                                                               \
    SEFR_OWN_REGISTERS uint32_t name##_ask(const uint8_t *cells, int32_t *sums) {                                     \
        return sefr_table_ferns(&name##_table, cells, sums);                                                        \
    }                                                                                                               \
    static inline void name##_scores(const value_type *record, int32_t *scores) {                                   \
        uint8_t cells[features];                                                                                    \
        uint32_t sum;                                                                                               \
        sefr_table_begin(&name##_table, scores);                                                                    \
        sum = name##_search(record, cells, scores);                                                                 \
        sefr_table_end(&name##_table, scores, sum + name##_ask(cells, scores));                                     \
    }

#endif
