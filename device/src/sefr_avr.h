/* The AVR kernels (sefr_avr.S): inner loops for chips with a multiplier, bit-identical to the portable C that they
 * replace. SEFR_PORTABLE leaves them out. */
#ifndef SEFR_AVR_H
#define SEFR_AVR_H

#include <stdint.h>

#if defined(__AVR_HAVE_MUL__) && !defined(SEFR_PORTABLE)
#define SEFR_KERNELS 1

#ifdef __cplusplus
extern "C" {
#endif

/* Sets n bytes to 0. */
void sefr_avr_clear(void *bytes, uint16_t n);

/* sums[j] += record[j] for features >= 1; returns 0 (SEFR_OK). _sparse skips zeros, _P reads the record from flash. */
uint16_t sefr_avr_add(uint16_t *sums, const uint8_t *record, uint16_t features);
uint16_t sefr_avr_add_P(uint16_t *sums, const uint8_t *record, uint16_t features);
uint16_t sefr_avr_add_sparse(uint16_t *sums, const uint8_t *record, uint16_t features);
uint16_t sefr_avr_add_sparse_P(uint16_t *sums, const uint8_t *record, uint16_t features);

/* Writes the flash addresses of the rows with this label to list; returns how many. n >= 1 rows. */
uint8_t sefr_avr_pick_P(uint16_t *list, const uint8_t *rows, uint16_t stride, const uint8_t *labels, uint8_t label,
                        uint8_t n);
/* The same for two classes at once: the rows of label 0 stand first in list, those of label 1 after them. Returns how many
 * the former are; 255 where a label is neither. n is 1 to 254. */
uint8_t sefr_avr_split_P(uint16_t *list, const uint8_t *rows, uint16_t stride, const uint8_t *labels, uint8_t n);
/* sums[j] += the bytes at list[i] + offset + j over n >= 1 rows, held in registers: of 12 * blocks features (with
 * offset + 12 * blocks <= 255), of 4, of 1. */
void sefr_avr_batch12_P(uint16_t *sums, const uint16_t *list, uint8_t offset, uint8_t n, uint8_t blocks);
void sefr_avr_batch4_P(uint16_t *sums, const uint16_t *list, uint8_t offset, uint8_t n);
void sefr_avr_batch1_P(uint16_t *sums, const uint16_t *list, uint8_t offset, uint8_t n);

/* The sum of weights[j] * record[j], n >= 1; |result| <= 255 * 127 * 255 < 2^23. _P: record, _W: weights in flash. */
int32_t sefr_avr_dot(const int8_t *weights, const uint8_t *record, uint8_t n);
int32_t sefr_avr_dot_P(const int8_t *weights, const uint8_t *record, uint8_t n);
int32_t sefr_avr_dot_W(const int8_t *weights, const uint8_t *record, uint8_t n);

/* All of sefr_classify_fixed for a binary model of int8 weights and 1 to 129 features; returns 0 (SEFR_OK). */
uint16_t sefr_avr_classify_W(const void *model, const uint8_t *record, uint8_t *label, uint16_t features);
/* The same with a margin: returns 11 (SEFR_UNKNOWN) where the score is nearer to 0. */
uint16_t sefr_avr_classify_known_W(const void *model, const uint8_t *record, uint8_t *label, uint16_t features);

/* dividend / divisor, for a divisor above 0. */
uint32_t sefr_avr_divide(uint32_t dividend, uint8_t divisor);

/* The binary weights of n features from their sums, and totals[c] = sum of weight * sum, negative first.
 * Needs 510 * n_negative * n_positive < 2^23, so that a remainder and its double stay within 24 bits. */
void sefr_avr_weigh(const uint16_t *negative, const uint16_t *positive, int8_t *weights, uint8_t n,
                    uint8_t n_negative, uint8_t n_positive, int32_t *totals);

/* Adds a record of n >= 1 inputs to the sums of a regression (sefr_regress.h); products: sums of 40 bits, or 0 for none
 * (sefr_moments.h). */
void sefr_avr_regress(uint32_t *sums, uint32_t *squares, void *products, const uint8_t *record, int16_t y, uint8_t n);
/* The sum of weights[j] * record[j], n >= 1; |result| <= 255 * 32768 * 255 < 2^31. */
int32_t sefr_avr_dot16(const int16_t *weights, const uint8_t *record, uint8_t n);
/* *score = *bias and that sum over any n >= 1; returns whether it is above 0. _P: record, _W: weights and bias in flash. */
uint8_t sefr_avr_score16(const int16_t *weights, const uint8_t *record, uint16_t n, const int64_t *bias, int64_t *score);
uint8_t sefr_avr_score16_P(const int16_t *weights, const uint8_t *record, uint16_t n, const int64_t *bias, int64_t *score);
uint8_t sefr_avr_score16_W(const int16_t *weights, const uint8_t *record, uint16_t n, const int64_t *bias, int64_t *score);

#ifdef __cplusplus
}
#endif
#endif

#endif
