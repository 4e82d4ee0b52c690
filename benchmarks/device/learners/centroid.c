/* Nearest centroid by squared Euclidean distance: sums per class, as many records as 16 bits hold (257 of a class).
 * |x - c|^2 = |x|^2 - 2 x.c + |c|^2, and |x|^2 is the same for every class. With c = S / n the score of a class is
 * 2 x.S / n - |S|^2 / n^2; x.S <= 255 * 65535 * FEATURES < 2^32 up to 257 features. */
#include "learner.h"

static uint16_t sums[CLASSES][FEATURES], counts[CLASSES];
static int32_t norms[CLASSES];

static void train(void) {
    uint16_t i, j;
    uint8_t k;
    for (i = 0; i < ROWS; i++) {
        uint8_t label = LABEL(i);
        uint16_t *sum = sums[label];
        counts[label]++;
        for (j = 0; j < FEATURES; j++) sum[j] = (uint16_t)(sum[j] + VALUE(i, j));
    }
    for (k = 0; k < CLASSES; k++) {
        float norm = 0;
        for (j = 0; counts[k] && j < FEATURES; j++) {
            float mean = (float)sums[k][j] / counts[k];
            norm += mean * mean;
        }
        norms[k] = (int32_t)norm;
    }
}

static uint8_t classify(const uint8_t *record) {
    int32_t highest = INT32_MIN;
    uint16_t j;
    uint8_t k, best = 0;
    for (k = 0; k < CLASSES; k++) {
        uint32_t dot = 0;
        int32_t score;
        if (counts[k] == 0) continue;
        for (j = 0; j < FEATURES; j++) dot += (uint32_t)record[j] * sums[k][j];
        score = (int32_t)(2 * (dot / counts[k])) - norms[k];
        if (score > highest) {
            highest = score;
            best = k;
        }
    }
    return best;
}

#include "harness.h"
