/* The paper as its authors run it: floats, and two passes over all records, which must stay in memory. Eq. 3 to 9; with
 * more than two classes, class k is the negative one of classifier k and the lowest score wins. */
#include "learner.h"

#define CLASSIFIERS (CLASSES == 2 ? 1 : CLASSES)

static float weights[CLASSIFIERS][FEATURES], bias[CLASSIFIERS];

static uint8_t is_positive(uint16_t i, uint8_t k) { return CLASSES == 2 ? LABEL(i) : LABEL(i) != k; }

static void find_weights(uint8_t k, float n_positive, float n_negative) {
    static float negatives[FEATURES];
    float *positives = weights[k]; /* until they become the weights */
    uint16_t i, j;
    for (j = 0; j < FEATURES; j++) positives[j] = negatives[j] = 0;
    for (i = 0; i < ROWS; i++) {
        float *sums = is_positive(i, k) ? positives : negatives;
        for (j = 0; j < FEATURES; j++) sums[j] += VALUE(i, j);
    }
    for (j = 0; j < FEATURES; j++) {
        float positive = positives[j] / n_positive, negative = negatives[j] / n_negative;
        weights[k][j] = (positive - negative) / (positive + negative + 1e-7f);
    }
}

static void find_bias(uint8_t k, float n_positive, float n_negative) {
    uint16_t i, j;
    float positive = 0, negative = 0;
    for (i = 0; i < ROWS; i++) {
        float score = 0;
        for (j = 0; j < FEATURES; j++) score += weights[k][j] * VALUE(i, j);
        if (is_positive(i, k)) {
            positive += score;
        } else {
            negative += score;
        }
    }
    bias[k] = -(n_negative * (positive / n_positive) + n_positive * (negative / n_negative)) / (n_positive + n_negative);
}

static void train(void) {
    uint16_t i;
    uint8_t k;
    for (k = 0; k < CLASSIFIERS; k++) {
        uint16_t n = 0;
        for (i = 0; i < ROWS; i++) n = (uint16_t)(n + is_positive(i, k));
        find_weights(k, n, ROWS - n);
        find_bias(k, n, ROWS - n);
    }
}

static float score_of(uint8_t k, const uint8_t *record) {
    float score = bias[k];
    uint16_t j;
    for (j = 0; j < FEATURES; j++) score += weights[k][j] * record[j];
    return score;
}

static uint8_t classify(const uint8_t *record) {
    float lowest = score_of(0, record);
    uint8_t k, best = 0;
    if (CLASSES == 2) return lowest > 0;
    for (k = 1; k < CLASSIFIERS; k++) {
        float score = score_of(k, record);
        if (score < lowest) {
            lowest = score;
            best = k;
        }
    }
    return best;
}

#include "harness.h"
