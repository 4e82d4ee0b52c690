/* Sums of products, and weights of 16 bits made of them: what numbers (sefr_regress.c) and classes (sefr_moments.c) share.
 * Said before: the type square_sum of a sum of products. */
#include "../sefr_avr.h"

#include "gauss_seidel.h"

/* floor(sum half / n); below 2^40 * 2^23 < 2^64. */
static uint64_t halved(uint64_t sum, uint32_t half, uint32_t n) { return n == 2 * half ? sum >> 1 : sum * half / n; }

static void halve_products(square_sum *squares, uint8_t features, uint32_t half, uint32_t n) {
    uint32_t i;
    for (i = 0; i < SEFR_TRIANGLE(features); i++) squares[i] = (square_sum)halved(squares[i], half, n);
}

static void clear_products(square_sum *squares, uint8_t features) {
    uint32_t i;
    for (i = 0; i < SEFR_TRIANGLE(features); i++) squares[i] = 0;
}

static void merge_products(square_sum *squares, const square_sum *others, uint8_t features) {
    uint32_t i;
    for (i = 0; i < SEFR_TRIANGLE(features); i++) squares[i] += others[i];
}

/* The row of one value: its products with those before it and with itself. */
SEFR_INLINE void add_row(square_sum *squares, const uint8_t *record, uint8_t i) {
    uint8_t value = record[i], j;
    for (j = 0; j <= i; j++) squares[j] += (uint16_t)((uint16_t)value * record[j]);
}

static void forget_products(square_sum *squares, const uint8_t *record, uint8_t features) {
    uint8_t i, j;
    for (i = 0; i < features; i++) {
        for (j = 0; j <= i; j++) *squares++ -= (uint16_t)((uint16_t)record[i] * record[j]);
    }
}

/* Whether sums of n records may contain this one. */
static uint8_t products_contain(const square_sum *squares, const uint8_t *record, uint8_t features, uint32_t n) {
    uint8_t i, j;
    for (i = 0; i < features; i++) {
        for (j = 0; j <= i; j++, squares++) {
            uint16_t product = (uint16_t)((uint16_t)record[i] * record[j]);
            if (*squares < product || *squares - product > (square_sum)65025UL * (n - 1)) return 0;
        }
    }
    return 1;
}

/* The least shift that makes every cell of the diagonal fit 31 bits. */
static uint8_t shift_of(uint8_t features, cell_of cell, const void *context) {
    int64_t highest = 0;
    uint8_t j, shift = 0;
    for (j = 0; j < features; j++) {
        int64_t variance = cell(context, j, j);
        if (variance > highest) highest = variance;
    }
    for (; highest >> 31; shift++) highest >>= 1;
    return shift;
}

/* The bias and every weight times its value. |sum| < 120 * 2^23 + 2^30 < 2^31, but not every part of it: without a sign a
 * carry out is no fault. */
static int32_t weighted(const int16_t *weights, const uint8_t *record, uint8_t features, int32_t bias) {
#ifdef SEFR_KERNELS
    return (int32_t)((uint32_t)sefr_avr_dot16(weights, record, features) + (uint32_t)bias);
#else
    uint32_t sum = (uint32_t)bias;
    uint8_t j;
    for (j = 0; j < features; j++) sum += (uint32_t)((int32_t)weights[j] * record[j]);
    return (int32_t)sum;
#endif
}
