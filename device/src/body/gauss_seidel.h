/* A w = b by Gauss-Seidel, for regression and for classes. No matrix is stored: whose it is gives its cells when they are
 * wanted. sefr_regress.h and sefr_moments.h have the definitions and their bounds. */
#include "calls.h"

enum { ROUNDS = 30 };
#define MOST_WEIGHT ((int32_t)1 << 25)

/* A[i][j]; A[j][j] with its ridge (0 or below: an empty column); b[j] in the fractions of a weight. */
typedef int64_t (*cell_of)(const void *context, uint8_t i, uint8_t j);
typedef int64_t (*diagonal_of)(const void *context, int64_t variance);
typedef int64_t (*target_of)(const void *context, uint8_t j);

/* floor(a / n), n > 0. */
static int64_t floor_of(int64_t a, int64_t n) {
    int64_t quotient = a / n;
    return quotient * n > a ? quotient - 1 : quotient;
}

/* floor(a / d + 1/2) within MOST_WEIGHT, d > 0. */
SEFR_APART int32_t nearest(int64_t a, int64_t d) {
    int64_t quotient = floor_of(a, d), left = a - quotient * d;
    if (left >= d - left) quotient++;
    if (quotient > MOST_WEIGHT) return MOST_WEIGHT;
    return quotient < -MOST_WEIGHT ? -MOST_WEIGHT : (int32_t)quotient;
}

static void gauss_seidel(uint8_t inputs, cell_of cell, diagonal_of diagonal, target_of target, const void *context,
                         int32_t *w) {
    uint8_t i, j, round, changed = 1;
    for (j = 0; j < inputs; j++) w[j] = 0;
    for (round = 0; changed && round < ROUNDS; round++) {
        changed = 0;
        for (j = 0; j < inputs; j++) {
            int64_t divisor = diagonal(context, cell(context, j, j)), left;
            int32_t weight = 0;
            if (divisor > 0) {
                left = target(context, j);
                for (i = 0; i < inputs; i++) {
                    if (i != j && w[i]) left -= cell(context, j, i) * w[i];
                }
                weight = nearest(left, divisor);
            }
            if (weight != w[j]) changed = 1;
            w[j] = weight;
        }
    }
}

static int32_t rounded(int32_t weight, uint8_t k) { return k ? (weight + ((int32_t)1 << (k - 1))) >> k : weight; }

/* The least k, from a first one on, that makes every weight fit 16 bits; at most 11. */
static uint8_t narrowing(const int32_t *w, uint8_t inputs, uint8_t k) {
    uint8_t j;
    for (j = 0; j < inputs; j++) {
        while (rounded(w[j], k) > 32767 || rounded(w[j], k) < -32768) k++;
    }
    return k;
}
